//! Writes events as a telemetry stream.

use std::collections::{BTreeSet, HashMap};
use std::io::{self, Write};

use telemetry_decode::writer::{Compress, Lane, WriteError, Writer};
use telemetry_decode::{Event, Events, Facts, Session, Value};
use telemetry_foreign::Written;
use telemetry_format::Loss;

use crate::term::progress::Progress;

/// The message for events whose time was changed.
const MOVED: &str = "followed later events of their thread, and were given the time of those";

/// Writes events, which come by time, as a stream of the same sessions.
pub(super) fn write(
    events: &mut Events<'_>,
    out: &mut dyn Write,
    compress: Compress,
    progress: &Progress,
) -> telemetry_decode::Result<Written> {
    let mut stream = Stream {
        writer: Writer::new(out).compress(compress).long_runs(),
        sessions: BTreeSet::new(),
        registries: BTreeSet::new(),
        lanes: HashMap::new(),
        written: Written::default(),
    };
    for session in events.sessions().to_vec() {
        stream.begin(&session)?;
    }
    let mut values: Vec<Value<'static>> = Vec::new();
    while let Some(event) = events.next()? {
        values = stream.event(&event, values)?;
        progress.event(|| events.bytes_done());
    }
    Ok(stream.end(events)?)
}

/// A stream that is being written.
struct Stream<'o> {
    writer: Writer<&'o mut dyn Write>,
    sessions: BTreeSet<u64>,
    /// Session and fingerprint.
    registries: BTreeSet<(u64, u64)>,
    /// Clock reading of the last event, by lane and kind.
    lanes: HashMap<(Lane, u8), u64>,
    written: Written,
}

impl Stream<'_> {
    /// Writes the facts of a session once.
    fn begin(&mut self, session: &Session) -> io::Result<()> {
        if !self.sessions.insert(session.id) {
            return Ok(());
        }
        let (facts, clock) = (with_clock(session), &session.clock);
        self.writer.session(session.id, &facts, clock.start_ticks(), clock.start_wall())?;
        self.writer.set_clock(session.id, *clock)?;
        for (thread, facts) in session.threads() {
            self.writer.thread(session.id, *thread, facts)?;
        }
        Ok(())
    }

    /// Appends an event. Takes memory for its values, and gives it back.
    fn event(&mut self, event: &Event<'_>, room: Vec<Value<'static>>) -> io::Result<Vec<Value<'static>>> {
        let (session, thread, ticks) = (event.session(), event.thread(), event.ticks());
        let registry = event.known_registry();
        self.begin(session)?;
        if self.registries.insert((session.id, registry.fingerprint)) {
            self.writer.registry(session.id, &registry.registry)?;
        }
        let lane = Lane { session: session.id, thread, registry: registry.fingerprint };
        let last = self.lanes.entry((lane, event.kind().bit)).or_insert(ticks);
        if ticks < *last {
            self.written.leave_out(MOVED);
        }
        *last = ticks.max(*last);
        let mut values = room_for(room);
        values.extend(event.values());
        match self.writer.event(lane, event.schema().code, *last, &values) {
            Ok(()) => self.written.events += 1,
            Err(WriteError::Refused(why)) => self.written.leave_out(&format!("left out: {why}")),
            Err(error) => return Err(error.into()),
        }
        values.clear();
        Ok(room_for(values))
    }

    /// Ends the stream as its source ended. Also writes the moment at which the rate of a session's
    /// clock was measured, so that times remain the same.
    fn end(mut self, events: &Events<'_>) -> io::Result<Written> {
        for lane in events.completeness().lanes {
            if lane.lost == Loss::default() || !self.registries.contains(&(lane.session, lane.registry)) {
                continue;
            }
            let of = Lane { session: lane.session, thread: lane.thread, registry: lane.registry };
            self.writer.lose(of, lane.kind, lane.lost)?;
        }
        for session in events.sessions().iter().filter(|session| self.sessions.contains(&session.id)) {
            let of_session = self.lanes.iter().filter(|((lane, _), _)| lane.session == session.id);
            let rated_at = session.clock.rated_at();
            let last = of_session.fold(rated_at, |last, (_, ticks)| last.max(*ticks));
            self.writer.set_clock(session.id, session.clock)?;
            match session.ended {
                true => self.writer.end(session.id, last)?,
                false => self.writer.sync(session.id, last)?,
            }
        }
        self.writer.finish()?;
        Ok(self.written)
    }
}

/// Returns the facts of a session, with its clock.
fn with_clock(session: &Session) -> Facts {
    let mut facts = session.facts.clone();
    if facts.get("clock").is_none() {
        let rate = session.clock.ticks_per_second().round();
        facts.set("clock", if rate == 1e9 { "os" } else { "tsc" });
        if facts.get("ticks_per_second").is_none() {
            facts.set("ticks_per_second", rate as i64);
        }
    }
    facts
}

/// Returns an empty list for values of any lifetime, in the memory of another list.
fn room_for<'a>(mut room: Vec<Value<'_>>) -> Vec<Value<'a>> {
    room.clear();
    // The list is empty, so nothing is copied. Collecting in place keeps the memory.
    room.into_iter().map(|_| Value::Bool(false)).collect()
}
