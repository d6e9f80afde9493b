//! The open segment of one session.

use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use telemetry_decode::blocks::Block;
use telemetry_format::{BlockType, Header};

use crate::segment::carry::Carry;
use crate::segment::context::{Context, Role};
use crate::segment::interval::{Interval, checksum};

/// A session whose blocks are cut into segments.
pub(crate) struct Session {
    context: Context,
    /// The file of the open segment.
    path: PathBuf,
    carry: Carry,
    /// Parts of unfinished blocks, with their headers, for the start of the next segment.
    carried: Vec<u8>,
    open: Option<Open>,
}

/// A file that grows.
struct Open {
    file: BufWriter<File>,
    len: u64,
    /// Bytes of blocks that are in no other segment.
    data: u64,
    start_ns: u64,
    intervals: Vec<Interval>,
}

/// A file with a whole segment.
pub(crate) struct Closed {
    pub(crate) path: PathBuf,
    pub(crate) len: u64,
    pub(crate) start_ns: u64,
    pub(crate) events: u64,
    pub(crate) intervals: u32,
}

impl Session {
    /// A session with files `stem` with the endings `.open` and `.context`.
    pub(crate) fn new(stem: &Path) -> io::Result<Session> {
        let context = Context::new(stem.with_extension("context"))?;
        let path = stem.with_extension("open");
        Ok(Session { context, path, carry: Carry::default(), carried: Vec::new(), open: None })
    }

    /// Says whether a segment is open.
    pub(crate) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Adds a block. Returns the number of bytes that the open segment has beyond the context.
    pub(crate) fn push(&mut self, block: &Block<'_>) -> io::Result<u64> {
        let context = self.context.len();
        let role = self.context.add(block)?;
        match (role, &mut self.open) {
            (Role::Repetition, _) => return Ok(self.data()),
            // It is at the start of the next segment.
            (Role::Facts, None) => return Ok(0),
            (_, None) => self.open(context, block.header.base_wall)?,
            _ => {}
        }
        let open = self.open.as_mut().expect("opened above");
        let place = open.write(block.bytes)?;
        if role != Role::Facts {
            open.data += block.bytes.len() as u64;
        }
        if block.header.block_type == BlockType::Events {
            open.intervals.push(Interval::of(&block.header));
            if role == Role::Data {
                self.carry.note(&block.header, place);
            }
        }
        Ok(self.data())
    }

    /// Closes the open segment, so that its file is whole and on disk. Returns `None` if there is
    /// none.
    pub(crate) fn cut(&mut self) -> io::Result<Option<Closed>> {
        let Some(Open { file, len, start_ns, intervals, .. }) = self.open.take() else {
            return Ok(None);
        };
        let mut file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
        self.carried.clear();
        for place in self.carry.take() {
            file.seek(SeekFrom::Start(place.start))?;
            (&file).take(place.end - place.start).read_to_end(&mut self.carried)?;
        }
        file.sync_all()?;
        let events = intervals.iter().map(|interval| u64::from(interval.events)).sum();
        Ok(Some(Closed { path: self.path.clone(), len, start_ns, events, intervals: checksum(&intervals) }))
    }

    fn data(&self) -> u64 {
        self.open.as_ref().map_or(0, |open| open.data)
    }

    /// Begins a segment with the first `context` bytes of the context, and with the parts of
    /// unfinished blocks.
    fn open(&mut self, context: u64, start_ns: u64) -> io::Result<()> {
        let file = File::options().read(true).write(true).create(true).truncate(true).open(&self.path)?;
        let file = BufWriter::with_capacity(1 << 16, file);
        let mut open = Open { file, len: 0, data: 0, start_ns, intervals: Vec::new() };
        open.len = self.context.copy_to(&mut open.file, context)?;
        let mut carried = &self.carried[..];
        while !carried.is_empty() {
            let header = Header::decode(carried, crc32c::crc32c).map_err(io::Error::other)?;
            let (part, rest) = carried.split_at(header.block_len() as usize);
            self.carry.note(&header, open.write(part)?);
            carried = rest;
        }
        self.open = Some(open);
        Ok(())
    }
}

impl Open {
    fn write(&mut self, bytes: &[u8]) -> io::Result<Range<u64>> {
        let start = self.len;
        self.file.write_all(bytes)?;
        self.len += bytes.len() as u64;
        Ok(start..self.len)
    }
}
