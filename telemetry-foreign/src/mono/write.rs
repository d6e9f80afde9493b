//! Writes events as a log of data version 1.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};

use telemetry_decode::{Event, Events, Value};

use super::calls::Calls;
use super::encode::{Draft, Kept};
use super::facts;
use super::header::BufferHead;
use super::layout::{Layout, Version};
use super::registry::NAME;
use super::walk::Layouts;
use super::what::What;
use crate::common::written::Written;

/// The size of a buffer that the source does not describe. Mono's have 64 KiB with their header.
const BUFFER_LEN: usize = 60 << 10;

/// The estimated size at which a buffer is closed even if the source describes its borders.
const MOST_LEN: usize = 8 << 20;

/// The most bytes of finished buffers that wait for one before them.
const MOST_HELD: usize = 256 << 20;

/// The reason why events of later versions are left out.
const NOT_OF_ONE: &str = "that data version 1 does not have";

/// Writes events of any source as a log of data version 1. It has those of the registry `mono` that
/// are in this version. The others are counted as left out.
///
/// Buffers are those that the source describes, in their order. Events that belong to none get
/// buffers of their own.
///
/// # Errors
/// Those of the source and of the output.
pub fn write(events: &mut Events<'_>, out: &mut dyn Write) -> telemetry_decode::Result<Written> {
    let mut writer = Writer {
        layout: Layouts::shared().of(Version::One),
        out,
        session: None,
        is_of_one: false,
        open: HashMap::new(),
        finished: BTreeMap::new(),
        held: 0,
        next: 0,
        written: Written::default(),
    };
    while let Some(event) = events.next()? {
        writer.event(&event)?;
    }
    Ok(writer.end()?)
}

struct Writer<'w> {
    layout: &'w Layout,
    out: &'w mut dyn Write,
    /// The session that is written.
    session: Option<u64>,
    /// True if it was of data version 1 before.
    is_of_one: bool,
    /// By the session's number for the thread.
    open: HashMap<u32, Open>,
    /// Buffers that wait for those before them, by their number.
    finished: BTreeMap<u32, Vec<u8>>,
    /// Their size in bytes.
    held: usize,
    /// Number of the next buffer that the source describes.
    next: u32,
    written: Written,
}

/// A buffer that is not finished.
struct Open {
    /// The source's description: the buffer's number, and its header.
    told: Option<(u32, BufferHead)>,
    thread: u64,
    draft: Draft,
    /// The open calls of its thread where it begins.
    calls: Calls,
}

impl Writer<'_> {
    fn event(&mut self, event: &Event<'_>) -> io::Result<()> {
        if event.registry().name != NAME {
            self.written.leave_out("of other registries");
            return Ok(());
        }
        let session = event.session().id;
        if self.session.is_none() {
            self.session = Some(session);
            self.is_of_one = event.session().facts.number("data_version") == Some(1);
            self.header(Some(event))?;
        }
        if self.session != Some(session) {
            self.written.leave_out("of another run than the first");
            return Ok(());
        }
        match What::of(event.name()) {
            Some(What::Buffer) => self.buffer(event),
            Some(What::Order) => {
                self.order(event);
                Ok(())
            }
            // Version 1 has codes for them, but Mono wrote none. Later tools read them as longer
            // events of later versions, and then misread the rest of the buffer. Only events that a
            // log of version 1 had are written.
            Some(What::AssemblyLoad | What::DomainLoad) if !self.is_of_one => {
                self.written.leave_out(NOT_OF_ONE);
                Ok(())
            }
            what => {
                let kept = what.and_then(|what| match what {
                    What::MethodReturn | What::MethodUnwind => {
                        Some((what, Kept::call(self.layout.of_what(What::MethodLeave)?)))
                    }
                    What::WorldStop | What::WorldStart => {
                        Some((what, Kept::of(event, self.layout.of_what(What::GcEvent)?)?))
                    }
                    _ => Some((what, Kept::of(event, self.layout.of_what(what)?)?)),
                });
                let Some((what, kept)) = kept else {
                    self.written.leave_out(NOT_OF_ONE);
                    return Ok(());
                };
                self.keep(event, what, kept)
            }
        }
    }

    fn header(&mut self, event: Option<&Event<'_>>) -> io::Result<()> {
        let mut header = Vec::new();
        let none = telemetry_decode::Facts::default();
        facts::file_head(event.map_or(&none, |event| &event.session().facts)).write(&mut header);
        self.out.write_all(&header)
    }

    /// Begins a buffer that the source describes.
    fn buffer(&mut self, event: &Event<'_>) -> io::Result<()> {
        let values: Vec<u64> = event.values().filter_map(|value| value.as_u64()).collect();
        let &[index, _, time, ptr_base, obj_base, method_base] = &values[..] else {
            self.written.leave_out("of another form of the registry");
            return Ok(());
        };
        let thread = thread_id(event);
        let head = BufferHead { len: 0, time, ptr_base, obj_base, thread, method_base };
        let mut open = Open {
            told: Some((index as u32, head)),
            thread,
            draft: Draft::default(),
            calls: Calls::default(),
        };
        if let Some(mut before) = self.open.remove(&event.thread()) {
            // Among events at the same time, this one may come last. A lane's buffers do not share
            // a time.
            open.draft = before.draft.split_from(event.ticks());
            self.close(before)?;
        }
        self.open.insert(event.thread(), open);
        Ok(())
    }

    /// Notes an order that is not that of time.
    fn order(&mut self, event: &Event<'_>) {
        let (Some(open), Some(Value::Array(positions))) =
            (self.open.get_mut(&event.thread()), event.value(0))
        else {
            self.written.leave_out("of buffers that are not there");
            return;
        };
        open.draft.order(positions.iter().filter_map(|position| position.as_u64()).map(|at| at as u32));
    }

    fn keep(&mut self, event: &Event<'_>, what: What, kept: Kept) -> io::Result<()> {
        let new = || Open {
            told: None,
            thread: thread_id(event),
            draft: Draft::default(),
            calls: Calls::default(),
        };
        let open = self.open.entry(event.thread()).or_insert_with(new);
        open.draft.push(event, what, kept);
        let most = if open.told.is_some() { MOST_LEN } else { BUFFER_LEN };
        if open.draft.len() >= most
            && let Some(open) = self.open.remove(&event.thread())
        {
            // No event says that the call stack starts again.
            let (thread, calls) = (open.thread, self.close(open)?);
            self.open.insert(event.thread(), Open { told: None, thread, draft: Draft::default(), calls });
        }
        Ok(())
    }

    /// Writes a buffer, or lets it wait for its turn. Returns the calls of its thread that are open
    /// at its end.
    fn close(&mut self, open: Open) -> io::Result<Calls> {
        let Open { told, thread, draft, mut calls } = open;
        let events = draft.events();
        let head = told.map(|(_, head)| head).or_else(|| draft.head(thread));
        let Some(head) = head else { return Ok(calls) };
        let (bytes, lost) = draft.encode(self.layout, head, &mut calls);
        self.written.events += events - lost;
        for _ in 0..lost {
            self.written.leave_out("that return from calls which are not there");
        }
        let Some((index, _)) = told else {
            self.out.write_all(&bytes)?;
            return Ok(calls);
        };
        self.held += bytes.len();
        if let Some(other) = self.finished.insert(index, bytes) {
            // Two buffers have this number: the source was put together from others. Both are
            // written.
            self.held -= other.len();
            self.out.write_all(&other)?;
        }
        self.write_finished(MOST_HELD)?;
        Ok(calls)
    }

    /// Writes the finished buffers whose turn it is, and more if more than `most` bytes would wait.
    fn write_finished(&mut self, most: usize) -> io::Result<()> {
        while let Some(first) = self.finished.first_entry() {
            if *first.key() > self.next && self.held <= most {
                break;
            }
            let (index, bytes) = first.remove_entry();
            self.held -= bytes.len();
            self.next = self.next.max(index.saturating_add(1));
            self.out.write_all(&bytes)?;
        }
        Ok(())
    }

    fn end(mut self) -> io::Result<Written> {
        if self.session.is_none() {
            self.header(None)?;
        }
        let mut open: Vec<_> = std::mem::take(&mut self.open).into_iter().collect();
        open.sort_by_key(|(thread, _)| *thread);
        for (_, open) in open {
            self.close(open)?;
        }
        // Buffers no longer wait for missing ones.
        self.write_finished(0)?;
        for bytes in self.finished.into_values() {
            self.out.write_all(&bytes)?;
        }
        Ok(self.written)
    }
}

/// Returns the result of pthread_self in the thread of an event.
fn thread_id(event: &Event<'_>) -> u64 {
    facts::thread_id(event.session().threads().get(&event.thread()), event.thread())
}
