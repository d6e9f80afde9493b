//! Each parameter type in Rust: in the signature of an emitter, between the emitter and the record,
//! and as a field on its way into a block.
#![warn(clippy::wildcard_enum_match_arm)]

use proc_macro2::{Literal, Span, TokenStream};
use quote::{format_ident, quote};
use syn::{Ident, Lifetime};
use telemetry_schema::{Count, Encoding, Param, Registry, Role, Sort, own};

use crate::parts::names::ident;

/// One parameter in Rust.
pub(crate) struct Argument {
    /// In the signature that editors show.
    pub(crate) shown: TokenStream,
    /// In the emitter's signature.
    pub(crate) ty: TokenStream,
    /// What the emitter's signature has for it besides.
    pub(crate) check: Check,
    /// The emitter's argument as the record takes it.
    pub(crate) lowered: TokenStream,
    /// In the record's signature.
    pub(crate) record_ty: TokenStream,
    /// The `Fields` of the runtime.
    pub(crate) field: TokenStream,
    /// True if the caller passes it. What has a role, the runtime finds.
    pub(crate) is_passed: bool,
}

/// The generic part of a parameter. It lets the compiler's errors name the parameter.
pub(crate) enum Check {
    /// A trait of the argument's type checks it.
    Bound,
    /// The same, and the trait needs the type of a number that the call leaves open.
    Open(Ident),
    /// A trait of the type that is named after the parameter checks the argument's type, which this
    /// names. It may need such a number, too.
    Given { lifetime: Option<Lifetime>, given: Ident, open: Option<Ident>, bound: TokenStream },
}

impl Check {
    /// Returns the type of the number that the call leaves open.
    pub(crate) fn open(&self) -> Option<&Ident> {
        match self {
            Check::Bound => None,
            Check::Open(open) => Some(open),
            Check::Given { open, .. } => open.as_ref(),
        }
    }
}

/// A parameter's name, and the type that is named after it.
struct Named {
    name: Ident,
    ty: TokenStream,
}

/// Returns a parameter of the event with a switch, with its slot in the lane, if it has one.
pub(crate) fn argument(registry: &Registry, param: &Param, switch: usize, slot: Option<u32>) -> Argument {
    let name = ident(&param.name);
    let named = Named { ty: quote!(named::#name), name: name.clone() };
    // The runtime itself knows the stacks of its events, which are not those of the emitter.
    if let Some(role) = param.role.filter(|_| registry.name != own::NAME) {
        return found(registry, role, switch, &named);
    }
    let number = slot.unwrap_or_default();
    let slot = Literal::u32_unsuffixed(number);
    let (max, counted) = match param.count {
        Count::One => return one(registry, param, &named, number),
        Count::Fixed(n) => (n as usize, false),
        Count::UpTo(n) => (n as usize, true),
    };
    let max = Literal::usize_unsuffixed(max);
    let array = |element: TokenStream| if counted { quote!([#element]) } else { quote!([#element; #max]) };
    if let Some(Delta { plain, bound, convert, check }) = delta(param.sort, &named) {
        let [shown, list] = [plain, bound].map(|bound| array(quote!(impl #bound + rt::core::marker::Copy)));
        return Argument {
            shown: quote!(&#shown),
            ty: quote!(&#list),
            check,
            lowered: quote!(#name),
            record_ty: quote!(&#shown),
            field: quote!(rt::Deltas::<_, _, #slot, #max, #counted>(&#name[..], #convert)),
            is_passed: true,
        };
    }
    let element = plain(registry, param.sort);
    let (list, field) = (array(element.clone()), scalar(registry, param.sort, &quote!(value)));
    let field = quote!(rt::Array::<_, _, #max, #counted>(&#name[..], |value: #element| #field));
    match counted {
        true => borrows(&named, &list, field),
        false => takes(&named, &list, Some(Lifetime::new(&format!("'__{name}"), Span::call_site())), field),
    }
}

/// Returns a parameter that the runtime finds, in the function that calls the emitter.
fn found(registry: &Registry, role: Role, switch: usize, Named { name, .. }: &Named) -> Argument {
    let (ty, switch) = (plain(registry, role.sort()), Literal::usize_unsuffixed(switch));
    let lowered = match role {
        Role::Stack => quote!(rt::stack(&REGISTRY, #switch)),
    };
    Argument {
        shown: ty.clone(),
        ty: ty.clone(),
        check: Check::Bound,
        lowered,
        record_ty: ty,
        field: scalar(registry, role.sort(), &quote!(#name)),
        is_passed: false,
    }
}

fn one(registry: &Registry, param: &Param, named: &Named, slot: u32) -> Argument {
    let max = Literal::u32_unsuffixed(param.max_len);
    let name = &named.name;
    if conversion(param.sort).is_some() {
        let (value, slot) = (rotated(param, name), delta_in(slot));
        let field = usual(param, quote!(#slot { 0: #value }));
        return if param.sort == Sort::Word { word(named, field) } else { address(named, field) };
    }
    if param.sort == Sort::String {
        return borrows(named, &quote!(str), quote!(rt::Text::<#max>(#name)));
    }
    if param.sort == Sort::Bytes {
        return borrows(named, &quote!([u8]), quote!(rt::Bytes::<#max>(#name)));
    }
    let field = usual(param, scalar(registry, param.sort, &quote!(#name)));
    takes(named, &plain(registry, param.sort), None, field)
}

/// Generates the field with the number of bytes that its values usually take.
pub(crate) fn usual(param: &Param, field: TokenStream) -> TokenStream {
    match param.usual {
        Some(bytes) => {
            let bytes = Literal::u8_unsuffixed(bytes);
            quote!(rt::Usual::<#bytes, _>(#field))
        }
        None => field,
    }
}

/// Generates the number of an address or a word as it is encoded.
pub(crate) fn rotated(param: &Param, name: &Ident) -> TokenStream {
    match param.rotation() {
        0 => quote!(#name),
        rotation => {
            let rotation = Literal::u32_unsuffixed(rotation);
            quote!(#name.rotate_right(#rotation))
        }
    }
}

/// Returns a parameter that is an unsigned number of any type.
fn word(Named { name, ty }: &Named, field: TokenStream) -> Argument {
    Argument {
        shown: quote!(impl rt::Word),
        ty: quote!(impl rt::WordFor<#ty>),
        check: Check::Bound,
        lowered: quote!(rt::Word::word(#name)),
        record_ty: quote!(u64),
        field,
        is_passed: true,
    }
}

/// Returns a parameter that is a pointer, a reference or a number.
fn address(Named { name, ty }: &Named, field: TokenStream) -> Argument {
    let (given, open) = (format_ident!("__{name}"), format_ident!("__N_{name}"));
    let check = quote!(rt::Locates<#given, #open>);
    Argument {
        shown: quote!(impl rt::Address),
        ty: quote!(#given),
        lowered: quote!(<#ty as #check>::address(#name)),
        check: Check::Given { lifetime: None, given, open: Some(open), bound: quote!(#ty: #check) },
        record_ty: quote!(u64),
        field,
        is_passed: true,
    }
}

/// Returns a parameter of the type `expected`, or of a reference to it with a lifetime.
fn takes(
    Named { name, ty }: &Named,
    expected: &TokenStream,
    lifetime: Option<Lifetime>,
    field: TokenStream,
) -> Argument {
    let given = format_ident!("__{name}");
    let shown = if lifetime.is_some() { quote!(&#expected) } else { quote!(#expected) };
    let expected = lifetime.as_ref().map_or(shown.clone(), |lifetime| quote!(&#lifetime #expected));
    let check = quote!(rt::Takes<#given, #expected, __Last>);
    Argument {
        shown: shown.clone(),
        ty: quote!(#given),
        lowered: quote!(<#ty as #check>::take(#name)),
        check: Check::Given { lifetime, given, open: None, bound: quote!(#ty: #check) },
        record_ty: shown,
        field,
        is_passed: true,
    }
}

/// Returns a parameter that is a reference to a `target`.
fn borrows(Named { name, ty }: &Named, target: &TokenStream, field: TokenStream) -> Argument {
    let given = format_ident!("__{name}");
    let check = quote!(rt::Borrows<#given, #target, __Last>);
    Argument {
        shown: quote!(&#target),
        ty: quote!(#given),
        lowered: quote!(<#ty as #check>::borrow(&#name)),
        check: Check::Given { lifetime: None, given, open: None, bound: quote!(#ty: #check) },
        record_ty: quote!(&#target),
        field,
        is_passed: true,
    }
}

/// A type that is encoded as a delta, as the element of a list.
struct Delta {
    /// The trait of its arguments, and the same for one parameter.
    plain: TokenStream,
    bound: TokenStream,
    /// Their conversion.
    convert: TokenStream,
    check: Check,
}

fn delta(sort: Sort, Named { name, ty }: &Named) -> Option<Delta> {
    let convert = conversion(sort)?;
    Some(if sort == Sort::Word {
        Delta { plain: quote!(rt::Word), bound: quote!(rt::WordFor<#ty>), convert, check: Check::Bound }
    } else {
        let open = format_ident!("__N_{name}");
        let bound = quote!(rt::AddressFor<#ty, #open>);
        Delta { plain: quote!(rt::Address), bound, convert, check: Check::Open(open) }
    })
}

/// Returns the name of the type of `Delta` for a slot.
pub(crate) fn delta_in(slot: u32) -> Ident {
    format_ident!("delta_{slot}")
}

/// Returns the conversion of an argument whose type is encoded as a delta.
pub(crate) fn conversion(sort: Sort) -> Option<TokenStream> {
    match sort {
        Sort::Pointer | Sort::Addr => Some(quote!(rt::Address::address)),
        Sort::Word => Some(quote!(rt::Word::word)),
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
            let name = ident(registry.sort_name(sort));
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
    encoded(registry, sort, &number)
}

/// Generates the field of such a value from its number.
pub(crate) fn encoded(registry: &Registry, sort: Sort, number: &TokenStream) -> TokenStream {
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
