//! The terminal of a command: messages, progress, interrupts, output, exit codes.
//!
//! It may use `text`. It never reads an input, and only `exit` chooses an exit code. An output file
//! appears when it is complete; an interrupt leaves no temporary file.

mod bar;
pub(crate) mod color;
pub(crate) mod ended;
pub(crate) mod exit;
pub(crate) mod folder;
pub(crate) mod installed;
pub(crate) mod interrupt;
pub(crate) mod json;
mod line;
pub(crate) mod message;
#[cfg(unix)]
pub(crate) mod native;
pub(crate) mod output;
#[cfg(unix)]
pub(crate) mod picture;
pub(crate) mod progress;
pub(crate) mod quiet;
#[cfg(unix)]
mod screen;
