//! What parameters are called where the text is that of an MPS program: as the registry calls them, but those of the MPS's
//! own events as the MPS does.

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

/// The name of a parameter of a registry.
pub(crate) fn name<'p>(registry: &Registry, param: &'p str) -> Cow<'p, str> {
    if mps::has_names(registry) { mps::name(param) } else { Cow::Borrowed(param) }
}
