//! Limits: the tests that come before an event with one is recorded, and what the runtime counts.

use proc_macro2::{Literal, TokenStream};
use quote::quote;
use syn::Ident;
use telemetry_schema::{Event, Limit};

/// An event that is not always recorded.
#[derive(Clone, Copy)]
pub(crate) struct Limited {
    /// The index of its limit among those of the registry.
    pub(crate) index: usize,
    pub(crate) limit: Limit,
}

/// Returns the limited events among those with emitters, each at the place of its event.
pub(crate) fn limited<'e>(events: impl Iterator<Item = &'e Event>) -> Vec<Option<Limited>> {
    let mut index = 0;
    let limit_of = |event: &Event| {
        // Samples of counters have no emitter.
        let limit = event.limit.filter(|_| event.counter.is_none())?;
        index += 1;
        Some(Limited { index: index - 1, limit })
    };
    events.map(limit_of).collect()
}

impl Limited {
    /// Generates the test on the fast path, which leaves the function unless the event is to be
    /// recorded. `params` are those of the event, and `after` is called without a credit.
    pub(crate) fn test(self, params: &[Ident], after: &TokenStream) -> TokenStream {
        let index = Literal::usize_unsuffixed(self.index);
        match self.limit {
            Limit::Rate { .. } => quote! {
                if !rt::limits::admits(&CREDITS, #index) {
                    return #after;
                }
            },
            Limit::Sample { .. } => {
                let is_kept = self.is_kept(params);
                quote! {
                    if !#is_kept {
                        return rt::limits::leave_out::<Counted>(#index);
                    }
                }
            }
        }
    }

    /// Returns true if the fast path calls a function for an event without a credit.
    pub(crate) fn has_credits(self) -> bool {
        matches!(self.limit, Limit::Rate { .. })
    }

    /// Generates a test for code that is not hot. It counts an event that it leaves out.
    pub(crate) fn admits(self, params: &[Ident]) -> TokenStream {
        let index = Literal::usize_unsuffixed(self.index);
        match self.limit {
            Limit::Rate { per_second, burst } => {
                let [per_second, burst] = [per_second, burst].map(Literal::u32_unsuffixed);
                let rate = quote!(rt::limits::Rate { per_second: #per_second, burst: #burst });
                quote!(rt::limits::admits_after::<Counted, _>(&CREDITS, #index, #rate))
            }
            Limit::Sample { .. } => {
                let is_kept = self.is_kept(params);
                quote! {
                    {
                        let is_kept = #is_kept;
                        if !is_kept {
                            rt::limits::leave_out::<Counted>(#index);
                        }
                        is_kept
                    }
                }
            }
        }
    }

    fn is_kept(self, params: &[Ident]) -> TokenStream {
        let Limit::Sample { one_in, by } = self.limit else { return quote!(true) };
        let (index, one_in) = (Literal::usize_unsuffixed(self.index), Literal::u32_unsuffixed(one_in));
        match by.map(|by| &params[by]) {
            Some(by) => quote!(rt::limits::keeps(#one_in, rt::limits::Key::key(#by))),
            None => quote!(rt::limits::is_next(&CREDITS, #index, #one_in)),
        }
    }
}

/// The output.
pub(crate) struct Limits {
    /// What the emitters refer to, in `__emit`.
    pub(crate) statics: Option<TokenStream>,
    /// The call that gives the registry its limits.
    pub(crate) with: Option<TokenStream>,
}

/// Generates the limits of a registry: the event, its bit, and the limit of each.
pub(crate) fn limits<'e>(limited: impl Iterator<Item = (&'e Event, &'e Literal)>) -> Limits {
    let entries: Vec<_> = limited
        .map(|(event, bit)| {
            let name = &event.name;
            quote!(rt::limits::LimitDef::new(#bit, #name, rt::limits::left_out))
        })
        .collect();
    if entries.is_empty() {
        return Limits { statics: None, with: None };
    }
    let count = Literal::usize_unsuffixed(entries.len());
    Limits {
        statics: Some(quote! {
            rt::std::thread_local! {
                static CREDITS: rt::limits::Credits<#count> = const { rt::limits::Credits::new() };
            }

            static LIMITS: [rt::limits::LimitDef; #count] = [#(#entries),*];
        }),
        with: Some(quote!(.with_limits(&LIMITS))),
    }
}
