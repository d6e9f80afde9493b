//! The mark of an emitter that code calls.

use proc_macro2::{Literal, TokenStream};
use quote::quote;
use telemetry_schema::{Event, Registry, own};

/// Generates the mark, in a function of the emitter. The runtime's own emitters have none, because
/// no program calls them.
pub(crate) fn called(registry: &Registry, event: &Event) -> Option<TokenStream> {
    if registry.name == own::NAME {
        return None;
    }
    let (fingerprint, code) = (registry.fingerprint(), Literal::u16_unsuffixed(event.code));
    let fingerprint = Literal::u64_unsuffixed(fingerprint);
    Some(quote!(rt::called!(#fingerprint, #code);))
}
