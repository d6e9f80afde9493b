//! Blocks gathered for one write, and what must precede them in the stream.
#![allow(unsafe_code)]

use std::collections::BTreeSet;
use std::io::IoSlice;
use std::ptr::NonNull;

use telemetry_format::{BlockType, HEADER_LEN, Header, Loss, state};

use crate::block::Block;
use crate::counters;
use crate::pool::POOL;
use crate::record::{LaneRecord, count};
use crate::sink::{FileSink, Sink};
use crate::sync::Ordering;
use crate::{facts, start};

/// Most blocks of one write: with large ones, a megabyte.
const MOST: usize = 16;

/// The state of the way out: the sink, what it has been told, and the blocks to be written next.
pub(crate) struct Batch {
    sink: FileSink,
    /// The session's block is in the stream.
    begun: bool,
    /// Registries' fingerprints and threads' numbers whose blocks are, too.
    registries: BTreeSet<u64>,
    threads: BTreeSet<u32>,
    items: Vec<Item>,
    /// Something was written since the last sync block.
    unsynced: bool,
    /// The losses of no lane that the last sync block told.
    strays: u64,
    complained: bool,
}

/// One block to write.
pub(crate) struct Item {
    pub(crate) header: Header,
    /// Committed bytes of a block in the pool, or nothing.
    pub(crate) payload: &'static [u8],
    pub(crate) record: &'static LaneRecord,
    pub(crate) block: Option<NonNull<Block>>,
    /// The block is sealed and goes back to the pool. An open one keeps what could not be written.
    pub(crate) sealed: bool,
}

// SAFETY: the pointers are to the pool's memory, which no thread owns; a pass, which holds the
// lock, alone decides when a block goes back.
unsafe impl Send for Batch {}

impl Batch {
    pub(crate) fn new() -> Self {
        Batch {
            sink: FileSink::new(start::filename()),
            begun: false,
            registries: BTreeSet::new(),
            threads: BTreeSet::new(),
            items: Vec::with_capacity(MOST),
            unsynced: false,
            strays: 0,
            complained: false,
        }
    }

    /// Adds a block, and writes what there is when it is enough.
    pub(crate) fn add(&mut self, item: Item) {
        self.items.push(item);
        if self.items.len() == MOST {
            self.write();
        }
    }

    /// Writes all that was added, with the session, registry and thread blocks that it needs.
    pub(crate) fn write(&mut self) {
        if self.items.is_empty() {
            return;
        }
        let items = std::mem::take(&mut self.items);
        let (mut registries, mut threads) = (BTreeSet::new(), BTreeSet::new());
        let mut facts: Vec<_> = self.beginning().into_iter().collect();
        for item in &items {
            let owner = item.record.owner();
            let relation = owner.registry.relation();
            if !self.registries.contains(&relation.fingerprint) && registries.insert(relation.fingerprint) {
                facts.push(fact(BlockType::Registry, relation.fingerprint, 0, relation.text.to_owned()));
            }
            let thread = item.header.thread;
            if !self.threads.contains(&thread) && threads.insert(thread) {
                facts.push(fact(BlockType::Thread, 0, thread, facts::thread(&owner)));
            }
        }
        let blocks = facts.iter().map(|(header, text)| (header, text.as_bytes()));
        let blocks = blocks.chain(items.iter().map(|item| (&item.header, item.payload)));
        if self.put(blocks) {
            self.registries.append(&mut registries);
            self.threads.append(&mut threads);
            items.iter().for_each(Item::written);
        } else {
            items.iter().filter(|item| item.sealed).for_each(Item::lost);
        }
        items.iter().for_each(Item::give_back);
        self.items = items;
        self.items.clear();
    }

    /// Writes a sync block if there is something to be said by one.
    pub(crate) fn sync(&mut self, header: &Header) {
        let strays = sum(&header.lost);
        if self.unsynced || strays != self.strays {
            let beginning = self.beginning();
            let blocks = beginning.iter().map(|(header, text)| (header, text.as_bytes()));
            if self.put(blocks.chain([(header, &[][..])])) {
                self.unsynced = false;
                self.strays = strays;
            }
        }
    }

    /// Writes the last block of a stream that has begun.
    pub(crate) fn end(&mut self, header: &Header) {
        if self.begun {
            self.put([(header, &[][..])].into_iter());
        }
    }

    /// The session's block, unless the stream has it.
    fn beginning(&self) -> Option<(Header, String)> {
        (!self.begun).then(|| fact(BlockType::Session, 0, 0, facts::session()))
    }

    fn put<'b>(&mut self, blocks: impl Iterator<Item = (&'b Header, &'b [u8])>) -> bool {
        let (heads, payloads): (Vec<[u8; HEADER_LEN]>, Vec<&[u8]>) = blocks
            .map(|(header, payload)| {
                let header = Header { payload_crc: crc32c::crc32c(payload), ..header.clone() };
                (header.encode(crc32c::crc32c), payload)
            })
            .unzip();
        let mut slices: Vec<IoSlice<'_>> = heads
            .iter()
            .zip(payloads)
            .flat_map(|(head, payload)| [IoSlice::new(head), IoSlice::new(payload)])
            .filter(|slice| !slice.is_empty())
            .collect();
        match self.sink.write(&mut slices) {
            Ok(()) => {
                self.begun = true;
                self.unsynced = true;
                true
            }
            Err(error) => {
                if !std::mem::replace(&mut self.complained, true) {
                    let path = start::filename();
                    crate::sys::complain(format_args!(
                        "cannot write `{}`: {error}; events are counted as lost until it can be written",
                        path.display()
                    ));
                }
                false
            }
        }
    }
}

impl Item {
    fn written(&self) {
        if let Some(block) = self.block {
            // SAFETY: only `give_back` ends the block's life here.
            let taken = unsafe { &block.as_ref().taken };
            let (len, events) = state::unpack(taken.load(Ordering::Relaxed));
            let next = state::pack(len + self.header.payload_len, events + self.header.events);
            taken.store(next, Ordering::Relaxed);
        }
        let told = self.record.told.load(Ordering::Relaxed).max(sum(&self.header.lost));
        self.record.told.store(told, Ordering::Relaxed);
        count(&counters::WRITTEN, u64::from(self.header.events));
    }

    fn lost(&self) {
        count(&self.record.sink, u64::from(self.header.events));
    }

    fn give_back(&self) {
        if let (Some(block), true) = (self.block, self.sealed) {
            // SAFETY: a sealed block is the pass's alone, and its bytes were written or given up.
            POOL.give(block.as_ptr().cast(), unsafe { block.as_ref() }.pages());
        }
    }
}

/// All counters together: since each only grows, equal sums mean equal counters.
pub(crate) fn sum(lost: &Loss) -> u64 {
    lost.events().wrapping_add(lost.cut)
}

/// A block of text about the session.
fn fact(block_type: BlockType, registry: u64, thread: u32, text: String) -> (Header, String) {
    let moment = start::moment();
    let len = text.len() as u32;
    let header = Header {
        registry,
        thread,
        payload_len: len,
        unpacked_len: len,
        flags: telemetry_format::flags::LAST,
        base_ticks: moment.ticks,
        base_wall: moment.wall,
        end_ticks: moment.ticks,
        ..Header::new(block_type, start::session())
    };
    (header, text)
}
