//! Passes the events of a registry, by time, to the program's own replayer.

use std::fmt;
use std::time::{Duration, Instant};

use crate::read::reader::{Order, Reader};
use crate::report::completeness::Completeness;
use crate::report::error::Error;
use crate::typed::generated::Typed;
use crate::typed::typed_events::Timed;

/// The speed of a replay.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[non_exhaustive]
pub enum Pace {
    /// Without pauses.
    #[default]
    Fast,
    /// At the recorded times, divided by this factor: 1 is the program's own speed. Numbers that
    /// are not above 0 count as 1.
    Recorded(f64),
}

/// Waits for the time of events.
///
/// ```
/// use telemetry_decode::replay::{Pace, Timer};
///
/// // A thousand times the program's own speed: a millisecond takes a microsecond.
/// let mut timer = Timer::new(Pace::Recorded(1000.0));
/// for wall_ns in [5_000_000, 6_000_000] {
///     timer.wait(wall_ns);
/// }
/// ```
#[derive(Debug)]
pub struct Timer {
    /// `None` without pauses.
    speed: Option<f64>,
    /// The time when the first event was replayed, and its recorded time.
    start: Option<(Instant, i64)>,
}

/// The time and place of an event.
pub type Place<'a> = Timed<'a, ()>;

/// The result of replaying a stream.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Replayed {
    /// Replayed events.
    pub events: u64,
    /// Events without a mark, and skipped events: of other registries, or of forms that the program
    /// does not know.
    pub others: u64,
    /// The counts of read and unread events.
    pub completeness: Completeness,
}

/// The reason why a replay ended before its stream.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReplayError<E> {
    /// The stream cannot be read.
    Read(Error),
    /// The replayer failed at an event.
    Event {
        /// The event's name.
        event: &'static str,
        /// Its number among the events that the program knows, from 1.
        number: u64,
        /// The byte offset of its first byte in the input.
        offset: u64,
        /// Nanoseconds since the session's start.
        time_ns: i64,
        /// The session's number for its thread.
        thread: u32,
        /// The error of the replayer.
        cause: E,
    },
}

impl Timer {
    /// Creates a timer that has not started.
    pub fn new(pace: Pace) -> Timer {
        let speed = match pace {
            Pace::Fast => None,
            Pace::Recorded(speed) if speed > 0.0 && speed.is_finite() => Some(speed),
            Pace::Recorded(_) => Some(1.0),
        };
        Timer { speed, start: None }
    }

    /// Waits for the time of an event with this recorded wall-clock time. The first event comes at
    /// once.
    pub fn wait(&mut self, wall_ns: i64) {
        let Some(speed) = self.speed else { return };
        let (start, first_ns) = *self.start.get_or_insert_with(|| (Instant::now(), wall_ns));
        let since_ns = wall_ns.saturating_sub(first_ns) as f64 / speed;
        let due = Duration::try_from_secs_f64(since_ns / 1e9).unwrap_or_default();
        let pause = due.saturating_sub(start.elapsed());
        if !pause.is_zero() {
            std::thread::sleep(pause);
        }
    }
}

/// Passes the events of a stream by time to a function. The function replays those with a mark, and
/// returns their names. The macro's `Replay::replay` calls this.
///
/// # Errors
/// Those of the input, and the first error of the function.
pub fn replay<D: Typed, E>(
    reader: Reader<'_>,
    pace: Pace,
    mut step: impl FnMut(D::Event<'_>, &Place<'_>) -> Option<(&'static str, Result<(), E>)>,
) -> Result<Replayed, ReplayError<E>> {
    let mut events = reader.order(Order::Time).typed::<D>()?;
    let mut timer = Timer::new(pace);
    let (mut replayed, mut number) = (0, 0);
    while let Some(at) = events.next()? {
        number += 1;
        let Timed { event, ticks, thread, session, offset } = at;
        let place = Place { event: (), ticks, thread, session, offset };
        timer.wait(session.clock.wall_ns(ticks));
        match step(event, &place) {
            None => {}
            Some((_, Ok(()))) => replayed += 1,
            Some((event, Err(cause))) => {
                let time_ns = place.time_ns();
                return Err(ReplayError::Event { event, number, offset, time_ns, thread, cause });
            }
        }
    }
    let others = events.skipped().total() + number - replayed;
    Ok(Replayed { events: replayed, others, completeness: events.completeness() })
}

impl<E> From<Error> for ReplayError<E> {
    fn from(error: Error) -> Self {
        ReplayError::Read(error)
    }
}

impl<E: fmt::Display> fmt::Display for ReplayError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReplayError::Read(error) => write!(f, "cannot read the stream: {error}"),
            ReplayError::Event { event, number, offset, time_ns, thread, cause } => write!(
                f,
                "event {number}, `{event}` of thread {thread} at {time_ns} ns, byte {offset}: {cause}"
            ),
        }
    }
}

impl<E: fmt::Debug + fmt::Display> std::error::Error for ReplayError<E> {}
