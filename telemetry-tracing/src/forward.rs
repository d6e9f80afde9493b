//! The other way: events of telemetry, as events of `tracing`.

use std::collections::HashMap;
use std::fmt::{self, Display};
use std::io;

use telemetry::counters;
use telemetry::decode::{Event, Reader, Value};
use telemetry::sinks::{Batch, Sink, Start};
use tracing_core::Level;

use crate::layer::FORWARDED as TARGET;

/// A sink that gives events of telemetry to the subscriber of the process, as events of `tracing`.
/// It is for tests and for consoles of developers: each event costs a text.
///
/// ```
/// use tracing_core::Level;
///
/// let sink = telemetry::sinks::add(telemetry_tracing::Forward::new(Level::DEBUG))?;
/// # telemetry::sinks::remove(sink);
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// The target is `telemetry::forward`. The message has the event's name and its parameters, as
/// `telemetry print` shows them. The fields are `registry`, `kind`, `thread`, and `time_ns` since
/// the start of the session. Lost events are a warning. What [`layer`](fn@crate::layer) records is
/// left out, and the layer does not record what this sink emits.
///
/// Events that are written together come by time. The runtime's thread calls the subscriber, within
/// the latency or at [`telemetry::flush`]. A subscriber of another thread alone does not hear of
/// them. Without any subscriber, the feature `log` of `tracing` gives them to loggers of the crate
/// `log`.
#[derive(Debug)]
pub struct Forward {
    level: Level,
    /// The number of forwarded events of each lane. Every write begins with those of open blocks.
    forwarded: HashMap<Lane, u64>,
    lost: u64,
}

/// Thread, registry and kind.
type Lane = (u32, u64, u8);

impl Forward {
    /// Creates a sink whose events have this level.
    pub fn new(level: Level) -> Forward {
        Forward { level, forwarded: HashMap::new(), lost: lost() }
    }

    fn forward(&mut self, event: &Event<'_>) {
        let lane = (event.thread(), event.known_registry().fingerprint, event.kind().bit);
        let next = self.forwarded.entry(lane).or_default();
        match event.position() {
            Some(position) if position < *next => return,
            Some(position) => *next = position + 1,
            None => {}
        }
        // Labels are in the events that have them, and the others come from `tracing`.
        match (&*event.registry().name, &*event.kind().name) {
            ("tracing", _) | ("telemetry", "Label") => {}
            _ => emit(self.level, event),
        }
    }
}

impl Sink for Forward {
    /// Each write is a whole stream.
    fn begin(&mut self, _: usize) -> io::Result<Start> {
        Ok(Start::New)
    }

    fn write(&mut self, blocks: &Batch<'_>) -> io::Result<()> {
        let mut stream = Vec::new();
        blocks.iter().flatten().for_each(|bytes| stream.extend_from_slice(bytes));
        let mut events =
            Reader::from_slice(&stream).show_sensitive(true).events().map_err(io::Error::other)?;
        while let Some(event) = events.next().map_err(io::Error::other)? {
            self.forward(&event);
        }
        let lost = lost();
        if lost > self.lost {
            tracing::warn!(target: TARGET, events = lost - self.lost, "events were lost");
            self.lost = lost;
        }
        Ok(())
    }

    fn after_fork(&mut self) -> bool {
        self.forwarded.clear();
        self.lost = 0;
        true
    }

    fn name(&self) -> String {
        "tracing".to_string()
    }
}

fn lost() -> u64 {
    let total = counters::total();
    total.lost_pool + total.lost_reentrant + total.lost_sink
}

/// Emits an event of `tracing`, whose call sites have a level each.
fn emit(level: Level, event: &Event<'_>) {
    macro_rules! at {
        ($level:expr) => {
            tracing::event!(
                target: TARGET,
                $level,
                registry = &*event.registry().name,
                kind = &*event.kind().name,
                thread = event.thread_name().unwrap_or("-"),
                time_ns = event.time_ns(),
                "{}",
                Shown(event)
            )
        };
    }
    match level {
        Level::ERROR => at!(Level::ERROR),
        Level::WARN => at!(Level::WARN),
        Level::INFO => at!(Level::INFO),
        Level::DEBUG => at!(Level::DEBUG),
        Level::TRACE => at!(Level::TRACE),
    }
}

/// An event as text: its name and its parameters.
struct Shown<'e>(&'e Event<'e>);

impl Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let event = self.0;
        f.write_str(event.name())?;
        for param in event.params() {
            write!(f, "  {}:", param.schema.name)?;
            match &param.value {
                Value::Label(label) => match event.label(*label) {
                    Some(text) => write!(f, "{text:?}")?,
                    None => write!(f, "{label}")?,
                },
                Value::String(text) => write!(f, "{:?}", text.to_string())?,
                value => write!(f, "{value}")?,
            }
            match &*param.schema.unit {
                "" => {}
                unit => write!(f, " {unit}")?,
            }
        }
        Ok(())
    }
}
