//! The blocks of a log that is being written.

use std::collections::BTreeMap;
use std::io::{self, Write};

use super::layout::{BLOCK_MARKER, MARKER};

/// The size at which a block ends, whatever its marker said: more than GHC has memory for.
const LONGEST: usize = 4 << 20;
/// The size of a block without a marker of its own, and the total size at which such blocks are
/// written.
const USUAL: usize = 256 << 10;
const MOST: usize = 16 << 20;

/// The open blocks, one for each capability.
pub(super) struct Blocks<'o> {
    out: &'o mut dyn Write,
    open: BTreeMap<u16, Open>,
    /// Bytes in all of them.
    len: usize,
}

/// An open block.
struct Open {
    time: u64,
    /// Its end. `None` if that is the time of its last event.
    end_time: Option<u64>,
    last: u64,
    events: Vec<u8>,
}

impl<'o> Blocks<'o> {
    pub(super) fn new(out: &'o mut dyn Write) -> Self {
        Blocks { out, open: BTreeMap::new(), len: 0 }
    }

    /// Writes bytes that belong to no block.
    pub(super) fn outside(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)
    }

    /// Returns true while a capability has a block.
    pub(super) fn is_open(&self, cap: u16) -> bool {
        self.open.contains_key(&cap)
    }

    /// Begins the block of a capability that ends at a given time, and completes the one before.
    /// Blocks are in the order in which they began, as the runtime system writes them.
    pub(super) fn begin(&mut self, cap: u16, time: u64, end_time: u64) -> io::Result<()> {
        self.write(cap)?;
        let open = Open { time, end_time: Some(end_time), last: time, events: Vec::new() };
        self.open.insert(cap, open);
        Ok(())
    }

    /// Appends an event to the block of its capability.
    pub(super) fn append(&mut self, cap: u16, time: u64, event: &[u8]) -> io::Result<()> {
        if self.len + event.len() > MOST {
            let usual = self.open.iter().filter(|(_, open)| open.end_time.is_none()).map(|(cap, _)| *cap);
            for cap in usual.collect::<Vec<_>>() {
                self.write(cap)?;
            }
        }
        let new = || Open { time, end_time: None, last: time, events: Vec::new() };
        let open = self.open.entry(cap).or_insert_with(new);
        let longest = if open.end_time.is_some() { LONGEST } else { USUAL };
        if open.events.len() + event.len() > longest && !open.events.is_empty() {
            let end_time = open.end_time;
            self.write(cap)?;
            self.open.insert(cap, Open { end_time, ..new() });
        }
        if let Some(open) = self.open.get_mut(&cap) {
            open.events.extend_from_slice(event);
            open.last = open.last.max(time);
            self.len += event.len();
        }
        Ok(())
    }

    /// Writes all blocks in the order of their ends, and then the bytes that follow them.
    pub(super) fn finish(mut self, behind: &[u8]) -> io::Result<()> {
        let end = |open: &Open| open.end_time.unwrap_or(open.last);
        let mut caps: Vec<(u64, u16)> = self.open.iter().map(|(cap, open)| (end(open), *cap)).collect();
        caps.sort_unstable();
        for (_, cap) in caps {
            self.write(cap)?;
        }
        self.out.write_all(behind)
    }

    /// Writes the block of a capability, if it has one.
    fn write(&mut self, cap: u16) -> io::Result<()> {
        let Some(Open { time, end_time, last, events }) = self.open.remove(&cap) else { return Ok(()) };
        self.len -= events.len();
        let mut marker = Vec::with_capacity(MARKER);
        marker.extend(BLOCK_MARKER.to_be_bytes());
        marker.extend(time.to_be_bytes());
        marker.extend(((MARKER + events.len()) as u32).to_be_bytes());
        marker.extend(end_time.unwrap_or(last).to_be_bytes());
        marker.extend(cap.to_be_bytes());
        self.out.write_all(&marker)?;
        self.out.write_all(&events)
    }
}
