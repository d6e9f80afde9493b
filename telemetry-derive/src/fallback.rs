//! What remains of a relation with mistakes: empty emitters, so that one mistake is one error and
//! not one more at every call.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use telemetry_schema::{Invalid, snake_case};

/// An emitter for every event whose name could be read, which takes anything and does nothing.
pub(crate) fn emitters(invalid: &Invalid) -> TokenStream {
    let registry = invalid.registry.as_deref().unwrap_or("unnamed");
    let emitters = invalid.emitters.iter().map(|name| {
        let name = snake_case(name);
        let exported = format_ident!("__telemetry_{registry}_{name}");
        let name = crate::module::ident(&name);
        quote! {
            #[macro_export]
            macro_rules! #exported { ($($args:tt)*) => { () }; }
            #[allow(unused_imports)]
            pub use #exported as #name;
        }
    });
    quote!(#(#emitters)*)
}
