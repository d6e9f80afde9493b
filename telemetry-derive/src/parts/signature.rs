//! The signature of a typed half, whose bounds let the compiler's errors name each parameter.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::Ident;

use crate::parts::sorts::{Argument, Check};

/// The parts of a signature.
pub(crate) struct Signature {
    /// With the angle brackets.
    pub(crate) generics: TokenStream,
    /// What the function takes: its parameters, a zero for each number whose type the call leaves
    /// open, and `()`.
    pub(crate) takes: TokenStream,
    pub(crate) bounds: Option<TokenStream>,
}

/// Returns the arguments that callers pass, with the names of their parameters.
pub(crate) fn passed<'a>(
    params: &'a [Ident],
    arguments: &'a [Argument],
) -> impl Iterator<Item = (&'a Ident, &'a Argument)> {
    params.iter().zip(arguments).filter(|(_, argument)| argument.is_passed)
}

/// Returns the signature of a function that takes the arguments of an emitter.
pub(crate) fn signature(params: &[Ident], arguments: &[Argument]) -> Signature {
    let names = passed(params, arguments).map(|(name, _)| name);
    let types = passed(params, arguments).map(|(_, argument)| &argument.ty);
    let (mut lifetimes, mut generics, mut bounds) = (vec![], vec![], vec![]);
    for argument in arguments {
        if let Check::Given { lifetime, given, bound, .. } = &argument.check {
            lifetimes.extend(lifetime);
            generics.push(given.clone());
            bounds.push(bound);
        }
    }
    let opens: Vec<_> = arguments.iter().filter_map(|argument| argument.check.open()).collect();
    generics.extend(opens.iter().copied().cloned());
    let (last, bounds) = match bounds.is_empty() {
        true => (quote!(()), None),
        false => {
            generics.push(format_ident!("__Last"));
            (quote!(__Last), Some(quote!(where #(#bounds),*)))
        }
    };
    Signature {
        generics: quote!(<#(#lifetimes,)* #(#generics),*>),
        takes: quote!(#(#names: #types,)* #(_: #opens,)* _: #last),
        bounds,
    }
}
