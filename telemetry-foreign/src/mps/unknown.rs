//! Events of codes that the registry does not have.

use std::sync::OnceLock;

use telemetry_decode::foreign::Page;
use telemetry_decode::{Event, Value};
use telemetry_schema::{Registry, parse_embedded};

use super::known;
use super::layout::{HEAD, Head};

/// The name of the registry of events of unknown codes.
pub const UNKNOWN_REGISTRY: &str = "mps_unknown";

/// Index of the registry in a survey that has it.
pub(super) const INDEX: usize = 1;

const REGISTRY: &str = r#"
[registry]
name = "mps_unknown"
version = { major = 1, median = 0, minor = 0 }
doc = "Events of a log of the Memory Pool System that its registry does not have"

[kinds]
Unknown = { bit = 0, doc = "of some kind" }

[[event]]
name = "UnknownEvent"
code = 0
kind = "Unknown"
doc = "An event of an unknown code"
params = [
  { name = "code", sort = "u16", doc = "its code" },
  { name = "kind", sort = "u8", doc = "the bit of the kind among whose events it stands" },
  { name = "size", sort = "u16", unit = "bytes", doc = "its size, with its head of 16 bytes" },
  { name = "body", sort = "bytes", max = 16384, doc = "what is behind its head" },
]
"#;

/// Returns the registry of events of unknown codes.
pub(super) fn registry() -> Registry {
    static KNOWN: OnceLock<Option<Registry>> = OnceLock::new();
    // A test parses it.
    KNOWN.get_or_init(|| parse_embedded(REGISTRY).ok()).clone().unwrap_or_else(known::registry)
}

/// Returns the code of an event of an unknown code, as in the log; `None` for other events.
pub fn unknown_code(event: &Event<'_>) -> Option<u16> {
    if event.registry().name != UNKNOWN_REGISTRY {
        return None;
    }
    match event.value(0) {
        Some(Value::Unsigned(code)) => u16::try_from(code).ok(),
        _ => None,
    }
}

/// Appends an event of an unknown code. `at` is its position in the extent.
pub(super) fn read(head: Head, kind: u8, at: usize, bytes: &[u8], page: &mut Page) {
    let mut event = page.event(INDEX, 0, head.ticks, at, bytes.len());
    event.number(head.code.into());
    event.number(kind.into());
    event.number(head.size as u64);
    let body = bytes.get(HEAD..).unwrap_or_default();
    event.run(body);
}

/// Returns the bytes of such an event again, with a clock of 0, and the bit of its kind.
pub(super) fn bytes(event: &Event<'_>) -> Option<(u8, Vec<u8>)> {
    let [code, kind, size] = [0, 1, 2].map(|index| event.value(index)?.as_i128());
    let Some(Value::Bytes(body)) = event.value(3) else { return None };
    let (code, kind, size) =
        (u16::try_from(code?).ok()?, u8::try_from(kind?).ok()?, u16::try_from(size?).ok()?);
    let mut bytes = vec![0; usize::from(size).max(HEAD)];
    bytes[..2].copy_from_slice(&code.to_le_bytes());
    bytes[2..4].copy_from_slice(&size.to_le_bytes());
    let len = body.len().min(bytes.len() - HEAD);
    bytes[HEAD..HEAD + len].copy_from_slice(&body[..len]);
    Some((kind, bytes))
}
