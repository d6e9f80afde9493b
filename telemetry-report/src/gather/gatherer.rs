//! Passes each event to all summaries.

use hashbrown::HashMap;
use telemetry_decode::{Event, Events, Value};

use super::axis::Axis;
use super::census::Censuses;
use super::counters::Counters;
use super::durations::Durations;
use super::flames::Flames;
use super::lanes::{Kept, Lanes};
use super::marks::Marks;
use super::memory::Memory;
use super::pauses::{Pause, Pauses};
use super::samples::Samples;
use super::slots::Slots;
use super::stacks::Stacks;
use super::threads::Threads;
use crate::figures::keyed::PerEvent;
use crate::spans::{self, Def, Found, Gaps, Pairing, Which};
use crate::stats;

/// The maximum of spans that are open at once. About 240 bytes each.
const MAX_OPEN: usize = 200_000;

/// The maximum of different causes of pauses.
const MAX_CAUSES: usize = 1000;

/// The number of the longest spans that are listed.
const LONGEST: usize = 100;

/// Says whether a span is wanted.
type Select = Box<dyn Fn(&Found, &[Def]) -> bool>;

/// Gathers the summaries of a page from events by time ([`telemetry_decode::Order::Time`]).
///
/// Each event is taken by [`Gatherer::take`]. After that, [`Gatherer::settle`] takes the spans that
/// it ended.
pub struct Gatherer {
    /// Counts, as `telemetry stats` shows them.
    pub tally: stats::Tally,
    /// Statistics of spans, as `telemetry spans` shows them.
    pub spans: spans::Tally,
    /// The types of spans.
    pub pairing: Pairing,
    pub(crate) axis: Axis,
    pub(crate) threads: Threads,
    numbers: PerEvent<u32>,
    /// Fingerprint of the registry and index in it, of each event type by number.
    pub(crate) events: Vec<(u64, usize)>,
    pub(crate) slots: Slots,
    pub(crate) samples: Samples,
    pub(crate) marks: Marks,
    pub(crate) memory: Memory,
    pub(crate) censuses: Censuses,
    pub(crate) counters: Counters,
    pub(crate) sampled: spans::Sampled,
    pub(crate) stacks: Stacks,
    pub(crate) lanes: Lanes,
    pub(crate) durations: Durations,
    pub(crate) flames: Flames,
    pub(crate) pauses: Pauses,
    pub(crate) causes: Vec<String>,
    /// Cause of the pause that a thread of a session began last.
    begun: HashMap<(u64, u32), i32>,
    found: Vec<Found>,
    /// Says which spans are wanted.
    select: Option<Select>,
    gaps: Option<(Gaps, u64)>,
    /// Starts of sessions in nanoseconds since 1970.
    starts: HashMap<u64, i64>,
    /// How programs ended, by session.
    pub(crate) endings: HashMap<u64, stats::Ending>,
    /// For each of `events`, whether it says how a program ended.
    are_endings: Vec<bool>,
}

impl Default for Gatherer {
    fn default() -> Self {
        let mut pairing = Pairing::new(MAX_OPEN, &[], false);
        pairing.paths.keep();
        Gatherer {
            tally: stats::Tally::default(),
            spans: spans::Tally::new(LONGEST),
            pairing,
            axis: Axis::default(),
            threads: Threads::default(),
            numbers: PerEvent::default(),
            events: Vec::new(),
            slots: Slots::default(),
            samples: Samples::default(),
            marks: Marks::default(),
            memory: Memory::default(),
            censuses: Censuses::default(),
            counters: Counters::default(),
            sampled: spans::Sampled::default(),
            stacks: Stacks::default(),
            lanes: Lanes::default(),
            durations: Durations::default(),
            flames: Flames::default(),
            pauses: Pauses::default(),
            causes: Vec::new(),
            begun: HashMap::new(),
            found: Vec::new(),
            select: None,
            gaps: None,
            starts: HashMap::new(),
            endings: HashMap::new(),
            are_endings: Vec::new(),
        }
    }
}

impl Gatherer {
    /// Leaves out spans for which a function returns false. Their events stay.
    #[doc(hidden)]
    pub fn select_spans(&mut self, select: impl Fn(&Found, &[Def]) -> bool + 'static) {
        self.select = Some(Box::new(select));
    }

    /// Takes the next event.
    pub fn take(&mut self, event: &Event<'_>) {
        let wall_ns = event.wall_ns();
        self.tally.add(event);
        let moment = self.axis.moment(wall_ns);
        let folds = self.axis.folds_for(moment);
        if folds > 0 {
            self.fold(folds);
        }
        let at = self.axis.interval(moment);
        let thread = self.threads.of(event);
        let (events, are_endings) = (&mut self.events, &mut self.are_endings);
        let number = *self.numbers.get(event, |event| {
            events.push((event.known_registry().fingerprint, event.index()));
            are_endings.push(stats::Ending::is_said_by(event));
            events.len() as u32 - 1
        });
        if self.are_endings[number as usize] {
            self.endings.entry(event.session().id).or_default().add(event);
        }
        self.slots.add(thread, number, at, event);
        self.samples.add(number, moment, thread, event);
        self.marks.take(moment, thread, event);
        self.memory.take(number, moment, at, event);
        self.censuses.take(event);
        self.counters.take(number, event, |wall_ns| self.axis.moment(wall_ns));
        self.stacks.take(number, thread, at, event);
        if spans::is_sample(event) {
            self.sampled.take(&self.pairing, event);
        } else if self.pairing.take(event, &mut self.found) {
            self.note_cause(event);
        }
    }

    /// Takes the spans that the last event ended.
    #[inline]
    pub fn settle(&mut self, events: &Events<'_>) {
        if !self.found.is_empty() {
            self.settle_found(events);
        }
    }

    /// Takes the spans that never ended. Call it after the last event.
    pub fn finish(&mut self, events: &Events<'_>) {
        self.gaps = None;
        let mut unended = Vec::new();
        self.pairing.finish(|found| unended.push(found));
        self.found = unended;
        self.settle_found(events);
        self.lanes.limit();
        self.samples.limit();
        self.censuses.finish();
        self.counters.finish();
        self.pauses = std::mem::take(&mut self.pauses).finish();
    }

    fn settle_found(&mut self, events: &Events<'_>) {
        // Damage is found before the first event after it.
        let damages = events.damages();
        if self.gaps.as_ref().is_none_or(|(_, known)| *known != damages) {
            self.gaps = Some((Gaps::new(&events.gaps()), damages));
        }
        let Some((gaps, _)) = self.gaps.take() else { return };
        let mut all = std::mem::take(&mut self.found);
        if let Some(select) = &self.select {
            all.retain(|found| select(found, &self.pairing.defs));
        }
        for found in all {
            self.add_span(events, &found, &gaps);
            self.spans.add(found, &self.pairing.defs, &gaps);
        }
        self.gaps = Some((gaps, damages));
    }

    fn add_span(&mut self, events: &Events<'_>, found: &Found, gaps: &Gaps) {
        let Found::Whole { which, begin, end, self_ns, path, row, .. } = found else { return };
        let start = self.start_of(events, which);
        let begin_at = self.axis.moment(start.saturating_add(begin.ns));
        let end_at = self.axis.moment(start.saturating_add(end.ns)).max(begin_at);
        let duration = end_at - begin_at;
        let self_ns = u64::try_from(*self_ns).unwrap_or(0);
        let (thread, end_thread) =
            (self.threads.known(which.session, begin.thread), self.threads.known(which.session, end.thread));
        let (def, shift) = (which.def as u32, self.axis.width().trailing_zeros());
        self.durations.add(def, thread, self.axis.interval(end_at), [duration, self_ns]);
        self.flames.add(thread, *path, begin_at, duration, self_ns, shift);
        let is_certain = gaps.are_not_in(&self.pairing.defs[which.def], which, begin, end);
        let span = Kept {
            begin: begin_at,
            duration,
            def,
            row: *row,
            is_uncertain: !is_certain,
            session: which.session,
            key: which.key.clone(),
            end_thread,
        };
        self.lanes.add(thread, span, shift);
        if self.pairing.defs[which.def].span.is_pause {
            let cause = self.begun.get(&(which.session, begin.thread)).copied().unwrap_or(-1);
            let (begin, end) = (begin_at, end_at);
            self.pauses.add(Pause { session: which.session, begin, end, def, thread, cause });
        }
    }

    fn start_of(&mut self, events: &Events<'_>, which: &Which) -> i64 {
        *self.starts.entry(which.session).or_insert_with(|| {
            let session = events.sessions().iter().find(|session| session.id == which.session);
            session.map_or(0, |session| session.clock.wall_ns(session.clock.start_ticks()))
        })
    }

    /// Keeps the enums and labels of an event that begins a pause, as its cause.
    fn note_cause(&mut self, event: &Event<'_>) {
        let named = event.params().filter_map(|param| {
            let text = match param.value {
                Value::Label(label) => event.label(label).map_or_else(|| label.to_string(), str::to_string),
                Value::Named(named) => named.to_string(),
                _ => return None,
            };
            Some(format!("{}: {text}", param.schema.name))
        });
        let text = named.collect::<Vec<_>>().join(", ");
        let known = self.causes.iter().position(|known| *known == text);
        let cause = match known {
            _ if text.is_empty() => -1,
            Some(known) => known as i32,
            None if self.causes.len() >= MAX_CAUSES => -1,
            None => {
                self.causes.push(text);
                self.causes.len() as i32 - 1
            }
        };
        self.begun.insert((event.session().id, event.thread()), cause);
    }

    /// Folds all tables.
    #[cold]
    fn fold(&mut self, folds: u32) {
        let shift = self.axis.width().trailing_zeros();
        for number in (0..folds).rev() {
            self.slots.fold();
            self.memory.fold();
            self.stacks.fold();
            self.durations.fold();
            self.flames.fold();
            self.lanes.fold(shift - number);
        }
    }
}
