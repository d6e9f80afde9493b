//! What the threads that read know, and the one that draws asks for.

use std::io::Read;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use telemetry_decode::{Completeness, Filter, Order, Reader, Session};
use telemetry_format::Loss;

use super::recent::{Figures, Recent, Until};
use crate::input::follow::Growth;
use crate::input::inputs::{Inputs, cannot_read};
use crate::process::{Process, State};
use crate::term::ended::Failure;

/// The time between two questions to the process.
const ASK: Duration = Duration::from_secs(1);

/// Telling of losses takes at most this part of the time.
const TELL_SHARE: u32 = 20;

/// The events so far, and the state of the process.
pub(super) struct Feed {
    known: Mutex<Known>,
    is_stopped: AtomicBool,
    /// Wakes up the thread that asks.
    stop: Condvar,
    /// How late events may come.
    latency: Duration,
    growth: Arc<Growth>,
}

#[derive(Default)]
struct Known {
    recent: Recent,
    losses: Losses,
    program: String,
    /// When the last events came.
    arrived: Option<Instant>,
    state: Option<State>,
    /// Events that the process emits in a second, by its own count.
    emits: Option<f64>,
    ended: Option<String>,
}

/// What is missing so far.
#[derive(Clone, Copy, Default)]
pub(super) struct Losses {
    pub(super) lost: Loss,
    pub(super) missing: u64,
    pub(super) damaged: u64,
}

/// All that is shown at once.
pub(super) struct Now {
    pub(super) figures: Figures,
    pub(super) losses: Losses,
    pub(super) program: String,
    pub(super) state: Option<State>,
    pub(super) emits: Option<f64>,
    pub(super) ended: Option<String>,
}

impl Feed {
    pub(super) fn new(latency: Duration, growth: Arc<Growth>) -> Arc<Feed> {
        Arc::new(Feed {
            known: Mutex::default(),
            is_stopped: AtomicBool::new(false),
            stop: Condvar::new(),
            latency,
            growth,
        })
    }

    /// Ends the reading.
    pub(super) fn stop(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
        self.stop.notify_all();
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Relaxed)
    }

    /// Reads all events of an input.
    pub(super) fn read(
        &self,
        input: impl Read + Send,
        inputs: &Inputs,
        filter: Filter,
    ) -> Result<(Completeness, Vec<Session>), Failure> {
        let reader = inputs.with_registries(Reader::from_reader(input)).order(Order::Stream).filter(filter);
        let mut events = reader.events().map_err(cannot_read)?;
        let (mut told, mut took) = (Instant::now(), Duration::ZERO);
        while !self.is_stopped() {
            let Some(batch) = events.next_batch().map_err(cannot_read)? else { break };
            let mut known = self.known();
            if known.program.is_empty() {
                known.program = batch.session().facts.text("program").unwrap_or_default().to_string();
            }
            known.recent.take(&batch);
            known.arrived = Some(Instant::now());
            drop(known);
            if told.elapsed() >= took * TELL_SHARE {
                told = Instant::now();
                let losses = Losses::of(&events.completeness());
                took = told.elapsed();
                self.known().losses = losses;
            }
        }
        let completeness = events.completeness();
        self.known().losses = Losses::of(&completeness);
        Ok((completeness, events.sessions().to_vec()))
    }

    /// Says that no more comes, and why.
    pub(super) fn end(&self, why: String) {
        self.known().ended = Some(why);
    }

    /// Asks the process for its counters until the reading ends.
    pub(super) fn ask(&self, process: &Process) {
        let mut known = self.known();
        let mut before: Option<(Instant, u64)> = None;
        while !self.is_stopped() && known.ended.is_none() {
            drop(known);
            // Without an answer, the last one stays.
            let state: Option<State> = process.ask("counters").ok();
            known = self.known();
            if let Some(state) = state {
                let emitted = state.counters.emitted;
                if let Some((at, number)) = before {
                    let seconds = at.elapsed().as_secs_f64();
                    known.emits =
                        Some(emitted.saturating_sub(number) as f64 / seconds).filter(|rate| rate.is_finite());
                }
                before = Some((Instant::now(), emitted));
                known.state = Some(state);
            }
            known = match self.stop.wait_timeout(known, ASK) {
                Ok((known, _)) => known,
                Err(poisoned) => poisoned.into_inner().0,
            };
        }
    }

    /// Returns what is known now.
    pub(super) fn now(&self) -> Now {
        let mut known = self.known();
        let until = known.until(self.latency, &self.growth);
        let figures = known.recent.figures(&until);
        let Known { losses, program, state, emits, ended, .. } = &*known;
        Now {
            figures,
            losses: *losses,
            program: program.clone(),
            state: state.clone(),
            emits: *emits,
            ended: ended.clone(),
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    /// Returns the time that the figures are of. It goes on while an input that grows has nothing.
    fn until(&self, latency: Duration, growth: &Growth) -> Until {
        let (Some(latest), Some(arrived), None) = (self.recent.latest_ns(), self.arrived, &self.ended) else {
            return Until::End;
        };
        let idle = match (growth.has_waited(), growth.has_grown()) {
            // Events of other lanes may follow.
            (false, _) => Duration::ZERO,
            // The program may have ended long ago.
            (true, false) => return Until::End,
            (true, true) => arrived.elapsed().saturating_sub(latency),
        };
        let ns = |time: Duration| i64::try_from(time.as_nanos()).unwrap_or(i64::MAX);
        Until::Time(latest.saturating_add(ns(idle)).saturating_sub(ns(latency)))
    }
}

impl Losses {
    fn of(completeness: &Completeness) -> Losses {
        Losses {
            lost: completeness.lost(),
            missing: completeness.missing(),
            damaged: completeness.damaged_ranges + completeness.undecodable_parts,
        }
    }
}
