//! Enums and flags of the registry.

use proc_macro2::{Literal, TokenStream};
use quote::quote;
use telemetry_schema::{Registry, Type, TypeForm};

use crate::parts::docs::sentence;
use crate::parts::names::ident;

/// Generates all types of the registry.
pub(crate) fn types(registry: &Registry) -> TokenStream {
    registry
        .types
        .iter()
        .map(|ty| match ty.form {
            TypeForm::Enum => enumeration(registry, ty),
            TypeForm::Flags => flags(registry, ty),
        })
        .collect()
}

fn enumeration(registry: &Registry, ty: &Type) -> TokenStream {
    let (name, repr, doc) =
        (ident(&ty.name), crate::parts::sorts::plain(registry, ty.repr), sentence(&ty.doc));
    let variants = ty.values.iter().map(|value| {
        let (name, number, doc) =
            (ident(&value.name), number(value.number), value_doc(&value.doc, &value.name));
        quote!(#[doc = #doc] #name = #number,)
    });
    let arms = ty.values.iter().map(|value| {
        let (name, number) = (ident(&value.name), number(value.number));
        quote!(#number => Self::#name,)
    });
    quote! {
        #[doc = #doc]
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(#repr)]
        #[allow(dead_code)]
        #[non_exhaustive]
        pub enum #name {
            #(#variants)*
        }

        #[allow(dead_code)]
        impl #name {
            /// Returns the value of a number; none if it is not one of the registry's.
            pub const fn from_repr(number: #repr) -> __emit::rt::core::option::Option<Self> {
                __emit::rt::core::option::Option::Some(match number {
                    #(#arms)*
                    _ => return __emit::rt::core::option::Option::None,
                })
            }

            /// Returns the number on the wire.
            pub const fn repr(self) -> #repr {
                self as #repr
            }
        }
    }
}

fn flags(registry: &Registry, ty: &Type) -> TokenStream {
    let (name, repr, doc) =
        (ident(&ty.name), crate::parts::sorts::plain(registry, ty.repr), sentence(&ty.doc));
    let values = ty.values.iter().map(|value| {
        let (name, number, doc) =
            (ident(&value.name), number(value.number), value_doc(&value.doc, &value.name));
        quote! {
            #[doc = #doc]
            #[allow(non_upper_case_globals)]
            pub const #name: Self = Self(#number);
        }
    });
    let text = &ty.name;
    let names = ty.values.iter().map(|value| {
        let (name, number) = (&value.name, number(value.number));
        quote!((#name, #number))
    });
    quote! {
        #[doc = #doc]
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
        pub struct #name(#repr);

        #[allow(dead_code)]
        impl #name {
            #(#values)*

            /// Returns the flags of a number, those that the registry does not name among them.
            pub const fn from_repr(number: #repr) -> Self {
                Self(number)
            }

            /// Returns the number on the wire.
            pub const fn repr(self) -> #repr {
                self.0
            }

            /// Returns true if all flags of `other` are set.
            pub const fn contains(self, other: Self) -> bool {
                self.0 & other.0 == other.0
            }
        }

        #[allow(clippy::all, clippy::pedantic)]
        impl __emit::rt::core::fmt::Debug for #name {
            fn fmt(&self, f: &mut __emit::rt::core::fmt::Formatter<'_>) -> __emit::rt::core::fmt::Result {
                __emit::rt::debug_flags(f, #text, self.0 as u64, &[#(#names),*])
            }
        }

        impl __emit::rt::core::ops::BitOr for #name {
            type Output = Self;
            fn bitor(self, other: Self) -> Self {
                Self(self.0 | other.0)
            }
        }
    }
}

fn value_doc(doc: &str, name: &str) -> String {
    if doc.is_empty() { format!("`{name}`.") } else { sentence(doc) }
}

/// Fits the type's repr, which the schema has checked.
fn number(number: i128) -> Literal {
    Literal::i128_unsuffixed(number)
}
