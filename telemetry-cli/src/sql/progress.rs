//! How far a load is: MPS's dots, and a line for whoever watches.

use std::io::{IsTerminal, Write, stderr, stdout};
use std::time::{Duration, Instant};

use crate::text::count;

/// Events of a dot.
const DOT: u64 = 100_000;

/// Time between two states of the line.
const PAUSE: Duration = Duration::from_millis(200);

/// How far a load is. The line goes away with it.
pub(crate) struct Progress {
    dots: Option<u64>,
    /// When the line was written last.
    line: Option<Instant>,
    is_shown: bool,
}

impl Progress {
    /// With dots on standard output, or with a line on standard error if that is a terminal.
    pub(crate) fn new(dots: bool) -> Progress {
        let line = (!dots && stderr().is_terminal()).then(Instant::now);
        Progress { dots: dots.then_some(0), line, is_shown: false }
    }

    /// Shows that so many events were loaded.
    pub(crate) fn show(&mut self, events: u64) {
        // If nobody can be told, the load goes on.
        if let Some(dots) = &mut self.dots {
            while *dots < events / DOT {
                *dots += 1;
                let _ = stdout().write_all(b".").and_then(|()| stdout().flush());
            }
        }
        if let Some(last) = self.line.filter(|last| last.elapsed() >= PAUSE) {
            self.line = Some(last.max(Instant::now()));
            self.is_shown = true;
            let _ = write!(stderr(), "\r{}", count(events, "event"));
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.dots.is_some_and(|dots| dots > 0) {
            let _ = writeln!(stdout());
        }
        if self.is_shown {
            // Up to the end of the line.
            let _ = write!(stderr(), "\r\x1b[K");
        }
    }
}
