//! Names in the output.

use proc_macro2::Span;
use quote::format_ident;
use syn::{Ident, Path};
use telemetry_schema::{Count, Event};

/// A name of the relation in Rust. The schema refuses keywords, so no name needs to be raw.
pub(crate) fn ident(name: &str) -> Ident {
    Ident::new(name, Span::call_site())
}

/// What an emitter's macro is called at the root of its crate, where all macros are: by its module, so that
/// a crate can have several versions of one relation.
pub(crate) fn exported(at: &Path, name: &syn::Ident) -> syn::Ident {
    let module: Vec<String> = at.segments.iter().map(|segment| segment.ident.to_string()).collect();
    format_ident!("__telemetry_{}_{name}", module.join("__"))
}

/// True if the event's struct borrows from the stream.
pub(crate) fn borrows(event: &Event) -> bool {
    event.params.iter().any(|param| param.count != Count::One || param.sort.is_run())
}
