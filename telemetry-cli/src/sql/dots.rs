//! The MPS's dots.

use std::io::{Write, stdout};

/// Events per dot.
const DOT: u64 = 100_000;

/// Prints dots on standard output for a number of events, and ends the line.
pub(crate) struct Dots {
    written: Option<u64>,
}

impl Dots {
    pub(crate) fn new(are_wanted: bool) -> Dots {
        Dots { written: are_wanted.then_some(0) }
    }

    /// Reports the number of loaded events.
    pub(crate) fn show(&mut self, events: u64) {
        let Some(written) = &mut self.written else { return };
        while *written < events / DOT {
            *written += 1;
            // The load continues even if standard output is closed.
            let _ = stdout().write_all(b".").and_then(|()| stdout().flush());
        }
    }
}

impl Drop for Dots {
    fn drop(&mut self) {
        if self.written.is_some_and(|dots| dots > 0) {
            let _ = writeln!(stdout());
        }
    }
}
