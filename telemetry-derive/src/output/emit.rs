//! The emitters: one function here for each thing in the output.

use std::collections::BTreeSet;

use proc_macro2::{Literal, TokenStream};
use quote::{format_ident, quote};
use syn::Path;
use telemetry_schema::{Clock, Event, Registry, Slots, snake_case};

use crate::output::c::{CEmitter, exports};
use crate::output::censuses::censuses;
use crate::output::counters::{Counters, Sampled, counters};
use crate::output::limits::{Limited, Limits, limited, limits};
use crate::output::mapped::{MappedEmitter, mappings};
use crate::output::messages::{self, Heard};
use crate::output::registry::definition;
use crate::output::registry::local;
use crate::output::scopes::{self, ScopeEmitter, Scopes};
use crate::parts::called::called;
use crate::parts::docs;
use crate::parts::names::{exported, ident};
use crate::parts::probes::{Caller, probe};
use crate::parts::signature::{Signature, passed, signature};
use crate::parts::sorts::{Argument, argument, delta_in};
use crate::parts::spare;

/// Generates the emitters of a registry, for a module at `at`; with `c` those for C, too.
pub(crate) fn emitters(registry: &Registry, at: &Path, telemetry: &Path, c: bool) -> TokenStream {
    let slots = registry.slots();
    let used = || registry.events.iter().enumerate().filter(|(_, event)| event.used);
    let limited = limited(used().map(|(_, event)| event));
    let used = used().zip(limited).enumerate();
    let used: Vec<Emitter<'_>> =
        used.map(|(bit, (event, limited))| Emitter::new(registry, &slots, bit, event, limited)).collect();
    let has_limits = used.iter().any(|emitter| emitter.limited.is_some());
    let with_limit = used.iter().filter(|emitter| emitter.limited.is_some());
    let Limits { statics: limit_statics, with: with_limits } =
        limits(with_limit.map(|emitter| (emitter.event, &emitter.bit)));
    // The program counts, and the runtime emits the samples.
    let (counted, emitted): (Vec<&Emitter<'_>>, Vec<&Emitter<'_>>) =
        used.iter().partition(|emitter| emitter.event.counter.is_some());
    let sampled: Vec<Sampled<'_>> = counted.iter().filter_map(|emitter| emitter.for_counter()).collect();
    let Counters { statics: counter_statics, list: counter_list, exports: counter_exports, with } =
        counters(registry, &sampled, has_limits);
    let macros = emitted.iter().map(|emitter| macro_(registry, at, emitter));
    let typed = emitted.iter().map(|emitter| typed(emitter));
    let records = used.iter().map(|emitter| record(registry, emitter));
    let longs = used.iter().map(|emitter| long(registry, emitter));
    let limiteds: Vec<TokenStream> = used.iter().filter_map(without_credit).collect();
    let limiteds = (!limiteds.is_empty()).then(|| {
        quote! {
            /// Emitters of a thread that has no credit for the event.
            enum limited {}

            impl limited {
                #(#limiteds)*
            }
        }
    });
    let heards: Vec<TokenStream> = used.iter().filter_map(heard).collect();
    let heards = (!heards.is_empty()).then(|| {
        quote! {
            /// Emitters that post messages, too.
            enum heard {}

            impl heard {
                #(#heards)*
            }
        }
    });
    let parameters = parameters(&used);
    let with_local = local(registry);
    let with = quote!(#with #with_limits #with_local);
    let statics = statics(registry, &slots, &used, &with, c);
    let for_scopes: Vec<_> = emitted.iter().map(|emitter| emitter.for_scope()).collect();
    let Scopes { macros: scopes, begins } = scopes::scopes(registry, at, &for_scopes);
    let censuses = censuses(registry, at, &for_scopes);
    let for_c = emitted.iter().map(|emitter| emitter.for_c());
    let exports = c.then(|| exports(registry, &slots, for_c, counter_exports));
    let mapped = mappings(registry, emitted.iter().map(|emitter| emitter.for_tracing()));
    let tracing = mapped.is_some().then(|| {
        quote! {
            #[allow(unused_imports)]
            pub use __emit::TRACING;
        }
    });
    // Functions of a type, and not of a module: the compiler proposes those of modules to a caller
    // who forgets the `!`.
    quote! {
        __emit::emitters! { $ #(#macros)* }

        #scopes

        #censuses

        #counter_statics

        /// Not public API.
        #[doc(hidden)]
        #[allow(dead_code, unused_imports, non_camel_case_types, unused_variables, unexpected_cfgs, clippy::all, clippy::pedantic)]
        pub mod __emit {
            use super::*;
            pub use #telemetry::__private as rt;
            #[cfg(not(rust_analyzer))]
            pub use #telemetry::__private::{emitters, scopes};
            #[cfg(rust_analyzer)]
            pub use #telemetry::__private::{emitters_in_editor as emitters, scopes_in_editor as scopes};

            #statics

            #counter_list

            #limit_statics

            #parameters

            /// The typed halves of the emitters.
            pub enum emit {}

            impl emit {
                #(#typed)*
            }

            /// The fast paths.
            enum record {}

            impl record {
                #(#records)*
            }

            /// The cases that the fast paths leave.
            enum long {}

            impl long {
                #(#longs)*
            }

            #limiteds

            #heards

            #begins

            #exports

            #mapped
        }

        #[allow(unused_imports)]
        pub use __emit::REGISTRY;

        #tracing
    }
}

/// The values that all parts of one emitter share.
struct Emitter<'r> {
    event: &'r Event,
    /// The index of the event in the registry.
    index: usize,
    name: syn::Ident,
    /// The bit of the mask that is the event's switch.
    bit: Literal,
    params: Vec<syn::Ident>,
    arguments: Vec<Argument>,
    /// Before which parameter the argument without meaning stands.
    spare: Option<usize>,
    /// The parameters of the functions between the emitter and the record, and their arguments.
    takes: Vec<TokenStream>,
    passes: Vec<TokenStream>,
    /// `Site` and `Fields`.
    site: TokenStream,
    fields: TokenStream,
    /// Its part in a message.
    heard: Option<Heard>,
    limited: Option<Limited>,
}

impl<'r> Emitter<'r> {
    fn new(
        registry: &'r Registry,
        slots: &Slots,
        bit: usize,
        (index, event): (usize, &'r Event),
        limited: Option<Limited>,
    ) -> Self {
        let arguments: Vec<Argument> = event
            .params
            .iter()
            .enumerate()
            .map(|(at, param)| argument(registry, param, bit, slots.number(index, at)))
            .collect();
        let site = site(event.kind);
        let code = Literal::u16_unsuffixed(event.code);
        let bit = Literal::usize_unsuffixed(bit);
        let fields =
            arguments.iter().rev().fold(quote!(()), |rest, Argument { field, .. }| quote!((#field, #rest)));
        let params: Vec<syn::Ident> = event.params.iter().map(|param| ident(&param.name)).collect();
        let spare = spare::place(registry, event);
        let takes =
            params.iter().zip(&arguments).map(|(name, Argument { record_ty, .. })| quote!(#name: #record_ty));
        let takes = spare::with(takes, spare, quote!(__spare: rt::Spare));
        let passes = spare::with(params.iter().map(|name| quote!(#name)), spare, quote!(rt::spare()));
        Emitter {
            event,
            index,
            name: ident(&snake_case(&event.name)),
            params,
            arguments,
            spare,
            takes,
            passes,
            site: quote!(#site { code: #code, index: #bit }),
            fields,
            bit,
            heard: messages::heard(registry, index),
            limited,
        }
    }

    fn take_spare(&self) -> Option<TokenStream> {
        self.spare.map(|_| quote!(rt::take_spare(__spare);))
    }

    fn for_scope(&self) -> ScopeEmitter<'_> {
        let Emitter { event, index, name, bit, params, arguments, passes, heard, .. } = self;
        ScopeEmitter { event, index: *index, name, bit, params, arguments, passes, heard: heard.as_ref() }
    }

    fn for_c(&self) -> CEmitter<'_> {
        let Emitter { event, index, name, bit, site, heard, limited, .. } = self;
        CEmitter { event, index: *index, name, bit, site, heard: heard.as_ref(), limited: *limited }
    }

    fn for_counter(&self) -> Option<Sampled<'_>> {
        let Emitter { event, name, bit, .. } = self;
        event.counter.map(|counter| Sampled { event, counter, record: name, bit })
    }

    fn for_tracing(&self) -> MappedEmitter<'_> {
        let Emitter { event, name, bit, heard, .. } = self;
        MappedEmitter { event, name, bit, heard: heard.as_ref() }
    }
}

/// Generates the input of the runtime's `emitters!`, which makes the lazy half: a macro that tests
/// the switch before it evaluates the arguments. It is made there, so that errors are at the call.
fn macro_(registry: &Registry, at: &Path, emitter: &Emitter<'_>) -> TokenStream {
    let Emitter { event, name, bit, params, arguments, heard, .. } = emitter;
    let channel = heard.as_ref();
    let channel = channel.map(|Heard { channel, .. }| quote!(|| [crate::#at::__emit::channels::#channel]));
    let (always, doc) = (event.always, docs::event(registry, event));
    let exported = exported(at, name);
    let (takes, list) = docs::arguments(registry, event, name);
    let opens = arguments.iter().filter_map(|argument| argument.check.open());
    let zeros = opens.map(|_| Literal::u8_unsuffixed(0));
    let params = passed(params, arguments).map(|(name, _)| name);
    quote! {
        { [crate::#at] #doc #exported #name #always #bit #channel [#(#params)*] [#(#zeros)*] #takes #list }
    }
}

/// Generates a type for each name of a parameter, by which errors name it. If another item has the
/// same name, the compiler writes the module, too: "parameter `named::hash` takes".
fn parameters(used: &[Emitter<'_>]) -> TokenStream {
    let params = used.iter().flat_map(|emitter| &emitter.event.params);
    let names: BTreeSet<&str> = params.map(|param| param.name.as_str()).collect();
    let names = names.into_iter().map(ident);
    quote! {
        pub mod named {
            #(pub enum #names {})*
        }
    }
}

/// Generates the typed half, whose errors and signature are the user's. Editors show a plain
/// signature, and do not record.
fn typed(emitter: &Emitter<'_>) -> TokenStream {
    let Emitter { name, params, arguments, spare, passes, .. } = emitter;
    let names = passed(params, arguments).map(|(name, _)| name);
    let shown = passed(params, arguments).map(|(_, argument)| &argument.shown);
    let lowered = arguments.iter().map(|argument| &argument.lowered);
    let call = match spare {
        None => quote!(record::#name(#(#lowered),*);),
        // The argument without meaning comes last, so that nothing has to keep it.
        Some(_) => quote! {
            #(let #params = #lowered;)*
            record::#name(#(#passes),*);
        },
    };
    let Signature { generics, takes, bounds } = signature(params, arguments);
    quote! {
        #[cfg(not(rust_analyzer))]
        #[inline(always)]
        pub fn #name #generics (#takes) #bounds {
            #call
        }

        #[cfg(rust_analyzer)]
        pub fn #name(#(#names: #shown),*) {}
    }
}

/// Generates the fast path. It is out of line, so that a call in hot code stays a test and a call.
fn record(registry: &Registry, emitter: &Emitter<'_>) -> TokenStream {
    let Emitter { name, params, takes, passes, site, fields, .. } = emitter;
    let always = emitter.event.always;
    // An event that is compiled out is still posted here.
    let (first, is_compiled) = match &emitter.heard {
        None => (None, None),
        Some(Heard { channel, .. }) => (
            Some(quote! {
                if channels::#channel.is_wanted() {
                    return heard::#name(#(#passes),*);
                }
            }),
            Some(quote!(rt::is_compiled(#always) &&)),
        ),
    };
    let probe = probe(registry, emitter.event, Caller::Rust);
    let spare = emitter.take_spare();
    let limit = emitter.limited.map(|limited| {
        let test = limited.test(params, &quote!(limited::#name(#(#passes),*)));
        match emitter.heard {
            None => test,
            Some(_) => quote!(if rt::is_compiled(#always) { #test }),
        }
    });
    quote! {
        #[inline(never)]
        fn #name(#(#takes),*) {
            #spare
            #probe
            #first
            #limit
            if #is_compiled !rt::record(&LANES, #site, #fields) {
                long::#name(#(#passes),*);
            }
        }
    }
}

/// Records the event if it is on, and posts its message.
fn heard(emitter: &Emitter<'_>) -> Option<TokenStream> {
    let Emitter { event, name, bit, params, takes, passes, site, fields, heard, .. } = emitter;
    let Heard { post, .. } = heard.as_ref()?;
    let admits = emitter.limited.map(|limited| limited.admits(params)).map(|admits| quote!(&& #admits));
    let (always, spare) = (event.always, emitter.take_spare());
    Some(quote! {
        #[cold]
        #[inline(never)]
        fn #name(#(#takes),*) {
            #spare
            if rt::is_on(#always, &MASK[#bit / 8], #bit)
                #admits
                && !rt::record(&LANES, #site, #fields)
            {
                long::#name(#(#passes),*);
            }
            #post
        }
    })
}

/// Generates the emission of a thread that has no credit: it may get some, and then records.
fn without_credit(emitter: &Emitter<'_>) -> Option<TokenStream> {
    let Emitter { name, params, takes, passes, site, fields, limited, .. } = emitter;
    let admits = limited.filter(|limited| limited.has_credits())?.admits(params);
    let spare = emitter.take_spare();
    Some(quote! {
        #[cold]
        #[inline(never)]
        fn #name(#(#takes),*) {
            #spare
            if #admits && !rt::record(&LANES, #site, #fields) {
                long::#name(#(#passes),*);
            }
        }
    })
}

fn long(registry: &Registry, emitter: &Emitter<'_>) -> TokenStream {
    let Emitter { name, takes, site, fields, .. } = emitter;
    let (mark, spare) = (called(registry, emitter.event), emitter.take_spare());
    quote! {
        #[cold]
        #[inline(never)]
        fn #name(#(#takes),*) {
            #spare
            #mark
            rt::record_long(&LANES, &REGISTRY, #site, #fields);
        }
    }
}

/// Generates the registry as the runtime knows it, its switches, and a thread's lanes.
fn statics(
    registry: &Registry,
    slots: &Slots,
    used: &[Emitter<'_>],
    counters: &TokenStream,
    c: bool,
) -> TokenStream {
    let (definition, doc) = (definition(registry, slots), docs::sentence(&registry.doc));
    let (list, channels) = (messages::list(registry), messages::channels(registry, c));
    let symbol = c.then(|| registry.mask_symbol());
    let symbol = symbol.map(|symbol| quote!(#[allow(unsafe_code)] #[unsafe(export_name = #symbol)]));
    let aliases = aliases(registry, slots);
    let counts = [used.len().div_ceil(8), registry.kinds.len(), slots.len() as usize];
    let [bytes, kind_count, slot_count] = counts.map(Literal::usize_unsuffixed);
    let count = Literal::usize_unsuffixed(used.len());
    quote! {
        const KINDS: usize = #kind_count;
        const SLOTS: usize = #slot_count;

        /// A bit for every emitter, all set until the first event finds its way to the runtime.
        #symbol
        pub static MASK: [rt::AtomicU8; #bytes] = rt::switches(#count);

        #[doc = #doc]
        pub static REGISTRY: rt::Registry = rt::Registry::new(definition::DEFINITION, &MASK) #list #counters;

        #channels

        #definition

        #aliases

        rt::std::thread_local! {
            static LANES: rt::Lanes<KINDS, SLOTS> = const { rt::Lanes::new() };
        }
    }
}

/// Generates a name for each type that has a constant. Many events share them, and the compiler
/// takes long to check a constant in a type.
fn aliases(registry: &Registry, slots: &Slots) -> TokenStream {
    let kinds = registry.kinds.iter().enumerate().map(|(number, kind)| {
        let (name, inherit) = (site(number), kind.clock == Clock::Inherit);
        let number = Literal::usize_unsuffixed(number);
        quote!(type #name = rt::Site<#number, #inherit>;)
    });
    let slots = (0..slots.len()).map(|number| {
        let (name, number) = (delta_in(number), Literal::u32_unsuffixed(number));
        quote!(type #name = rt::Delta<#number>;)
    });
    quote!(#(#kinds)* #(#slots)*)
}

/// Returns the name of the type of `Site` for a kind.
fn site(kind: usize) -> syn::Ident {
    format_ident!("site_{kind}")
}
