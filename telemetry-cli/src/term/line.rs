//! The terminal line of a bar.

use std::io;

use console::Term;
use indicatif::{ProgressDrawTarget, TermLike};

/// The maximum of redraws per second.
const MAX_REDRAWS: u8 = 20;

/// Returns standard error as a target of bars, where the cursor stays behind the bar.
///
/// Bars are drawn with blanks to the right edge, so that other output goes to the next line. But
/// then the `^C` that the terminal writes for the key would go there too, and the bar would remain
/// above it.
pub(super) fn stderr() -> ProgressDrawTarget {
    ProgressDrawTarget::term_like_with_hz(Box::new(Line(Term::buffered_stderr())), MAX_REDRAWS)
}

#[derive(Debug)]
struct Line(Term);

impl TermLike for Line {
    fn width(&self) -> u16 {
        self.0.size().1
    }

    fn height(&self) -> u16 {
        self.0.size().0
    }

    fn move_cursor_up(&self, n: usize) -> io::Result<()> {
        self.0.move_cursor_up(n)
    }

    fn move_cursor_down(&self, n: usize) -> io::Result<()> {
        self.0.move_cursor_down(n)
    }

    fn move_cursor_right(&self, n: usize) -> io::Result<()> {
        self.0.move_cursor_right(n)
    }

    fn move_cursor_left(&self, n: usize) -> io::Result<()> {
        self.0.move_cursor_left(n)
    }

    fn write_line(&self, text: &str) -> io::Result<()> {
        self.0.write_line(text)
    }

    fn write_str(&self, text: &str) -> io::Result<()> {
        // The blanks are written in a call of their own.
        if text.bytes().all(|byte| byte == b' ') { Ok(()) } else { self.0.write_str(text) }
    }

    fn clear_line(&self) -> io::Result<()> {
        self.0.clear_line()
    }

    fn flush(&self) -> io::Result<()> {
        self.0.flush()
    }
}
