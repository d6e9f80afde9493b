//! The rest of a registry with mistakes: empty emitters, so that one mistake is one error and
//! not one more at every call.

use proc_macro2::TokenStream;
use quote::quote;
use syn::Path;
use telemetry_schema::{Invalid, snake_case};

use crate::parts::names::exported;

/// Generates an emitter for every event whose name could be read, which takes anything and does
/// nothing.
pub(crate) fn emitters(invalid: &Invalid, at: &Path) -> TokenStream {
    let emitters = invalid.emitters.iter().map(|name| {
        let name = crate::parts::names::ident(&snake_case(name));
        let exported = exported(at, &name);
        quote! {
            #[macro_export]
            macro_rules! #exported { ($($args:tt)*) => { () }; }
            #[allow(unused_imports)]
            pub use #exported as #name;
        }
    });
    quote!(#(#emitters)*)
}
