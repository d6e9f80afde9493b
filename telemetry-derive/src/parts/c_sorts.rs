//! Each parameter type in a function that C calls: its arguments, and the field that they become.
#![warn(clippy::wildcard_enum_match_arm)]

use proc_macro2::{Literal, TokenStream};
use quote::{format_ident, quote};
use syn::Ident;
use telemetry_schema::{Count, Param, Registry, Role, Sort, TypeForm};

use crate::parts::names::ident;
use crate::parts::sorts::{conversion, delta_in, encoded, plain, rotated, usual};

/// One parameter of a function for C.
pub(crate) struct CArgument {
    /// The function's arguments for it: one, or a pointer and a length.
    pub(crate) arguments: Vec<(Ident, TokenStream)>,
    /// Replaces the arguments by a variable with the parameter's name.
    pub(crate) bind: Option<TokenStream>,
    /// The `Fields` of the runtime.
    pub(crate) field: TokenStream,
    /// Makes a variable of the type that emitters in Rust have, inside a function that returns
    /// `Option`: a number may not be one of an enum's.
    pub(crate) typed: Option<TokenStream>,
}

/// Returns a parameter of the event with a switch, with its slot in the lane, if it has one.
pub(crate) fn c_argument(
    registry: &Registry,
    param: &Param,
    switch: &Literal,
    slot: Option<u32>,
) -> CArgument {
    let name = ident(&param.name);
    if param.role == Some(Role::Stack) {
        return stack(registry, param, name, switch);
    }
    match (param.count, param.sort) {
        (Count::One, Sort::String) => run(param, &name, &quote!(text), &quote!(Text)),
        (Count::One, Sort::Bytes) => run(param, &name, &quote!(bytes), &quote!(Bytes)),
        (Count::One, _) => one(registry, param, name, slot.unwrap_or_default()),
        (Count::Fixed(max), _) => list(registry, param, name, slot, max, false),
        (Count::UpTo(max), _) => list(registry, param, name, slot, max, true),
    }
}

/// Returns a call stack: the places of the caller's code and of its frame, which the header's
/// macro finds.
fn stack(registry: &Registry, param: &Param, name: Ident, switch: &Literal) -> CArgument {
    let (frame, place) = (frame(&name), quote!(*const rt::core::ffi::c_void));
    CArgument {
        arguments: vec![(name.clone(), place.clone()), (frame.clone(), place)],
        bind: Some(quote!(let #name = rt::stack_at(&REGISTRY, #switch, #name, #frame);)),
        field: encoded(registry, param.sort, &quote!(#name)),
        typed: None,
    }
}

/// Returns a string or bytes: a pointer and a length.
fn run(param: &Param, name: &Ident, read: &TokenStream, field: &TokenStream) -> CArgument {
    let (len, max) = (length(name), Literal::u32_unsuffixed(param.max_len));
    CArgument {
        arguments: vec![(name.clone(), quote!(*const u8)), (len.clone(), quote!(usize))],
        bind: Some(quote!(let #name = unsafe { rt::#read::<#max>(#name, #len) };)),
        field: quote!(rt::Given(rt::#field::<#max>(#name.0), #name.1)),
        typed: Some(quote!(let #name = #name.0;)),
    }
}

fn one(registry: &Registry, param: &Param, name: Ident, slot: u32) -> CArgument {
    let sort = param.sort;
    let ty = c_type(registry, sort);
    let (mut bind, mut typed) = (None, None);
    let field = if conversion(sort).is_some() {
        if sort != Sort::Word {
            bind = Some(quote!(let #name = rt::Address::address(#name);));
        }
        let (slot, value) = (delta_in(slot), rotated(param, &name));
        usual(param, quote!(#slot { 0: #value }))
    } else {
        if sort == Sort::Bool {
            bind = Some(quote!(let #name = #name != 0;));
        }
        typed = typed_value(registry, sort, &quote!(#name)).map(|value| quote!(let #name = #value?;));
        usual(param, encoded(registry, sort, &quote!(#name)))
    };
    CArgument { arguments: vec![(name, ty)], bind, field, typed }
}

/// Returns an array: a pointer, and a length if that is not fixed.
fn list(
    registry: &Registry,
    param: &Param,
    name: Ident,
    slot: Option<u32>,
    max: u32,
    counted: bool,
) -> CArgument {
    let (len, max, sort) = (length(&name), Literal::usize_unsuffixed(max as usize), param.sort);
    let element = c_type(registry, sort);
    let mut arguments = vec![(name.clone(), quote!(*const #element))];
    let read = match counted {
        true => {
            arguments.push((len.clone(), quote!(usize)));
            quote!(list::<#element, #max>(#name, #len))
        }
        false => quote!(array::<#element, #max>(#name)),
    };
    let (field, mut typed) = match conversion(sort) {
        Some(convert) => {
            let slot = Literal::u32_unsuffixed(slot.unwrap_or_default());
            (quote!(rt::Deltas::<_, _, #slot, #max, #counted>(&#name.0[..], #convert)), None)
        }
        None => {
            let one = if sort == Sort::Bool { quote!((value != 0)) } else { quote!(value) };
            let field = encoded(registry, sort, &one);
            let field = quote!(rt::Array::<_, _, #max, #counted>(&#name.0[..], |value: #element| #field));
            (field, typed_value(registry, sort, &quote!(value)))
        }
    };
    typed = match typed {
        Some(value) => {
            let first = first(registry, sort);
            let all = if counted { quote!(&#name.0[..#name.1]) } else { quote!(&#name.0) };
            Some(quote! {
                let #name = rt::converted::<_, _, #max>(&#name.0[..], #first, |value: #element| #value)?;
                let #name = #all;
            })
        }
        None => Some(quote!(let #name = #name.0;)),
    };
    CArgument {
        arguments,
        bind: Some(quote!(let #name = unsafe { rt::#read };)),
        field: quote!(rt::Given(#field, #name.1)),
        typed,
    }
}

/// Returns the name of the argument with the number of bytes or elements. No parameter has two
/// underscores.
pub(crate) fn length(name: &Ident) -> Ident {
    format_ident!("__{name}_len")
}

/// Returns the name of the argument with the frame of the caller.
fn frame(name: &Ident) -> Ident {
    format_ident!("__{name}_frame")
}

/// Generates the type of a value as C passes it, and as an array has it.
fn c_type(registry: &Registry, sort: Sort) -> TokenStream {
    match sort {
        Sort::Pointer | Sort::Addr => quote!(*const rt::core::ffi::c_void),
        Sort::Label => quote!(u64),
        // Any other byte than 0 and 1 would be none of Rust's values.
        Sort::Bool => quote!(u8),
        Sort::Named(index) => plain(registry, registry.types[index].repr),
        Sort::Word | Sort::U8 | Sort::U16 | Sort::U32 | Sort::U64 | Sort::F32 | Sort::F64 => {
            plain(registry, sort)
        }
        Sort::I8 | Sort::I16 | Sort::I32 | Sort::I64 | Sort::String | Sort::Bytes => plain(registry, sort),
    }
}

/// Generates the conversion to the type in Rust, as an `Option`. `None` if that is the same type.
fn typed_value(registry: &Registry, sort: Sort, value: &TokenStream) -> Option<TokenStream> {
    match sort {
        Sort::Label => Some(quote!(rt::core::option::Option::Some(rt::Label(#value)))),
        Sort::Named(index) => {
            let ty = &registry.types[index];
            let name = ident(&ty.name);
            Some(match ty.form {
                TypeForm::Enum => quote!(#name::from_repr(#value)),
                TypeForm::Flags => quote!(rt::core::option::Option::Some(#name::from_repr(#value))),
            })
        }
        Sort::Bool if value.to_string() == "value" => {
            Some(quote!(rt::core::option::Option::Some(#value != 0)))
        }
        Sort::Pointer | Sort::Addr | Sort::Word | Sort::String | Sort::Bytes | Sort::Bool => None,
        Sort::U8 | Sort::U16 | Sort::U32 | Sort::U64 | Sort::F32 | Sort::F64 => None,
        Sort::I8 | Sort::I16 | Sort::I32 | Sort::I64 => None,
    }
}

/// Generates some value of a type, to fill an array with.
fn first(registry: &Registry, sort: Sort) -> TokenStream {
    match sort {
        Sort::Named(index) => {
            let ty = &registry.types[index];
            let name = ident(&ty.name);
            match (ty.form, ty.values.first()) {
                (TypeForm::Enum, Some(value)) => {
                    let value = ident(&value.name);
                    quote!(#name::#value)
                }
                _ => quote!(#name::from_repr(0)),
            }
        }
        Sort::Bool => quote!(false),
        Sort::Label => quote!(rt::Label(0)),
        Sort::Pointer | Sort::Addr | Sort::Word | Sort::String | Sort::Bytes => quote!(0),
        Sort::U8 | Sort::U16 | Sort::U32 | Sort::U64 | Sort::F32 | Sort::F64 => quote!(0),
        Sort::I8 | Sort::I16 | Sort::I32 | Sort::I64 => quote!(0),
    }
}
