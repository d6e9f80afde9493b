//! The open segments of one session.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use telemetry_decode::blocks::{Block, Blocks, Piece};
use telemetry_format::{BlockType, Header};
use telemetry_schema::Kind;

use crate::segment::carry::Carry;
use crate::segment::context::{Context, Role};
use crate::segment::interval::Intervals;
use crate::segment::withheld::Leaving;

/// A session whose blocks are cut into segments.
pub(crate) struct Session {
    context: Context,
    /// Whether the open segments have no texts of labels, because these do not leave the host.
    has_no_labels: bool,
    stem: PathBuf,
    /// Kinds of one priority are in segments of their own.
    classes: BTreeMap<u8, Class>,
    /// The streams that have blocks of it and have not ended.
    streams: usize,
    /// When the last of them ended.
    ended: Option<Instant>,
}

/// The segments of one priority.
struct Class {
    /// The file of the open segment.
    path: PathBuf,
    carry: Carry,
    /// Parts of unfinished blocks, with their headers, for the start of the next segment.
    carried: Vec<u8>,
    open: Option<Open>,
}

/// A file that grows.
struct Open {
    file: File,
    /// Bytes that are not in the file. They are written as a whole, again after a full disk.
    buffer: Vec<u8>,
    /// Bytes in the file.
    written: u64,
    /// Bytes of blocks that are in no other segment.
    data: u64,
    start_ns: u64,
    since: Instant,
    /// Events that are in no other segment.
    events: u64,
    /// Those of them that give labels their texts.
    labels: u64,
    /// Events in whose place there are only their numbers.
    withheld: u64,
    intervals: Intervals,
}

/// A file with a whole segment.
pub(crate) struct Closed {
    pub(crate) path: PathBuf,
    pub(crate) len: u64,
    pub(crate) start_ns: u64,
    pub(crate) events: u64,
    pub(crate) withheld: u64,
    pub(crate) intervals: u32,
}

/// Bytes that are gathered before they are written.
const BUFFER: usize = 1 << 16;

impl Session {
    /// A session with files `stem` with the endings `.pN.open` and `.context`. `sends_sensitive`
    /// says whether kinds leave the host that do not by themselves.
    pub(crate) fn new(stem: &Path, sends_sensitive: bool) -> io::Result<Session> {
        let context = Context::new(stem.with_extension("context"), sends_sensitive)?;
        let (stem, classes) = (stem.to_owned(), BTreeMap::new());
        Ok(Session { context, has_no_labels: false, stem, classes, streams: 0, ended: None })
    }

    /// Notes that a stream with blocks of it has begun.
    pub(crate) fn join(&mut self) {
        (self.streams, self.ended) = (self.streams + 1, None);
    }

    /// Notes that such a stream has ended.
    pub(crate) fn leave(&mut self) {
        self.streams = self.streams.saturating_sub(1);
        self.ended = (self.streams == 0).then(Instant::now);
    }

    /// Says whether its streams ended before `time`, and all of it is in whole segments.
    pub(crate) fn is_over(&self, time: Instant) -> bool {
        let is_open = || self.classes.values().any(|class| class.open.is_some());
        self.ended.is_some_and(|ended| ended < time) && !is_open()
    }

    /// Says whether the segment of a priority has been open since before `time`.
    pub(crate) fn is_older(&self, priority: u8, time: Instant) -> bool {
        let open = self.classes.get(&priority).and_then(|class| class.open.as_ref());
        open.is_some_and(|open| open.since < time)
    }

    /// Returns the length of the open segment of a priority, with what is not written yet.
    pub(crate) fn open_len(&self, priority: u8) -> u64 {
        let open = self.classes.get(&priority).and_then(|class| class.open.as_ref());
        open.map_or(0, Open::len)
    }

    /// Adds a block. Returns its priority, and the number of bytes that the open segment of this
    /// priority has beyond the context. If this fails, the same block may be added again.
    pub(crate) fn push(&mut self, block: &Block<'_>) -> io::Result<(u8, u64)> {
        self.remove_labels()?;
        let Leaving { header, bytes, is_withheld } = self.context.leaving(block);
        let role = if is_withheld { Role::Data } else { self.context.role(&header) };
        let priority = match role {
            Role::Labels => Kind::DEFAULT_PRIORITY,
            _ => self.context.priority(&header),
        };
        if role == Role::Repetition {
            return Ok((priority, 0));
        }
        if role != Role::Data {
            // A segment that is not open begins with it.
            for open in self.classes.values_mut().filter_map(|class| class.open.as_mut()) {
                open.block(&header, &bytes)?;
            }
        }
        if role == Role::Facts {
            self.context.add(block)?;
            return Ok((priority, 0));
        }
        let stem = &self.stem;
        let class = self.classes.entry(priority).or_insert_with(|| Class {
            path: stem.with_extension(format!("p{priority}.open")),
            carry: Carry::default(),
            carried: Vec::new(),
            open: None,
        });
        // Labels went to all open segments above.
        let is_written = role == Role::Labels && class.open.is_some();
        if class.open.is_none() {
            class.open(&self.context, header.base_wall)?;
        }
        let open = class.open.as_mut().expect("opened above");
        let (start, len) = (open.len(), bytes.len() as u64);
        if !is_written {
            open.block(&header, &bytes)?;
        }
        if role == Role::Labels {
            self.context.add(block)?;
            open.labels += u64::from(header.events);
        } else if header.block_type == BlockType::Events && !is_withheld {
            class.carry.note(&header, start..start + len);
        }
        open.data += len;
        let events = u64::from(block.header.events);
        // One that was withheld before is counted already.
        open.withheld += if is_withheld && !block.header.is_withheld() { events } else { 0 };
        open.events += if is_withheld { 0 } else { events };
        Ok((priority, open.data))
    }

    /// Removes the texts of labels that have not left the host, once a registry says that they do
    /// not.
    fn remove_labels(&mut self) -> io::Result<()> {
        if !self.has_no_labels && self.context.withholds_labels() {
            self.context.remove_labels()?;
            self.classes.values_mut().try_for_each(|class| class.remove_labels(&self.context))?;
            self.has_no_labels = true;
        }
        Ok(())
    }

    /// Writes what is gathered to the files, where it outlives this process.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.classes.values_mut().filter_map(|class| class.open.as_mut()).try_for_each(Open::flush)
    }

    /// Closes the open segment of a priority, so that its file is whole and on disk, under a name
    /// that `name` gives it. Returns `None` if there is none. If this fails, it may be called
    /// again.
    pub(crate) fn cut(
        &mut self,
        priority: u8,
        name: impl FnOnce(&Closed) -> PathBuf,
    ) -> io::Result<Option<Closed>> {
        self.remove_labels()?;
        let Some(class) = self.classes.get_mut(&priority) else { return Ok(None) };
        let Some(open) = &mut class.open else { return Ok(None) };
        open.flush()?;
        open.file.sync_all()?;
        let mut carried = Vec::new();
        for place in class.carry.places() {
            open.file.seek(SeekFrom::Start(place.start))?;
            (&open.file).take(place.end - place.start).read_to_end(&mut carried)?;
        }
        let (path, len, intervals) = (class.path.clone(), open.written, open.intervals.checksum());
        let Open { start_ns, events, withheld, .. } = *open;
        let mut closed = Closed { path, len, start_ns, events, withheld, intervals };
        closed.path = name(&closed);
        std::fs::rename(&class.path, &closed.path)?;
        (class.open, class.carry, class.carried) = (None, Carry::default(), carried);
        Ok(Some(closed))
    }
}

impl Class {
    /// Begins a segment with the context, and with the parts of unfinished blocks.
    fn open(&mut self, context: &Context, start_ns: u64) -> io::Result<()> {
        let mut file = File::options().read(true).write(true).create(true).truncate(true).open(&self.path)?;
        let (written, intervals) = context.copy_to(&mut file)?;
        let (buffer, since, data, events, labels, withheld) = (Vec::new(), Instant::now(), 0, 0, 0, 0);
        let mut open =
            Open { file, buffer, written, data, start_ns, since, events, labels, withheld, intervals };
        let mut carried = &self.carried[..];
        while !carried.is_empty() {
            let header = Header::decode(carried, crc32c::crc32c).map_err(io::Error::other)?;
            let (part, rest) = carried.split_at(header.block_len() as usize);
            let start = open.len();
            open.block(&header, part)?;
            self.carry.note(&header, start..open.len());
            carried = rest;
        }
        self.open = Some(open);
        Ok(())
    }

    /// Writes the open segment again without the texts of labels.
    fn remove_labels(&mut self, context: &Context) -> io::Result<()> {
        let Some(open) = &mut self.open else { return Ok(()) };
        open.flush()?;
        open.file.seek(SeekFrom::Start(0))?;
        let path = self.path.with_extension("new");
        let file = File::options().read(true).write(true).create(true).truncate(true).open(&path)?;
        let (buffer, written, events, labels) = (Vec::new(), 0, open.events - open.labels, 0);
        let Open { data, start_ns, since, .. } = *open;
        let (withheld, intervals) = (open.withheld + open.labels, Intervals::default());
        let mut new =
            Open { file, buffer, written, data, start_ns, since, events, labels, withheld, intervals };
        let (mut blocks, mut carry) = (Blocks::new(&open.file), Carry::default());
        while let Some(piece) = blocks.next()? {
            let Piece::Block(block) = piece else { continue };
            let Leaving { header, bytes, is_withheld } = context.leaving(&block);
            let start = new.len();
            new.block(&header, &bytes)?;
            if header.block_type == BlockType::Events && !is_withheld {
                carry.note(&header, start..new.len());
            }
        }
        drop(blocks);
        new.flush()?;
        std::fs::rename(&path, &self.path)?;
        (self.open, self.carry) = (Some(new), carry);
        Ok(())
    }
}

impl Open {
    /// Returns the length of the segment.
    fn len(&self) -> u64 {
        self.written + self.buffer.len() as u64
    }

    /// Adds a block. If this fails, it has added nothing.
    fn block(&mut self, header: &Header, bytes: &[u8]) -> io::Result<()> {
        if self.buffer.len() + bytes.len() > BUFFER {
            self.flush()?;
        }
        if header.block_type == BlockType::Events {
            self.intervals.add(header);
        }
        self.buffer.extend_from_slice(bytes);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(self.written))?;
        self.file.write_all(&self.buffer)?;
        self.written += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }
}
