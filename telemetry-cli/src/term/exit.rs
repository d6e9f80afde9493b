//! Exit codes.

use std::process::ExitCode;

use super::ended::{Context, Ended, Failure};
use super::interrupt;
use super::message::error;

/// The part of `--help` about exit codes.
pub(crate) const HELP: &str = "\
Exit codes:
  0  success
  1  a problem: damaged or unreadable input, an error in a registry, a version that is too low, or a filter
     name that matches nothing; with --strict also lost or missing events and unended sessions
  2  failure: wrong usage, an input that cannot be read or is not a stream, or an output that cannot be written
  3  a limit of `diff --fail-on` is exceeded, and no problem was found
An interrupted command removes partial output and exits by the signal.

Each command that reads streams ends with a verdict on their completeness on standard error.";

/// Returns the exit code of a command. Reports why it failed.
pub(crate) fn code(ended: Ended, context: &Context) -> ExitCode {
    match ended {
        Ok(()) if context.has_problems() => ExitCode::from(1),
        Ok(()) => ExitCode::from(if context.has_exceeded() { 3 } else { 0 }),
        Err(Failure::OutputClosed) => ExitCode::SUCCESS,
        Err(Failure::Interrupted) => interrupt::end(),
        Err(Failure::Message(message)) => {
            error(message);
            ExitCode::from(2)
        }
    }
}
