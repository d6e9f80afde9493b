//! The counters: a static for each, and the list by which the runtime samples them.

use proc_macro2::{Literal, TokenStream};
use quote::quote;
use syn::Ident;
use telemetry_schema::{Counter, CounterForm, CounterPer, Event, Registry, snake_case};

use crate::parts::docs;
use crate::parts::names::ident;

/// An event that has the samples of a counter.
pub(crate) struct Sampled<'e> {
    pub(crate) event: &'e Event,
    pub(crate) counter: Counter,
    /// The function that records a sample.
    pub(crate) record: &'e Ident,
    pub(crate) bit: &'e Literal,
}

/// The output.
pub(crate) struct Counters {
    /// The statics, in the module.
    pub(crate) statics: Option<TokenStream>,
    /// What they refer to, in `__emit`.
    pub(crate) list: Option<TokenStream>,
    /// The functions for C, in its `impl`.
    pub(crate) exports: Option<TokenStream>,
    /// The call that gives the registry its counters.
    pub(crate) with: Option<TokenStream>,
}

/// Returns the name of a counter's static: `CACHE_HITS` for `CacheHits`.
pub(crate) fn static_name(event: &Event) -> Ident {
    ident(&snake_case(&event.name).to_ascii_uppercase())
}

/// Generates the counters of a registry, and what its limits need, too.
pub(crate) fn counters(registry: &Registry, sampled: &[Sampled<'_>], has_limits: bool) -> Counters {
    if sampled.is_empty() && !has_limits {
        return Counters { statics: None, list: None, exports: None, with: None };
    }
    let statics = sampled.iter().enumerate().map(|(index, counter)| static_(registry, index, counter));
    let entries = sampled.iter().map(entry);
    let count = Literal::usize_unsuffixed(sampled.len());
    let exports = sampled.iter().map(|counter| export(registry, counter));
    Counters {
        statics: Some(quote!(#(#statics)*)),
        list: Some(quote! {
            rt::std::thread_local! {
                static COUNTS: rt::counting::Local = const { rt::counting::Local::new() };
            }

            /// What each thread counts for the registry.
            pub enum Counted {}

            impl rt::counting::Counted for Counted {
                const COUNTERS: usize = #count;

                #[inline(always)]
                fn local() -> &'static rt::std::thread::LocalKey<rt::counting::Local> {
                    &COUNTS
                }

                fn registry() -> &'static rt::Registry {
                    &REGISTRY
                }
            }

            static COUNTERS: [rt::counting::CounterDef; #count] = [#(#entries),*];
        }),
        exports: Some(quote!(#(#exports)*)),
        with: Some(quote!(.with_counters(&COUNTERS))),
    }
}

fn static_(registry: &Registry, index: usize, sampled: &Sampled<'_>) -> TokenStream {
    let Sampled { event, counter, .. } = sampled;
    let (name, doc) = (static_name(event), doc(registry, sampled));
    let ty = match counter.form {
        CounterForm::Monotonic => quote!(Counter),
        CounterForm::Gauge => quote!(Gauge),
    };
    let (index, per_thread) = (Literal::usize_unsuffixed(index), counter.per == CounterPer::Thread);
    quote! {
        #[doc = #doc]
        #[allow(dead_code)]
        pub static #name: __emit::rt::counting::#ty<__emit::Counted, #index, #per_thread> =
            __emit::rt::counting::#ty::new();
    }
}

fn doc(registry: &Registry, sampled: &Sampled<'_>) -> String {
    let Sampled { event, counter, .. } = sampled;
    let kind = registry.kind_of(event);
    let unit = event.params.last().map(|value| value.unit.as_str()).filter(|unit| !unit.is_empty());
    let what = match (counter.form, counter.per) {
        (CounterForm::Monotonic, CounterPer::Process) => "A counter",
        (CounterForm::Monotonic, CounterPer::Thread) => "A counter of each thread",
        (CounterForm::Gauge, CounterPer::Process) => "A gauge",
        (CounterForm::Gauge, CounterPer::Thread) => "A gauge of each thread",
    };
    format!(
        "{}\n\n{what}{}. Its samples are events `{}`, code {:#06x}, kind `{}`.",
        docs::sentence(&event.doc),
        unit.map_or(String::new(), |unit| format!(", in {unit}")),
        event.name,
        event.code,
        kind.name
    )
}

fn entry(sampled: &Sampled<'_>) -> TokenStream {
    let Sampled { event, counter, record, bit } = sampled;
    let name = static_name(event);
    let per_thread = counter.per == CounterPer::Thread;
    let value = match counter.form {
        CounterForm::Monotonic => quote!(value),
        CounterForm::Gauge => quote!(value as i64),
    };
    let sample = match counter.per {
        CounterPer::Process => quote!(|_, value| record::#record(#value)),
        CounterPer::Thread => quote!(|thread, value| record::#record(thread, #value)),
    };
    quote! {
        rt::counting::CounterDef { event: #bit, per_thread: #per_thread, base: #name.base(), sample: #sample }
    }
}

/// Generates the functions for C: `add`, for a gauge also `set`, and `value`.
fn export(registry: &Registry, sampled: &Sampled<'_>) -> TokenStream {
    let Sampled { event, counter, record, .. } = sampled;
    let name = static_name(event);
    let symbol = |part: &str| format!("{}__{part}", registry.emitter_symbol(event));
    let [add, set, value] = ["add", "set", "value"].map(symbol);
    let [add_fn, set_fn, value_fn] =
        ["add", "set", "value"].map(|part| quote::format_ident!("__{part}_{record}"));
    let number = match counter.form {
        CounterForm::Monotonic => quote!(u64),
        CounterForm::Gauge => quote!(i64),
    };
    let set = (counter.form == CounterForm::Gauge).then(|| {
        quote! {
            #[unsafe(export_name = #set)]
            extern "C" fn #set_fn(value: #number) {
                #name.set(value);
            }
        }
    });
    quote! {
        #[unsafe(export_name = #add)]
        extern "C" fn #add_fn(number: #number) {
            #name.add(number);
        }

        #set

        #[unsafe(export_name = #value)]
        extern "C" fn #value_fn() -> #number {
            #name.value()
        }
    }
}
