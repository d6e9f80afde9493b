//! The list of a stream's events blocks: in memory, or in a temporary file if it is long.

use std::borrow::Borrow;
use std::fmt;
use std::io;

use crate::decode::decoder::Want;
use crate::order::block::IndexedBlock;
use crate::order::rows::{Cursor, Rows};

/// Maximum number of blocks in a list in memory: 16 MB. Programs write a gigabyte in fewer blocks.
pub(crate) const MAX_IN_MEMORY: usize = 1 << 18;

/// Number of blocks that one read takes from the file.
const STEP: u64 = 1 << 10;

/// Blocks in the order of the stream.
pub(crate) struct BlockList {
    blocks: Blocks,
    /// Maximum number of blocks in memory.
    most: usize,
}

/// The blocks of a list.
pub(crate) enum Blocks {
    InMemory(Vec<IndexedBlock>),
    InFile(Rows),
}

impl BlockList {
    /// Creates an empty list with this number of blocks in memory at most.
    pub(crate) fn new(most: usize) -> BlockList {
        BlockList { blocks: Blocks::InMemory(Vec::new()), most }
    }

    /// Returns the maximum number of blocks in memory.
    pub(crate) fn most(&self) -> usize {
        self.most
    }

    /// Adds a block.
    pub(crate) fn push(&mut self, block: IndexedBlock) -> io::Result<()> {
        match &mut self.blocks {
            Blocks::InMemory(blocks) if blocks.len() < self.most => blocks.push(block),
            Blocks::InMemory(blocks) => {
                let mut rows = Rows::new()?;
                for block in std::mem::take(blocks).iter().chain([&block]) {
                    rows.push(block, Want::No)?;
                }
                self.blocks = Blocks::InFile(rows);
            }
            Blocks::InFile(rows) => rows.push(&block, Want::No)?,
        }
        Ok(())
    }

    /// Ends the list, so that it can be read.
    pub(crate) fn finish(&mut self) -> io::Result<()> {
        match &mut self.blocks {
            Blocks::InMemory(_) => Ok(()),
            Blocks::InFile(rows) => rows.finish(),
        }
    }

    /// Returns the blocks.
    pub(crate) fn into_blocks(self) -> Blocks {
        self.blocks
    }

    /// Returns the number of blocks.
    pub(crate) fn len(&self) -> u64 {
        match &self.blocks {
            Blocks::InMemory(blocks) => blocks.len() as u64,
            Blocks::InFile(rows) => rows.len(),
        }
    }

    /// Returns all blocks.
    pub(crate) fn iter(&self) -> impl Iterator<Item = io::Result<IndexedBlock>> {
        let (in_memory, in_file) = match &self.blocks {
            Blocks::InMemory(blocks) => (&blocks[..], None),
            Blocks::InFile(rows) => (&[][..], Some(rows)),
        };
        in_memory.iter().cloned().map(Ok).chain(in_file.into_iter().flat_map(read))
    }

    /// Returns all blocks, and owns the list.
    pub(crate) fn into_blocks_in_order(self) -> impl Iterator<Item = io::Result<IndexedBlock>> + Send {
        let (in_memory, in_file) = match self.blocks {
            Blocks::InMemory(blocks) => (blocks, None),
            Blocks::InFile(rows) => (Vec::new(), Some(rows)),
        };
        in_memory.into_iter().map(Ok).chain(in_file.into_iter().flat_map(read))
    }
}

/// Reads the blocks of a list that is in a file.
fn read(rows: impl Borrow<Rows>) -> impl Iterator<Item = io::Result<IndexedBlock>> {
    let mut cursor = Cursor::new(0..rows.borrow().len(), STEP);
    std::iter::from_fn(move || {
        cursor.next(rows.borrow()).map(|found| found.map(|(block, _)| block)).transpose()
    })
}

impl fmt::Debug for BlockList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BlockList").field("len", &self.len()).finish_non_exhaustive()
    }
}
