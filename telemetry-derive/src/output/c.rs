//! The functions that programs in C call, and what their headers refer to.

use proc_macro2::{Literal, TokenStream};
use quote::quote;
use syn::Ident;
use telemetry_schema::{Event, Registry, Slots};

use crate::output::limits::Limited;
use crate::output::messages::Heard;
use crate::parts::c_sorts::{CArgument, c_argument};
use crate::parts::called::called;
use crate::parts::names::ident;
use crate::parts::probes::{Caller, probe};

/// An emitter for C.
pub(crate) struct CEmitter<'e> {
    pub(crate) event: &'e Event,
    /// The index of the event in the registry.
    pub(crate) index: usize,
    pub(crate) name: &'e Ident,
    pub(crate) bit: &'e Literal,
    pub(crate) site: &'e TokenStream,
    pub(crate) heard: Option<&'e Heard>,
    pub(crate) limited: Option<Limited>,
}

/// Generates the functions of all emitters. They record as emitters in Rust do: the same fields,
/// the same lanes.
///
/// They are `unsafe`, as C is: a pointer may lead to less than its length says.
pub(crate) fn exports<'e>(
    registry: &Registry,
    slots: &Slots,
    emitters: impl Iterator<Item = CEmitter<'e>>,
    counters: Option<TokenStream>,
) -> TokenStream {
    let emitters = emitters.map(|emitter| export(registry, slots, &emitter));
    quote! {
        /// The emitters for C.
        #[allow(unsafe_code, unsafe_op_in_unsafe_fn)]
        enum c {}

        #[allow(unsafe_code, unsafe_op_in_unsafe_fn, unused_unsafe)]
        impl c {
            #(#emitters)*
            #counters
        }

        /// Makes the registry known when the program or library is loaded, so that messages can be
        /// enabled by name before the first event.
        #[cfg_attr(
            all(unix, not(target_vendor = "apple"), not(miri)),
            allow(unsafe_code),
            used,
            unsafe(link_section = ".init_array")
        )]
        #[cfg_attr(
            target_vendor = "apple",
            allow(unsafe_code),
            used,
            unsafe(link_section = "__DATA,__mod_init_func")
        )]
        static KNOWN: extern "C" fn() = {
            extern "C" fn known() {
                rt::know(&REGISTRY);
            }
            known
        };
    }
}

fn export(registry: &Registry, slots: &Slots, emitter: &CEmitter<'_>) -> TokenStream {
    let CEmitter { event, index, name, bit, site, heard, limited } = emitter;
    let params = event.params.iter().enumerate();
    let all: Vec<CArgument> =
        params.map(|(at, param)| c_argument(registry, param, bit, slots.number(*index, at))).collect();
    let arguments: Vec<TokenStream> = all
        .iter()
        .flat_map(|argument| argument.arguments.iter().map(|(name, ty)| quote!(#name: #ty)))
        .collect();
    let names: Vec<&Ident> =
        all.iter().flat_map(|argument| argument.arguments.iter().map(|(name, _)| name)).collect();
    let binds: Vec<_> = all.iter().map(|argument| &argument.bind).collect();
    let fields = all.iter().rev().fold(quote!(()), |rest, CArgument { field, .. }| quote!((#field, #rest)));
    let symbol = registry.emitter_symbol(event);
    let always = event.always;
    let [long, posted, after] =
        ["long", "posted", "limited"].map(|part| quote::format_ident!("__{part}_{name}"));
    let mark = called(registry, event);
    let record = quote! {
        let is_recorded = {
            #(#binds)*
            rt::record(&LANES, #site, #fields)
        };
        if !is_recorded {
            Self::#long(#(#names),*);
        }
    };
    // The first argument of a parameter has its name.
    let params: Vec<Ident> = event.params.iter().map(|param| ident(&param.name)).collect();
    let test = limited.map(|limited| limited.test(&params, &quote!(Self::#after(#(#names),*))));
    let admits = limited.map(|limited| limited.admits(&params));
    let and_admits = admits.as_ref().map(|admits| quote!(&& #admits));
    let without_credit = limited.filter(|limited| limited.has_credits()).map(|_| {
        quote! {
            #[cold]
            #[inline(never)]
            unsafe fn #after(#(#arguments),*) {
                if #admits {
                    #record
                }
            }
        }
    });
    let first = heard.map(|Heard { channel, .. }| {
        quote! {
            if channels::#channel.is_wanted() {
                return Self::#posted(#(#names),*);
            }
        }
    });
    let post = heard.map(|Heard { post, .. }| {
        let typed = all.iter().map(|argument| &argument.typed);
        quote! {
            #[cold]
            #[inline(never)]
            unsafe fn #posted(#(#arguments),*) {
                if rt::is_on(#always, &MASK[#bit / 8], #bit) #and_admits {
                    #record
                }
                #(#binds)*
                let _ = (|| {
                    #(#typed)*
                    #post
                    rt::core::option::Option::Some(())
                })();
            }
        }
    });
    let probe = probe(registry, event, Caller::C);
    quote! {
        #[unsafe(export_name = #symbol)]
        unsafe extern "C" fn #name(#(#arguments),*) {
            #probe
            #first
            if rt::is_compiled(#always) {
                #test
                #record
            }
        }

        #[cold]
        #[inline(never)]
        unsafe fn #long(#(#arguments),*) {
            #mark
            #(#binds)*
            rt::record_long(&LANES, &REGISTRY, #site, #fields);
        }

        #without_credit

        #post
    }
}
