//! The state of the run: clock, session, settings from the environment, and the bell of the drain.
//! Uses `sys` and `sync`. It never knows blocks or sinks. It calls later rooms through the
//! registry's `upcalls`.

pub(crate) mod clock;
pub(crate) mod reentry;
pub(crate) mod settings;
pub(crate) mod state;
pub(crate) mod upcalls;
pub(crate) mod wake;
