//! Messages: the types that the program waits for, and the emitters that post them.
#![warn(clippy::wildcard_enum_match_arm)]

use proc_macro2::{Literal, TokenStream};
use quote::quote;
use syn::Ident;
use telemetry_schema::{Count, Event, Message, Param, Registry, Sort};

use crate::parts::docs;
use crate::parts::names::ident;
use crate::parts::sorts::{conversion, plain};

/// The part that an event has in a message.
pub(crate) struct Heard {
    /// The static of the message, in the module `channels`.
    pub(crate) channel: Ident,
    /// The call that posts it.
    pub(crate) post: TokenStream,
}

/// Returns the part of an event, if it has one.
pub(crate) fn heard(registry: &Registry, index: usize) -> Option<Heard> {
    let message =
        registry.messages.iter().find(|message| message.begin == index || message.end == Some(index))?;
    let (event, channel) = (&registry.events[index], ident(&message.name));
    let key = message.key.as_ref().and_then(|key| event.params.iter().find(|param| param.name == *key));
    let key = key.map_or(quote!(0), self::key);
    let names = event.params.iter().map(|param| ident(&param.name));
    let values = event.params.iter().map(value);
    let post = if message.end == Some(index) {
        quote! {
            channels::#channel.end(#key, |__began| messages::end::#channel { __began, #(#names: #values),* });
        }
    } else {
        let module = first(message);
        quote!(channels::#channel.begin(#key, messages::#module::#channel { #(#names: #values),* });)
    };
    Some(Heard { channel, post })
}

/// Generates the statics of the messages, for the module of the emitters.
pub(crate) fn channels(registry: &Registry, c: bool) -> Option<TokenStream> {
    if registry.messages.is_empty() {
        return None;
    }
    let name = &registry.name;
    let channels = registry.messages.iter().map(|message| {
        let (channel, text, module) = (ident(&message.name), &message.name, first(message));
        let (is_pair, is_keyed) = (message.end.is_some(), message.key.is_some());
        let limit = Literal::usize_unsuffixed(message.limit as usize);
        let end = if is_pair {
            quote!(messages::end::#channel)
        } else {
            quote!(super::rt::core::convert::Infallible)
        };
        // The flag in it is what emitters in C test.
        let symbol = c.then(|| registry.message_symbol(message));
        let symbol = symbol.map(|symbol| quote!(#[allow(unsafe_code)] #[unsafe(export_name = #symbol)]));
        quote! {
            #symbol
            pub static #channel: Channel<messages::#module::#channel, #end, #limit> = Channel::new(Form {
                registry: #name,
                name: #text,
                is_pair: #is_pair,
                is_keyed: #is_keyed,
            });
        }
    });
    Some(quote! {
        /// Posted values on their way to the program.
        #[allow(non_upper_case_globals)]
        pub mod channels {
            use super::messages;
            use super::rt::messages::{Channel, Form};
            #(#channels)*
        }
    })
}

/// Generates the list of the statics, for the registry.
pub(crate) fn list(registry: &Registry) -> Option<TokenStream> {
    let channels = registry.messages.iter().map(|message| ident(&message.name));
    (!registry.messages.is_empty()).then(|| quote!(.with_messages(&[#(&channels::#channels),*])))
}

/// Generates the module `messages`.
pub(crate) fn messages(registry: &Registry) -> Option<TokenStream> {
    if registry.messages.is_empty() {
        return None;
    }
    let handles = registry.messages.iter().map(|message| handle(registry, message));
    let (mut begins, mut ends, mut singles) = (Vec::new(), Vec::new(), Vec::new());
    for message in &registry.messages {
        let begin = &registry.events[message.begin];
        match message.end {
            None => singles.push(values(registry, message, begin, false)),
            Some(end) => {
                begins.push(values(registry, message, begin, false));
                ends.push(values(registry, message, &registry.events[end], true));
            }
        }
    }
    let module = |name: &str, doc: &str, values: &[TokenStream]| {
        let name = ident(name);
        (!values.is_empty()).then(|| {
            quote! {
                #[doc = #doc]
                #[allow(unused_imports, dead_code)]
                pub mod #name {
                    use super::super::__emit::rt;
                    #(#values)*
                }
            }
        })
    };
    let begins = module("begin", "The values of a message at the begin of a pair.", &begins);
    let ends = module("end", "The values of a message at the end of a pair.", &ends);
    let singles = module("single", "The values of a message of one event.", &singles);
    let valued = registry.types.iter().map(|ty| {
        let name = ident(&ty.name);
        quote! {
            impl rt::messages::Valued for super::#name {
                fn nth(&self, index: usize) -> rt::core::option::Option<rt::messages::Value<'_>> {
                    (index == 0).then(|| rt::messages::Value::from(self.repr()))
                }
            }
        }
    });
    Some(quote! {
        /// Messages that the program can receive, whether or not their events are recorded.
        #[allow(dead_code, clippy::large_enum_variant)]
        pub mod messages {
            use super::__emit::{channels, rt};
            #(#handles)*
            #begins
            #ends
            #singles
            #(#valued)*
        }
    })
}

/// Generates the type by which the program enables and fetches a message.
fn handle(registry: &Registry, message: &Message) -> TokenStream {
    let (name, module) = (ident(&message.name), first(message));
    let begin = &registry.events[message.begin];
    let begin_doc = docs::sentence(&begin.doc);
    let calls = calls(&name);
    let Some(end) = message.end.map(|end| &registry.events[end]) else {
        let doc = format!("{}\n\nPosted by event `{}`.", docs::sentence(&message.doc), begin.name);
        return quote! {
            #[doc = #doc]
            #[derive(Debug, Clone, Copy)]
            pub struct #name(pub rt::messages::Posted<single::#name>);

            impl rt::core::ops::Deref for #name {
                type Target = rt::messages::Posted<single::#name>;
                fn deref(&self) -> &Self::Target {
                    &self.0
                }
            }

            impl rt::core::convert::From<rt::messages::Either<single::#name, rt::core::convert::Infallible>> for #name {
                fn from(message: rt::messages::Either<single::#name, rt::core::convert::Infallible>) -> Self {
                    Self(message.single())
                }
            }

            #calls
        };
    };
    let at_once = match &message.key {
        Some(key) => format!("at most {} at once, told apart by `{key}`", message.limit),
        None => "one at a time, in one thread".to_owned(),
    };
    let doc = format!(
        "{}\n\nPosted by events `{}` and `{}`, {at_once}. In either half, `*message` has the values of the begin.",
        docs::sentence(&message.doc),
        begin.name,
        end.name
    );
    let end_doc = docs::sentence(&end.doc);
    quote! {
        #[doc = #doc]
        #[derive(Debug, Clone, Copy)]
        pub enum #name {
            #[doc = #begin_doc]
            Begin(rt::messages::Posted<#module::#name>),
            #[doc = #end_doc]
            End(rt::messages::Posted<end::#name>),
        }

        impl rt::core::ops::Deref for #name {
            type Target = #module::#name;
            fn deref(&self) -> &Self::Target {
                match self {
                    Self::Begin(begin) => begin,
                    Self::End(end) => end,
                }
            }
        }

        impl rt::core::convert::From<rt::messages::Either<#module::#name, end::#name>> for #name {
            fn from(message: rt::messages::Either<#module::#name, end::#name>) -> Self {
                match message {
                    rt::messages::Either::Begin(begin) => Self::Begin(begin),
                    rt::messages::Either::End(end) => Self::End(end),
                }
            }
        }

        #calls
    }
}

/// Generates the functions that the program calls. They are not methods, so that they do not hide
/// parameters.
fn calls(name: &Ident) -> TokenStream {
    quote! {
        impl #name {
            /// Starts receiving this message, whatever this returns. Memory for pairs that run at
            /// once is allocated now. Returns true if there is enough. If not, the rest is tried
            /// again with every message that is fetched.
            pub fn enable() -> bool {
                channels::#name.start()
            }

            /// Stops receiving this message. Queued messages and reserved memory are freed. Fetched
            /// messages stay valid.
            pub fn disable() {
                channels::#name.stop();
            }

            /// Returns the oldest message, if there is one, which is the caller's from then on.
            pub fn get() -> rt::core::option::Option<Self> {
                channels::#name.get().map(Self::from)
            }

            /// Returns the oldest message. If there is none, waits for one, so long at most, while
            /// the message is enabled.
            pub fn wait(longest: rt::core::time::Duration) -> rt::core::option::Option<Self> {
                channels::#name.wait(longest).map(Self::from)
            }

            /// Returns the number of messages that can be fetched.
            pub fn queued() -> u64 {
                channels::#name.queued()
            }

            /// Returns how many could not be posted since the beginning of the program. Events
            /// `MessagesDropped` of registry `telemetry` say why.
            pub fn dropped() -> u64 {
                channels::#name.dropped()
            }
        }

        rt::with_async! {
            impl #name {
                /// Returns the next message, as soon as there is one. For any executor.
                pub async fn next() -> Self {
                    Self::from(channels::#name.next().await)
                }
            }
        }
    }
}

/// Generates a struct of an event's values.
fn values(registry: &Registry, message: &Message, event: &Event, is_end: bool) -> TokenStream {
    let name = ident(&message.name);
    let doc = format!("{}\n\nThe values of event `{}`.", docs::sentence(&event.doc), event.name);
    let fields: Vec<Ident> = event.params.iter().map(|param| ident(&param.name)).collect();
    let texts = event.params.iter().map(|param| &param.name);
    let types = event.params.iter().map(|param| held(registry, param));
    let accessors = event.params.iter().map(|param| accessor(registry, param));
    let began = is_end.then(|| quote!(pub(in super::super) __began: super::begin::#name,));
    let rest = match is_end {
        true => quote!(rt::messages::Values::find(&self.__began, name)),
        false => quote!(rt::core::option::Option::None),
    };
    let deref = is_end.then(|| {
        quote! {
            /// The values of the begin.
            impl rt::core::ops::Deref for #name {
                type Target = super::begin::#name;
                fn deref(&self) -> &Self::Target {
                    &self.__began
                }
            }
        }
    });
    quote! {
        #[doc = #doc]
        #[derive(Debug, Clone, Copy)]
        pub struct #name {
            #began
            #(pub(in super::super) #fields: #types,)*
        }

        impl #name {
            #(#accessors)*
        }

        #deref

        impl rt::messages::Values for #name {
            fn find(&self, name: &str) -> rt::core::option::Option<&dyn rt::messages::Valued> {
                match name {
                    #(#texts => rt::core::option::Option::Some(&self.#fields),)*
                    _ => #rest,
                }
            }
        }
    }
}

/// Returns the name of the module of a message's begin, or of its only event.
fn first(message: &Message) -> Ident {
    ident(if message.end.is_some() { "begin" } else { "single" })
}

/// Generates the number that distinguishes running pairs, from an emitter's argument.
fn key(param: &Param) -> TokenStream {
    let name = ident(&param.name);
    match param.sort {
        Sort::Pointer | Sort::Addr | Sort::Word => quote!(#name),
        Sort::Label => quote!(#name.0),
        Sort::Named(_) => quote!(#name.repr() as u64),
        Sort::U8 | Sort::U16 | Sort::U32 | Sort::U64 | Sort::Bool => quote!(#name as u64),
        Sort::I8 | Sort::I16 | Sort::I32 | Sort::I64 | Sort::F32 | Sort::F64 => quote!(#name as u64),
        Sort::String | Sort::Bytes => quote!(#name as u64),
    }
}

/// Generates the conversion of an emitter's argument to a message's value.
fn value(param: &Param) -> TokenStream {
    let (name, max) = (ident(&param.name), Literal::u32_unsuffixed(param.max_len));
    match (param.count, param.sort) {
        (Count::One, Sort::String) => quote!(rt::messages::Text::<#max>::new(#name)),
        (Count::One, Sort::Bytes) => quote!(rt::messages::Bytes::<#max>::new(#name)),
        (Count::One, _) => quote!(#name),
        (_, sort) => match conversion(sort) {
            Some(convert) => {
                quote!(rt::messages::List::new(#name.iter().map(|value| #convert(*value))))
            }
            None => quote!(rt::messages::List::new(#name.iter().copied())),
        },
    }
}

/// Generates a parameter in a message.
fn held(registry: &Registry, param: &Param) -> TokenStream {
    let one = one(registry, param.sort);
    match param.count {
        Count::One => {
            let max = Literal::u32_unsuffixed(param.max_len);
            match param.sort {
                Sort::String => quote!(rt::messages::Text<#max>),
                Sort::Bytes => quote!(rt::messages::Bytes<#max>),
                Sort::Pointer | Sort::Addr | Sort::Word | Sort::Label | Sort::Named(_) => one,
                Sort::U8 | Sort::U16 | Sort::U32 | Sort::U64 | Sort::F32 | Sort::F64 => one,
                Sort::I8 | Sort::I16 | Sort::I32 | Sort::I64 | Sort::Bool => one,
            }
        }
        Count::Fixed(max) | Count::UpTo(max) => {
            let max = Literal::u32_unsuffixed(max);
            quote!(rt::messages::List<#one, #max>)
        }
    }
}

/// Generates one value, which may be of a type of the registry.
fn one(registry: &Registry, sort: Sort) -> TokenStream {
    let ty = plain(registry, sort);
    if matches!(sort, Sort::Named(_)) { quote!(super::super::#ty) } else { ty }
}

fn accessor(registry: &Registry, param: &Param) -> TokenStream {
    let (name, doc, one) = (ident(&param.name), docs::param(registry, param), one(registry, param.sort));
    let (ty, body) = match (param.count, param.sort) {
        (Count::One, Sort::String) => (quote!(&str), quote!(self.#name.as_str())),
        (Count::One, Sort::Bytes) => (quote!(&[u8]), quote!(self.#name.as_bytes())),
        (Count::One, Sort::Pointer | Sort::Addr | Sort::Word | Sort::F32 | Sort::F64 | Sort::Bool)
        | (Count::One, Sort::U8 | Sort::U16 | Sort::U32 | Sort::U64)
        | (Count::One, Sort::I8 | Sort::I16 | Sort::I32 | Sort::I64)
        | (Count::One, Sort::Label | Sort::Named(_)) => (one, quote!(self.#name)),
        (Count::Fixed(_) | Count::UpTo(_), _) => (quote!(&[#one]), quote!(self.#name.as_slice())),
    };
    quote! {
        #[doc = #doc]
        pub fn #name(&self) -> #ty {
            #body
        }
    }
}
