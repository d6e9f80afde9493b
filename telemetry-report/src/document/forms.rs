//! The forms of the document's parts. `web/src/document.ts` says what they mean.

use serde::Serialize;
use serde_json::Value as Json;

use crate::spans::SampledShape;

/// Nanoseconds since the first event, or a duration.
pub(super) type Ns = i64;

#[derive(Serialize)]
pub(crate) struct Document {
    pub(super) version: u32,
    pub(super) made_by: String,
    pub(super) inputs: Vec<String>,
    pub(super) origin: String,
    pub(super) duration: u64,
    pub(super) sessions: Vec<SessionForm>,
    pub(super) threads: Vec<ThreadForm>,
    pub(super) kinds: Vec<KindForm>,
    pub(super) events: Vec<EventForm>,
    pub(super) spans: Vec<SpanForm>,
    pub(super) texts: Vec<String>,
    pub(super) stats: Json,
    pub(super) paired: Json,
    pub(super) losses: Vec<LossForm>,
    pub(super) more_losses: usize,
    pub(super) marks: Vec<MarkForm>,
    pub(super) more_marks: u64,
    pub(super) rate: RateForm,
    pub(super) lanes: Vec<LaneForm>,
    pub(super) durations: Vec<SpanHeatForm>,
    pub(super) values: Vec<ValueHeatForm>,
    pub(super) memory: Option<MemoryForm>,
    pub(super) censuses: Vec<CensusForm>,
    pub(super) counters: Vec<CounterForm>,
    pub(super) sampled: Option<SampledShape>,
    pub(super) pauses: Option<PausesForm>,
    pub(super) flames: Vec<FlameForm>,
    pub(super) sample: Vec<SampleForm>,
    pub(super) against: Option<Json>,
    pub(super) notes: Vec<String>,
}

#[derive(Serialize)]
pub(super) struct SessionForm {
    pub(super) id: String,
    pub(super) program: String,
    pub(super) args: Vec<String>,
    pub(super) pid: Option<u64>,
    pub(super) host: Option<String>,
    pub(super) start: Ns,
    pub(super) ended: bool,
    pub(super) endings: Vec<(String, String)>,
    pub(super) facts: Vec<(String, String)>,
}

#[derive(Serialize)]
pub(super) struct ThreadForm {
    pub(super) session: usize,
    pub(super) thread: u32,
    pub(super) name: String,
    pub(super) events: u64,
    pub(super) others: usize,
}

#[derive(Serialize)]
pub(super) struct KindForm {
    pub(super) registry: String,
    pub(super) fingerprint: String,
    pub(super) name: String,
    pub(super) doc: String,
    pub(super) is_runtime: bool,
}

#[derive(Serialize, Default)]
pub(super) struct EventForm {
    pub(super) name: String,
    pub(super) registry: String,
    pub(super) fingerprint: String,
    pub(super) code: u16,
    pub(super) kind: usize,
    pub(super) doc: String,
    pub(super) params: Vec<ParamForm>,
}

#[derive(Serialize)]
pub(super) struct ParamForm {
    pub(super) name: String,
    #[serde(rename = "type")]
    pub(super) ty: String,
    pub(super) unit: String,
    pub(super) is_counter: bool,
    pub(super) doc: String,
}

#[derive(Serialize)]
pub(super) struct SpanForm {
    pub(super) name: String,
    pub(super) registry: String,
    pub(super) fingerprint: String,
    pub(super) doc: String,
    pub(super) message: Option<String>,
    pub(super) key: Option<String>,
    pub(super) is_pause: bool,
    pub(super) begin: i64,
    pub(super) end: i64,
}

#[derive(Serialize)]
pub(super) struct LossForm {
    pub(super) thread: Option<u32>,
    pub(super) kind: Option<usize>,
    pub(super) from: Ns,
    pub(super) until: Ns,
    pub(super) events: Option<u64>,
    pub(super) cause: String,
}

#[derive(Serialize)]
pub(super) struct RateForm {
    pub(super) width: u64,
    pub(super) buckets: u64,
    pub(super) series: Vec<CountsForm>,
}

#[derive(Serialize)]
pub(super) struct CountsForm {
    pub(super) thread: u32,
    pub(super) event: u32,
    pub(super) first: usize,
    pub(super) counts: Vec<u64>,
}

#[derive(Serialize)]
pub(super) struct LaneForm {
    pub(super) thread: u32,
    pub(super) depths: usize,
    pub(super) total: u64,
    pub(super) complete_from: u64,
    pub(super) spans: SpansForm,
    pub(super) cover: CoverForm,
}

#[derive(Serialize, Default)]
pub(super) struct SpansForm {
    pub(super) begin: Vec<u64>,
    pub(super) duration: Vec<u64>,
    pub(super) span: Vec<u32>,
    pub(super) depth: Vec<u8>,
    pub(super) key: Vec<i64>,
    pub(super) end_thread: Vec<i64>,
    pub(super) is_uncertain: Vec<u8>,
}

#[derive(Serialize)]
pub(super) struct CoverForm {
    pub(super) width: u64,
    pub(super) rows: Vec<CoverRowForm>,
}

#[derive(Serialize)]
pub(super) struct CoverRowForm {
    pub(super) depth: usize,
    pub(super) first: usize,
    pub(super) ns: Vec<u64>,
    pub(super) spans: Vec<u64>,
}

#[derive(Serialize)]
pub(super) struct HeatForm {
    pub(super) width: u64,
    pub(super) columns: Vec<ColumnForm>,
}

#[derive(Serialize)]
pub(super) struct ColumnForm {
    pub(super) at: usize,
    pub(super) buckets: Vec<i16>,
    pub(super) counts: Vec<u64>,
    pub(super) sum: f64,
}

#[derive(Serialize)]
pub(super) struct SpanHeatForm {
    pub(super) span: u32,
    pub(super) thread: Option<u32>,
    pub(super) duration: HeatForm,
    #[serde(rename = "self")]
    pub(super) own: HeatForm,
}

#[derive(Serialize)]
pub(super) struct ValueHeatForm {
    pub(super) event: u32,
    pub(super) param: usize,
    pub(super) thread: Option<u32>,
    pub(super) heat: HeatForm,
}

#[derive(Serialize)]
pub(super) struct MemoryForm {
    pub(super) width: u64,
    pub(super) live_bytes: Vec<i64>,
    pub(super) live_blocks: Vec<i64>,
    pub(super) peak_bytes: Vec<u64>,
    pub(super) allocated_bytes: Vec<u64>,
    pub(super) freed_bytes: Vec<u64>,
    pub(super) classes: Vec<MemoryGroupForm>,
    pub(super) groups: Vec<MemoryGroupForm>,
    pub(super) allocations: u64,
    pub(super) frees: u64,
    pub(super) unknown_frees: u64,
}

#[derive(Serialize)]
pub(super) struct MemoryGroupForm {
    pub(super) name: String,
    pub(super) allocations: u64,
    pub(super) allocated_bytes: u64,
    pub(super) live_bytes: Vec<i64>,
    pub(super) live_blocks: Vec<i64>,
    pub(super) left_bytes: i64,
    pub(super) left_blocks: i64,
}

#[derive(Serialize)]
pub(super) struct CensusForm {
    #[serde(flatten)]
    pub(super) shape: Json,
    pub(super) every: u64,
    pub(super) at: Vec<Ns>,
    pub(super) amounts: Vec<Vec<u64>>,
    pub(super) others_amounts: Vec<u64>,
}

#[derive(Serialize)]
pub(super) struct CounterForm {
    pub(super) counter: String,
    pub(super) registry: String,
    pub(super) session: usize,
    pub(super) thread: Option<String>,
    pub(super) unit: String,
    pub(super) doc: String,
    pub(super) count: u64,
    pub(super) first: f64,
    pub(super) last: f64,
    pub(super) min: f64,
    pub(super) max: f64,
    pub(super) falls: bool,
    pub(super) every: u64,
    pub(super) at: Vec<u64>,
    pub(super) values: Vec<f64>,
}

#[derive(Serialize, Default)]
pub(super) struct PausesForm {
    pub(super) begin: Vec<Ns>,
    pub(super) duration: Vec<u64>,
    pub(super) span: Vec<u32>,
    pub(super) thread: Vec<u32>,
    pub(super) cause: Vec<i64>,
    pub(super) is_joined: bool,
}

#[derive(Serialize)]
pub(super) struct FlameForm {
    pub(super) name: String,
    pub(super) unit: String,
    pub(super) thread: u32,
    pub(super) width: u64,
    pub(super) nodes: NodesForm,
}

#[derive(Serialize, Default)]
pub(super) struct NodesForm {
    pub(super) parent: Vec<i64>,
    pub(super) name: Vec<i64>,
    #[serde(rename = "self")]
    pub(super) own: Vec<u64>,
    pub(super) count: Vec<u64>,
    pub(super) slices: Vec<Vec<u64>>,
}

#[derive(Serialize)]
pub(super) struct MarkForm {
    pub(super) at: u64,
    pub(super) thread: u32,
    pub(super) text: String,
}

#[derive(Serialize)]
pub(super) struct SampleForm {
    pub(super) event: u32,
    pub(super) every: u64,
    pub(super) total: u64,
    pub(super) rows: Vec<Vec<Json>>,
}
