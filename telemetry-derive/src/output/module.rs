//! The attribute's module: everything that a registry becomes, in its place.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{Ident, ItemMod, Path};
use telemetry_schema::Registry;

use super::{decode, emit, fallback, messages, serialize, types};
use crate::input::args::Args;
use crate::input::source;
use crate::parts::docs;

/// Generates the attribute's output, errors included.
pub(crate) fn expand(args: TokenStream, item: TokenStream) -> TokenStream {
    let module: ItemMod = match syn::parse2(item) {
        Ok(module) => module,
        Err(error) => {
            let text = format!("{error}\nhelp: #[telemetry_event] goes on a module: `pub mod events {{}}`");
            return syn::Error::new(error.span(), text).into_compile_error();
        }
    };
    let args = match Args::parse(args) {
        Ok(args) => args,
        Err(error) => return fallback::nothing(&module, &error.into_compile_error()),
    };
    let bodiless = bodiless(&module).map(syn::Error::into_compile_error);
    match source::read(&args.path, args.is_own()) {
        Ok(source) => {
            let doc = docs::registry(&source.registry);
            let contents = contents(&source.registry, &source.paths, &module.ident, &args);
            // If the lock file objects, calls of the emitters still compile.
            let error = source.error.map(syn::Error::into_compile_error);
            fill(&module, &doc, &quote!(#bodiless #error #contents))
        }
        Err(failure) => {
            let error = failure.error.into_compile_error();
            let at = args.at.clone().unwrap_or_else(|| module.ident.clone().into());
            let watch = failure.path.map(|path| watch(&path));
            match failure.invalid.filter(|invalid| !invalid.emitters.is_empty()) {
                Some(invalid) => {
                    let emitters = fallback::emitters(&invalid, &at);
                    fill(&module, "", &quote!(#bodiless #error #watch #emitters))
                }
                None => fallback::nothing(&module, &quote!(#bodiless #error #watch)),
            }
        }
    }
}

/// Returns the error of a module whose body is another file. The compiler refuses such a module,
/// and does not say what to write.
fn bodiless(module: &ItemMod) -> Option<syn::Error> {
    let semi = module.semi?;
    let ItemMod { vis, ident, .. } = module;
    let vis = vis.to_token_stream();
    let space = if vis.is_empty() { "" } else { " " };
    let text = format!(
        "module `{ident}` has no braces\n\
         help: write `{vis}{space}mod {ident} {{}}`; the attribute fills it"
    );
    Some(syn::Error::new(semi.span, text))
}

/// Generates the module with `tokens` after its own items.
fn fill(module: &ItemMod, doc: &str, tokens: &TokenStream) -> TokenStream {
    let ItemMod { attrs, vis, ident, content, .. } = module;
    let own = content.as_ref().map(|(_, items)| items.as_slice()).unwrap_or_default();
    quote! {
        #(#attrs)*
        #[doc = #doc]
        #vis mod #ident {
            #(#own)*
            #tokens
        }
    }
}

/// Generates everything that a registry becomes.
pub(crate) fn contents(registry: &Registry, paths: &[String], module: &Ident, args: &Args) -> TokenStream {
    let at = args.at.clone().unwrap_or_else(|| module.clone().into());
    let watch = paths.iter().map(|path| watch(path));
    let guard = guard(&at);
    let emitters = emit::emitters(registry, &at, &args.telemetry, args.c);
    let types = types::types(registry);
    let messages = messages::messages(registry);
    let decoders = args.decode.then(|| decode::decoders(registry, &args.telemetry));
    let serialize = args.decode.then(|| serialize::serialize(registry));
    quote! {
        #(#watch)*
        #guard
        #types
        #emitters
        #messages
        #decoders
        #serialize
    }
}

/// Makes cargo recompile the crate when the file changes; nothing of it reaches the program.
fn watch(path: &str) -> TokenStream {
    quote!(
        const _: &[u8] = ::core::include_bytes!(#path);
    )
}

/// Checks that `crate::at` leads to this module, directly or by a re-export: the macros need that
/// path, and only the user knows it. If the crate's root has no such name, the path leads to an
/// empty module of the outer block instead. Then the error is the one of the assertion.
fn guard(at: &Path) -> TokenStream {
    let elsewhere = at.segments.iter().rev().fold(
        quote!(
            pub const __HERE: &str = "";
        ),
        |inner, segment| {
            let name = &segment.ident;
            quote!(pub mod #name { #inner })
        },
    );
    let path = at.to_token_stream().to_string().replace(' ', "");
    let example = at.segments.last().map(|segment| segment.ident.to_string()).unwrap_or_default();
    let text = format!(
        "` is not at `crate::{path}`, where its macros look for it\n\
         help: give its path from the crate's root: `at = \"outer::{example}\"`; it cannot be in a function"
    );
    quote! {
        /// Not public API.
        #[doc(hidden)]
        pub const __HERE: &str = ::core::module_path!();
        #[allow(dead_code, missing_docs, unreachable_pub)]
        const _: () = {
            #elsewhere
            const _: () = {
                #[allow(unused_imports, clippy::wildcard_imports)]
                use crate::*;
                ::core::assert!(
                    __emit::rt::is_same(#at::__HERE, __HERE),
                    ::core::concat!("module `", ::core::module_path!(), #text)
                );
            };
        };
    }
}
