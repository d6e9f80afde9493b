//! What stands for the module after a mistake, so that one mistake is one error and not one more at
//! every use of the module.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{ItemMod, Path};
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

/// Generates the name of the module without a module, if no event is known. The compiler does not
/// report an import from a module that has an error, nor what is used of such an import.
pub(crate) fn nothing(module: &ItemMod, error: &TokenStream) -> TokenStream {
    let ItemMod { attrs, vis, ident, .. } = module;
    let failed = format_ident!("__telemetry_{ident}");
    quote! {
        #(#attrs)*
        #[allow(unused_imports)]
        #vis use self::#failed::#ident;
        mod #failed {
            #error
        }
    }
}
