//! A value by the bits that it was kept as, where its event is gone.

use serde_json::Value as Json;
use telemetry_decode::Session;
use telemetry_schema::{Registry, Sort};

use super::{escaped_text, grouped, names, signed_grouped};

/// A value of a sort by its bits: for JSON, and for people. With a session labels are their strings.
pub(crate) fn shown(registry: &Registry, sort: Sort, bits: u64, session: Option<&Session>) -> (Json, String) {
    match sort {
        Sort::Pointer | Sort::Addr => (Json::from(format!("{bits:#x}")), format!("{bits:#x}")),
        Sort::Bool => (Json::from(bits != 0), (bits != 0).to_string()),
        Sort::I8 | Sort::I16 | Sort::I32 | Sort::I64 => {
            (Json::from(bits as i64), signed_grouped(bits as i64))
        }
        Sort::Named(_) => {
            let text = names::named_text(bits, registry.ty(sort));
            (Json::from(text.clone()), text)
        }
        Sort::Label => match session.and_then(|session| session.labels.string(bits)) {
            Some(text) => (Json::from(text), format!("\"{}\"", escaped_text(text))),
            None => (Json::from(bits), bits.to_string()),
        },
        _ => (Json::from(bits), grouped(bits)),
    }
}
