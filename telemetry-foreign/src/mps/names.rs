//! The MPS's names of parameters: the one rule for text, SQL and Python.

use std::borrow::Cow;

use telemetry_schema::Registry;

use super::known::NAME;

/// Parameters whose names do not follow the rule: `refIO` has two capital letters, and `ref` and
/// `gen` are keywords of Rust, which a registry may not use.
const EXCEPTIONS: [(&str, &str); 3] = [("ref_io", "refIO"), ("reference", "ref"), ("generation", "gen")];

/// Returns true if the parameters of a registry have names of the MPS: the registry `mps` of any
/// version.
#[inline]
pub fn has_names(registry: &Registry) -> bool {
    registry.name == NAME
}

/// Returns the MPS's name of a parameter of the registry `mps`: `base_tract` is `baseTract`.
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

/// Appends the MPS's name of a parameter of the registry `mps`.
#[inline]
pub fn append_name(out: &mut Vec<u8>, param: &str) {
    match EXCEPTIONS.iter().find(|(ours, _)| *ours == param) {
        Some((_, name)) => out.extend_from_slice(name.as_bytes()),
        None => append_camel_case(out, param.as_bytes()),
    }
}

/// Returns the registry with the MPS's own names, for descriptions only: a registry file could not
/// have them.
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
