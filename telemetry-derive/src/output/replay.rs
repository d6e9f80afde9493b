//! The trait of a replayer of a registry's events, if any are marked.

use proc_macro2::{Literal, TokenStream};
use quote::quote;
use telemetry_schema::{Event, Registry, snake_case};

use crate::parts::docs;
use crate::parts::names::ident;

/// Generates the trait, with a method for each event that is marked `replay`.
pub(crate) fn trait_(registry: &Registry) -> Option<TokenStream> {
    let marked: Vec<&Event> = registry.events.iter().filter(|event| event.replay.is_some()).collect();
    if marked.is_empty() {
        return None;
    }
    let methods = marked.iter().map(|event| {
        let (name, method) = (ident(&event.name), ident(&snake_case(&event.name)));
        let doc = docs::event(registry, event);
        quote! {
            #[doc = #doc]
            ///
            /// # Errors
            /// If the action fails, which ends the replay.
            fn #method(
                &mut self,
                event: &#name<'_>,
                place: &__decode::rt::Place<'_>,
            ) -> ::core::result::Result<(), Self::Error>;
        }
    });
    let arms = marked.iter().map(|event| {
        let (name, method) = (ident(&event.name), ident(&snake_case(&event.name)));
        let text = Literal::string(&event.name);
        quote!(Event::#name(event) => (#text, self.#method(&event, place)),)
    });
    Some(quote! {
        /// Repeats the actions of events: a method for each event that is marked `replay`.
        #[allow(dead_code)]
        pub trait Replay {
            /// The reason why an action failed.
            type Error;

            #(#methods)*

            /// Replays a stream, in the order of time.
            ///
            /// # Errors
            /// Those of the stream, and the first error of a method, with its event and its place.
            fn replay(
                &mut self,
                reader: __decode::rt::Reader<'_>,
                pace: __decode::rt::Pace,
            ) -> ::core::result::Result<__decode::rt::Replayed, __decode::rt::ReplayError<Self::Error>> {
                __decode::rt::replay::<Decoder, _>(reader, pace, |event, place| {
                    #[allow(unreachable_patterns)]
                    ::core::option::Option::Some(match event {
                        #(#arms)*
                        _ => return ::core::option::Option::None,
                    })
                })
            }
        }
    })
}
