//! The names of signals by which a user asks a program for something.

/// The names without `SIG`.
pub(crate) const NAMES: [&str; 5] = ["HUP", "QUIT", "USR1", "USR2", "WINCH"];
