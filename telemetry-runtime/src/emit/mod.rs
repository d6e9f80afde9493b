//! The hot path and its cold half: `record` writes to a `lane`, `refill` gets a new block, `seal`
//! ends a full one. Uses `control` and the rooms before it. The path of an event never allocates.
//! The usual path neither locks nor makes a system call.

mod called;
mod census;
mod emitters;
pub(crate) mod lane;
#[cfg(feature = "testing")]
pub(crate) mod position;
mod probe;
pub(crate) mod record;
pub(crate) mod refill;
pub(crate) mod revoke;
pub(crate) mod scope;
pub(crate) mod seal;
pub(crate) mod spare;
pub(crate) mod thread;
