//! The arguments of the attribute.

use proc_macro2::{Span, TokenStream};
use syn::parse::{Parse, ParseStream};
use syn::{Ident, LitStr, Path, Token};

/// `"events.toml", c, decode, at = "outer::events", crate = "::path"`
pub(crate) struct Args {
    /// As written, relative to the package.
    pub(crate) path: LitStr,
    /// The path of the module in its crate, if not `crate::<name>`.
    pub(crate) at: Option<Path>,
    /// The path of the facade.
    pub(crate) telemetry: Path,
    /// True if typed decoders are generated.
    pub(crate) decode: bool,
    /// True if functions for C are generated.
    pub(crate) c: bool,
}

impl Args {
    pub(crate) fn parse(tokens: TokenStream) -> syn::Result<Args> {
        if tokens.is_empty() {
            return Err(syn::Error::new(
                Span::call_site(),
                "the path of a registry file is missing\nhelp: write #[telemetry_event(\"events.toml\")]",
            ));
        }
        syn::parse2(tokens)
    }

    /// Returns true in the runtime itself: `crate = "crate"`.
    pub(crate) fn is_own(&self) -> bool {
        self.telemetry.is_ident("crate")
    }
}

impl Parse for Args {
    fn parse(input: ParseStream<'_>) -> syn::Result<Args> {
        let path = input.parse().map_err(|error| {
            let text =
                "expected the path of a registry file, in quotes\nhelp: write #[telemetry_event(\"events.toml\")]";
            syn::Error::new(error.span(), text)
        })?;
        let mut args =
            Args { path, at: None, telemetry: syn::parse_quote!(::telemetry), decode: false, c: false };
        while !input.is_empty() {
            input.parse::<Token![,]>()?;
            if input.is_empty() {
                break;
            }
            if input.peek(Token![crate]) {
                input.parse::<Token![crate]>()?;
                args.telemetry = module(input, "::telemetry")?;
                continue;
            }
            let key: Ident = input.parse()?;
            match key.to_string().as_str() {
                "c" => args.c = true,
                "decode" => args.decode = true,
                "at" => args.at = Some(module(input, "outer::events")?),
                other => {
                    let text =
                        format!("unknown argument `{other}`\nhelp: expected `c`, `decode`, `at` or `crate`");
                    return Err(syn::Error::new(key.span(), text));
                }
            }
        }
        Ok(args)
    }
}

/// Returns the rest of an argument whose value is the path of a module, such as `example`.
fn module(input: ParseStream<'_>, example: &str) -> syn::Result<Path> {
    let literal = input.parse::<Token![=]>().and_then(|_| input.parse::<LitStr>());
    let wrong = |span| syn::Error::new(span, format!("expected the path of a module: `= \"{example}\"`"));
    let literal = literal.map_err(|error| wrong(error.span()))?;
    literal.parse().map_err(|_| wrong(literal.span()))
}
