//! Entries of blocks in a temporary file, for a list that is too long for memory.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::ops::Range;
use std::sync::Arc;

use crate::bytes::source::{Files, Source};
use crate::decode::decoder::Want;
use crate::order::block::IndexedBlock;

/// Length of an entry, and the offsets of its numbers of 4 bytes and of its bytes. Numbers of 8
/// bytes come first.
const ROW_LEN: usize = 56;
const SHORTS: usize = 32;
const FLAGS: usize = 52;
const WANT: usize = 53;

/// Bytes that are collected for one write.
const WRITE_LEN: usize = 64 << 10;

/// Number of entries in a page of the cache, and of pages.
const PAGE_ROWS: u64 = 73;
const PAGES: usize = 1 << 10;

/// An unlinked temporary file of entries. All are written before the first is read.
pub(crate) struct Rows {
    file: File,
    source: Source<'static>,
    /// Entries that are not written yet.
    tail: Vec<u8>,
    len: u64,
}

impl Rows {
    /// Creates an empty file.
    pub(crate) fn new() -> io::Result<Rows> {
        let file = tempfile::tempfile().map_err(named)?;
        let source = Source::Files(Arc::new(Files::growing(file.try_clone().map_err(named)?)));
        Ok(Rows { file, source, tail: Vec::with_capacity(WRITE_LEN + ROW_LEN), len: 0 })
    }

    /// Adds an entry.
    pub(crate) fn push(&mut self, block: &IndexedBlock, want: Want) -> io::Result<()> {
        self.tail.extend_from_slice(&encode(block, want));
        self.len += 1;
        if self.tail.len() >= WRITE_LEN { self.write() } else { Ok(()) }
    }

    /// Writes the last entries.
    pub(crate) fn finish(&mut self) -> io::Result<()> {
        self.write()?;
        self.tail = Vec::new();
        Ok(())
    }

    fn write(&mut self) -> io::Result<()> {
        // Where reads move the position, it is not at the end.
        self.file.seek(SeekFrom::End(0)).and_then(|_| self.file.write_all(&self.tail)).map_err(named)?;
        self.tail.clear();
        Ok(())
    }

    /// Returns the number of entries.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Reads entries into `to`, up to `most`.
    fn read(&self, from: u64, most: u64, to: &mut Vec<u8>) -> io::Result<()> {
        let rows = most.min(self.len.saturating_sub(from));
        to.resize(rows as usize * ROW_LEN, 0);
        match self.source.read_all_at(from * ROW_LEN as u64, to).map_err(named)? == to.len() {
            true => Ok(()),
            false => Err(named(io::ErrorKind::UnexpectedEof.into())),
        }
    }
}

fn named(error: io::Error) -> io::Error {
    let text = format!("cannot keep the list of blocks in a temporary file: {error}");
    io::Error::new(error.kind(), text)
}

/// Reads entries in sequence.
pub(crate) struct Cursor {
    next: u64,
    end: u64,
    /// Number of entries of one read.
    step: u64,
    buffer: Vec<u8>,
    at: usize,
}

impl Cursor {
    /// Reads a range of entries, some at a time.
    pub(crate) fn new(range: Range<u64>, step: u64) -> Cursor {
        Cursor { next: range.start, end: range.end, step: step.max(1), buffer: Vec::new(), at: 0 }
    }

    /// Returns the next entry; `None` at the end.
    pub(crate) fn next(&mut self, rows: &Rows) -> io::Result<Option<(IndexedBlock, Want)>> {
        if self.at == self.buffer.len() {
            let most = self.step.min(self.end - self.next);
            if most == 0 {
                return Ok(None);
            }
            rows.read(self.next, most, &mut self.buffer)?;
            (self.next, self.at) = (self.next + most, 0);
        }
        let row = self.buffer.get(self.at..).and_then(<[u8]>::first_chunk);
        self.at += ROW_LEN;
        Ok(row.map(decode))
    }
}

/// Keeps pages of entries that are read in any order.
#[derive(Default)]
pub(crate) struct Pages {
    /// Each with the number of its page, plus 1.
    pages: Vec<(u64, Vec<u8>)>,
}

impl Pages {
    /// Returns an entry.
    pub(crate) fn get(&mut self, rows: &Rows, index: u64) -> io::Result<(IndexedBlock, Want)> {
        let (page, at) = (index / PAGE_ROWS, (index % PAGE_ROWS) as usize * ROW_LEN);
        if self.pages.is_empty() {
            self.pages.resize_with(PAGES, Default::default);
        }
        let (number, bytes) = &mut self.pages[page as usize % PAGES];
        if *number != page + 1 {
            *number = 0;
            rows.read(page * PAGE_ROWS, PAGE_ROWS, bytes)?;
            *number = page + 1;
        }
        let row = bytes.get(at..).and_then(<[u8]>::first_chunk);
        row.map(decode).ok_or_else(|| named(io::ErrorKind::UnexpectedEof.into()))
    }
}

fn encode(block: &IndexedBlock, want: Want) -> [u8; ROW_LEN] {
    let IndexedBlock { at, len, lane, seq, offset, events, flags, base_ticks, end_ticks, before } = *block;
    let mut row = [0; ROW_LEN];
    for (bytes, value) in row.chunks_exact_mut(8).zip([at, base_ticks, end_ticks, before]) {
        bytes.copy_from_slice(&value.to_le_bytes());
    }
    for (bytes, value) in row[SHORTS..].chunks_exact_mut(4).zip([len, lane, seq, offset, events]) {
        bytes.copy_from_slice(&value.to_le_bytes());
    }
    (row[FLAGS], row[WANT]) = (flags, want as u8);
    row
}

fn decode(row: &[u8; ROW_LEN]) -> (IndexedBlock, Want) {
    let (longs, _) = row.as_chunks::<8>();
    let (shorts, _) = row[SHORTS..].as_chunks::<4>();
    let long = |index: usize| longs.get(index).map_or(0, |bytes| u64::from_le_bytes(*bytes));
    let short = |index: usize| shorts.get(index).map_or(0, |bytes| u32::from_le_bytes(*bytes));
    let block = IndexedBlock {
        at: long(0),
        base_ticks: long(1),
        end_ticks: long(2),
        before: long(3),
        len: short(0),
        lane: short(1),
        seq: short(2),
        offset: short(3),
        events: short(4),
        flags: row[FLAGS],
    };
    let wants = [Want::No, Want::Silently, Want::Yes];
    (block, wants.into_iter().find(|want| *want as u8 == row[WANT]).unwrap_or(Want::No))
}
