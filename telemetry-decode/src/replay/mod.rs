//! Replaying: events that their registry marks with `replay` drive something again.
//!
//! A program implements the trait `Replay` that the macro made, and calls its `replay`. For allocators
//! there are [`Step`], what an event asks for, and [`Live`], which maps recorded addresses to blocks.
//! This may use `read`, `typed`, `registry` and `report`. It must never know one registry in particular.

mod drive;
mod fault;
mod live;
mod step;

pub use drive::{Pace, Place, ReplayError, Replayed, Timer, replay};
pub use fault::{Fault, FaultCause, Origin};
pub use live::{Live, Op, Totals};
pub use step::{DEFAULT_ALIGN, Step};
