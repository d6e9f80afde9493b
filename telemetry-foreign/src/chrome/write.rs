//! Writes a trace.

use std::io::{self, Write};
use std::rc::Rc;

use hashbrown::HashMap;
use telemetry_decode::{Event, Events, Session};

use super::output::Output;
use super::values::{arguments, reading};
use crate::common::json::{microseconds, number, signed, text};
use crate::common::written::Written;
use crate::timeline::{
    Counter, Counters, Held, PerEvent, Process, Processes, Reading, RowKey, Rows, Span, SpanEnd, TOO_MANY,
    Timeline, losses,
};

/// Writes events and spans in the JSON format of Chrome's traces.
///
/// It has what a [`crate::perfetto::PerfettoTrace`] has. Marks are global instants. Spans that do
/// not nest on their thread are asynchronous events. Times count from the first event, whose time
/// is in the member `otherData`: programs in JavaScript round larger ones.
pub struct ChromeTrace<'o> {
    out: Output<'o>,
    types: PerEvent<Type>,
    counters: Counters,
    held: Held<HeldEvent>,
    rows: Rows,
    /// Number of rows so far.
    row: u64,
    processes: Processes,
    threads: HashMap<(u64, u32), Box<[u8]>>,
    /// The time of the first event, in nanoseconds since 1970; none before it.
    start: Option<i64>,
    /// The latest time.
    last: i64,
    written: Written,
}

/// JSON of a type of event.
struct Type {
    /// From its name to its category.
    head: Box<[u8]>,
    params: Box<[Box<[u8]>]>,
    /// Names of its parameters where it ends a span.
    end_params: Box<[Box<[u8]>]>,
    counters: Rc<[Counter]>,
    /// It is about counters that events define.
    has_defined: bool,
}

/// An event that waits for its spans: its thread, and its arguments.
struct HeldEvent {
    thread: (u64, u32),
    begin: Box<[u8]>,
    end: Box<[u8]>,
}

impl<'o> ChromeTrace<'o> {
    /// Begins a trace, which is compressed with gzip or not.
    pub fn new(out: &'o mut dyn Write, is_compressed: bool) -> Self {
        ChromeTrace {
            out: Output::new(out, is_compressed),
            types: PerEvent::default(),
            counters: Counters::default(),
            held: Held::default(),
            rows: Rows::default(),
            row: 0,
            processes: Processes::default(),
            threads: HashMap::new(),
            start: None,
            last: i64::MIN,
            written: Written::default(),
        }
    }
}

impl Timeline for ChromeTrace<'_> {
    fn event(&mut self, event: &Event<'_>) -> io::Result<()> {
        let time = self.prepare(event);
        let ChromeTrace { out, types, counters, threads, .. } = self;
        let Type { head, params, counters, has_defined, .. } =
            types.get(event, |event| Type::new(event, counters));
        let has_defined = *has_defined;
        let thread = threads.get(&(event.session().id, event.thread()));
        let to = &mut out.buffer;
        open(to, "i");
        let mark = event.mark().filter(|text| !text.is_empty());
        to.extend_from_slice(if mark.is_some() { b"\"s\":\"g\"," } else { b"\"s\":\"t\"," });
        to.extend_from_slice(thread.map_or(&[], |thread| thread));
        to.extend_from_slice(b"\"ts\":");
        microseconds(to, time);
        match mark {
            Some(name) => named(to, name, &event.kind().name),
            None => to.extend_from_slice(head),
        }
        to.extend_from_slice(b",\"args\":{");
        arguments(to, event, params);
        close(to);
        if !counters.is_empty() {
            let counters = counters.clone();
            self.readings(event, time, &counters);
        }
        if has_defined && let Some((counter, readings)) = self.counters.defined(event) {
            let start = self.start.unwrap_or_default();
            for (wall_ns, value) in readings {
                self.reading(event, wall_ns.saturating_sub(start), &counter, value);
            }
        }
        self.written.events += 1;
        self.out.relieve()
    }

    fn hold(&mut self, number: u64, begins: u32, ends: u32, event: &Event<'_>) -> io::Result<()> {
        let time = self.prepare(event);
        let ChromeTrace { types, counters, .. } = self;
        let Type { params, end_params, counters, .. } = types.get(event, |event| Type::new(event, counters));
        let counters = (!counters.is_empty()).then(|| counters.clone());
        let made = |spans: u32, names: &[Box<[u8]>]| {
            let mut out = Vec::new();
            if spans > 0 {
                arguments(&mut out, event, names);
            }
            out.into_boxed_slice()
        };
        let thread = (event.session().id, event.thread());
        let mut held = HeldEvent { thread, begin: made(begins, params), end: made(ends, end_params) };
        let mut bytes = held.begin.len() + held.end.len();
        if !self.held.has_room(bytes) {
            (held.begin, held.end, bytes) = (Box::default(), Box::default(), 0);
            self.written.leave_out(TOO_MANY);
        }
        self.held.put(number, begins + ends, held, bytes);
        if let Some(counters) = counters {
            self.readings(event, time, &counters);
        }
        self.written.events += 1;
        self.out.relieve()
    }

    fn span(&mut self, span: &Span<'_>) -> io::Result<()> {
        let zero = self.start.unwrap_or_default();
        let start = self.processes.get(span.session).map_or(0, |process| process.start.saturating_sub(zero));
        let Span { def, begin, .. } = *span;
        let from = begin.ns.saturating_add(start);
        let is_begun = self.held.is_begun(begin.number, def);
        let (until, end, is_certain) = match span.end {
            SpanEnd::At(end, is_certain) => (Some(end.ns.saturating_add(start)), Some(end), is_certain),
            SpanEnd::Dropped if is_begun => (Some(self.last), None, false),
            SpanEnd::Open | SpanEnd::Never | SpanEnd::Dropped => (None, None, true),
        };
        let row = match span.is_nested || is_begun {
            true => None,
            false => Some(self.row(span.session, begin.thread, def, from, until.unwrap_or(i64::MAX))),
        };
        let ChromeTrace { out, held, threads, .. } = self;
        let of_begin = held.get(begin.number);
        let thread = of_begin.and_then(|held| threads.get(&held.thread)).map_or(&[][..], |thread| thread);
        let begin_arguments = of_begin.map_or(&[][..], |held| &held.begin);
        let end_arguments = end.and_then(|end| held.get(end.number)).map_or(&[][..], |held| &held.end);
        let uncertain: &[u8] = if is_certain { b"" } else { b"\"uncertain\":true," };
        let mut put = |phase: &str, time: i64, arguments: [&[u8]; 2]| {
            let to = &mut out.buffer;
            open(to, phase);
            if let Some(row) = row {
                to.extend_from_slice(b"\"id\":");
                number(to, row);
                to.push(b',');
            }
            to.extend_from_slice(thread);
            to.extend_from_slice(b"\"ts\":");
            microseconds(to, time);
            named(to, span.name, span.category);
            to.extend_from_slice(b",\"args\":{");
            arguments.iter().for_each(|part| to.extend_from_slice(part));
            close(to);
        };
        let [first, last] = if row.is_none() { ["B", "E"] } else { ["b", "e"] };
        if !is_begun {
            put(first, from, [begin_arguments, &[]]);
        }
        if let Some(until) = until {
            put(last, until, [end_arguments, uncertain]);
        }
        match span.end {
            SpanEnd::Open => self.held.begin(begin.number, def),
            _ => self.held.done(begin.number),
        }
        if let Some(end) = end {
            self.held.done(end.number);
        }
        self.out.relieve()
    }

    fn finish(&mut self, events: &Events<'_>) -> io::Result<Written> {
        let starts = events.sessions().iter().map(|session| session.clock.start_wall());
        self.start(starts.min().and_then(|start| i64::try_from(start).ok()).unwrap_or_default());
        let zero = self.start.unwrap_or_default();
        for lost in losses(events, self.last.saturating_add(zero)) {
            self.thread(lost.session, lost.thread);
            // Readers refuse times before the start.
            let [from, until] = [lost.from, lost.until].map(|at| at.saturating_sub(zero).max(0));
            let row = self.row(lost.session.id, lost.thread, usize::MAX, from, until);
            let thread = self.threads.get(&(lost.session.id, lost.thread)).map_or(&[][..], |thread| thread);
            for (phase, time) in [("b", from), ("e", until)] {
                let to = &mut self.out.buffer;
                open(to, phase);
                to.extend_from_slice(b"\"id\":");
                number(to, row);
                to.push(b',');
                to.extend_from_slice(thread);
                to.extend_from_slice(b"\"ts\":");
                microseconds(to, time);
                to.extend_from_slice(b",\"name\":\"lost\",\"cat\":\"lost\",\"args\":{");
                if phase == "b" {
                    if let Some(kind) = &lost.kind {
                        to.extend_from_slice(b"\"kind\":");
                        text(to, kind.as_bytes());
                        to.push(b',');
                    }
                    let causes = lost.lost.causes().map(|(cause, events)| (cause.code(), events));
                    for (name, events) in causes.chain(lost.missing.map(|events| ("missing", events))) {
                        text(to, name.as_bytes());
                        to.push(b':');
                        number(to, events);
                        to.push(b',');
                    }
                }
                close(to);
            }
            self.out.relieve()?;
        }
        self.out.buffer.extend_from_slice(b"\n]}\n");
        self.out.finish()?;
        Ok(std::mem::take(&mut self.written))
    }
}

/// Begins an event, after a comma unless it is the first.
#[inline]
fn open(out: &mut Vec<u8>, phase: &str) {
    if out.last() != Some(&b'[') {
        out.push(b',');
    }
    out.extend_from_slice(b"\n{\"ph\":\"");
    out.extend_from_slice(phase.as_bytes());
    out.extend_from_slice(b"\",");
}

/// Appends a name and a category.
fn named(out: &mut Vec<u8>, name: &str, category: &str) {
    out.extend_from_slice(b",\"name\":");
    text(out, name.as_bytes());
    out.extend_from_slice(b",\"cat\":");
    text(out, category.as_bytes());
}

/// Closes the arguments, without the last comma, and the event.
#[inline]
fn close(out: &mut Vec<u8>) {
    if out.last() == Some(&b',') {
        out.pop();
    }
    out.extend_from_slice(b"}}");
}

impl ChromeTrace<'_> {
    /// Writes the values of an event that are readings of counters.
    fn readings(&mut self, event: &Event<'_>, time: i64, counters: &[Counter]) {
        for counter in counters {
            if let Some(value) = counter.reading(event) {
                self.reading(event, time, counter, value);
            }
        }
    }

    /// Writes a value of a counter, of the thread of an event.
    fn reading(&mut self, event: &Event<'_>, time: i64, counter: &Counter, value: Reading) {
        let thread = self.threads.get(&(event.session().id, event.thread())).map_or(&[][..], |thread| thread);
        let to = &mut self.out.buffer;
        open(to, "C");
        to.extend_from_slice(thread);
        to.extend_from_slice(b"\"ts\":");
        microseconds(to, time);
        to.extend_from_slice(b",\"name\":");
        text(to, counter.name.as_bytes());
        to.extend_from_slice(b",\"args\":{\"value\":");
        reading(to, value);
        close(to);
    }

    /// Describes the thread of an event, if it is new. Returns the time of the event.
    #[inline]
    fn prepare(&mut self, event: &Event<'_>) -> i64 {
        if !self.threads.contains_key(&(event.session().id, event.thread())) {
            self.start(event.wall_ns());
            self.thread(event.session(), event.thread());
        }
        let time = event.wall_ns().saturating_sub(self.start.unwrap_or_default());
        self.last = self.last.max(time);
        time
    }

    /// Begins the trace, unless it has begun.
    fn start(&mut self, start: i64) {
        if self.start.is_some() {
            return;
        }
        self.start = Some(start);
        let to = &mut self.out.buffer;
        to.extend_from_slice(b"{\"displayTimeUnit\":\"ns\",\"otherData\":{\"start_ns\":\"");
        signed(to, start);
        to.extend_from_slice(b"\"},\"traceEvents\":[");
    }

    /// Describes a thread, and its process, unless they are known.
    fn thread(&mut self, session: &Session, thread: u32) {
        if self.threads.contains_key(&(session.id, thread)) {
            return;
        }
        let is_new = self.processes.get(session.id).is_none();
        if is_new {
            self.processes.add(session);
        }
        let tid = self.processes.tid(session, thread);
        let Some(Process { pid, name, .. }) = self.processes.get(session.id) else { return };
        let mut ids = b"\"pid\":".to_vec();
        number(&mut ids, (*pid).into());
        ids.extend_from_slice(b",\"tid\":");
        number(&mut ids, tid.into());
        ids.push(b',');
        let thread_name = match thread {
            0 => Some("no thread"),
            thread => session.thread_name(thread),
        };
        let names = [("process_name", is_new.then_some(name.as_str())), ("thread_name", thread_name)];
        for (what, name) in names.into_iter().filter_map(|(what, name)| Some((what, name?))) {
            let to = &mut self.out.buffer;
            open(to, "M");
            to.extend_from_slice(&ids);
            to.extend_from_slice(b"\"name\":");
            text(to, what.as_bytes());
            to.extend_from_slice(b",\"args\":{\"name\":");
            text(to, name.as_bytes());
            close(to);
        }
        self.threads.insert((session.id, thread), ids.into());
    }

    /// Returns a row for a span that does not nest on its thread.
    fn row(&mut self, session: u64, thread: u32, def: usize, from: i64, until: i64) -> u64 {
        let key = RowKey { session, thread: Some(thread), def };
        let new = self.row + 1;
        let row = self.rows.take(key, from, until, || new);
        self.row = self.row.max(row);
        row
    }
}

impl Type {
    fn new(event: &Event<'_>, counters: &mut Counters) -> Type {
        let params = &event.schema().params;
        let name = |name: &str| {
            let mut out = Vec::new();
            text(&mut out, name.as_bytes());
            out.push(b':');
            out.into_boxed_slice()
        };
        let mut head = Vec::new();
        named(&mut head, event.name(), &event.kind().name);
        Type {
            head: head.into(),
            params: params.iter().map(|param| name(&param.name)).collect(),
            end_params: params.iter().map(|param| name(&format!("end_{}", param.name))).collect(),
            counters: counters.of(event),
            has_defined: Counters::has_defined(event),
        }
    }
}
