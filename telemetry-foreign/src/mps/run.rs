//! Facts of a log about one run of a program, collected while the log is scanned.

use telemetry_decode::names::{Mark, NameValue, NamedAt, Numbers};
use telemetry_decode::{Clock, Facts, Labels, Session};
use telemetry_schema::NameBy;

use super::known::NAME;
use super::layout::{Form, Role};
use super::version;
use crate::common::run_id::run_id;

/// Bytes for the labels of all runs in a log, as for those of a stream.
pub(super) const LABEL_ROOM: usize = 32 << 20;

/// The fact with the intervals in which kinds were recorded and output late, see [`Late`].
pub(super) const LATE: &str = "late_output";

/// The number of intervals that are kept.
const MOST_LATE: usize = 1024;

/// Clock readings that are farther from a log's first one do not belong to its events.
const NEAR: u64 = 1 << 50;

/// Kinds of the MPS, rounded up.
pub(super) const KINDS: usize = 8;

/// Units of the slow clock per second, if the log does not state it: microseconds, as on all POSIX
/// systems.
const CLOCKS_PER_SEC: u64 = 1_000_000;

/// Events of a kind that were written later than the batch of their time, because the kind was
/// output late. They lie between two clock readings; the second is that of the EventClockSync after
/// them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Late {
    pub(super) kind: u8,
    pub(super) from: u64,
    pub(super) until: u64,
}

/// One run of a program.
pub(super) struct Run {
    /// Where it begins in the log.
    pub(super) start: u64,
    id: u64,
    labels: Labels,
    /// Remaining bytes for labels.
    pub(super) label_room: usize,
    /// The first and the earliest clock reading.
    first: Option<u64>,
    earliest: u64,
    /// Pairs of the counter and the slow clock: the first, and the farthest from it.
    sync: Option<(u64, u64)>,
    last_sync: Option<(u64, u64)>,
    version: Option<[u64; 3]>,
    clocks_per_sec: u64,
    pub(super) has_init: bool,
    /// The numbers in the string that names the MPS, once the log has had it.
    pub(super) named_by: Option<Numbers>,
    /// Clock reading at the end of the last batch.
    batch_after: Option<u64>,
    /// In the open batch: the number of events, and for each kind the earliest one before the end
    /// of the last batch.
    pub(super) batch_events: u64,
    stale: [Option<u64>; KINDS],
    late: Vec<Late>,
    late_left_out: u64,
}

impl Run {
    /// Makes a run that begins with these bytes, with room for labels.
    pub(super) fn new(start: u64, first: &[u8], label_room: usize) -> Run {
        Run {
            start,
            id: run_id(first),
            labels: Labels::default(),
            label_room,
            first: None,
            earliest: 0,
            sync: None,
            last_sync: None,
            version: None,
            clocks_per_sec: CLOCKS_PER_SEC,
            has_init: false,
            named_by: None,
            batch_after: None,
            batch_events: 0,
            stale: [None; KINDS],
            late: Vec::new(),
            late_left_out: 0,
        }
    }

    /// Takes an event of a kind.
    #[inline]
    pub(super) fn event(&mut self, kind: u8, ticks: u64) {
        self.batch_events += 1;
        match self.first {
            None => (self.first, self.earliest) = (Some(ticks), ticks),
            Some(first) if ticks < self.earliest && first - ticks < NEAR => self.earliest = ticks,
            Some(_) => {}
        }
        if self.batch_after.is_some_and(|end| ticks < end) {
            let stale = &mut self.stale[usize::from(kind) % KINDS];
            *stale = Some(stale.map_or(ticks, |stale| stale.min(ticks)));
        }
    }

    /// Takes the facts of an event about the log itself.
    pub(super) fn own(&mut self, role: Role, form: &Form, ticks: u64, bytes: &[u8]) {
        let number = |param| form.number(bytes, param);
        match role {
            Role::Label(mark) => {
                let of = number(mark.naming.of);
                let said = match mark.naming.name {
                    NameBy::Text => NameValue::Text(form.string(bytes)),
                    _ => NameValue::Bits(number(mark.naming.by)),
                };
                if is_of_version(&mark, of) {
                    self.named_by = Some(mark.numbers);
                }
                mark.note(NamedAt::in_order(ticks), of, said, &mut self.labels, &mut self.label_room);
            }
            Role::Init => {
                self.has_init = true;
                self.version = Some([0, 1, 2].map(number));
                let clocks = number(version::CLOCKS_PER_SEC);
                self.clocks_per_sec = if clocks > 0 { clocks } else { CLOCKS_PER_SEC };
            }
            Role::ClockSync => {
                let units = number(0);
                let (start, _) = *self.sync.get_or_insert((ticks, units));
                if ticks > start && self.last_sync.is_none_or(|(last, _)| ticks > last) {
                    self.last_sync = Some((ticks, units));
                }
                self.end_batch(ticks);
            }
        }
    }

    /// Returns the session with the facts of the run. `late` is included if kinds were output late.
    pub(super) fn session(mut self) -> Session {
        let ended = self.batch_events == 0;
        self.end_batch(u64::MAX);
        let mut facts = Facts::default();
        facts.set("format", NAME);
        let text = self.named_by.and_then(|numbers| self.labels.string_of(numbers, version::STRING));
        if let Some(text) = text {
            version::describe(text, &mut facts);
        }
        if let Some([major, median, minor]) = self.version {
            facts.set("version", format!("{major}.{median}.{minor}"));
        }
        facts.set("clock", "tsc");
        let (key, value) = Session::NO_END_MARK;
        facts.set(key, value);
        let clock = self.clock(&mut facts);
        facts.set("clocks_per_sec", i64::try_from(self.clocks_per_sec).unwrap_or(i64::MAX));
        if !self.late.is_empty() {
            facts.set(LATE, late_text(&self.late));
        }
        if self.late_left_out > 0 {
            facts.set("late_output_left_out", self.late_left_out as i64);
        }
        let mut session = Session::new(self.id, facts, clock);
        session.labels = self.labels;
        session.ended = ended;
        session
    }

    /// Returns the clock of the run. A log does not state the counter's rate: pairs of readings
    /// determine it. The slow clock is processor time, not wall-clock time, so time stands still
    /// while the program waits.
    fn clock(&self, facts: &mut Facts) -> Clock {
        let mut clock = Clock::ticks(self.earliest, 0, 0);
        if let (Some((ticks, units)), Some((last_ticks, last_units))) = (self.sync, self.last_sync) {
            let (ticks, units) = (last_ticks - ticks, last_units.saturating_sub(units));
            let ns = u128::from(units) * 1_000_000_000 / u128::from(self.clocks_per_sec);
            if let Ok(ns) = u64::try_from(ns)
                && ns > 0
            {
                clock.refine(self.earliest.saturating_add(ticks), ns);
                facts.set("ticks_per_second", clock.ticks_per_second().round() as i64);
            }
        }
        clock
    }

    fn end_batch(&mut self, ticks: u64) {
        for (kind, stale) in self.stale.iter_mut().enumerate() {
            let Some(from) = stale.take() else { continue };
            if self.late.len() < MOST_LATE {
                self.late.push(Late { kind: kind as u8, from, until: ticks });
            } else {
                self.late_left_out += 1;
            }
        }
        self.batch_after = self.batch_after.max(Some(ticks));
        self.batch_events = 0;
    }
}

/// Returns true if an event has the string that names the MPS; `of` is the number of that string.
pub(super) fn is_of_version(mark: &Mark, of: u64) -> bool {
    mark.naming.name == NameBy::Text && of == version::STRING
}

/// Returns `KIND:FROM-UNTIL` in hexadecimal for each, separated by spaces.
fn late_text(late: &[Late]) -> String {
    let all = late.iter().map(|Late { kind, from, until }| format!("{kind:x}:{from:x}-{until:x}"));
    all.collect::<Vec<_>>().join(" ")
}

/// Reads the text of [`late_text`], and skips anything else.
pub(super) fn read_late(text: &str) -> Vec<Late> {
    let number = |text: &str| u64::from_str_radix(text, 16).ok();
    let one = |word: &str| {
        let (kind, stretch) = word.split_once(':')?;
        let (from, until) = stretch.split_once('-')?;
        Some(Late { kind: u8::from_str_radix(kind, 16).ok()?, from: number(from)?, until: number(until)? })
    };
    text.split(' ').filter_map(one).collect()
}
