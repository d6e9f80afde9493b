//! The runtime's own sinks, one file each, and their addresses. Uses `own`, to tell labels from
//! events, and the rooms before it. Every sink bounds its memory. While there are other sinks,
//! pipes and connections never wait for their readers. If a reader is slow, they refuse what is too
//! much, and count it as lost. A regular file takes as long as its disk.

pub(crate) mod address;
pub(crate) mod backlog;
mod connect;
mod datagram;
pub(crate) mod file;
mod lock;
mod memory;
mod old;
pub(crate) mod patience;
#[cfg(unix)]
pub(crate) mod peer;
mod place;
mod rotating;
pub(crate) mod sink;
mod socket;
#[cfg(test)]
mod tests;
mod writer;

pub use address::open;
pub use datagram::Datagram;
pub use file::File;
pub use memory::Memory;
pub use rotating::Rotating;
pub use socket::Socket;
pub use writer::Writer;
