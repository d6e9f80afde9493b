//! The names of parameters in the text of an MPS program. They are those of the registry, but the
//! MPS's own events have the MPS's names.

use std::borrow::Cow;

use telemetry_foreign::mps;
use telemetry_schema::Registry;

/// Appends the name of a parameter of a registry.
#[inline]
pub(crate) fn append(out: &mut Vec<u8>, registry: &Registry, param: &str) {
    if mps::has_names(registry) {
        mps::append_name(out, param);
    } else {
        out.extend_from_slice(param.as_bytes());
    }
}

/// Returns the name of a parameter of a registry.
pub(crate) fn name<'p>(registry: &Registry, param: &'p str) -> Cow<'p, str> {
    if mps::has_names(registry) { mps::name(param) } else { Cow::Borrowed(param) }
}
