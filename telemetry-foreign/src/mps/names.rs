//! What the MPS calls a parameter: the one rule for text, SQL and Python.

use std::borrow::Cow;

use telemetry_schema::Registry;

use super::NAME;

/// Parameters whose name the rule does not give: `refIO` has two capital letters, and `ref` and `gen` are keywords
/// of Rust, which no relation may have.
const EXCEPTIONS: [(&str, &str); 3] = [("ref_io", "refIO"), ("reference", "ref"), ("generation", "gen")];

/// True if the parameters of a registry have names of the MPS: all of the registry `mps`, of any version.
#[inline]
pub fn has_names(registry: &Registry) -> bool {
    registry.name == NAME
}

/// What the MPS calls a parameter of the registry `mps`: `base_tract` is `baseTract`.
pub fn name(param: &str) -> Cow<'_, str> {
    if let Some((_, name)) = EXCEPTIONS.iter().find(|(ours, _)| *ours == param) {
        return Cow::Borrowed(name);
    }
    if !param.contains('_') {
        return Cow::Borrowed(param);
    }
    let mut out = Vec::with_capacity(param.len());
    append_camel_case(&mut out, param.as_bytes());
    Cow::Owned(String::from_utf8_lossy(&out).into_owned())
}

/// Appends what the MPS calls a parameter of the registry `mps`.
#[inline]
pub fn append_name(out: &mut Vec<u8>, param: &str) {
    match EXCEPTIONS.iter().find(|(ours, _)| *ours == param) {
        Some((_, name)) => out.extend_from_slice(name.as_bytes()),
        None => append_camel_case(out, param.as_bytes()),
    }
}

/// The registry with the MPS's own names: no longer one that a relation could be, for who only describes it.
pub fn with_names(registry: &Registry) -> Registry {
    let mut named = registry.clone();
    for param in named.events.iter_mut().flat_map(|event| &mut event.params) {
        param.name = name(&param.name).into_owned();
    }
    named
}

fn append_camel_case(out: &mut Vec<u8>, name: &[u8]) {
    let mut words = name.split(|byte| *byte == b'_');
    out.extend_from_slice(words.next().unwrap_or_default());
    for word in words {
        if let Some((first, rest)) = word.split_first() {
            out.push(first.to_ascii_uppercase());
            out.extend_from_slice(rest);
        }
    }
}
