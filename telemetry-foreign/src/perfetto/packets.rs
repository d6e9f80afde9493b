//! Packets, which are compressed some at a time.

use std::io::{self, Write};

use flate2::Compression;
use flate2::write::ZlibEncoder;

use super::fields::{packet, trace};
use crate::common::proto::{bytes, message};

/// Packets are written when there are this many bytes of them.
const MAX_BUFFERED: usize = 128 << 10;

/// The packets of a trace.
pub(super) struct Packets<'o> {
    out: &'o mut dyn Write,
    buffer: Vec<u8>,
    /// Each result of compression, and the packet around it.
    packed: Vec<u8>,
    around: Vec<u8>,
}

impl<'o> Packets<'o> {
    pub(super) fn new(out: &'o mut dyn Write) -> Self {
        Packets { out, buffer: Vec::new(), packed: Vec::new(), around: Vec::new() }
    }

    /// Appends a packet.
    #[inline]
    pub(super) fn push(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
        message(&mut self.buffer, trace::PACKET, write);
        if self.buffer.len() < MAX_BUFFERED { Ok(()) } else { self.flush() }
    }

    /// Writes all packets so far.
    #[cold]
    pub(super) fn flush(&mut self) -> io::Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        self.packed.clear();
        let mut encoder = ZlibEncoder::new(&mut self.packed, Compression::fast());
        encoder.write_all(&self.buffer)?;
        encoder.finish()?;
        self.around.clear();
        message(&mut self.around, trace::PACKET, |out| bytes(out, packet::COMPRESSED_PACKETS, &self.packed));
        self.out.write_all(&self.around)?;
        self.buffer.clear();
        // An event of a megabyte must not keep its memory.
        self.buffer.shrink_to(2 * MAX_BUFFERED);
        self.packed.shrink_to(2 * MAX_BUFFERED);
        self.around.shrink_to(2 * MAX_BUFFERED);
        Ok(())
    }
}
