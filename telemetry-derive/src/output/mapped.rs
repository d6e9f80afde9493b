//! Events that spans and events of the crate `tracing` become.
#![warn(clippy::wildcard_enum_match_arm)]

use proc_macro2::{Literal, TokenStream};
use quote::quote;
use syn::Ident;
use telemetry_schema::{Event, Param, Registry, Role, Sort, TracingAt, TypeForm};

use crate::output::messages::Heard;
use crate::parts::names::ident;
use crate::parts::sorts::plain;
use crate::parts::spare;

/// An emitter of an event that may have the mark `tracing`.
pub(crate) struct MappedEmitter<'e> {
    pub(crate) event: &'e Event,
    pub(crate) name: &'e Ident,
    pub(crate) bit: &'e Literal,
    pub(crate) heard: Option<&'e Heard>,
}

/// Generates the list of the events with the mark, if there are any.
pub(crate) fn mappings<'e>(
    registry: &Registry,
    emitters: impl Iterator<Item = MappedEmitter<'e>>,
) -> Option<TokenStream> {
    let mappings: Vec<_> = emitters.filter_map(|emitter| mapping(registry, &emitter)).collect();
    (!mappings.is_empty()).then(|| {
        quote! {
            /// The events that spans and events of `tracing` become.
            pub const TRACING: &[rt::mapped::Mapping] = &[#(#mappings),*];
        }
    })
}

fn mapping(registry: &Registry, emitter: &MappedEmitter<'_>) -> Option<TokenStream> {
    let MappedEmitter { event, name, bit, heard } = emitter;
    let mark = event.tracing.as_ref()?;
    let (target, called, at_close) = (&mark.target, &mark.name, mark.at == TracingAt::Close);
    let (of, text, always) = (&registry.name, &event.name, event.always);
    // What has a role is no field: the runtime finds it.
    let fields = || event.params.iter().filter(|param| param.role.is_none());
    let names: Vec<Ident> = fields().map(|param| ident(&param.name)).collect();
    let passed = event.params.iter().map(|param| {
        let name = ident(&param.name);
        match param.role {
            None => quote!(#name),
            Some(Role::Stack) => quote!(rt::stack(&REGISTRY, #bit)),
        }
    });
    let passed = spare::with(passed, spare::place(registry, event), quote!(rt::spare()));
    let params = fields().map(|param| {
        let (name, sort) = (&param.name, registry.sort_text(param));
        quote!((#name, #sort))
    });
    let values = fields().zip(&names).enumerate().map(|(index, (param, name))| {
        let (index, value) = (Literal::usize_suffixed(index), value(registry, param, name));
        quote!(let #name = #value.ok_or(#index)?;)
    });
    let wanted = heard.map(|Heard { channel, .. }| quote!(|| channels::#channel.is_wanted()));
    Some(quote! {
        rt::mapped::Mapping {
            registry: #of,
            event: #text,
            target: #target,
            name: #called,
            at_close: #at_close,
            params: &[#(#params),*],
            is_on: || rt::is_on(#always, &MASK[#bit / 8], #bit) #wanted,
            emit: |__values| {
                let &[#(#names),*] = __values else { return rt::core::result::Result::Err(0usize) };
                #(#values)*
                if rt::is_on(#always, &MASK[#bit / 8], #bit) #wanted {
                    record::#name(#(#passed),*);
                }
                rt::core::result::Result::Ok(())
            },
        }
    })
}

/// Generates the value of a parameter as the record takes it, or none.
fn value(registry: &Registry, param: &Param, name: &Ident) -> TokenStream {
    match param.sort {
        Sort::Pointer | Sort::Addr | Sort::Word => quote!(rt::mapped::integer::<u64>(#name)),
        Sort::U8 | Sort::U16 | Sort::U32 | Sort::U64 | Sort::I8 | Sort::I16 | Sort::I32 | Sort::I64 => {
            let ty = plain(registry, param.sort);
            quote!(rt::mapped::integer::<#ty>(#name))
        }
        Sort::F32 => quote!(rt::mapped::float(#name).map(|number| number as f32)),
        Sort::F64 => quote!(rt::mapped::float(#name)),
        Sort::Bool => quote!(rt::mapped::boolean(#name)),
        Sort::Label => quote!(rt::mapped::text(#name).map(rt::intern)),
        // The schema refuses bytes.
        Sort::String | Sort::Bytes => quote!(rt::mapped::text(#name)),
        Sort::Named(index) => {
            let ty = &registry.types[index];
            let (of, repr) = (ident(&ty.name), plain(registry, ty.repr));
            let number = quote!(rt::mapped::integer::<#repr>(#name));
            let number = match ty.form {
                TypeForm::Enum => quote!(#number.and_then(#of::from_repr)),
                TypeForm::Flags => quote!(#number.map(#of::from_repr)),
            };
            let arms = ty.values.iter().map(|value| {
                let (text, value) = (&value.name, ident(&value.name));
                quote!(#text => rt::core::option::Option::Some(#of::#value),)
            });
            quote! {
                match #name {
                    rt::mapped::Value::Text(text) => match text {
                        #(#arms)*
                        _ => rt::core::option::Option::None,
                    },
                    _ => #number,
                }
            }
        }
    }
}
