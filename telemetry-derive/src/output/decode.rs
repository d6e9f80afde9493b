//! The typed decoders: a struct for each event, the enum over them, and the registry's `Decoder`.

use proc_macro2::{Literal, TokenStream};
use quote::quote;
use syn::Path;
use telemetry_schema::{Count, Event, Param, Registry, Sort, Type, TypeForm};

use crate::parts::docs;
use crate::parts::names::{borrows, ident};

/// Generates the typed decoders of a registry. Retired events are among them: old streams have
/// them.
pub(crate) fn decoders(registry: &Registry, telemetry: &Path) -> TokenStream {
    let structs = registry.events.iter().map(|event| structure(registry, event));
    let fingerprint = registry.fingerprint();
    let types =
        registry.events.iter().enumerate().map(|(index, event)| event_type(index, event, fingerprint));
    let elements = registry.types.iter().map(|ty| element(registry, ty));
    let variants = registry.events.iter().map(|event| {
        let (name, doc) = (ident(&event.name), docs::sentence(&event.doc));
        quote!(#[doc = #doc] #name(#name<'a>),)
    });
    let arms = registry.events.iter().enumerate().map(|(index, event)| {
        let (index, name) = (Literal::u32_unsuffixed(index as u32), ident(&event.name));
        quote!(#index => {
            let event = Event::#name(#name::read(source)?);
            then(source, event)
        })
    });
    let names = registry.events.iter().map(|event| {
        let (name, text) = (ident(&event.name), &event.name);
        quote!(Event::#name(_) => #text,)
    });
    let codes = registry.events.iter().map(|event| {
        let (name, code) = (ident(&event.name), Literal::u16_unsuffixed(event.code));
        quote!(Event::#name(_) => #code,)
    });
    // The enum of no events still has the lifetime of events.
    let no_variant = registry.events.is_empty().then(|| {
        quote! {
            #[doc(hidden)]
            __None(::core::convert::Infallible, ::core::marker::PhantomData<&'a ()>),
        }
    });
    let no_arm = registry.events.is_empty().then(|| quote!(Event::__None(never, _) => match never {},));
    let read = match registry.events.is_empty() {
        true => quote! {
            let _ = (source, then);
            ::core::result::Result::Err(__decode::rt::unknown(event))
        },
        false => quote! {
            ::core::result::Result::Ok(match event {
                #(#arms)*
                other => return ::core::result::Result::Err(__decode::rt::unknown(other)),
            })
        },
    };
    let replay = crate::output::replay::trait_(registry);
    let text = registry.to_toml();
    // Events may be named S or T, so the generics of `read` have names that no event can have.
    quote! {
        #(#structs)*

        /// Any event of the registry.
        #[derive(Debug, Clone, Copy, PartialEq)]
        #[allow(dead_code, clippy::derive_partial_eq_without_eq)]
        #[non_exhaustive]
        pub enum Event<'a> {
            #(#variants)*
            #no_variant
        }

        #[allow(dead_code)]
        impl Event<'_> {
            /// Returns its name in the registry.
            pub const fn name(&self) -> &'static str {
                match *self {
                    #(#names)*
                    #no_arm
                }
            }

            /// Returns its code in the registry.
            pub const fn code(&self) -> u16 {
                match *self {
                    #(#codes)*
                    #no_arm
                }
            }
        }

        /// Reads the registry's events: `Reader::open(path)?.typed::<Decoder>()`.
        #[derive(Debug, Clone, Copy)]
        #[allow(dead_code)]
        pub struct Decoder;

        /// Not public API.
        #[doc(hidden)]
        #[allow(unused_imports)]
        pub mod __decode {
            pub use #telemetry::decode::__private as rt;
        }

        #(#elements)*

        #(#types)*

        #replay

        impl __decode::rt::Typed for Decoder {
            type Event<'a> = Event<'a>;
            const REGISTRY: &'static str = #text;

            #[inline(always)]
            fn read<'a, __Source: __decode::rt::Source<'a>, __Given>(
                event: u32,
                source: &mut __Source,
                then: impl ::core::ops::FnOnce(&mut __Source, Event<'a>) -> __Given,
            ) -> ::core::result::Result<__Given, __decode::rt::Malformed> {
                #read
            }
        }
    }
}

/// Generates an event's struct. It always has a lifetime: a string that is appended later does not
/// add one.
fn structure(registry: &Registry, event: &Event) -> TokenStream {
    let name = ident(&event.name);
    let doc = docs::event(registry, event);
    let fields = event.params.iter().map(|param| {
        let (name, ty, doc) = (ident(&param.name), ty(registry, param), docs::field(registry, param));
        let ty = match param.since {
            Some(_) => quote!(::core::option::Option<#ty>),
            None => ty,
        };
        quote!(#[doc = #doc] pub #name: #ty,)
    });
    let mut slot = 0;
    let reads = event.params.iter().map(|param| {
        let (name, read) = (ident(&param.name), read(registry, param, slot));
        slot += usize::from(param.sort.is_delta());
        match param.since {
            Some(_) => quote!(#name: if source.has_next() {
                ::core::option::Option::Some(#read)
            } else {
                ::core::option::Option::None
            },),
            None => quote!(#name: #read,),
        }
    });
    let reads: Vec<TokenStream> = reads.collect();
    // The slots are taken and returned once, so that their bounds are checked once.
    let (take, keep) = match Literal::usize_unsuffixed(slot) {
        _ if slot == 0 => (None, None),
        count => {
            (Some(quote!(let mut slots: [u64; #count] = source.slots()?;)), Some(quote!(source.keep(slots);)))
        }
    };
    let debug = debug(registry, event);
    let (unborrowed, marker, no_marker) = match borrows(event) {
        true => (None, None, None),
        false => (
            Some(unborrowed(event)),
            Some(quote!(__borrows: ::core::marker::PhantomData<&'a ()>,)),
            Some(quote!(__borrows: ::core::marker::PhantomData,)),
        ),
    };
    quote! {
        #[doc = #doc]
        #[derive(Clone, Copy, PartialEq)]
        #[allow(dead_code, clippy::derive_partial_eq_without_eq)]
        #[non_exhaustive]
        pub struct #name<'a> {
            #(#fields)*
            #marker
        }

        #unborrowed

        #debug

        impl<'a> #name<'a> {
            #[inline(always)]
            // The second lint is about an event that is named `Read`.
            #[allow(unused_variables, clippy::self_named_constructors)]
            fn read(
                source: &mut impl __decode::rt::Source<'a>,
            ) -> ::core::result::Result<Self, __decode::rt::Malformed> {
                #take
                let read = Self { #(#reads)* #no_marker };
                #keep
                ::core::result::Result::Ok(read)
            }
        }
    }
}

/// Generates what makes an event's struct a type that an event can be asked for.
fn event_type(index: usize, event: &Event, fingerprint: u64) -> TokenStream {
    let (name, text, index) = (ident(&event.name), &event.name, Literal::u32_unsuffixed(index as u32));
    let fingerprint = Literal::u64_unsuffixed(fingerprint);
    quote! {
        impl __decode::rt::TypedEvent for #name<'_> {
            type Decoder = Decoder;
            type Of<'a> = #name<'a>;
            const NAME: &'static str = #text;
            const INDEX: u32 = #index;
            const FINGERPRINT: u64 = #fingerprint;

            fn of(
                event: <Self::Decoder as __decode::rt::Typed>::Event<'_>,
            ) -> ::core::option::Option<Self::Of<'_>> {
                // The enum may have one variant.
                #[allow(unreachable_patterns)]
                match event {
                    Event::#name(event) => ::core::option::Option::Some(event),
                    _ => ::core::option::Option::None,
                }
            }
        }
    }
}

/// Generates `Debug` of a struct: without the marker, and with the names of enums.
fn debug(registry: &Registry, event: &Event) -> TokenStream {
    let (name, text) = (ident(&event.name), &event.name);
    let fields = event.params.iter().map(|param| {
        let (name, text) = (ident(&param.name), &param.name);
        let ty = registry.ty(param.sort).filter(|ty| ty.form == TypeForm::Enum && param.count == Count::One);
        let value = match (ty.map(|ty| ident(&ty.name)), param.since) {
            (None, _) => quote!(self.#name),
            (Some(ty), None) => quote!(__decode::rt::Shown::<#ty>(&self.#name)),
            (Some(ty), Some(_)) => quote!(self.#name.as_ref().map(__decode::rt::Shown::<#ty>)),
        };
        quote!(.field(#text, &#value))
    });
    quote! {
        impl ::core::fmt::Debug for #name<'_> {
            fn fmt(&self, __to: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                __to.debug_struct(#text)#(#fields)*.finish()
            }
        }
    }
}

/// Generates the copy of a struct without borrows.
fn unborrowed(event: &Event) -> TokenStream {
    let name = ident(&event.name);
    let fields: Vec<_> = event.params.iter().map(|param| ident(&param.name)).collect();
    quote! {
        impl #name<'_> {
            /// Returns the event without a borrow of the reader. Only events without strings, bytes
            /// and arrays have this.
            #[allow(dead_code)]
            pub const fn into_owned(self) -> #name<'static> {
                #name { #(#fields: self.#fields,)* __borrows: ::core::marker::PhantomData }
            }
        }
    }
}

/// Generates a field's type, for streams that have the parameter.
fn ty(registry: &Registry, param: &Param) -> TokenStream {
    match (param.count, param.sort) {
        (Count::One, Sort::String) => quote!(&'a str),
        (Count::One, Sort::Bytes) => quote!(&'a [u8]),
        (Count::One, sort) => one(registry, sort),
        (_, sort) => {
            let element = element_ty(registry, sort);
            quote!(__decode::rt::List<'a, #element>)
        }
    }
}

/// Generates the type of a plain value. A number that the enum does not name comes from another
/// version.
fn one(registry: &Registry, sort: Sort) -> TokenStream {
    match (sort, registry.ty(sort)) {
        (_, Some(Type { name, form, .. })) => {
            let name = ident(name);
            let repr = crate::parts::sorts::plain(registry, registry.repr(sort));
            match form {
                TypeForm::Enum => quote!(::core::result::Result<#name, #repr>),
                TypeForm::Flags => quote!(#name),
            }
        }
        (Sort::Label, _) => quote!(__decode::rt::Label),
        (sort, _) => crate::parts::sorts::plain(registry, sort),
    }
}

/// Generates the type that reads an array's element.
pub(crate) fn element_ty(registry: &Registry, sort: Sort) -> TokenStream {
    if sort.is_delta() {
        return quote!(__decode::rt::Delta);
    }
    match registry.ty(sort) {
        Some(ty) => {
            let name = ident(&ty.name);
            quote!(#name)
        }
        None => one(registry, sort),
    }
}

fn read(registry: &Registry, param: &Param, slot: usize) -> TokenStream {
    let slot = Literal::usize_unsuffixed(slot);
    match (param.count, param.sort) {
        (Count::One, Sort::String) => quote!(source.str()?),
        (Count::One, Sort::Bytes) => quote!(source.bytes()?),
        (Count::One, sort) if sort.is_delta() && param.align > 1 => {
            let rotation = Literal::u32_unsuffixed(param.rotation());
            quote!(source.aligned(&mut slots[#slot], #rotation)?)
        }
        (Count::One, sort) if sort.is_delta() => quote!(source.delta(&mut slots[#slot])?),
        (Count::One, sort) => {
            let element = element_ty(registry, sort);
            quote!(source.value::<#element>()?)
        }
        (count, sort) => {
            let count = match count {
                Count::Fixed(n) => {
                    let n = Literal::usize_unsuffixed(n as usize);
                    quote!(::core::option::Option::Some(#n))
                }
                _ => quote!(::core::option::Option::None),
            };
            let element = element_ty(registry, sort);
            let slot = match sort.is_delta() {
                true => quote!(::core::option::Option::Some(&mut slots[#slot])),
                false => quote!(::core::option::Option::None),
            };
            quote!(source.list::<#element>(#slot, #count)?)
        }
    }
}

/// Generates the reading of a value of a named type.
fn element(registry: &Registry, ty: &Type) -> TokenStream {
    let (name, repr) = (ident(&ty.name), crate::parts::sorts::plain(registry, ty.repr));
    let text = &ty.name;
    let (item, convert, show) = match ty.form {
        TypeForm::Enum => (
            quote!(::core::result::Result<#name, #repr>),
            quote!(#name::from_repr(number).ok_or(number)),
            Some(quote! {
                fn show(item: &Self::Item, to: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                    __decode::rt::show_enum(#text, item, to)
                }
            }),
        ),
        TypeForm::Flags => (quote!(#name), quote!(#name::from_repr(number)), None),
    };
    quote! {
        impl __decode::rt::Element for #name {
            type Item = #item;
            type Repr = #repr;

            #[inline(always)]
            fn item(number: #repr) -> Self::Item {
                #convert
            }

            #show
        }
    }
}
