//! Memory of a real allocator, identified by numbers.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout};
use std::ptr::NonNull;

use telemetry_decode::replay::{DEFAULT_ALIGN, Op};

/// The part of the allocated memory that is written to: nothing, a byte of each page, or every
/// byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Touch {
    None,
    Pages,
    All,
}

const PAGE: usize = 4096;

/// The live memory of one allocator.
pub(super) struct Memory<A: GlobalAlloc> {
    allocator: A,
    touch: Touch,
    blocks: Vec<Option<Block>>,
}

/// Memory that was allocated with this layout, and has one owner.
struct Block {
    start: NonNull<u8>,
    layout: Layout,
}

/// The allocator gave no memory.
pub(super) struct Refused;

impl<A: GlobalAlloc> Memory<A> {
    /// Begins without blocks, and with space for this many records.
    pub(super) fn new(allocator: A, touch: Touch, blocks: usize) -> Memory<A> {
        Memory { allocator, touch, blocks: std::iter::repeat_with(|| None).take(blocks).collect() }
    }

    /// Does what an event says. After a refusal the number has no memory, or the memory that it had
    /// before.
    #[inline]
    pub(super) fn run(&mut self, op: Op) -> Result<(), Refused> {
        match op {
            Op::Alloc { slot, size, align } => {
                let block = self.alloc(size, align)?;
                if let Some(before) = self.place(slot).replace(block) {
                    self.free(before);
                }
            }
            Op::Free { slot } => {
                if let Some(block) = self.place(slot).take() {
                    self.free(block);
                }
            }
            Op::Realloc { slot, size } => {
                let block = match self.place(slot).take() {
                    Some(block) => self.realloc(slot, block, size)?,
                    None => self.alloc(size, DEFAULT_ALIGN)?,
                };
                *self.place(slot) = Some(block);
            }
            _ => return Err(Refused),
        }
        Ok(())
    }

    #[inline]
    fn place(&mut self, slot: u32) -> &mut Option<Block> {
        let index = slot as usize;
        if index >= self.blocks.len() {
            self.blocks.resize_with(index + 1, || None);
        }
        &mut self.blocks[index]
    }

    #[inline]
    fn alloc(&mut self, size: u64, align: u64) -> Result<Block, Refused> {
        let layout = layout(size, align)?;
        // SAFETY: the layout's size is not 0.
        let start = NonNull::new(unsafe { self.allocator.alloc(layout) }).ok_or(Refused)?;
        let block = Block { start, layout };
        self.touch(&block, 0);
        Ok(block)
    }

    #[inline]
    fn realloc(&mut self, slot: u32, block: Block, size: u64) -> Result<Block, Refused> {
        let Block { start, layout: before } = block;
        let layout = match layout(size, before.align() as u64) {
            Ok(layout) => layout,
            Err(refused) => {
                *self.place(slot) = Some(block);
                return Err(refused);
            }
        };
        // SAFETY: the block is of this allocator and layout. The size is not 0, and is valid with
        // the alignment.
        let moved = unsafe { self.allocator.realloc(start.as_ptr(), before, layout.size()) };
        match NonNull::new(moved) {
            Some(start) => {
                let block = Block { start, layout };
                self.touch(&block, before.size());
                Ok(block)
            }
            None => {
                *self.place(slot) = Some(Block { start, layout: before });
                Err(Refused)
            }
        }
    }

    #[inline]
    fn free(&mut self, Block { start, layout }: Block) {
        // SAFETY: the block is of this allocator and layout, and no record of it is left.
        unsafe { self.allocator.dealloc(start.as_ptr(), layout) }
    }

    /// Writes to the memory of a block from an offset on.
    #[inline]
    fn touch(&self, block: &Block, from: usize) {
        let (start, size) = (block.start.as_ptr(), block.layout.size());
        let step = match self.touch {
            Touch::None => return,
            Touch::Pages => PAGE,
            Touch::All => {
                if from < size {
                    // SAFETY: these bytes are in the block.
                    unsafe { start.add(from).write_bytes(1, size - from) };
                }
                return;
            }
        };
        for at in (from..size).step_by(step) {
            // SAFETY: the offset is below the size of the block. Volatile, since the byte is never
            // read.
            unsafe { start.add(at).write_volatile(1) };
        }
    }
}

impl<A: GlobalAlloc> Drop for Memory<A> {
    fn drop(&mut self) {
        for block in std::mem::take(&mut self.blocks).into_iter().flatten() {
            self.free(block);
        }
    }
}

/// Returns the layout of a number of bytes. Zero becomes one, since an allocator need not support
/// zero.
#[inline]
fn layout(size: u64, align: u64) -> Result<Layout, Refused> {
    let (size, align) = (usize::try_from(size).ok(), usize::try_from(align).ok());
    size.zip(align).and_then(|(size, align)| Layout::from_size_align(size.max(1), align).ok()).ok_or(Refused)
}
