//! Faults of a recording: events that no allocator could have caused.

use std::fmt;

use crate::registry::event::Event;

/// The place of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Origin {
    /// Its number among the read events, from 1.
    pub number: u64,
    /// The byte offset of its first byte in the input.
    pub offset: u64,
    /// Nanoseconds since the session's start.
    pub time_ns: i64,
    /// Its session's id.
    pub session: u64,
    /// The session's number for its thread.
    pub thread: u32,
    /// Fingerprint of its registry.
    pub registry: u64,
    /// Its code.
    pub code: u16,
}

/// An event that contradicts earlier events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fault {
    /// The event.
    pub origin: Origin,
    /// The contradiction.
    pub cause: FaultCause,
}

/// The contradiction of an event to earlier ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FaultCause {
    /// It frees or moves memory that no event has allocated, or that is already free.
    NotLive {
        /// The address.
        pointer: u64,
    },
    /// It allocates memory that is live, and stays live.
    Live {
        /// The address.
        pointer: u64,
        /// Number of the event that allocated it.
        since: u64,
    },
    /// It frees or moves memory that has another size.
    Size {
        /// The address.
        pointer: u64,
        /// The size in the event.
        found: u64,
        /// The allocated size.
        expected: u64,
        /// Number of the event that allocated it.
        since: u64,
    },
    /// Its alignment is not a power of two, so it is not replayed.
    Align {
        /// The alignment in the event.
        found: u64,
    },
}

impl Origin {
    /// Returns the place of an event with this number.
    pub fn of(number: u64, event: &Event<'_>) -> Origin {
        Origin {
            number,
            offset: event.offset,
            time_ns: event.time_ns,
            session: event.session.id,
            thread: event.thread,
            registry: event.known.fingerprint,
            code: event.schema.code,
        }
    }
}

impl FaultCause {
    /// Returns true if lost or missing events can be the reason.
    pub fn is_excused_by_loss(&self) -> bool {
        match self {
            FaultCause::NotLive { .. } | FaultCause::Live { .. } | FaultCause::Size { .. } => true,
            FaultCause::Align { .. } => false,
        }
    }
}

impl fmt::Display for FaultCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FaultCause::NotLive { pointer } => {
                write!(f, "frees or moves {pointer:#x}, where no memory is live")
            }
            FaultCause::Live { pointer, since } => {
                write!(f, "allocates at {pointer:#x}, where memory of event {since} is live")
            }
            FaultCause::Size { pointer, found, expected, since } => write!(
                f,
                "frees or moves {found} bytes at {pointer:#x}, expected {expected}, which event {since} asked for"
            ),
            FaultCause::Align { found } => {
                write!(f, "asks for an alignment of {found}, expected a power of two")
            }
        }
    }
}
