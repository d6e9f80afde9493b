//! Names in the output.

use proc_macro2::Span;
use quote::format_ident;
use syn::{Ident, Path};
use telemetry_schema::{Count, Event};

/// Returns a name of the registry in Rust. The schema refuses keywords, so no name needs to be raw.
pub(crate) fn ident(name: &str) -> Ident {
    Ident::new(name, Span::call_site())
}

/// Returns the name of an emitter's macro at the root of its crate, where all macros are. It
/// contains the module, so that a crate can have several versions of one registry.
pub(crate) fn exported(at: &Path, name: &syn::Ident) -> syn::Ident {
    let module: Vec<String> = at.segments.iter().map(|segment| segment.ident.to_string()).collect();
    format_ident!("__telemetry_{}_{name}", module.join("__"))
}

/// Returns true if the event's struct borrows from the stream.
pub(crate) fn borrows(event: &Event) -> bool {
    event.params.iter().any(|param| param.count != Count::One || param.sort.is_run())
}
