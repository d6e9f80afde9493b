//! Messages on standard error.

use std::fmt::Display;
use std::io::Write;
use std::sync::OnceLock;

#[cfg(unix)]
use super::screen;
use super::{bar, quiet};

/// The name of the MPS program by which the command was called.
static PROGRAM: OnceLock<&str> = OnceLock::new();

/// Starts all messages with the name of another program. Such a program prints no verdict on
/// complete input.
pub(crate) fn set_program(program: &'static str) {
    let _ = PROGRAM.set(program);
}

/// Returns true if the command prints a verdict even on complete input.
pub(crate) fn has_verdicts() -> bool {
    PROGRAM.get().is_none()
}

/// Reports an error, which makes the exit code 1 or 2.
pub(super) fn error(message: impl Display) {
    write("error: ", message);
}

/// Reports something that may surprise the user. It does not change the exit code.
pub(crate) fn warning(message: impl Display) {
    if !quiet::is_on() {
        write("warning: ", message);
    }
}

/// Reports progress, or the verdict.
pub(crate) fn note(message: impl Display) {
    if !quiet::is_on() {
        write("", message);
    }
}

/// Writes a message. If standard error is closed or full, there is no other place for it.
fn write(level: &str, message: impl Display) {
    #[cfg(unix)]
    if screen::keeps(&format_args!("{level}{message}")) {
        return;
    }
    bar::aside(|| {
        let _ = match PROGRAM.get() {
            Some(program) => writeln!(std::io::stderr(), "{program}: {message}"),
            None => writeln!(std::io::stderr(), "{level}{message}"),
        };
    });
}
