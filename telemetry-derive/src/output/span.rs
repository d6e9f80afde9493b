//! The attribute of functions that are a span.

use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::{ItemFn, Path, parse_quote};
use telemetry_schema::snake_case;

use crate::input::span_args::SpanArgs;

/// Generates the function, which begins with the scope of the span.
pub(crate) fn expand(args: TokenStream, item: TokenStream) -> TokenStream {
    let mut function: ItemFn = match syn::parse2(item.clone()) {
        Ok(function) => function,
        Err(error) => {
            let text = format!("{error}\nhelp: #[span] goes on a function with a body");
            let error = syn::Error::new(error.span(), text).into_compile_error();
            return quote!(#error #item);
        }
    };
    let args = match SpanArgs::parse(args) {
        Ok(args) => args,
        Err(error) => {
            let error = error.into_compile_error();
            return quote!(#error #item);
        }
    };
    if let Some(token) = &function.sig.constness {
        let text = "a const function cannot be a span: the compiler may evaluate it\nhelp: remove `const`, or #[span]";
        let error = syn::Error::new(token.span, text).into_compile_error();
        return quote!(#error #item);
    }
    let SpanArgs { module, name, arguments } = &args;
    let scope = format_ident!("{}_scope", snake_case(&name.to_string()), span = name.span());
    let check = function.sig.asyncness.map(|_| is_keyed(module, name));
    let statements = &function.block.stmts;
    // At the name, so that errors are there.
    let begin = quote_spanned!(name.span()=> let _span = #module::#scope!(#arguments););
    *function.block = parse_quote!({ #check #begin #(#statements)* });
    function.into_token_stream()
}

/// Generates the check that a span has a key. An async function may continue on another thread, or
/// beside others on the same one, and spans without a key nest per thread.
fn is_keyed(module: &Path, name: &syn::Ident) -> TokenStream {
    let is_keyed = format_ident!("{}_is_keyed", snake_case(&name.to_string()));
    let text = format!(
        "span `{name}` has no key, and an async function may continue on another thread\n\
         help: give the [[span]] a `key`: a parameter of both events that tells its tasks apart"
    );
    quote_spanned! {name.span()=>
        const _: () = ::core::assert!(<#module::__emit::begin>::#is_keyed, #text);
    }
}
