//! Writes a trace.

use std::io::{self, Write};
use std::rc::Rc;

use telemetry_decode::{Event, Events, Session};

use super::fields::{annotation, clock, defaults, event, packet, sequence};
use super::names::Names;
use super::packets::Packets;
use super::tracks::Tracks;
use super::values::{annotation, annotations};
use crate::common::proto::{bytes, fixed, message, number};
use crate::common::written::Written;
use crate::timeline::{
    Counter, Counters, Held, PerEvent, Reading, RowKey, Span, SpanEnd, TOO_MANY, Timeline, losses,
};

/// Writes events and spans as a trace for Perfetto.
///
/// Each session is a process. Its spans are slices, of the thread that began them or on rows of
/// their own. Marks are instants of one track, with their texts as names. Other events are instants
/// of their threads. Parameters are arguments; those of the event that ends a
/// span are named `end_NAME`. Those with the mark `counter` are values of counter tracks, too. The
/// time of the trace is that since 1970, in nanoseconds, so sessions of several hosts stand where
/// their clocks say. What is missing stands on tracks `lost`.
pub struct PerfettoTrace<'o> {
    packets: Packets<'o>,
    names: Names,
    types: PerEvent<Type>,
    counters: Counters,
    held: Held<HeldEvent>,
    tracks: Tracks,
    /// Key and track of the last thread.
    last_thread: ((u64, u32), u64),
    /// The time of the last packet that counts from the one before; none before the first.
    now: Option<i64>,
    /// The latest time.
    last: i64,
    written: Written,
}

/// Numbers of the names of a type of event.
struct Type {
    name: u64,
    category: u64,
    params: Box<[u64]>,
    /// Names of its parameters where it ends a span.
    end_params: Box<[u64]>,
    counters: Rc<[Counter]>,
    /// It is about counters that events define.
    has_defined: bool,
}

/// An event that waits for its spans.
struct HeldEvent {
    track: u64,
    begin: Box<[u8]>,
    end: Box<[u8]>,
}

impl<'o> PerfettoTrace<'o> {
    /// Begins a trace.
    pub fn new(out: &'o mut dyn Write) -> Self {
        PerfettoTrace {
            packets: Packets::new(out),
            names: Names::default(),
            types: PerEvent::default(),
            counters: Counters::default(),
            held: Held::default(),
            tracks: Tracks::default(),
            last_thread: ((0, u32::MAX), 0),
            now: None,
            last: i64::MIN,
            written: Written::default(),
        }
    }
}

impl Timeline for PerfettoTrace<'_> {
    fn event(&mut self, of: &Event<'_>) -> io::Result<()> {
        let mark = of.mark().filter(|text| !text.is_empty());
        let track = match mark {
            Some(_) => self.tracks.of_marks(&mut self.packets)?,
            None => self.track(of)?,
        };
        let time = of.wall_ns();
        let step = self.step(time)?;
        self.last = self.last.max(time);
        let PerfettoTrace { types, counters, names, packets, .. } = self;
        let Type { name, category, params, counters, has_defined, .. } =
            types.get(of, |of| Type::new(of, names, counters));
        let (name, category, has_defined) = (*name, *category, *has_defined);
        let counters = (!counters.is_empty()).then(|| counters.clone());
        packets.push(|out| {
            number(out, packet::TIMESTAMP, step);
            number(out, packet::SEQUENCE, sequence::EVENTS);
            number(out, packet::SEQUENCE_FLAGS, sequence::NEEDS_STATE);
            message(out, packet::TRACK_EVENT, |out| {
                number(out, event::TYPE, event::INSTANT);
                number(out, event::TRACK, track);
                number(out, event::CATEGORY, category);
                match mark {
                    // Not interned: there may be many texts, and few of each.
                    Some(text) => bytes(out, event::TEXT, text.as_bytes()),
                    None => number(out, event::NAME, name),
                }
                annotations(out, of, params, names);
            });
            names.put_new(out);
        })?;
        if let Some(counters) = counters {
            self.readings(of, &counters)?;
        }
        if has_defined && let Some((counter, readings)) = self.counters.defined(of) {
            for (time, reading) in readings {
                self.reading(of, time, &counter, reading)?;
            }
        }
        self.written.events += 1;
        Ok(())
    }

    fn hold(&mut self, number: u64, begins: u32, ends: u32, event: &Event<'_>) -> io::Result<()> {
        let (track, time) = (self.track(event)?, event.wall_ns());
        if self.now.is_none() {
            self.step(time)?;
        }
        self.last = self.last.max(time);
        let PerfettoTrace { types, counters, names, .. } = self;
        let Type { params, end_params, counters, .. } =
            types.get(event, |event| Type::new(event, names, counters));
        let counters = (!counters.is_empty()).then(|| counters.clone());
        let mut arguments = |spans: u32, params: &[u64]| {
            let mut out = Vec::new();
            if spans > 0 {
                annotations(&mut out, event, params, names);
            }
            out.into_boxed_slice()
        };
        let mut held =
            HeldEvent { track, begin: arguments(begins, params), end: arguments(ends, end_params) };
        let mut bytes = held.begin.len() + held.end.len();
        if !self.held.has_room(bytes) {
            (held.begin, held.end, bytes) = (Box::default(), Box::default(), 0);
            self.written.leave_out(TOO_MANY);
        }
        self.held.put(number, begins + ends, held, bytes);
        if let Some(counters) = counters {
            self.readings(event, &counters)?;
        }
        self.written.events += 1;
        Ok(())
    }

    fn span(&mut self, span: &Span<'_>) -> io::Result<()> {
        let start = self.tracks.start_of(span.session);
        let Span { def, begin, .. } = *span;
        let from = begin.ns.saturating_add(start);
        let (until, end, is_certain) = match span.end {
            SpanEnd::At(end, is_certain) => (Some(end.ns.saturating_add(start)), Some(end), is_certain),
            SpanEnd::Dropped if self.held.is_begun(begin.number, def) => (Some(self.last), None, false),
            SpanEnd::Open | SpanEnd::Never | SpanEnd::Dropped => (None, None, true),
        };
        let is_begun = self.held.is_begun(begin.number, def);
        let thread = self.held.get(begin.number).map_or(0, |held| held.track);
        let track = match span.is_nested || is_begun {
            true => thread,
            false => self.row(span, thread, from, until.unwrap_or(i64::MAX))?,
        };
        let (name, category) = (self.names.event(span.name), self.names.category(span.category));
        let uncertain = (!is_certain).then(|| self.names.annotation("uncertain"));
        let PerfettoTrace { packets, names, held, .. } = self;
        if !is_begun {
            packets.push(|out| {
                at(out, from);
                message(out, packet::TRACK_EVENT, |out| {
                    number(out, event::TYPE, event::BEGIN);
                    number(out, event::TRACK, track);
                    number(out, event::CATEGORY, category);
                    number(out, event::NAME, name);
                    out.extend_from_slice(held.get(begin.number).map_or(&[], |held| &held.begin));
                });
                names.put_new(out);
            })?;
        }
        if let Some(until) = until {
            packets.push(|out| {
                at(out, until);
                message(out, packet::TRACK_EVENT, |out| {
                    number(out, event::TYPE, event::END);
                    number(out, event::TRACK, track);
                    out.extend_from_slice(
                        end.and_then(|end| held.get(end.number)).map_or(&[], |held| &held.end),
                    );
                    if let Some(name) = uncertain {
                        annotation(out, name, |out| number(out, annotation::BOOL, 1));
                    }
                });
                names.put_new(out);
            })?;
        }
        match span.end {
            SpanEnd::Open => held.begin(begin.number, def),
            _ => held.done(begin.number),
        }
        if let Some(end) = end {
            held.done(end.number);
        }
        Ok(())
    }

    fn finish(&mut self, events: &Events<'_>) -> io::Result<Written> {
        self.start(events.sessions())?;
        self.write_losses(events)?;
        self.packets.flush()?;
        Ok(std::mem::take(&mut self.written))
    }
}

impl PerfettoTrace<'_> {
    /// Returns the time since the last event. If there is none, or it is later, makes this time the
    /// one to count from.
    fn step(&mut self, time: i64) -> io::Result<u64> {
        if let Some(step) = self.now.and_then(|now| u64::try_from(time.checked_sub(now)?).ok()) {
            self.now = Some(time);
            return Ok(step);
        }
        let is_first = self.now.is_none();
        self.now = Some(time);
        self.packets.push(|out| {
            number(out, packet::SEQUENCE, sequence::EVENTS);
            if is_first {
                number(out, packet::SEQUENCE_FLAGS, sequence::CLEARED);
            }
            message(out, packet::CLOCK_SNAPSHOT, |out| {
                for id in [clock::BOOTTIME, clock::REALTIME, clock::STEPS] {
                    message(out, clock::CLOCKS, |out| {
                        number(out, clock::ID, id);
                        match id {
                            clock::STEPS => {
                                number(out, clock::TIMESTAMP, 0);
                                number(out, clock::IS_INCREMENTAL, 1);
                            }
                            _ => number(out, clock::TIMESTAMP, time as u64),
                        }
                    });
                }
                number(out, clock::PRIMARY, clock::BOOTTIME);
            });
            if is_first {
                message(out, packet::DEFAULTS, |out| number(out, defaults::CLOCK_ID, clock::STEPS));
            }
        })?;
        Ok(0)
    }

    /// Returns the track of an event's thread.
    #[inline]
    fn track(&mut self, event: &Event<'_>) -> io::Result<u64> {
        let key = (event.session().id, event.thread());
        if self.last_thread.0 != key {
            self.last_thread = (key, self.tracks.thread(&mut self.packets, event.session(), event.thread())?);
        }
        Ok(self.last_thread.1)
    }

    /// Writes the values of an event that are readings of counters.
    fn readings(&mut self, of: &Event<'_>, counters: &[Counter]) -> io::Result<()> {
        for counter in counters {
            if let Some(reading) = counter.reading(of) {
                self.reading(of, of.wall_ns(), counter, reading)?;
            }
        }
        Ok(())
    }

    /// Writes a value of a counter, in the session of an event.
    fn reading(&mut self, of: &Event<'_>, time: i64, counter: &Counter, reading: Reading) -> io::Result<()> {
        let track = self.tracks.counter(&mut self.packets, of.session(), counter)?;
        let step = self.step(time)?;
        self.packets.push(|out| {
            number(out, packet::TIMESTAMP, step);
            number(out, packet::SEQUENCE, sequence::EVENTS);
            number(out, packet::SEQUENCE_FLAGS, sequence::NEEDS_STATE);
            message(out, packet::TRACK_EVENT, |out| {
                number(out, event::TYPE, event::READING);
                number(out, event::TRACK, track);
                match reading {
                    Reading::Whole(value) => number(out, event::INTEGER, value as u64),
                    Reading::F32(value) => fixed(out, event::DOUBLE, f64::from(value).to_bits()),
                    Reading::F64(value) => fixed(out, event::DOUBLE, value.to_bits()),
                }
            });
        })
    }

    /// Returns a row for a span that does not nest on its thread.
    fn row(&mut self, span: &Span<'_>, thread: u64, from: i64, until: i64) -> io::Result<u64> {
        let parent = match span.has_key {
            true => self.tracks.of_session(span.session),
            false => thread,
        };
        let key = RowKey {
            session: span.session,
            thread: (!span.has_key).then_some(span.begin.thread),
            def: span.def,
        };
        self.tracks.row(&mut self.packets, key, [from, until], (parent, span.name))
    }

    /// Writes what is missing on tracks of its own.
    fn write_losses(&mut self, events: &Events<'_>) -> io::Result<()> {
        for lost in losses(events, self.last) {
            let thread = self.tracks.thread(&mut self.packets, lost.session, lost.thread)?;
            let key = RowKey { session: lost.session.id, thread: Some(lost.thread), def: usize::MAX };
            let track = self.tracks.row(&mut self.packets, key, [lost.from, lost.until], (thread, "lost"))?;
            self.packets.push(|out| {
                at_of(out, lost.from, sequence::LOSSES);
                number(out, packet::PREVIOUS_DROPPED, 1);
                message(out, packet::TRACK_EVENT, |out| {
                    number(out, event::TYPE, event::BEGIN);
                    number(out, event::TRACK, track);
                    bytes(out, event::TEXT, b"lost");
                    let mut argument = |name: &str, write: &dyn Fn(&mut Vec<u8>)| {
                        message(out, event::ANNOTATION, |out| {
                            bytes(out, annotation::TEXT, name.as_bytes());
                            write(out);
                        });
                    };
                    if let Some(kind) = &lost.kind {
                        argument("kind", &|out| bytes(out, annotation::STRING, kind.as_bytes()));
                    }
                    for (cause, events) in lost.lost.causes() {
                        argument(cause.code(), &|out| number(out, annotation::UNSIGNED, events));
                    }
                    if let Some(missing) = lost.missing {
                        argument("missing", &|out| number(out, annotation::UNSIGNED, missing));
                    }
                });
            })?;
            self.packets.push(|out| {
                at_of(out, lost.until, sequence::LOSSES);
                message(out, packet::TRACK_EVENT, |out| {
                    number(out, event::TYPE, event::END);
                    number(out, event::TRACK, track);
                });
            })?;
        }
        Ok(())
    }

    /// Makes a trace without events one that has its sessions.
    fn start(&mut self, sessions: &[Session]) -> io::Result<()> {
        if self.now.is_none() {
            let start = sessions.iter().map(|session| session.clock.start_wall()).min().unwrap_or_default();
            self.step(i64::try_from(start).unwrap_or(i64::MAX))?;
            self.last = self.last.max(self.now.unwrap_or_default());
        }
        sessions.iter().try_for_each(|session| self.tracks.session(&mut self.packets, session).map(drop))
    }
}

impl Type {
    fn new(event: &Event<'_>, names: &mut Names, counters: &mut Counters) -> Type {
        let params = &event.schema().params;
        Type {
            name: names.event(event.name()),
            category: names.category(&event.kind().name),
            params: params.iter().map(|param| names.annotation(&param.name)).collect(),
            end_params: params.iter().map(|param| names.annotation(&format!("end_{}", param.name))).collect(),
            counters: counters.of(event),
            has_defined: Counters::has_defined(event),
        }
    }
}

/// Begins a packet of a span, whose time does not count from the packet before.
fn at(out: &mut Vec<u8>, time: i64) {
    at_of(out, time, sequence::EVENTS);
    number(out, packet::SEQUENCE_FLAGS, sequence::NEEDS_STATE);
}

fn at_of(out: &mut Vec<u8>, time: i64, of: u64) {
    number(out, packet::TIMESTAMP, time as u64);
    number(out, packet::CLOCK_ID, clock::BOOTTIME);
    number(out, packet::SEQUENCE, of);
}
