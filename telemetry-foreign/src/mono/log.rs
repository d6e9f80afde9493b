//! A log as a source of events.

use std::collections::{HashMap, VecDeque};
use std::io;

use telemetry_decode::completeness::{Cause, Damage};
use telemetry_decode::foreign::{Extent, Log, LogBytes, LogLane, Page, Survey};
use telemetry_decode::{Clock, Session};
use telemetry_schema::Registry;

use super::calls::Calls;
use super::decode::{Decoded, Item, Visit, decode};
use super::header::{BUFFER_LEN, BufferHead, FileHead};
use super::layout::{Layout, Version};
use super::names::Names;
use super::order::{self, Key};
use super::page::PageEvents;
use super::registry::{registry, registry_of_one};
use super::walk::{Layouts, Placed, Step, Walk};
use super::what::What;

/// The most lanes of one thread that a buffer may continue.
const MAX_OPEN: usize = 16;

/// A log of the Mono log profiler, data version 1 or 17.
pub struct MonoLog {
    /// Of version 1, and of version 17.
    registries: [Registry; 2],
    /// For each version, its index among the log's registries, if the log has events of it.
    used: [Option<usize>; 2],
    layouts: &'static Layouts,
}

impl MonoLog {
    /// Makes a reader of logs of both versions; a log states its version.
    pub fn new() -> MonoLog {
        let registries = [registry_of_one(), registry()];
        MonoLog { registries, used: [None; 2], layouts: Layouts::shared() }
    }
}

impl Default for MonoLog {
    fn default() -> Self {
        MonoLog::new()
    }
}

impl Log for MonoLog {
    fn survey(&mut self, bytes: &mut LogBytes<'_>) -> telemetry_decode::Result<Survey> {
        let mut survey = Survey::default();
        self.used = [None; 2];
        let mut run: Option<Run> = None;
        let mut walk = Walk::new(self.layouts);
        let mut room = Names::ROOM;
        loop {
            match walk.next(bytes)? {
                Step::End => break,
                Step::Damage(damage) => survey.damage.push(damage),
                Step::File(head) => {
                    if let Some(run) = run.take() {
                        room = run.names.room();
                        survey.sessions.push(run.session());
                    }
                    run = Some(Run::new(Some(*head), survey.sessions.len(), room));
                }
                Step::Buffer(placed) => {
                    if let Some(why) = Survey::full(survey.extents.len(), survey.damage.len()) {
                        survey.damage.push(walk.leave_out(bytes, placed.at, why));
                        break;
                    }
                    let run = run.get_or_insert_with(|| Run::new(None, survey.sessions.len(), room));
                    let version = usize::from(placed.version == Version::Seventeen);
                    let used = &mut self.used[version];
                    let registry = *used.get_or_insert_with(|| {
                        let registry = &self.registries[version];
                        survey.counts.push(vec![0; registry.events.len()]);
                        survey.registries.push(registry.clone());
                        survey.registries.len() - 1
                    });
                    let layout = self.layouts.of(placed.version);
                    let decoded = run.buffer(layout, registry, &placed, bytes, &mut survey)?;
                    survey.damage.extend(walk.damage(&placed, &decoded));
                }
            }
        }
        survey.sessions.extend(run.map(Run::session));
        Ok(survey)
    }

    fn read(&self, extent: &Extent, bytes: &[u8], page: &mut Page) {
        let Note { version, index, order } = Note::of(extent.note);
        let layout = self.layouts.of(version);
        let Some((head, payload)) = BufferHead::read(bytes).zip(bytes.get(BUFFER_LEN..)) else { return };
        let registry = usize::from(version == Version::Seventeen);
        let used = (self.used[registry].unwrap_or_default(), &self.registries[registry]);
        let mut events = PageEvents::new(layout, used, page, extent.first_ticks);
        events.buffer(&head, index, extent.events.saturating_sub(1 + order), order > 0);
        decode(layout, &head, payload, &mut events);
        events.order();
    }
}

/// The content of an extent's note.
struct Note {
    version: Version,
    /// Number of the buffer.
    index: u32,
    /// The events that tell the order of the others.
    order: u32,
}

impl Note {
    fn of(note: u64) -> Note {
        let version = if note & 1 != 0 { Version::Seventeen } else { Version::One };
        Note { version, index: (note >> 32) as u32, order: (note as u32) >> 1 }
    }

    fn bits(&self) -> u64 {
        u64::from(self.index) << 32
            | u64::from(self.order) << 1
            | u64::from(self.version == Version::Seventeen)
    }
}

/// One run of a program, during the scan.
struct Run {
    head: Option<FileHead>,
    /// Its index.
    session: usize,
    id: u64,
    names: Names,
    /// By pthread_self: the lanes of the thread that a buffer may continue.
    open: HashMap<u64, VecDeque<Open>>,
    /// For each lane, its pthread_self.
    threads: Vec<u64>,
    earliest: Option<u64>,
    program: Option<String>,
}

/// A lane, and the clock reading of its last event.
struct Open {
    lane: u32,
    last: u64,
}

impl Run {
    /// Makes a run. `room` is the number of bytes that its names may take.
    fn new(head: Option<FileHead>, session: usize, room: usize) -> Run {
        Run {
            head,
            session,
            id: 0xcbf2_9ce4_8422_2325,
            names: Names::new(room),
            open: HashMap::new(),
            threads: Vec::new(),
            earliest: None,
            program: None,
        }
    }

    /// Takes a buffer: counts its events, and makes it an extent. Returns what was decoded.
    fn buffer(
        &mut self,
        layout: &Layout,
        registry: usize,
        placed: &Placed,
        bytes: &mut LogBytes<'_>,
        survey: &mut Survey,
    ) -> io::Result<Decoded> {
        let payload = bytes.at(placed.payload_at(), placed.len)?;
        let payload = &payload[..placed.len.min(payload.len())];
        let mut counts = vec![0; survey.counts[registry].len()];
        let mut counted = Counted::new(layout, &placed.head, &mut counts, self);
        let decoded = decode(layout, &placed.head, payload, &mut counted);
        let Counted { events, first, last, is_sorted, .. } = counted;
        let order = if is_sorted { 0 } else { order::events(events) };
        counts[layout.index(What::Buffer) as usize] += 1;
        counts[layout.index(What::Order) as usize] += u64::from(order);
        let range = placed.at..placed.at + (BUFFER_LEN + decoded.end) as u64;
        let lane = match self.lane(&placed.head, first, last, &mut survey.lanes) {
            Ok(lane) => lane,
            Err(why) => {
                survey.damage.push(Damage::new(range, Cause::Log(why), events));
                return Ok(decoded);
            }
        };
        for (sum, count) in survey.counts[registry].iter_mut().zip(&counts) {
            *sum += count;
        }
        // The end of the log does not influence its id: a log that was cut or has grown is the
        // same.
        if self.earliest.is_none() {
            self.identify(&placed.head);
        }
        self.earliest = Some(self.earliest.map_or(first, |earliest| earliest.min(first)));
        let bits = Note { version: layout.version, index: placed.index, order }.bits();
        survey.extents.push(Extent::new(lane, range, 1 + order + events, first).with_note(bits));
        Ok(decoded)
    }

    /// Returns the lane of a buffer. A buffer that is not entirely later than a thread's earlier
    /// one gets its own lane. So events of a lane are always in order, and it is clear which buffer
    /// each belongs to. Returns why there is none if the log has too many.
    fn lane(
        &mut self,
        head: &BufferHead,
        first: u64,
        last: u64,
        lanes: &mut Vec<LogLane>,
    ) -> Result<u32, String> {
        let open = self.open.get_mut(&head.thread);
        if let Some(open) = open.and_then(|open| open.iter_mut().find(|open| open.last < first)) {
            open.last = last;
            return Ok(open.lane);
        }
        if let Some(why) = Survey::full_of_lanes(lanes.len()) {
            return Err(why);
        }
        let open = self.open.entry(head.thread).or_default();
        let lane = lanes.len() as u32;
        if open.len() == MAX_OPEN {
            open.pop_front();
        }
        open.push_back(Open { lane, last });
        self.threads.push(head.thread);
        lanes.push(LogLane::new(self.session, self.threads.len() as u32));
        Ok(lane)
    }

    /// Makes an id from the start of the run: two logs with the same id are the same log.
    fn identify(&mut self, head: &BufferHead) {
        let file = self.head.as_ref().map_or([0; 3], |head| [head.start_ms, head.start_ns, head.pid.into()]);
        let numbers = [head.time, head.ptr_base, head.obj_base, head.thread, head.method_base];
        for byte in file.into_iter().chain(numbers).flat_map(u64::to_le_bytes) {
            self.id = (self.id ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
    }

    fn session(self) -> Session {
        let labels = self.names.labels();
        let start = self.earliest.unwrap_or_default();
        let (start_ticks, wall_ms) = match &self.head {
            Some(head) if head.start_ns != 0 => (head.start_ns, head.start_ms),
            Some(head) => (start, head.start_ms),
            None => (start, 0),
        };
        let threads = self
            .threads
            .iter()
            .enumerate()
            .map(|(index, thread)| (index as u32 + 1, super::facts::thread(*thread, &labels)));
        let facts = super::facts::session(self.head.as_ref(), self.program.as_deref());
        let clock = Clock::nanoseconds(start_ticks, wall_ms.saturating_mul(1_000_000));
        let mut session = Session::new(self.id, facts, clock);
        threads.for_each(|(thread, facts)| session.set_thread(thread, facts));
        session.labels = labels;
        session.declared = self.head.is_some();
        session.ended = true;
        session
    }
}

/// Counts the events of a buffer.
struct Counted<'c> {
    layout: &'c Layout,
    calls: Calls,
    counts: &'c mut [u64],
    run: &'c mut Run,
    events: u32,
    /// Earliest and latest clock reading.
    first: u64,
    last: u64,
    /// The event before.
    key: Key,
    is_sorted: bool,
}

impl<'c> Counted<'c> {
    fn new(layout: &'c Layout, head: &BufferHead, counts: &'c mut [u64], run: &'c mut Run) -> Self {
        let (first, last) = (head.time, head.time);
        let calls = Calls::default();
        Counted { layout, calls, counts, run, events: 0, first, last, key: (0, 0), is_sorted: true }
    }

    #[inline(always)]
    fn count(&mut self, event: u32, key: Key) {
        self.counts[event as usize] += 1;
        self.events += 1;
        self.first = self.first.min(key.0);
        self.last = self.last.max(key.0);
        self.is_sorted &= self.key <= key;
        self.key = key;
    }
}

impl Visit for Counted<'_> {
    #[inline]
    fn call(&mut self, what: What, ticks: u64, method: u64, _: usize, _: usize) {
        for what in self.calls.read(what, method).0 {
            self.count(self.layout.index(*what), (ticks, self.layout.call_kind));
        }
    }

    fn event(&mut self, item: &Item<'_>) {
        self.count(item.event, (item.ticks, item.entry.kind));
        self.run.names.take(&self.layout.namings, item);
        if self.run.program.is_none() && matches!(item.what, What::ImageLoad | What::ImageDefine) {
            self.run.program = super::facts::program(item);
        }
    }
}
