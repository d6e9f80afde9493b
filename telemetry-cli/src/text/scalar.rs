//! Values that are kept as bits after their event.

use serde_json::Value as Json;
use telemetry_decode::rules::Key;
use telemetry_decode::{KnownRegistry, Session};
use telemetry_schema::{Registry, Sort};

use super::amount::{grouped, signed_grouped};
use super::quoted::{escaped_bytes, escaped_text};
use super::{json, names};

/// Formats a key for JSON and for people. Its type is that of a parameter, if that is known.
pub(crate) fn key(
    key: &Key,
    param: Option<(&KnownRegistry, Sort)>,
    session: Option<&Session>,
) -> (Json, String) {
    let number = match key {
        Key::None => return (Json::Null, String::new()),
        Key::Text(text) => return (json::string_value(text), format!("\"{}\"", escaped_bytes(text))),
        Key::Number(number) => *number,
    };
    match param {
        Some((known, sort)) => {
            let (json, text) = shown(&known.registry, sort, number, session);
            // The text of a number is without groups, so that a search finds it in other output.
            (json, if matches!(sort, Sort::Pointer | Sort::Addr) { text } else { text.replace('_', "") })
        }
        None => (Json::from(number), number.to_string()),
    }
}

/// Formats the bits of a value for JSON and as text. With a session, labels become strings.
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
        Sort::Word | Sort::U8 | Sort::U16 | Sort::U32 | Sort::U64 => (Json::from(bits), grouped(bits)),
        // Registries do not allow these sorts as keys.
        Sort::F32 | Sort::F64 | Sort::String | Sort::Bytes => (Json::from(bits), grouped(bits)),
    }
}
