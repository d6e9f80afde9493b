//! Each parameter type in Rust: in the signature of an emitter, between the emitter and the record,
//! and as a field on its way into a block.
#![warn(clippy::wildcard_enum_match_arm)]

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use telemetry_schema::{Count, Encoding, Param, Registry, Sort};

/// One parameter in Rust.
pub(crate) struct Argument {
    /// In the emitter's signature.
    pub(crate) ty: TokenStream,
    /// The emitter's argument as the record takes it.
    pub(crate) lowered: TokenStream,
    /// In the record's signature.
    pub(crate) record_ty: TokenStream,
    /// The `Fields` of the runtime.
    pub(crate) field: TokenStream,
}

/// Returns a parameter with its slot in the lane, if it has one.
pub(crate) fn argument(registry: &Registry, param: &Param, slot: Option<u32>) -> Argument {
    let name = crate::parts::names::ident(&param.name);
    let slot = proc_macro2::Literal::u32_unsuffixed(slot.unwrap_or_default());
    let (max, counted) = match param.count {
        Count::One => return one(registry, param, &name, &slot),
        Count::Fixed(n) => (n as usize, false),
        Count::UpTo(n) => (n as usize, true),
    };
    let max = proc_macro2::Literal::usize_unsuffixed(max);
    let array = |element: TokenStream| if counted { quote!(&[#element]) } else { quote!(&[#element; #max]) };
    let (ty, field) = match (param.sort.is_delta(), address(param.sort)) {
        (true, Some((bound, convert))) => {
            let element = quote!(impl #bound<parameter::#name> + rt::core::marker::Copy);
            (array(element), quote!(rt::Deltas::<_, _, #slot, #max, #counted>(&#name[..], #convert)))
        }
        _ => {
            let element = plain(registry, param.sort);
            let field = scalar(registry, param.sort, &quote!(value));
            (
                array(element.clone()),
                quote!(rt::Array::<_, _, #max, #counted>(&#name[..], |value: #element| #field)),
            )
        }
    };
    Argument { ty: ty.clone(), lowered: quote!(#name), record_ty: ty, field }
}

fn one(registry: &Registry, param: &Param, name: &syn::Ident, slot: &proc_macro2::Literal) -> Argument {
    let max = proc_macro2::Literal::u32_unsuffixed(param.max_len);
    let same =
        |ty: TokenStream, field| Argument { ty: ty.clone(), lowered: quote!(#name), record_ty: ty, field };
    match address(param.sort) {
        Some((bound, convert)) => {
            let value = match param.rotation() {
                0 => quote!(#name),
                rotation => {
                    let rotation = proc_macro2::Literal::u32_unsuffixed(rotation);
                    quote!(#name.rotate_right(#rotation))
                }
            };
            Argument {
                ty: quote!(impl #bound<parameter::#name>),
                lowered: quote!(#convert(#name)),
                record_ty: quote!(u64),
                field: quote!(rt::Delta::<#slot>(#value)),
            }
        }
        None if param.sort == Sort::String => same(quote!(&str), quote!(rt::Text::<#max>(#name))),
        None if param.sort == Sort::Bytes => same(quote!(&[u8]), quote!(rt::Bytes::<#max>(#name))),
        None => same(plain(registry, param.sort), scalar(registry, param.sort, &quote!(#name))),
    }
}

/// Returns, for a type that is encoded as a delta, the trait of its arguments, which takes the name
/// of the parameter, and their conversion.
pub(crate) fn address(sort: Sort) -> Option<(TokenStream, TokenStream)> {
    match sort {
        Sort::Pointer | Sort::Addr => Some((quote!(rt::AddressFor), quote!(rt::Address::address))),
        Sort::Word => Some((quote!(rt::WordFor), quote!(rt::Word::word))),
        Sort::U8 | Sort::U16 | Sort::U32 | Sort::U64 | Sort::F32 | Sort::F64 => None,
        Sort::I8 | Sort::I16 | Sort::I32 | Sort::I64 | Sort::Bool => None,
        Sort::String | Sort::Bytes | Sort::Label | Sort::Named(_) => None,
    }
}

/// Generates the type of a value that is neither a delta nor a run of bytes.
pub(crate) fn plain(registry: &Registry, sort: Sort) -> TokenStream {
    match sort {
        Sort::Pointer | Sort::Addr | Sort::Word => quote!(u64),
        Sort::Label => quote!(rt::Label),
        Sort::String => quote!(str),
        Sort::Bytes => quote!([u8]),
        Sort::U8
        | Sort::U16
        | Sort::U32
        | Sort::U64
        | Sort::I8
        | Sort::I16
        | Sort::I32
        | Sort::I64
        | Sort::F32
        | Sort::F64
        | Sort::Bool => {
            let name = format_ident!("{}", registry.sort_name(sort));
            quote!(#name)
        }
        Sort::Named(_) => {
            let name = crate::parts::names::ident(registry.sort_name(sort));
            quote!(#name)
        }
    }
}

/// Generates the field of a value that is neither a delta nor a run of bytes.
fn scalar(registry: &Registry, sort: Sort, value: &TokenStream) -> TokenStream {
    let number = match sort {
        Sort::Label => quote!(#value.0),
        Sort::Named(_) => quote!(#value.repr()),
        Sort::Pointer | Sort::Addr | Sort::Word | Sort::String | Sort::Bytes => quote!(#value),
        Sort::U8 | Sort::U16 | Sort::U32 | Sort::U64 | Sort::Bool => quote!(#value),
        Sort::I8 | Sort::I16 | Sort::I32 | Sort::I64 | Sort::F32 | Sort::F64 => quote!(#value),
    };
    match registry.encoding(sort) {
        Encoding::Byte | Encoding::SignedByte | Encoding::Bool => quote!(rt::Byte(#number as u8)),
        Encoding::Unsigned16 => quote!(rt::Unsigned16(#number)),
        Encoding::Unsigned32 => quote!(rt::Unsigned32(#number)),
        Encoding::Signed16 => quote!(rt::Signed16(#number)),
        Encoding::Signed32 => quote!(rt::Signed32(#number)),
        Encoding::Signed64 => quote!(rt::Signed64(#number)),
        Encoding::F32 => quote!(rt::Float(#number)),
        Encoding::F64 => quote!(rt::Double(#number)),
        // Deltas and runs do not get here: they have fields of their own.
        Encoding::Unsigned64 | Encoding::Delta | Encoding::Run => quote!(rt::Unsigned64(#number)),
    }
}
