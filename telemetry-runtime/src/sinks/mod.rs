//! The sinks that the runtime has: where blocks go, one file each.
//!
//! All of them bound the memory that they take and the time that they wait: a sink whose disk, reader or
//! peer is too slow refuses blocks, which are then counted as lost.

mod address;
mod backlog;
mod connect;
mod datagram;
mod file;
mod memory;
mod place;
mod rotating;
mod socket;
#[cfg(test)]
mod tests;
mod writer;

pub use address::open;
pub(crate) use address::open_or_refuse;
pub use datagram::Datagram;
pub use file::File;
pub use memory::Memory;
pub use rotating::Rotating;
pub use socket::Socket;
pub use writer::Writer;
