//! Spans in the state of a session whose other part later segments may have.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use telemetry_columns::{CarriedSpans, OpenSpan, SpanPart};

/// The most open spans of a session that its state keeps, and the most ends without begins. The
/// state is written with each batch.
pub(crate) const MAX_KEPT: usize = 10_000;

/// The fields of a begin or an end. The part itself is of a package without serde.
#[derive(Serialize, Deserialize)]
#[serde(remote = "SpanPart")]
struct Fields {
    fingerprint: u64,
    registry: String,
    span: String,
    detail: Option<String>,
    session: u64,
    thread: u32,
    key: Option<u64>,
    key_text: Option<Box<[u8]>>,
    ns: i64,
    ticks: u64,
    is_certain: bool,
}

#[derive(Serialize, Deserialize)]
struct Part(#[serde(with = "Fields")] SpanPart);

/// Written as begin, `self_ns` and `until_ns`.
type Open = (Part, i64, i64);

/// Writes spans, for `#[serde(with)]`.
pub(crate) fn serialize<S: Serializer>(spans: &CarriedSpans, serializer: S) -> Result<S::Ok, S::Error> {
    let open = spans.open.iter().cloned();
    let open: Vec<Open> = open.map(|open| (Part(open.begin), open.self_ns, open.until_ns)).collect();
    let ends: Vec<_> = spans.early_ends.iter().cloned().map(Part).collect();
    (open, ends).serialize(serializer)
}

/// Reads spans, for `#[serde(with)]`.
pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<CarriedSpans, D::Error> {
    let (open, ends): (Vec<Open>, Vec<Part>) = Deserialize::deserialize(deserializer)?;
    let open =
        open.into_iter().map(|(part, self_ns, until_ns)| OpenSpan { begin: part.0, self_ns, until_ns });
    Ok(CarriedSpans { open: open.collect(), early_ends: ends.into_iter().map(|part| part.0).collect() })
}
