//! `telemetry tail --rules`: checks the rules of a running process.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, ErrorKind, Read};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use telemetry_decode::rules::{Broken, Checker, Step};
use telemetry_decode::{Error, EventBatch, Events, KnownRegistry, Order, Reader, Session};
use telemetry_report::spans::Gaps;
use telemetry_schema::{Preset, Registry};

use crate::input::inputs::{Inputs, cannot_read};
use crate::input::live::Seen;
use crate::rules::shown::{BrokenRule, Known};
use crate::term::ended::{Ended, Failure};
use crate::term::output::Output;

/// The most events that wait and spans that are open.
pub(super) const MAX_OPEN: usize = 100_000;

/// The most events that wait for earlier ones of other lanes.
pub(super) const MAX_WAITING: usize = 200_000;

/// The time between two looks at what is overdue, and the longest that a read may wait.
pub(super) const TICK: Duration = Duration::from_millis(100);

/// Copies of what is known take at most this part of the time.
const COPY_SHARE: u32 = 20;

/// How findings are written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Form {
    pub(super) is_json: bool,
    /// Stop after this many.
    pub(super) most: u64,
}

/// A check of a process.
pub(super) struct Live<'a> {
    inputs: &'a Inputs,
    /// How late events may come.
    latency: Duration,
    form: Form,
    state: Mutex<State>,
    /// Wakes up the thread that writes.
    changed: Condvar,
}

/// What the thread that reads and the one that writes share.
struct State {
    checker: Checker,
    /// What events do to rules, by time: earlier ones may follow.
    waiting: BTreeMap<(i64, u64), Step>,
    steps: u64,
    /// Ids of sessions.
    ids: BTreeSet<u64>,
    latest_ns: Option<i64>,
    /// When the latest events came.
    arrived: Instant,
    found: Vec<Broken>,
    /// The number of the first findings that the copy of the gaps is not older than. So these can
    /// be decided.
    decidable: usize,
    /// More events came than can wait, so some were not taken in the order of time.
    is_unordered: bool,
    sessions: Vec<Session>,
    registries: Vec<KnownRegistry>,
    gaps: Gaps,
    /// One of the two threads has ended.
    is_over: bool,
}

/// The number of findings.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Told {
    pub(super) all: u64,
    /// Those that are certain.
    pub(super) broken: u64,
    /// The events and spans for which there was no room.
    pub(super) given_up: u64,
    /// Some events were not taken in the order of time.
    pub(super) is_unordered: bool,
}

impl<'a> Live<'a> {
    /// Checks the rules all of whose events the words name.
    pub(super) fn new(inputs: &'a Inputs, latency: Duration, words: &str, form: Form) -> Live<'a> {
        let mut checker = Checker::new(MAX_OPEN);
        // The process sends what the words name, however it is switched.
        checker.ignore_switches();
        let words = Preset::new("", words);
        checker.check_only(move |registry: &Registry, event| registry.has(&words, &registry.events[event]));
        let state = State {
            checker,
            waiting: BTreeMap::new(),
            steps: 0,
            ids: BTreeSet::new(),
            latest_ns: None,
            arrived: Instant::now(),
            found: Vec::new(),
            decidable: 0,
            is_unordered: false,
            sessions: Vec::new(),
            registries: Vec::new(),
            gaps: Gaps::default(),
            is_over: false,
        };
        Live { inputs, latency, form, state: Mutex::new(state), changed: Condvar::new() }
    }

    /// Reads all events and writes what breaks rules. `stop` ends the input.
    pub(super) fn run(
        &self,
        input: impl Read + Send,
        mut output: Output,
        stop: impl FnOnce(),
    ) -> Result<(Seen, Told), Failure> {
        std::thread::scope(|scope| {
            let reader = scope.spawn(|| {
                let read = self.read(input);
                self.state().is_over = true;
                self.changed.notify_all();
                read
            });
            let written = self.write(&mut output);
            self.state().is_over = true;
            stop();
            let read = reader.join().unwrap_or_else(|_| Err(Failure::new("the thread that reads panicked")));
            let mut told = written?;
            let mut seen = read?;
            seen.is_stopped = told.all >= self.form.most;
            if !seen.is_stopped {
                self.finish(&mut output, &mut told)?;
            }
            output.finish()?;
            let state = self.state();
            told.is_unordered = state.is_unordered;
            told.given_up = state.checker.rules().iter().map(|rule| rule.given_up).sum();
            Ok((seen, told))
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read(&self, input: impl Read + Send) -> Result<Seen, Failure> {
        let input = Paced { input, since: Instant::now() };
        let reader = self.inputs.with_registries(Reader::from_reader(input)).order(Order::Stream);
        let mut events = reader.events().map_err(cannot_read)?;
        let (mut copied, mut took, mut bytes) = (Instant::now(), Duration::ZERO, 0);
        loop {
            match events.next_batch() {
                Ok(Some(batch)) => self.state().take(&batch),
                Ok(None) => break,
                Err(Error::Io(error)) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => return Err(cannot_read(error)),
            }
            let state = self.state();
            if state.is_over {
                break;
            }
            let is_needed = state.found.len() > state.decidable || events.bytes_done() != bytes;
            drop(state);
            if is_needed && copied.elapsed() >= took * COPY_SHARE {
                copied = Instant::now();
                self.copy(&events);
                (took, bytes) = (copied.elapsed(), events.bytes_done());
            }
        }
        self.copy(&events);
        let sessions = events.sessions().to_vec();
        Ok(Seen { completeness: events.completeness(), sessions, is_stopped: false })
    }

    /// Copies what is known of the stream for the thread that writes. The gaps before all events
    /// that were taken are known, so what was found so far can be decided.
    fn copy(&self, events: &Events<'_>) {
        let (sessions, gaps) = (events.sessions().to_vec(), Gaps::new(&events.gaps()));
        let mut state = self.state();
        if state.registries.len() < events.registries().len() {
            state.registries = events.registries().to_vec();
        }
        (state.sessions, state.gaps) = (sessions, gaps);
        state.decidable = state.found.len();
    }

    /// Writes what is found until the input ends or enough is written.
    fn write(&self, output: &mut Output) -> Result<Told, Failure> {
        let mut told = Told::default();
        let mut state = self.state();
        while !state.is_over && told.all < self.form.most {
            state = match self.changed.wait_timeout(state, TICK) {
                Ok((state, _)) => state,
                Err(poisoned) => poisoned.into_inner().0,
            };
            state.advance(self.latency);
            self.tell(&mut state, output, &mut told)?;
        }
        Ok(told)
    }

    /// Writes the rest.
    fn finish(&self, output: &mut Output, told: &mut Told) -> Ended {
        let mut state = self.state();
        state.apply_until(i64::MAX);
        let State { checker, found, sessions, .. } = &mut *state;
        let ended: BTreeSet<u64> =
            sessions.iter().filter(|session| session.ended).map(|session| session.id).collect();
        checker.finish(|id| ended.contains(&id), found);
        // The other thread has copied what is known at the end.
        state.decidable = state.found.len();
        self.tell(&mut state, output, told)
    }

    /// Writes what was found and can be decided, and shows it.
    fn tell(&self, state: &mut State, output: &mut Output, told: &mut Told) -> Ended {
        let number = std::mem::take(&mut state.decidable);
        let found: Vec<Broken> = state.found.drain(..number).collect();
        if found.is_empty() {
            return Ok(());
        }
        let known = Known { sessions: &state.sessions, registries: &state.registries, inputs: self.inputs };
        for broken in found {
            if told.all == self.form.most {
                break;
            }
            let rule = &state.checker.rules()[broken.rule];
            let is_certain = !state.is_unordered && broken.is_certain(rule, state.gaps.all());
            told.all += 1;
            told.broken += u64::from(is_certain);
            BrokenRule::new(&broken, rule, is_certain, &known)
                .append_line(output.buffer(), self.form.is_json);
        }
        output.flush()
    }
}

/// An input whose reader is to look at other things now and then, also if blocks without events
/// come all the time.
struct Paced<R> {
    input: R,
    /// When the reader last did.
    since: Instant,
}

impl<R: Read> Read for Paced<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        if self.since.elapsed() >= TICK {
            self.since = Instant::now();
            return Err(ErrorKind::WouldBlock.into());
        }
        self.input.read(to)
    }
}

impl State {
    /// Takes events in the order of the stream.
    fn take(&mut self, batch: &EventBatch<'_>) {
        let State { checker, waiting, steps, .. } = self;
        checker.steps(batch, |step| {
            *steps += 1;
            waiting.insert((step.at().ns, *steps), step);
        });
        let session = batch.session();
        self.ids.insert(session.id);
        let latest = batch.rows().map(|row| row.ticks).max();
        let latest = latest.map(|ticks| session.clock.ns(ticks));
        self.latest_ns = self.latest_ns.max(latest);
        self.arrived = Instant::now();
        while self.waiting.len() > MAX_WAITING {
            self.is_unordered = true;
            self.apply_first();
        }
    }

    /// Applies what can have no earlier event before it, and finds what is overdue.
    fn advance(&mut self, latency: Duration) {
        let Some(latest) = self.latest_ns else { return };
        let ns = |time: Duration| i64::try_from(time.as_nanos()).unwrap_or(i64::MAX);
        // The time goes on while the process emits nothing.
        let idle = self.arrived.elapsed().saturating_sub(latency);
        let now = latest.saturating_add(ns(idle)).saturating_sub(ns(latency));
        self.apply_until(now);
        let State { checker, ids, found, .. } = self;
        ids.iter().for_each(|id| checker.overdue(*id, now, found));
    }

    fn apply_until(&mut self, ns: i64) {
        while self.waiting.first_key_value().is_some_and(|((at, _), _)| *at <= ns) {
            self.apply_first();
        }
    }

    fn apply_first(&mut self) {
        if let Some((_, step)) = self.waiting.pop_first() {
            self.checker.apply(step, &mut self.found);
        }
    }
}
