//! The arguments of the attribute.

use proc_macro2::{Span, TokenStream};
use syn::parse::{Parse, ParseStream};
use syn::{Ident, LitStr, Path, Token};

/// `"events.toml", decode, at = "outer::events", crate = "::path"`
pub(crate) struct Args {
    /// As written, relative to the package.
    pub(crate) path: LitStr,
    /// Where the module is in its crate, if not `crate::<name>`.
    pub(crate) at: Option<Path>,
    /// Where the facade is.
    pub(crate) telemetry: Path,
    /// Typed decoders are wanted.
    pub(crate) decode: bool,
}

impl Args {
    pub(crate) fn parse(tokens: TokenStream) -> syn::Result<Args> {
        if tokens.is_empty() {
            return Err(syn::Error::new(
                Span::call_site(),
                "the path of a relation is missing\nhelp: write #[telemetry_event(\"events.toml\")]",
            ));
        }
        syn::parse2(tokens)
    }
}

impl Parse for Args {
    fn parse(input: ParseStream<'_>) -> syn::Result<Args> {
        let mut args =
            Args { path: input.parse()?, at: None, telemetry: syn::parse_quote!(::telemetry), decode: false };
        while !input.is_empty() {
            input.parse::<Token![,]>()?;
            if input.is_empty() {
                break;
            }
            if input.peek(Token![crate]) {
                input.parse::<Token![crate]>()?;
                args.telemetry = path(input)?;
                continue;
            }
            let key: Ident = input.parse()?;
            match key.to_string().as_str() {
                "decode" => args.decode = true,
                "at" => args.at = Some(path(input)?),
                other => {
                    let text =
                        format!("unknown argument `{other}`\nhelp: expected `decode`, `at` or `crate`");
                    return Err(syn::Error::new(key.span(), text));
                }
            }
        }
        Ok(args)
    }
}

fn path(input: ParseStream<'_>) -> syn::Result<Path> {
    input.parse::<Token![=]>()?;
    input.parse::<LitStr>()?.parse()
}
