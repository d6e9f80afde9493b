//! Replaying: events that their relation marks with `replay` drive something again.
//!
//! A program that knows the relation implements the trait `Replay` that the macro has made, and calls
//! its `replay`. For allocators of whatever relation there are [`Step`], what an event asks for, and
//! [`Live`], which knows the recorded program's blocks by its addresses and the replayer's by numbers.

mod drive;
mod fault;
mod live;
mod step;

pub use drive::{Pace, Place, ReplayError, Replayed, Timer, replay};
pub use fault::{Fault, FaultCause, Origin};
pub use live::{Live, Op, Totals};
pub use step::{DEFAULT_ALIGN, Step};
