//! What processes answer. Keys that this version does not know are left out; those that a process does not
//! know are zero or empty.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Pid;

/// What is on: words that `telemetry control` takes.
#[derive(Deserialize, Serialize, Default)]
#[serde(default)]
pub(crate) struct Masks {
    pub(crate) output: String,
    pub(crate) record: String,
    /// A message for each word of the request that names nothing.
    #[serde(skip_serializing)]
    pub(crate) unknown: Vec<String>,
}

/// A message for each word of a request that names nothing.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(crate) struct Unknown {
    pub(crate) unknown: Vec<String>,
}

/// What became of events. `emitted` is the sum of all that follow but `cut`.
#[derive(Deserialize, Serialize, Default, Clone, Copy)]
#[serde(default)]
pub(crate) struct Counters {
    pub(crate) emitted: u64,
    pub(crate) written: u64,
    /// In memory.
    pub(crate) held: u64,
    /// Given up by the flight recorder for later ones.
    pub(crate) recycled: u64,
    pub(crate) lost_pool: u64,
    pub(crate) lost_nested: u64,
    pub(crate) lost_sink: u64,
    /// Values cut to their limit.
    pub(crate) cut: u64,
}

/// The counters of a kind.
#[derive(Deserialize, Serialize)]
pub(crate) struct KindCounters {
    pub(crate) registry: String,
    pub(crate) name: String,
    #[serde(flatten)]
    pub(crate) counters: Counters,
}

/// The counters of a sink.
#[derive(Deserialize, Serialize)]
pub(crate) struct SinkCounters {
    pub(crate) name: String,
    /// What went wrong first, if anything did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) failure: Option<String>,
    #[serde(flatten)]
    pub(crate) counters: BTreeMap<String, u64>,
}

/// All counters.
#[derive(Deserialize)]
pub(crate) struct State {
    #[serde(flatten)]
    pub(crate) counters: Counters,
    #[serde(rename = "kind", default)]
    pub(crate) kinds: Vec<KindCounters>,
    #[serde(rename = "sink", default)]
    pub(crate) sinks: Vec<SinkCounters>,
}

/// What a process is.
#[derive(Deserialize, Serialize)]
pub(crate) struct Info {
    #[serde(default)]
    pub(crate) pid: u32,
    /// Of the runtime in the process, from 1.
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
    /// Which events are compiled in: `cool`, `hot`, `rash`.
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
}

impl Counters {
    pub(crate) fn lost(&self) -> u64 {
        self.lost_pool.saturating_add(self.lost_nested).saturating_add(self.lost_sink)
    }
}

impl Info {
    /// How the command calls the process.
    pub(crate) fn called(&self) -> Pid {
        Pid { number: self.pid, copy: self.copy }
    }

    /// Events a second since the start.
    pub(crate) fn per_second(&self) -> f64 {
        let seconds = self.now_ns.saturating_sub(self.started_ns) as f64 / 1e9;
        if seconds > 0.0 { self.counters.emitted as f64 / seconds } else { 0.0 }
    }
}
