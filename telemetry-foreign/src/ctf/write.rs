//! Writes a trace.

use std::io;
use std::path::{Path, PathBuf};

use hashbrown::HashMap;
use telemetry_decode::{Event, Events, Session};

use super::fields::Field;
use super::metadata::{event, metadata};
use super::packets::{Missing, Stream};
use crate::common::written::Written;
use crate::timeline::{PerEvent, Process, Processes, losses};

/// A packet is written when it has this many bytes.
const MAX_PACKET: usize = 64 << 10;

/// All packets are written when they have this many bytes together.
const MAX_BUFFERED: usize = 32 << 20;

/// Writes a trace to a folder: the file `metadata`, and a file for each thread.
///
/// Events come by time.
pub struct CtfTrace {
    directory: PathBuf,
    types: PerEvent<(u32, Vec<Field>)>,
    /// Number of event types, and their descriptions.
    known: u32,
    described: String,
    processes: Processes,
    streams: HashMap<(u64, u32), Stream>,
    buffered: usize,
    /// The time of the last event.
    last: i64,
    written: Written,
}

impl CtfTrace {
    /// Begins a trace in a folder, which is empty.
    pub fn new(directory: &Path) -> CtfTrace {
        CtfTrace {
            directory: directory.to_path_buf(),
            types: PerEvent::default(),
            known: 0,
            described: String::new(),
            processes: Processes::default(),
            streams: HashMap::new(),
            buffered: 0,
            last: 0,
            written: Written::default(),
        }
    }

    /// Writes an event.
    ///
    /// # Errors
    /// Those of the output.
    pub fn event(&mut self, from: &Event<'_>) -> io::Result<()> {
        let (session, thread) = (from.session(), from.thread());
        if !self.streams.contains_key(&(session.id, thread)) {
            self.stream(session, thread, from.wall_ns())?;
        }
        let Some(stream) = self.streams.get_mut(&(session.id, thread)) else { return Ok(()) };
        let (known, described) = (&mut self.known, &mut self.described);
        let (id, fields) = self.types.get(from, |from| {
            let fields: Vec<_> =
                (0..from.schema().params.len()).map(|index| Field::new(from, index)).collect();
            let name = format!("{}:{}", from.registry().name, from.name());
            described.push_str(&event(*known, &name, fields.iter().map(|field| &*field.description)));
            *known += 1;
            (*known - 1, fields)
        });
        self.last = self.last.max(from.wall_ns());
        let time = stream.at(u64::try_from(from.wall_ns()).unwrap_or(0));
        let before = stream.events.len();
        stream.events.extend_from_slice(&id.to_le_bytes());
        stream.events.extend_from_slice(&time.to_le_bytes());
        for (index, (value, field)) in from.values().zip(fields).enumerate() {
            field.put(&mut stream.events, from, index, &value);
        }
        self.written.events += 1;
        self.buffered += stream.events.len() - before;
        if stream.events.len() >= MAX_PACKET {
            self.buffered -= stream.events.len();
            stream.flush()?;
        } else if self.buffered >= MAX_BUFFERED {
            self.buffered = 0;
            let mut waiting = self.streams.values_mut().filter(|stream| !stream.events.is_empty());
            waiting.try_for_each(Stream::flush)?;
        }
        Ok(())
    }

    /// Writes what is missing, and the description. Says what was left out.
    ///
    /// # Errors
    /// Those of the output.
    pub fn finish(mut self, events: &Events<'_>) -> io::Result<Written> {
        let mut missing: HashMap<(u64, u32), Vec<Missing>> = HashMap::new();
        for lost in losses(events, self.last) {
            self.stream(lost.session, lost.thread, lost.from)?;
            let until = u64::try_from(lost.until).unwrap_or(0);
            let events = lost.missing.map(|missing| missing + lost.lost.events());
            missing.entry((lost.session.id, lost.thread)).or_default().push(Missing { until, events });
        }
        for (key, stream) in &mut self.streams {
            stream.finish(missing.get(key).map_or(&[], Vec::as_slice))?;
        }
        std::fs::write(self.directory.join("metadata"), metadata(&self.described))?;
        Ok(self.written)
    }

    /// Begins the file of a thread, unless it has begun. It begins with the session, or at an
    /// earlier event.
    fn stream(&mut self, session: &Session, thread: u32, first: i64) -> io::Result<()> {
        if self.streams.contains_key(&(session.id, thread)) {
            return Ok(());
        }
        if self.processes.get(session.id).is_none() {
            self.processes.add(session);
        }
        let tid = self.processes.tid(session, thread);
        let Some(Process { pid, name, start, .. }) = self.processes.get(session.id) else { return Ok(()) };
        let thread_name = session.thread_name(thread).unwrap_or_default();
        let (number, start) = (self.streams.len() as u64, u64::try_from((*start).min(first)).unwrap_or(0));
        let stream = Stream::new(&self.directory, number, [*pid, tid], [name, thread_name], start)?;
        self.streams.insert((session.id, thread), stream);
        Ok(())
    }
}
