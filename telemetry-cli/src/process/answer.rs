//! The answers of processes. Keys that this version does not know are ignored, and keys that a
//! process does not know are zero or empty.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use telemetry_format::Loss;

use super::pid::Pid;
use crate::text::escaped_text;
use crate::text::hint::{did_you_mean, nearest_name, some_of};

/// The enabled events, in words of `telemetry control`.
#[derive(Deserialize, Serialize, Default)]
#[serde(default)]
pub(crate) struct Masks {
    pub(crate) output: String,
    pub(crate) record: String,
    #[serde(flatten, skip_serializing)]
    pub(crate) unknown: Unknown,
}

/// Words of a request that match nothing, and the names that exist.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(crate) struct Unknown {
    unknown: Vec<String>,
    names: Vec<String>,
}

impl Unknown {
    /// Returns a message for each word.
    pub(crate) fn messages(&self) -> impl Iterator<Item = String> {
        self.unknown.iter().map(|word| {
            let help = match nearest_name(word, &self.names) {
                Some(name) => format!("; help: {}", did_you_mean(name)),
                None if self.names.is_empty() => String::new(),
                None => format!("; help: the process has {}", some_of(&self.names)),
            };
            format!("`{}` matches no kind or event{help}", escaped_text(word))
        })
    }

    /// Returns a hint for the first word that is similar to a name.
    pub(crate) fn hint(&self) -> Option<String> {
        self.unknown.iter().find_map(|word| nearest_name(word, &self.names)).map(did_you_mean)
    }

    /// Returns the names of kinds, events and registries, if any word matches nothing.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }
}

/// Event counts. `emitted` is the sum of all others except `truncated`.
#[derive(Deserialize, Serialize, Default, Clone, Copy)]
#[serde(default)]
pub(crate) struct Counters {
    pub(crate) emitted: u64,
    pub(crate) written: u64,
    /// Still in memory.
    pub(crate) retained: u64,
    /// Overwritten by later events in the flight recorder.
    pub(crate) evicted: u64,
    pub(crate) lost_pool: u64,
    pub(crate) lost_reentrant: u64,
    pub(crate) lost_sink: u64,
    /// Values truncated to their limit.
    pub(crate) truncated: u64,
}

/// The uses of a pool's memory, in bytes.
#[derive(Deserialize, Serialize, Default, Clone, Copy)]
#[serde(default)]
pub(crate) struct Pool {
    pub(crate) size: u64,
    pub(crate) free: u64,
    /// Blocks that lanes write to.
    pub(crate) open: u64,
    /// Sealed blocks that sinks have not taken yet.
    pub(crate) waiting: u64,
    /// Sealed blocks that the flight recorder retains.
    pub(crate) retained: u64,
    /// Existing lanes, one for each thread and kind.
    pub(crate) lanes: u64,
    /// Labels, which are outside of the pool.
    pub(crate) labels: u64,
}

/// The counters of a kind.
#[derive(Deserialize, Serialize, Clone)]
pub(crate) struct KindCounters {
    pub(crate) registry: String,
    pub(crate) name: String,
    #[serde(flatten)]
    pub(crate) counters: Counters,
    /// Bytes of the pool that the flight recorder retains of it.
    #[serde(default)]
    pub(crate) retained_bytes: u64,
}

/// The counters of a sink.
#[derive(Deserialize, Serialize, Clone)]
pub(crate) struct SinkCounters {
    pub(crate) name: String,
    /// The first error, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) failure: Option<String>,
    /// The same for programs: a code, and the system's error number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) notice: Option<String>,
    #[serde(flatten)]
    pub(crate) counters: BTreeMap<String, u64>,
}

/// All counters.
#[derive(Deserialize, Clone)]
pub(crate) struct State {
    #[serde(flatten)]
    pub(crate) counters: Counters,
    /// None if the runtime does not report it.
    #[serde(default)]
    pub(crate) pool: Option<Pool>,
    #[serde(rename = "kind", default)]
    pub(crate) kinds: Vec<KindCounters>,
    #[serde(rename = "sink", default)]
    pub(crate) sinks: Vec<SinkCounters>,
}

/// The description of a process.
#[derive(Deserialize, Serialize)]
pub(crate) struct Info {
    #[serde(default)]
    pub(crate) pid: u32,
    /// Number of the runtime in the process, from 1.
    #[serde(default)]
    pub(crate) copy: u32,
    #[serde(default)]
    pub(crate) program: String,
    #[serde(default)]
    pub(crate) session: String,
    #[serde(default)]
    pub(crate) started_ns: u64,
    #[serde(default, skip_serializing)]
    pub(crate) now_ns: u64,
    #[serde(default)]
    pub(crate) filename: String,
    /// Its ring file, or nothing.
    #[serde(default, skip_serializing)]
    pub(crate) ring: String,
    /// The variety of the build: `cool`, `hot` or `rash`.
    #[serde(default, skip_serializing)]
    pub(crate) variety: String,
    /// The version of the runtime.
    #[serde(default, skip_serializing)]
    pub(crate) telemetry: String,
    /// Seconds that an event may stay in memory.
    #[serde(default, skip_serializing)]
    pub(crate) latency: f64,
    #[serde(flatten)]
    pub(crate) masks: Masks,
    #[serde(default, skip_serializing)]
    pub(crate) counters: Counters,
    #[serde(rename(deserialize = "registry"), default)]
    pub(crate) registries: Vec<RegistryInfo>,
}

/// A registry in use.
#[derive(Deserialize, Serialize)]
pub(crate) struct RegistryInfo {
    pub(crate) name: String,
    pub(crate) version: String,
    #[serde(default)]
    pub(crate) kinds: Vec<String>,
    /// Words that stand for several.
    #[serde(default)]
    pub(crate) presets: Vec<String>,
}

impl Counters {
    /// Returns the lost events, by cause.
    pub(crate) fn loss(&self) -> Loss {
        let Counters { lost_pool: pool, lost_reentrant: reentrant, lost_sink: sink, truncated, .. } = *self;
        Loss { pool, reentrant, sink, truncated }
    }

    /// Returns the events lost by any cause.
    pub(crate) fn lost(&self) -> u64 {
        self.loss().causes().fold(0, |sum, (_, events)| sum.saturating_add(events))
    }
}

impl Info {
    /// Returns the name by which the command calls the process.
    pub(crate) fn called(&self) -> Pid {
        Pid { number: self.pid, copy: self.copy }
    }

    /// Returns the events per second since the start.
    pub(crate) fn per_second(&self) -> f64 {
        let seconds = self.now_ns.saturating_sub(self.started_ns) as f64 / 1e9;
        if seconds > 0.0 { self.counters.emitted as f64 / seconds } else { 0.0 }
    }
}
