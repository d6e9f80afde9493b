//! `serde::Serialize` of the generated events and types, for the feature `serde`.

use proc_macro2::TokenStream;
use quote::quote;
use telemetry_schema::{Count, Event, MessagePart, Param, Registry, Sort, Type, TypeForm};

use super::decode::element_ty;
use crate::parts::names::ident;

/// Generates all implementations. They compile only with the feature.
pub(crate) fn serialize(registry: &Registry) -> TokenStream {
    let types = registry.types.iter().map(of_type);
    let events = registry.events.iter().map(|event| of_event(registry, event));
    let arms = registry.events.iter().enumerate().map(|(index, event)| {
        let (name, members) = (ident(&event.name), members(registry, index, event));
        quote!(Event::#name(event) => __decode::rt::serialize_event(__to, &[#(#members),*], event),)
    });
    let no_arm = registry.events.is_empty().then(|| {
        quote!(Event::__None(never, _) => {
            let _ = __to;
            match *never {}
        })
    });
    quote! {
        __decode::rt::with_serde! {
            #(#types)*
            #(#events)*

            impl __decode::rt::Serialize for Event<'_> {
                fn serialize<__S: __decode::rt::Serializer>(
                    &self,
                    __to: __S,
                ) -> ::core::result::Result<__S::Ok, __S::Error> {
                    match self {
                        #(#arms)*
                        #no_arm
                    }
                }
            }
        }
    }
}

/// Returns what the registry says of an event type, as keys and texts.
fn members(registry: &Registry, index: usize, event: &Event) -> Vec<TokenStream> {
    let mut members = vec![
        ("registry", registry.name.as_str()),
        ("kind", registry.kind_of(event).name.as_str()),
        ("event", event.name.as_str()),
    ];
    if let Some((message, part)) = registry.message_of(index) {
        members.push(("message", message.name.as_str()));
        match part {
            MessagePart::Begin => members.push(("message_part", "begin")),
            MessagePart::End => members.push(("message_part", "end")),
            MessagePart::Whole => {}
        }
    }
    members.into_iter().map(|(key, text)| quote!((#key, #text))).collect()
}

/// Serializes the parameters of an event. One that its stream does not have is left out.
fn of_event(registry: &Registry, event: &Event) -> TokenStream {
    let name = ident(&event.name);
    let puts = event.params.iter().map(|param| {
        let (field, text) = (ident(&param.name), &param.name);
        match param.since {
            None => {
                let value = value(registry, param, &quote!(self.#field));
                quote!(__params.put(#text, &#value)?;)
            }
            Some(_) => {
                let value = value(registry, param, &quote!(__value));
                quote! {
                    if let ::core::option::Option::Some(__value) = self.#field {
                        __params.put(#text, &#value)?;
                    }
                }
            }
        }
    });
    let puts: Vec<TokenStream> = puts.collect();
    let is_mut = (!puts.is_empty()).then(|| quote!(mut));
    quote! {
        impl __decode::rt::Serialize for #name<'_> {
            fn serialize<__S: __decode::rt::Serializer>(
                &self,
                __to: __S,
            ) -> ::core::result::Result<__S::Ok, __S::Error> {
                let #is_mut __params = __decode::rt::Params::<__S>::begin(__to)?;
                #(#puts)*
                __params.end()
            }
        }
    }
}

/// Wraps the field of a parameter for serialization.
fn value(registry: &Registry, param: &Param, field: &TokenStream) -> TokenStream {
    let is_address = matches!(param.sort, Sort::Pointer | Sort::Addr);
    match (param.count, param.sort) {
        (Count::One, _) if is_address => quote!(__decode::rt::Address(#field)),
        (Count::One, Sort::Word | Sort::String) => field.clone(),
        (Count::One, Sort::Bytes) => quote!(__decode::rt::RawBytes(#field)),
        (Count::One, sort) => {
            let element = element_ty(registry, sort);
            quote!(__decode::rt::Item::<#element>(&#field))
        }
        _ if is_address => quote!(__decode::rt::Addresses(#field)),
        _ => field.clone(),
    }
}

/// Serializes the values of a type: names, or a number without a name.
fn of_type(ty: &Type) -> TokenStream {
    let name = ident(&ty.name);
    let body = match ty.form {
        TypeForm::Enum => {
            let arms = ty.values.iter().map(|value| {
                let (variant, text) = (ident(&value.name), &value.name);
                quote!(::core::result::Result::Ok(#name::#variant) => (#text, 0),)
            });
            quote! {
                let (name, number) = match *item {
                    #(#arms)*
                    ::core::result::Result::Err(number) => ("", number),
                };
                __decode::rt::serialize_enum(__to, name, number)
            }
        }
        TypeForm::Flags => {
            let flags = ty.values.iter().map(|value| {
                let (flag, text) = (ident(&value.name), &value.name);
                quote!((#text, #name::#flag.repr() as u64))
            });
            quote!(__decode::rt::serialize_flags(__to, item.repr() as u64, &[#(#flags),*]))
        }
    };
    quote! {
        impl __decode::rt::SerializeElement for #name {
            fn serialize<__S: __decode::rt::Serializer>(
                item: &<Self as __decode::rt::Element>::Item,
                __to: __S,
            ) -> ::core::result::Result<__S::Ok, __S::Error> {
                #body
            }
        }
    }
}
