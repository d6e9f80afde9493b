//! What the runtime needs from the system, one file per family.

#[cfg(unix)]
mod unix;
#[cfg(unix)]
pub(crate) use unix::*;

#[cfg(not(unix))]
mod other;
#[cfg(not(unix))]
pub(crate) use other::*;
