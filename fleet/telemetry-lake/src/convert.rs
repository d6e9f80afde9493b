//! Segments of a session as Parquet files.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use telemetry_columns::{Batch, Builder, Runs, Spans, Tables};
use telemetry_decode::accounts::HeaderSums;
use telemetry_decode::blocks::{Blocks, Header, Piece};
use telemetry_decode::{Clock, Event, Events, Facts, KnownRegistry, Order, Reader, Session};
use telemetry_fleet::segment::is_scrubbed;
use telemetry_format::{BlockType, flags};

use crate::catalog::{self, Catalog};
use crate::continued::Continued;
pub use crate::files::{ConvertError, NewFile, day_text};
use crate::files::{DAY_NS, File, day_of};
use crate::hidden::Hidden;
use crate::layout::Layout;
use crate::range::Range as EventRange;
use crate::rows;
use crate::span_files::SpanFiles;
use crate::state::{SessionState, ThreadState};

/// The result of a conversion.
pub struct Converted {
    /// The rows.
    pub files: Vec<NewFile>,
    /// The clock of the session, if a segment states it.
    pub clock: Option<Clock>,
}

/// Converts the events of `segments`, which are all of one session, that `state` does not have.
/// Notes them there, and registries in the catalog.
///
/// The files follow from the arguments alone, so a repetition after a crash gives the same files.
/// Unless `shows_sensitive`, or the session is scrubbed, they have no sensitive values.
///
/// # Errors
/// If the bytes are not a stream.
pub fn convert(
    segments: &[u8],
    state: &mut SessionState,
    catalog: &mut Catalog,
    shows_sensitive: bool,
) -> Result<Converted, ConvertError> {
    let headers = headers(segments)?;
    // Columns of hidden values keep their types, so they are left out below.
    let reader = Reader::from_slice(segments).order(Order::Time).show_sensitive(true);
    let mut events = reader.events().map_err(ConvertError::of)?;
    for known in events.registries() {
        catalog.add(known);
    }
    let host = catalog.layout().has_host_in_rows().then(|| rows::host(&state.host));
    let shows_sensitive = shows_sensitive || is_scrubbed(segments, state.session);
    let hidden = if shows_sensitive { Hidden::default() } else { Hidden::of(events.registries(), catalog) };
    let mut parts = Parts {
        catalog,
        hidden,
        host,
        days: BTreeMap::new(),
        day: 0..0,
        groups: Vec::new(),
        places: Vec::new(),
        latest: 0,
    };
    let mut lanes = LaneNumbers::default();
    let clock = events.sessions().iter().find(|session| session.id == state.session);
    let start_ticks = clock.map_or(0, |session| session.clock.start_ticks());
    let continued = Continued::of(&headers, state, start_ticks);
    let place = (parts.catalog.layout(), parts.host.clone());
    let times = (clock.map_or(0, |session| session.clock.start_wall() as i64), state.last_ns());
    let mut spans = SpanFiles::new(place, continued, events.gaps(), times);
    let known: Vec<_> = events.registries().iter().chain(parts.catalog.registries()).collect();
    spans.carry_on(state, &known, !shows_sensitive);
    let mut damages = events.damages();
    loop {
        {
            let Some(event) = events.next().map_err(ConvertError::of)? else { break };
            // Segments are of one session. Another one would be in the wrong place.
            let Some(n) = event.position().filter(|_| event.session().id == state.session) else { continue };
            let lane = lanes.number(&event, state);
            let ns = event.wall_ns();
            if !state.lanes[lane].take(n, ns) {
                continue;
            }
            let is_of_spans = parts.push(&event, lane, ns)?;
            spans.push(&event, ns, is_of_spans)?;
        }
        // Damage is found before the first event after it.
        if events.damages() != damages {
            damages = events.damages();
            spans.set_gaps(events.gaps());
        }
    }
    spans.set_gaps(events.gaps());
    let mut files = parts.finish()?;
    note(&headers, &events, state);
    files.extend(spans.finish(state)?);
    state.is_deleted &= files.is_empty();
    let session = events.sessions().iter().find(|session| session.id == state.session);
    Ok(Converted { files, clock: session.map(|session| session.clock) })
}

/// Returns the times between which the events of a segment happened, in nanoseconds since 1970. The
/// texts of labels do not count: each segment repeats all of them.
pub fn times(segment: &[u8], clock: &Clock) -> Option<(i64, i64)> {
    let headers = headers(segment).ok()?;
    let of_threads =
        headers.iter().filter(|header| header.block_type == BlockType::Events && header.thread != 0);
    let (from, until) = (of_threads.clone().map(|header| header.base_ticks).min()?, of_threads);
    let until = until.map(|header| header.end_ticks).max()?;
    Some((clock.wall_ns(from), clock.wall_ns(until)))
}

/// Says how much of a segment is damaged, if any of it is.
pub fn damage(segment: &[u8]) -> Option<String> {
    let (mut blocks, mut bytes, mut first) = (Blocks::from_slice(segment), 0, None);
    while let Ok(Some(piece)) = blocks.next() {
        if let Piece::Damage(found, _) = piece {
            bytes += found.range.end - found.range.start;
            first.get_or_insert(found.range.start);
        }
    }
    first.map(|first| format!("{bytes} of {} bytes are damaged, the first at offset {first}", segment.len()))
}

/// Returns the headers of all whole blocks.
fn headers(segments: &[u8]) -> Result<Vec<Header>, ConvertError> {
    let (mut blocks, mut headers) = (Blocks::from_slice(segments), Vec::new());
    while let Some(piece) = blocks.next().map_err(ConvertError::of)? {
        if let Piece::Block(block) = piece {
            headers.push(block.header);
        }
    }
    Ok(headers)
}

/// Notes what headers and facts say of the session.
fn note(headers: &[Header], events: &Events<'_>, state: &mut SessionState) {
    let Some(session) = events.sessions().iter().find(|session| session.id == state.session) else { return };
    let wall = |ticks| session.clock.wall_ns(ticks);
    let id = state.session;
    let mut last = None;
    for header in headers.iter().filter(|header| header.session == id) {
        let before = last.replace(header);
        match header.block_type {
            BlockType::Sync => {
                state.written = state.written.max(header.before);
                state.until_ns = state.until_ns.max(wall(header.end_ticks));
            }
            BlockType::Events => {
                let lane = state.lane(header.registry, header.thread, header.kind);
                let lane = &mut state.lanes[lane];
                let end_ns = wall(header.end_ticks);
                lane.marks.note(header.before, end_ns, HeaderSums::of(header));
                if let Some(begin) = before.filter(|begin| is_shed(begin, header)) {
                    let (from_ns, until_ns) = (wall(begin.base_ticks), end_ns);
                    lane.note_shed(EventRange {
                        from: begin.before,
                        until: header.before,
                        from_ns,
                        until_ns,
                    });
                }
                let end = header.before.saturating_add(header.events.into());
                (lane.recorded, lane.recorded_ns) = (lane.recorded, lane.recorded_ns).max((end, end_ns));
                let given = end.saturating_sub(header.excluded).saturating_sub(header.lost.sink);
                lane.stated = lane.stated.map(|stated| stated.max(given));
                if header.is_withheld() {
                    let (from, from_ns) = (header.before, wall(header.base_ticks));
                    lane.note_withheld(EventRange { from, until: end, from_ns, until_ns: end_ns });
                }
            }
            _ => {}
        }
    }
    note_facts(session, state);
    for lane in &mut state.lanes {
        lane.join_ranges();
        let known = events.registries().iter().find(|known| known.fingerprint == lane.fingerprint);
        if let Some(KnownRegistry { registry, .. }) = known {
            lane.registry = Some(registry.name.clone());
            let kind = registry.kinds.iter().find(|kind| kind.bit == lane.bit);
            lane.kind = kind.map(|kind| kind.name.clone());
        }
    }
}

/// Says whether two blocks, one after the other, are what a shipper leaves of events that it sheds.
fn is_shed(begin: &Header, end: &Header) -> bool {
    let lane = |header: &Header| (header.block_type, header.registry, header.thread, header.kind);
    end.flags & flags::SHED != 0 && begin.events == 0 && end.events == 0 && lane(begin) == lane(end)
}

fn note_facts(session: &Session, state: &mut SessionState) {
    let lines = |facts: &Facts| facts.iter().map(|(key, value)| format!("{key} = {value}\n")).collect();
    state.ended |= session.ended;
    if session.declared {
        state.program = session.facts.text("program").map(str::to_owned);
        state.started_ns = session.clock.start_wall() as i64;
        state.facts = lines(&session.facts);
    }
    for (thread, facts) in session.threads() {
        let name = facts.text("name").map(str::to_owned);
        let thread_state = ThreadState { name, tid: facts.number("tid"), facts: lines(facts) };
        state.threads.insert(*thread, thread_state);
    }
}

/// The numbers of lanes, found again quickly.
#[derive(Default)]
struct LaneNumbers {
    known: HashMap<(u64, u32, u8), usize>,
    /// The latest lanes: events of several lanes alternate.
    latest: Vec<((u64, u32, u8), usize)>,
}

/// The lanes that are found without hashing. A power of two.
const LATEST: usize = 256;

impl LaneNumbers {
    #[inline]
    fn number(&mut self, event: &Event<'_>, state: &mut SessionState) -> usize {
        let key = (event.known_registry().fingerprint, event.thread(), event.kind().bit);
        let place = (key.1 as usize * 8 + usize::from(key.2) + key.0 as usize) % LATEST;
        match self.latest.get(place) {
            Some((known, number)) if *known == key => *number,
            _ => {
                let number = *self.known.entry(key).or_insert_with(|| state.lane(key.0, key.1, key.2));
                // No lane has the kind 255, so these entries match none.
                self.latest.resize(LATEST, ((0, 0, 255), 0));
                self.latest[place] = (key, number);
                number
            }
        }
    }
}

/// The rows of all days.
struct Parts<'c> {
    catalog: &'c Catalog,
    hidden: Hidden,
    /// If it is in the rows.
    host: Option<Arc<Runs>>,
    /// By day since 1970, without the latest: the rows.
    days: BTreeMap<i64, Groups>,
    /// The nanoseconds of the latest day.
    day: Range<i64>,
    /// The rows of the latest day.
    groups: Groups,
    places: Vec<Place>,
    /// The index of the latest place: most events have the registry of the one before.
    latest: usize,
}

/// By index of a registry's tables: the rows.
type Groups = Vec<Option<Group>>;

/// Where the events of a registry go.
struct Place {
    fingerprint: u64,
    /// The index of the registry's tables.
    group: usize,
    /// By event type: the index of its table there.
    tables: Vec<usize>,
    /// By event type: true if it may begin or end spans.
    spans: Vec<bool>,
}

/// The rows of a registry's major version on one day.
struct Group {
    major: u32,
    builder: Builder,
    /// By table: the lanes of the rows that are in no batch yet.
    lanes: Vec<VecDeque<i32>>,
    /// By the name in `telemetry-columns`: the index of the table.
    numbers: HashMap<String, usize>,
    /// By the name in `telemetry-columns`.
    files: BTreeMap<String, File>,
}

impl Parts<'_> {
    /// Takes an event. Returns true if it may begin or end a span.
    fn push(&mut self, event: &Event<'_>, lane: usize, ns: i64) -> Result<bool, ConvertError> {
        let known = event.known_registry();
        if self.places.get(self.latest).is_none_or(|place| place.fingerprint != known.fingerprint)
            && !self.enter(known)
        {
            return Ok(true);
        }
        if !self.day.contains(&ns) {
            self.begin_day(ns);
        }
        let Place { group, tables, spans, .. } = &self.places[self.latest];
        if self.groups.len() <= *group {
            self.groups.resize_with(*group + 1, || None);
        }
        let group = match &mut self.groups[*group] {
            Some(group) => group,
            place => {
                let Some(((_, major), tables)) = self.catalog.group(known) else { return Ok(true) };
                place.insert(Group::new(*major, tables))
            }
        };
        if let Some(lanes) = group.lanes.get_mut(tables[event.index()]) {
            lanes.push_back(lane as i32);
        }
        if let Some(batch) = group.builder.push(event) {
            group.write(batch, &self.hidden, self.catalog.layout(), self.host.as_ref())?;
        }
        Ok(spans[event.index()])
    }

    /// Finds the place of a registry. Returns false if the catalog does not have it.
    #[cold]
    fn enter(&mut self, known: &KnownRegistry) -> bool {
        let place = self.places.iter().position(|place| place.fingerprint == known.fingerprint);
        if let Some(place) = place {
            self.latest = place;
            return true;
        }
        let Some((key, tables)) = self.catalog.group(known) else { return false };
        let index = |event| {
            let of_event = tables.table_of(known.fingerprint, event);
            of_event.and_then(|of_event| tables.iter().position(|table| Arc::ptr_eq(table, of_event)))
        };
        let types = 0..known.registry.events.len();
        let tables = types.clone().map(|event| index(event).unwrap_or(usize::MAX)).collect();
        let spans = types.map(|event| Spans::needs(&known.registry, event)).collect();
        let (fingerprint, group) = (known.fingerprint, self.catalog.number(key));
        self.latest = self.places.len();
        self.places.push(Place { fingerprint, group, tables, spans });
        true
    }

    /// Makes the day of a time the latest.
    #[cold]
    fn begin_day(&mut self, ns: i64) {
        let day = day_of(ns);
        let groups = self.days.remove(&(day.start / DAY_NS)).unwrap_or_default();
        let before = std::mem::replace(&mut self.groups, groups);
        self.days.insert(self.day.start / DAY_NS, before);
        self.day = day;
    }

    fn finish(mut self) -> Result<Vec<NewFile>, ConvertError> {
        self.begin_day(i64::MAX);
        let mut files = Vec::new();
        for (day, groups) in self.days {
            for mut group in groups.into_iter().flatten() {
                while let Some(batch) = group.builder.finish() {
                    group.write(batch, &self.hidden, self.catalog.layout(), self.host.as_ref())?;
                }
                for file in group.files.into_values() {
                    files.push(file.finish(day)?);
                }
            }
        }
        Ok(files)
    }
}

impl Group {
    fn new(major: u32, tables: &Tables) -> Group {
        let numbers = tables.iter().enumerate().map(|(number, table)| (table.name.clone(), number));
        Group {
            major,
            builder: Builder::new(tables.clone()),
            lanes: vec![VecDeque::new(); tables.iter().len()],
            numbers: numbers.collect(),
            files: BTreeMap::new(),
        }
    }

    fn write(
        &mut self,
        batch: Batch,
        hidden: &Hidden,
        layout: Layout,
        host: Option<&Arc<Runs>>,
    ) -> Result<(), ConvertError> {
        let hidden = hidden.columns(batch.table(), self.major);
        let name = &batch.table().name;
        let number = self.numbers.get(name).copied();
        let lanes = number.and_then(|number| self.lanes.get_mut(number));
        let lanes = lanes.map(|lanes| lanes.drain(..batch.rows()).collect());
        if !self.files.contains_key(name) {
            let table = catalog::of(batch.table(), self.major, layout);
            self.files.insert(name.clone(), File::new(table, host.cloned()));
        }
        match self.files.get_mut(name) {
            Some(file) => file.push(batch, lanes, &hidden),
            None => Ok(()),
        }
    }
}
