//! Messages: what the program itself may hear of its own events.
//!
//! The macro makes a [`Channel`] of each `[[message]]` of a relation. While it is enabled, the emitters of its events
//! post to it, whether or not they record anything; the program fetches when it likes. Emitters run inside allocators,
//! collectors and signal handlers, so that posting allocates nothing, waits for nobody but for moments, and counts
//! what it must drop.
//!
//! A pair that runs has a [`slot`], and room in the two [`fifo`]s that its messages will take: room is reserved before
//! the pair begins, so that what has begun can always end. All memory is from one place, [`memory`].

mod channel;
mod fifo;
mod list;
mod lock;
mod memory;
mod native;
mod posted;
mod slot;
#[cfg(test)]
mod tests;
mod values;
#[cfg(feature = "async")]
mod wakers;

pub use channel::{Channel, Either, Form};
pub use list::AnyChannel;
pub use memory::held as message_memory;
pub(crate) use native::keep;
pub use posted::Posted;
pub use values::{Bytes, List, Text, Value, Valued, Values};
