//! Reads a run's events as the structs that the macro generated from the registry.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Debug;
use std::path::Path;

use telemetry::decode::{Filter, Reader, Timed};

use crate::events::{Decoder, Event, PhaseBegin, TraceStart};

/// The history of a run.
#[derive(Debug, Default)]
pub(crate) struct History {
    pub(crate) traces: Vec<Trace>,
    pub(crate) phases: Vec<Phase>,
    /// By name, those of all arenas together.
    pub(crate) pools: BTreeMap<String, Pools>,
    /// Bytes that the program allocated in buffers: the time when the buffer was emptied, in ns
    /// since the session's start, and the bytes.
    pub(crate) allocated: Vec<(i64, u64)>,
    /// When the benchmark began and ended, in ns since the session's start.
    pub(crate) bench: Option<(i64, i64)>,
}

/// A trace.
#[derive(Debug)]
pub(crate) struct Trace {
    pub(crate) why: String,
    pub(crate) condemned: u64,
    pub(crate) survived: u64,
    pub(crate) ns: i64,
}

/// A phase of the benchmark in one thread.
#[derive(Debug)]
pub(crate) struct Phase {
    pub(crate) phase: String,
    pub(crate) depth: u8,
    pub(crate) trees: u64,
    pub(crate) allocated: u64,
    pub(crate) ns: i64,
}

/// Pools of one name.
#[derive(Debug, Default)]
pub(crate) struct Pools {
    pub(crate) count: u64,
    /// Sum of the pools' peak sizes, in bytes of segments.
    pub(crate) peak: u64,
    /// Bytes of all segments that they ever had, together.
    pub(crate) total: u64,
}

impl History {
    /// Reads a stream.
    ///
    /// # Errors
    /// If the file cannot be read, or has another major version of the registry.
    pub(crate) fn read(path: &Path) -> telemetry::decode::Result<History> {
        // Most blocks are of other kinds. They are skipped by their headers.
        let filter = Filter::default().kinds(["Pool", "Trace", "Seg", "User"]);
        let mut events = Reader::open(path)?.filter(filter).typed::<Decoder>()?;
        let mut reading = Reading::default();
        while let Some(at) = events.next()? {
            reading.take(&at);
        }
        Ok(reading.finish())
    }
}

/// The state while a stream is read. Open traces and phases by thread; pools and buffers by thread
/// and address.
#[derive(Default)]
struct Reading {
    traces: HashMap<u32, (i64, TraceStart<'static>)>,
    phases: HashMap<u32, (i64, PhaseBegin<'static>)>,
    pools: HashMap<(u32, u64), Pool>,
    /// Buffers that the program allocates in.
    buffers: HashSet<(u32, u64)>,
    history: History,
}

/// A pool of one arena.
#[derive(Default)]
struct Pool {
    name: String,
    /// Bytes of its segments: now, at the peak, and of all that it ever had.
    now: u64,
    peak: u64,
    total: u64,
}

impl Reading {
    fn take(&mut self, at: &Timed<'_, Event<'_>>) {
        let (thread, now) = (at.thread(), at.time_ns());
        let history = &mut self.history;
        match at.event {
            Event::BenchBegin(_) => history.bench = Some((now, now)),
            Event::BenchEnd(_) => history.bench = history.bench.map(|(begin, _)| (begin, now)),
            Event::PhaseBegin(begin) => {
                self.phases.insert(thread, (now, begin.into_owned()));
            }
            Event::PhaseEnd(end) => {
                history.phases.extend(self.phases.remove(&thread).map(|(began, begin)| Phase {
                    phase: name(begin.phase),
                    depth: begin.depth,
                    trees: begin.trees,
                    allocated: end.allocated,
                    ns: now - began,
                }));
            }
            Event::TraceStart(start) => {
                self.traces.insert(thread, (now, start.into_owned()));
            }
            Event::TraceEnd(end) => {
                history.traces.extend(self.traces.remove(&thread).map(|(began, start)| Trace {
                    why: name(start.why),
                    condemned: start.condemned,
                    survived: end.survived,
                    ns: now - began,
                }));
            }
            Event::PoolInit(init) => self.pool(thread, init.pool).name = init.name.to_string(),
            Event::SegAlloc(seg) => {
                let pool = self.pool(thread, seg.pool);
                pool.now += seg.size;
                pool.peak = pool.peak.max(pool.now);
                pool.total += seg.size;
            }
            Event::SegFree(seg) => {
                let pool = self.pool(thread, seg.pool);
                pool.now = pool.now.saturating_sub(seg.size);
            }
            Event::BufferInit(init) if init.is_mutator => {
                self.buffers.insert((thread, init.buffer));
            }
            Event::BufferEmpty(empty) if self.buffers.contains(&(thread, empty.buffer)) => {
                history.allocated.push((now, empty.allocated));
            }
            _ => {}
        }
    }

    fn pool(&mut self, thread: u32, pool: u64) -> &mut Pool {
        self.pools.entry((thread, pool)).or_default()
    }

    fn finish(mut self) -> History {
        for pool in self.pools.into_values() {
            let sum = self.history.pools.entry(pool.name).or_default();
            sum.count += 1;
            sum.peak += pool.peak;
            sum.total += pool.total;
        }
        self.history
    }
}

/// The name of an enum's value, or its number if another version of the registry defines it.
fn name<T: Debug, N: Debug>(value: Result<T, N>) -> String {
    value.map_or_else(|number| format!("{number:?}"), |value| format!("{value:?}"))
}
