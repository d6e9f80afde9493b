//! The static probe of an emitter, and the numbers that it passes to a tracer.
#![warn(clippy::wildcard_enum_match_arm)]

use proc_macro2::{Literal, TokenStream};
use quote::quote;
use telemetry_schema::{Count, Event, Param, Registry, Sort, snake_case};

use crate::parts::c_sorts::length;
use crate::parts::names::ident;

/// The most numbers that a tracer takes from a probe. Those of further parameters are left out.
const MAX_ARGUMENTS: usize = 12;

/// The language whose callers give an emitter its arguments.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Caller {
    Rust,
    C,
}

/// Generates the probe of an event. The runtime makes nothing of it unless the program is built
/// with probes.
pub(crate) fn probe(registry: &Registry, event: &Event, caller: Caller) -> TokenStream {
    let (provider, name) = (&registry.name, snake_case(&event.name));
    let arguments = event.params.iter().flat_map(|param| arguments(registry, param, caller));
    let arguments = arguments.take(MAX_ARGUMENTS);
    quote!(rt::probe! { #provider #name #(#arguments)* })
}

/// Generates the size, the register and the value of each number that stands for a parameter: one,
/// or an address and a length.
fn arguments(registry: &Registry, param: &Param, caller: Caller) -> Vec<TokenStream> {
    let name = ident(&param.name);
    match (param.count, caller) {
        // The place of the caller's code, before its stack has a number.
        (Count::One, Caller::C) if param.role.is_some() => vec![quote!(["8" whole #name])],
        (Count::One, _) if !param.sort.is_run() => vec![one(registry, param.sort, &quote!(#name), caller)],
        (_, Caller::Rust) => vec![quote!(["8" whole #name.as_ptr()]), quote!(["8" whole #name.len()])],
        (Count::Fixed(count), Caller::C) => {
            let count = Literal::u64_suffixed(count.into());
            vec![quote!(["8" whole #name]), quote!(["8" whole #count])]
        }
        (Count::One | Count::UpTo(_), Caller::C) => {
            let len = length(&name);
            vec![quote!(["8" whole #name]), quote!(["8" whole #len])]
        }
    }
}

/// Generates the same for one value. Registers take no numbers of 8 bits, and tracers no floats.
fn one(registry: &Registry, sort: Sort, value: &TokenStream, caller: Caller) -> TokenStream {
    match sort {
        Sort::Label if caller == Caller::Rust => quote!(["8" whole #value.0]),
        Sort::Pointer | Sort::Addr | Sort::Word | Sort::Label => quote!(["8" whole #value]),
        Sort::U8 | Sort::Bool => quote!(["1" low #value as u32]),
        Sort::I8 => quote!(["-1" low #value as i32]),
        Sort::U16 => quote!(["2" low #value]),
        Sort::I16 => quote!(["-2" low #value]),
        Sort::U32 => quote!(["4" low #value]),
        Sort::I32 => quote!(["-4" low #value]),
        Sort::U64 => quote!(["8" whole #value]),
        Sort::I64 => quote!(["-8" whole #value]),
        Sort::F32 => quote!(["4" low #value.to_bits()]),
        Sort::F64 => quote!(["8" whole #value.to_bits()]),
        Sort::Named(index) => {
            let value = if caller == Caller::Rust { quote!(#value.repr()) } else { value.clone() };
            one(registry, registry.types[index].repr, &value, caller)
        }
        Sort::String | Sort::Bytes => quote!(["8" whole #value.as_ptr()]),
    }
}
