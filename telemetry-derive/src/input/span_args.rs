//! The arguments of the attribute `span`.

use proc_macro2::TokenStream;
use syn::parse::{Parse, ParseStream};
use syn::{Ident, Path, parenthesized, token};

/// `events::Gc` or `events::Gc(id, why; freed.get())`
pub(crate) struct SpanArgs {
    /// The path of the registry's module.
    pub(crate) module: Path,
    /// The name of the span.
    pub(crate) name: Ident,
    /// The arguments of its scope.
    pub(crate) arguments: TokenStream,
}

impl SpanArgs {
    pub(crate) fn parse(tokens: TokenStream) -> syn::Result<SpanArgs> {
        syn::parse2(tokens)
    }
}

const HELP: &str = "expected a span of a registry's module\nhelp: write #[span(events::Gc)], or with the \
    arguments of its begin #[span(events::Gc(id))]";

impl Parse for SpanArgs {
    fn parse(input: ParseStream<'_>) -> syn::Result<SpanArgs> {
        let wrong = |error: syn::Error| syn::Error::new(error.span(), HELP);
        let mut module = input.call(Path::parse_mod_style).map_err(wrong)?;
        let Some(name) = module.segments.pop().map(|last| last.ident) else {
            return Err(input.error(HELP));
        };
        module.segments.pop_punct();
        if module.segments.is_empty() {
            return Err(syn::Error::new(name.span(), HELP));
        }
        let arguments = if input.peek(token::Paren) {
            let arguments;
            parenthesized!(arguments in input);
            arguments.parse()?
        } else {
            TokenStream::new()
        };
        if !input.is_empty() {
            return Err(input.error(HELP));
        }
        Ok(SpanArgs { module, name, arguments })
    }
}
