//! Finds blocks in a memory image by their magic number.

use std::io;

use telemetry_format::{
    ACCOUNT_MAGIC, BlockType, HEADER_LEN, Header, LaneAccount, MAGIC, MAX_PAYLOAD, SessionTotals,
    TOTALS_MAGIC, memory, state,
};

use super::contents::{Contents, Copy, refuse};
use super::recovered::{MAX_COPIES, Refusal};
use super::remnants::Suspects;
use crate::bytes::blocks::{Block, MAX_FAILED_START, MAX_FAILED_TIMES};
use crate::bytes::source::Source;
use crate::decode::decoder::Decoder;
use crate::sessions::facts::Facts;

/// Number of bytes of one read.
const CHUNK: usize = 1 << 20;

/// Empty pages are skipped as a whole.
const PAGE: usize = 4 << 10;

/// Scans an image. Adds its sessions, registries and threads to the decoder.
pub(super) fn scan(source: &Source<'_>, decoder: &mut Decoder) -> io::Result<Contents> {
    let mut scan = Scan {
        source,
        found: Contents::default(),
        suspects: Suspects::default(),
        failed: 0,
        resume: 0,
        next: 0,
    };
    // Space for a whole header at each offset of a chunk.
    let mut buffer = vec![0; CHUNK + memory::HEADER_LEN];
    let mut start = 0;
    loop {
        // No block begins in a hole: the magic number has no zero in it.
        start = source.data_from(start);
        if start >= source.len() {
            break;
        }
        let len = source.read_all_at(start, &mut buffer)?;
        let bytes = &buffer[..len];
        let mut page = 0;
        while page < len.min(CHUNK) {
            let end = (page + PAGE).min(len).min(CHUNK);
            // A magic number may continue in the next page.
            let reach = (end + MAGIC.len() - 1).min(len);
            if !is_zero(&bytes[page..end]) {
                let mut from = page;
                while let Some(index) = find_magic(&bytes[from..reach]) {
                    let head = &bytes[from + index..len.min(from + index + memory::HEADER_LEN)];
                    scan.examine(start + (from + index) as u64, head, decoder)?;
                    from += index + 1;
                }
            }
            page = end;
        }
        start += CHUNK as u64;
    }
    let Scan { mut found, suspects, .. } = scan;
    suspects.settle(&mut found);
    found.scanned = source.len();
    Ok(found)
}

struct Scan<'a, 's> {
    source: &'a Source<'s>,
    found: Contents,
    suspects: Suspects,
    /// Bytes of blocks with a wrong checksum.
    failed: u64,
    /// End of the latest whole block.
    resume: u64,
    /// End of the latest block, whole or damaged.
    next: u64,
}

impl Scan<'_, '_> {
    /// Examines bytes that begin with the magic number.
    fn examine(&mut self, at: u64, head: &[u8], decoder: &mut Decoder) -> io::Result<()> {
        if at < self.resume {
            return Ok(());
        }
        if !head.starts_with(&MAGIC) {
            self.take_account(head);
            return Ok(());
        }
        if let Some(header) = live_header(head) {
            self.take_live(at, header, head, decoder);
            return Ok(());
        }
        match Header::decode(head, crc32c::crc32c) {
            Ok(header) => self.take_whole(at, header, decoder),
            Err(telemetry_format::HeaderError::Checksum { .. }) if looks_like_header(head) => {
                self.suspect_header(at, head)
            }
            // The program's own text has the magic number too.
            Err(_) => Ok(()),
        }
    }

    /// Counts a header with a wrong checksum as skipped, if it has a block.
    fn suspect_header(&mut self, at: u64, head: &[u8]) -> io::Result<()> {
        let (payload_len, _) = state::unpack(word(head, state::OFFSET));
        if header_len(head) == memory::HEADER_LEN {
            // A block that was just being opened has no events yet.
            if payload_len > 0 {
                self.suspects.add_memory(at);
            }
            return Ok(());
        }
        let end = at + HEADER_LEN as u64 + u64::from(payload_len);
        self.suspect(Refusal::Header, at, end)
    }

    /// Counts a block of a stream as skipped, if it is adjacent to others, as blocks in streams
    /// are.
    fn suspect(&mut self, why: Refusal, at: u64, end: u64) -> io::Result<()> {
        let mut behind = [0; MAGIC.len()];
        let is_in_stream = [0, self.resume, self.next].contains(&at)
            || end == self.source.len()
            || end < self.source.len()
                && self.source.read_all_at(end, &mut behind)? == MAGIC.len()
                && behind == MAGIC;
        if is_in_stream {
            self.next = end;
            self.refuse(why, at);
        } else {
            self.suspects.add_alone(why, at);
        }
        Ok(())
    }

    /// Takes a block of memory.
    fn take_live(&mut self, at: u64, header: Header, head: &[u8], decoder: &mut Decoder) {
        if header.block_type != BlockType::Events {
            return self.refuse(Refusal::Type(header.block_type.code()), at);
        }
        if at + header.block_len() > self.source.len() || header.payload_len > MAX_PAYLOAD {
            return self.refuse(Refusal::Cut, at);
        }
        self.found.live_blocks += 1;
        if header.payload_len > 0 {
            self.suspects.note_block(at);
        }
        note_thread(&header, head, decoder);
        self.add(at, &header, true, end_ticks(head) != 0, decoder);
    }

    /// Takes a block of a stream, if the checksum of its payload is right.
    fn take_whole(&mut self, at: u64, header: Header, decoder: &mut Decoder) -> io::Result<()> {
        let end = at + header.block_len();
        if end > self.source.len() {
            return self.suspect(Refusal::Cut, at, end);
        }
        // As in streams: headers in the payloads of others must not cost time by promising much.
        let most = at.saturating_mul(MAX_FAILED_TIMES).saturating_add(MAX_FAILED_START);
        let start = at + u64::from(header.header_len);
        if self.failed > most || self.checksum(start, header.payload_len)? != header.payload_crc {
            self.failed = self.failed.saturating_add(header.block_len());
            return self.suspect(Refusal::Payload, at, end);
        }
        (self.resume, self.next) = (end, end);
        self.found.whole_blocks += 1;
        match header.block_type {
            BlockType::Events => {
                let is_last = header.flags & telemetry_format::flags::LAST != 0;
                self.add(at, &header, false, is_last, decoder);
            }
            BlockType::Unknown(code) => self.refuse(Refusal::Type(code), at),
            BlockType::Session | BlockType::Registry | BlockType::Thread | BlockType::Sync => {
                let mut payload = vec![0; header.payload_len as usize];
                self.source.read_all_at(start, &mut payload)?;
                if header.block_type == BlockType::Sync {
                    let latest = self.found.syncs.entry(header.session).or_insert_with(|| header.clone());
                    let flags = latest.flags | header.flags;
                    if latest.end_ticks <= header.end_ticks {
                        *latest = header.clone();
                    }
                    latest.flags = flags;
                }
                decoder.take(&Block { at, header, payload: &payload, bytes: &[] });
            }
        }
        Ok(())
    }

    /// Takes an account of a lane or of a session.
    fn take_account(&mut self, head: &[u8]) {
        if let Some(account) = LaneAccount::decode(head, crc32c::crc32c) {
            self.found.accounts.add(account);
        } else if let Some(totals) = SessionTotals::decode(head) {
            self.found.accounts.add_totals(totals);
        }
    }

    fn checksum(&self, start: u64, len: u32) -> io::Result<u32> {
        let (mut sum, mut at, end) = (0, start, start + u64::from(len));
        let mut buffer = vec![0; CHUNK.min(len as usize)];
        while at < end {
            let most = buffer.len().min((end - at) as usize);
            let read = self.source.read_all_at(at, &mut buffer[..most])?;
            if read == 0 {
                break;
            }
            sum = crc32c::crc32c_append(sum, &buffer[..read]);
            at += read as u64;
        }
        Ok(sum)
    }

    fn add(&mut self, at: u64, header: &Header, is_live: bool, is_last: bool, decoder: &mut Decoder) {
        if self.found.copies.len() >= MAX_COPIES || !decoder.has_room(header) {
            return self.refuse(Refusal::TooMany, at);
        }
        let lane = decoder.lane(header);
        let Header { seq, offset, payload_len: len, events, base_ticks, .. } = *header;
        // A live block without events was just opened.
        let is_only_losses = !is_live && events == 0 && len == 0;
        let copy = Copy { at, lane, seq, offset, len, base_ticks, is_live, is_last, is_only_losses };
        self.found.copies.push(copy);
    }

    fn refuse(&mut self, why: Refusal, at: u64) {
        refuse(&mut self.found.refused, why, at);
    }
}

/// Returns the header of a block of memory, with its committed length. Its checksum is computed
/// with a state word of 0.
pub(super) fn live_header(bytes: &[u8]) -> Option<Header> {
    let bytes = bytes.get(..memory::HEADER_LEN)?;
    if usize::from(u16::from_le_bytes([bytes[10], bytes[11]])) != memory::HEADER_LEN {
        return None;
    }
    let mut head: [u8; HEADER_LEN] = *bytes.first_chunk()?;
    let word = &mut head[state::OFFSET..state::OFFSET + 8];
    let committed = u64::from_le_bytes((&*word).try_into().ok()?);
    word.fill(0);
    let header = Header::decode(&head, crc32c::crc32c).ok()?;
    let (payload_len, events) = state::unpack(committed);
    Some(Header { payload_len, events, ..header })
}

/// Returns the clock reading when a block of memory was sealed; 0 while it is open.
pub(super) fn end_ticks(head: &[u8]) -> u64 {
    word(head, memory::END_TICKS)
}

fn word(head: &[u8], at: usize) -> u64 {
    head.get(at..at + 8).and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_le_bytes)
}

/// Takes the thread's facts from the header of a block of memory, if no thread block has more.
fn note_thread(header: &Header, head: &[u8], decoder: &mut Decoder) {
    let session = decoder.state.session(header);
    let session = &mut decoder.state.sessions[session];
    if header.thread == 0 || session.threads().contains_key(&header.thread) {
        return;
    }
    let name = head.get(memory::THREAD_NAME..memory::END_TICKS).unwrap_or_default();
    let name = String::from_utf8_lossy(name.split(|byte| *byte == 0).next().unwrap_or_default());
    let mut facts = Facts::default();
    if !name.is_empty() {
        facts.set("name", name.as_ref());
    }
    if let Some(tid) = i64::try_from(word(head, memory::THREAD_ID)).ok().filter(|tid| *tid != 0) {
        facts.set("tid", tid);
    }
    if !facts.is_empty() {
        session.set_thread(header.thread, facts);
    }
}

/// Returns true if the bytes after a magic number look like a header, apart from its checksum.
fn looks_like_header(head: &[u8]) -> bool {
    let lens = [HEADER_LEN, memory::HEADER_LEN];
    lens.contains(&header_len(head)) && !matches!(BlockType::from_code(head[9]), BlockType::Unknown(_))
}

fn header_len(head: &[u8]) -> usize {
    usize::from(u16::from_le_bytes([head[10], head[11]]))
}

/// Compares memory at once: a build for tests compares single bytes slowly.
fn is_zero(page: &[u8]) -> bool {
    static ZEROS: [u8; 256] = [0; 256];
    page.chunks(ZEROS.len()).all(|part| *part == ZEROS[..part.len()])
}

/// The first bytes of blocks and accounts. The first byte does not occur again in any of them.
const MAGICS: [[u8; 8]; 3] = [MAGIC, ACCOUNT_MAGIC, TOTALS_MAGIC];

fn find_magic(bytes: &[u8]) -> Option<usize> {
    let mut from = 0;
    loop {
        let index = from + bytes.get(from..)?.iter().position(|byte| *byte == MAGIC[0])?;
        if MAGICS.iter().any(|magic| bytes[index..].starts_with(magic)) {
            return Some(index);
        }
        from = index + 1;
    }
}
