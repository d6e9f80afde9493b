//! Replay: events with the mark `replay` repeat the program's operations.
//!
//! A program implements the trait `Replay` from the macro, and calls its `replay`. For allocators
//! there are [`Step`], the operation of an event, and [`Live`], which maps recorded addresses to
//! numbers. This may use `read`, `typed`, `registry` and `report`. It must never know one registry
//! in particular.

mod drive;
mod fault;
mod live;
mod step;

pub use drive::{Pace, Place, ReplayError, Replayed, Timer, replay};
pub use fault::{Fault, FaultCause, Origin};
pub use live::{Live, Op, Totals};
pub use step::{DEFAULT_ALIGN, Step};
