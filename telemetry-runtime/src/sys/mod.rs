//! What the runtime needs from the system, one file per family.

#[cfg(unix)]
mod unix;
#[cfg(unix)]
pub(crate) use unix::*;

#[cfg(not(unix))]
mod other;
#[cfg(not(unix))]
pub(crate) use other::*;

/// Says something on standard error. Not by `eprintln!`, which panics where nobody listens.
pub(crate) fn complain(text: core::fmt::Arguments<'_>) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "telemetry: {text}");
}
