//! Checks the bytes of a segment as they come, without holding them.

use flate2::{Decompress, FlushDecompress, Status};
use telemetry_format::{BlockType, HEADER_LEN, Header, MAX_PAYLOAD, codec};

use crate::segment::interval::Intervals;
use crate::segment::name::SegmentName;

/// Checks that bytes are whole blocks of one session, with the intervals in their name. Also that
/// they do not grow without bound when they are decompressed.
#[derive(Debug)]
pub struct Inspector {
    session: u64,
    start_ns: u64,
    has_start: bool,
    /// The header of the block, as far as it has come.
    head: Vec<u8>,
    block: Option<Block>,
    /// Bytes of whole blocks.
    at: u64,
    unpacked: u64,
    max_unpacked: u64,
    /// Events in all blocks, also in those that the segment before has.
    events: u64,
    intervals: Intervals,
    /// The checksum in the name, if it is compared.
    wanted: Option<u32>,
}

/// The rest of a block.
#[derive(Debug)]
struct Block {
    header: Header,
    /// Further bytes of its header, then its payload.
    extra: usize,
    payload: usize,
    crc: u32,
    unpacking: Option<Unpacking>,
}

impl Inspector {
    /// Checks a segment with this name, whose payloads have at most `max_unpacked` bytes when they
    /// are decompressed.
    pub fn new(name: &SegmentName, max_unpacked: u64) -> Inspector {
        Inspector {
            session: name.session,
            start_ns: name.start_ns,
            has_start: false,
            head: Vec::with_capacity(HEADER_LEN),
            block: None,
            at: 0,
            unpacked: 0,
            max_unpacked,
            events: 0,
            intervals: Intervals::default(),
            wanted: Some(name.intervals),
        }
    }

    /// Does not compare the intervals. Older shippers left out some of them.
    pub fn without_intervals(self) -> Inspector {
        Inspector { wanted: None, ..self }
    }

    /// Returns the number of events so far.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Checks further bytes.
    ///
    /// # Errors
    /// What is wrong, and in which block.
    pub fn push(&mut self, mut bytes: &[u8]) -> Result<(), String> {
        while !bytes.is_empty() || self.is_whole() {
            let Some(block) = &mut self.block else {
                let (head, rest) = bytes.split_at(bytes.len().min(HEADER_LEN - self.head.len()));
                self.head.extend_from_slice(head);
                bytes = rest;
                if self.head.len() == HEADER_LEN {
                    self.begin()?;
                }
                continue;
            };
            let (extra, rest) = bytes.split_at(bytes.len().min(block.extra));
            let (payload, rest) = rest.split_at(rest.len().min(block.payload));
            block.extra -= extra.len();
            block.payload -= payload.len();
            block.crc = crc32c::crc32c_append(block.crc, payload);
            bytes = rest;
            let is_within = block.unpacking.as_mut().is_none_or(|unpacking| unpacking.push(payload));
            if !is_within {
                let stated = block.header.unpacked_len;
                return Err(self.wrong(format!(
                    "it grows beyond {stated} bytes when it is decompressed, the length that it states"
                )));
            }
            if block.extra + block.payload == 0 {
                let Block { header, crc, .. } = self.block.take().expect("it is there");
                if crc != header.payload_crc {
                    return Err(self.wrong(format!(
                        "its payload has the checksum {crc:08x}, expected {:08x}",
                        header.payload_crc
                    )));
                }
                self.at += header.block_len();
            }
        }
        Ok(())
    }

    /// Checks that the last block is whole.
    ///
    /// # Errors
    /// What is missing.
    pub fn finish(self) -> Result<(), String> {
        if self.block.is_some() || !self.head.is_empty() {
            return Err(self.wrong("it is cut".to_owned()));
        }
        if !self.has_start {
            return Err("no block begins at the time in its name".to_owned());
        }
        let found = self.intervals.checksum();
        if let Some(wanted) = self.wanted.filter(|wanted| *wanted != found) {
            return Err(format!(
                "its intervals have the checksum {found:08x}, expected {wanted:08x} of its name"
            ));
        }
        Ok(())
    }

    /// Says whether the block needs no further bytes.
    fn is_whole(&self) -> bool {
        self.block.as_ref().is_some_and(|block| block.extra + block.payload == 0)
    }

    fn begin(&mut self) -> Result<(), String> {
        let header =
            Header::decode(&self.head, crc32c::crc32c).map_err(|error| self.wrong(error.to_string()))?;
        self.head.clear();
        if header.session != self.session {
            return Err(self.wrong(format!(
                "it is of the session {:016x}, expected {:016x}",
                header.session, self.session
            )));
        }
        self.unpacked += u64::from(header.unpacked_len);
        if header.unpacked_len > MAX_PAYLOAD || self.unpacked > self.max_unpacked {
            let most = self.max_unpacked;
            return Err(self.wrong(format!("it grows beyond {most} bytes when it is decompressed")));
        }
        self.has_start |= header.base_wall == self.start_ns;
        self.events += if header.is_withheld() { 0 } else { u64::from(header.events) };
        if header.block_type == BlockType::Events {
            self.intervals.add(&header);
        }
        let extra = usize::from(header.header_len) - HEADER_LEN;
        let unpacking = (header.codec == codec::DEFLATE).then(|| Unpacking::new(header.unpacked_len));
        self.block = Some(Block { extra, payload: header.payload_len as usize, crc: 0, unpacking, header });
        Ok(())
    }

    fn wrong(&self, why: String) -> String {
        format!("block at offset {}: {why}", self.at)
    }
}

/// A payload that is decompressed as it comes, to see how long it becomes. The result is dropped.
#[derive(Debug)]
struct Unpacking {
    /// `None` after its end, and if it cannot be decompressed: readers report such a block.
    state: Option<Decompress>,
    /// The most bytes that may follow.
    left: u64,
}

impl Unpacking {
    fn new(most: u32) -> Unpacking {
        Unpacking { state: Some(Decompress::new(false)), left: most.into() }
    }

    /// Takes further bytes. Returns false if they become too long.
    fn push(&mut self, mut bytes: &[u8]) -> bool {
        let mut to = [0; 8 << 10];
        while let Some(state) = &mut self.state {
            let (taken, given) = (state.total_in(), state.total_out());
            let status = state.decompress(bytes, &mut to, FlushDecompress::None);
            let (taken, given) = (state.total_in() - taken, state.total_out() - given);
            let Some(left) = self.left.checked_sub(given) else { return false };
            self.left = left;
            bytes = &bytes[taken as usize..];
            if !matches!(status, Ok(Status::Ok | Status::BufError)) {
                self.state = None;
            } else if given < to.len() as u64 {
                // It needs further bytes.
                break;
            }
        }
        true
    }
}
