//! What a recording says that no allocator could have done.

use std::fmt;

use crate::registry::event::Event;

/// Which event it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Origin {
    /// Its number among those read, from 1.
    pub number: u64,
    /// Where it begins, in bytes of the input.
    pub offset: u64,
    /// Nanoseconds since its session began.
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

/// An event that does not fit what came before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fault {
    /// Which event.
    pub origin: Origin,
    /// What is wrong with it.
    pub cause: FaultCause,
}

/// What is wrong with an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FaultCause {
    /// It gives up memory that no event has allocated, or that is given up already.
    NotLive {
        /// Where.
        pointer: u64,
    },
    /// It allocates memory that is live, and stays so.
    Live {
        /// Where.
        pointer: u64,
        /// Number of the event that had allocated it.
        since: u64,
    },
    /// It gives up memory that has another size.
    Size {
        /// Where.
        pointer: u64,
        /// What it says.
        found: u64,
        /// What was asked for.
        expected: u64,
        /// Number of the event that asked.
        since: u64,
    },
    /// It asks for an alignment that is no power of two, and is not replayed.
    Align {
        /// What it says.
        found: u64,
    },
}

impl Origin {
    /// An event, which is that of a number.
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
    /// True for what events that are lost or missing bring about.
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
                write!(f, "gives up {pointer:#x}, where no memory is live")
            }
            FaultCause::Live { pointer, since } => {
                write!(f, "allocates at {pointer:#x}, where memory of event {since} is live")
            }
            FaultCause::Size { pointer, found, expected, since } => write!(
                f,
                "gives up {found} bytes at {pointer:#x}, expected {expected}, which event {since} asked for"
            ),
            FaultCause::Align { found } => {
                write!(f, "asks for an alignment of {found}, expected a power of two")
            }
        }
    }
}
