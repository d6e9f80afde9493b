//! Calls from a room to rooms that come after it.
//!
//! An event may be the first action of a program, so the runtime starts inside the emitter. The
//! registry of the event contains the functions for that, from its constant constructor. So no code
//! runs before the event to register them.

/// Functions of the room `process`, for cold paths.
pub(crate) struct Upcalls {
    /// Starts the runtime unless it is running. Returns false once the run is over, and in code
    /// that interrupts the thread that starts it.
    pub(crate) ensure: fn() -> bool,
    /// Makes the process reachable from outside, unless it is. Returns false if that must not
    /// happen here, and may happen at a later event.
    pub(crate) attach: fn() -> bool,
    /// Starts the drain's thread unless it is running.
    pub(crate) begin_drain: fn(),
}
