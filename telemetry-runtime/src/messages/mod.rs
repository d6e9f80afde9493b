//! Messages: events that the program itself receives. The macro makes a `Channel` for each. Uses
//! the rooms up to `own`: the registries in use, and the events about dropped messages. Posting
//! never allocates and waits only for a moment: emitters run in allocators and signal handlers. A
//! pair gets a `Slot`, and room for both messages in the `Fifo`s, before it begins. So it can
//! always end.

mod any;
mod channel;
mod either;
mod fifo;
mod list;
mod memory;
mod native;
#[cfg(feature = "async")]
mod next;
mod queues;
#[cfg(test)]
mod tests;
#[cfg(feature = "async")]
mod wakers;

pub use channel::Channel;
pub use either::Either;
pub use memory::held as message_memory;
pub(crate) use native::keep;
