//! The registry as the runtime knows it: constant data, by which a process decodes its own events.
#![warn(clippy::wildcard_enum_match_arm)]

use proc_macro2::{Literal, TokenStream};
use quote::quote;
use telemetry_schema::{Clock, Count, Event, Param, ProgramHead, Registry, Slots, Sort, Type, TypeForm};

use crate::parts::names::ident;

/// Generates the module of the `RegistryDef` of a registry. Names that occur a thousand times are
/// short.
pub(crate) fn definition(registry: &Registry, slots: &Slots) -> TokenStream {
    let (name, text) = (&registry.name, registry.for_program());
    let head = ProgramHead::LEN;
    let version = [registry.version.major, registry.version.median, registry.version.minor];
    let fingerprint = registry.fingerprint();
    let kinds = registry.kinds.iter().enumerate().map(|(index, kind)| {
        let (name, bit, range) = (&kind.name, kind.bit, slots.of_kind(index));
        let (start, end) = (range.start as usize, range.end as usize);
        let inherits = kind.clock == Clock::Inherit;
        quote!(Kind { name: #name, bit: #bit, inherits: #inherits, slots: #start..#end })
    });
    let types = registry.types.iter().map(type_);
    let presets = registry.presets.iter().map(|preset| {
        let has = |event: &&Event| event.used && registry.has(preset, event);
        let codes = registry.events.iter().filter(has).map(|event| Literal::u16_unsuffixed(event.code));
        let name = &preset.name;
        quote!(Preset { name: #name, events: &[#(#codes),*] })
    });
    // Retired events have no emitters, and so no bits.
    let events = registry.events.iter().enumerate().filter(|(_, event)| event.used).map(|(index, event)| {
        let (name, code, kind) = (&event.name, Literal::u16_unsuffixed(event.code), event.kind as u8);
        let params = event.params.iter().enumerate();
        let params = params.map(|(at, param)| self::param(registry, param, slots.number(index, at)));
        quote!(EventInfo { name: #name, code: #code, kind: #kind, params: &[#(#params),*] })
    });
    quote! {
        /// The registry as the runtime needs it.
        mod definition {
            use super::rt::{Encoding, EventInfo, Kind, ParamInfo, Preset, RegistryDef, Sort, TypeInfo};

            pub(super) const DEFINITION: RegistryDef = RegistryDef {
                name: #name,
                version: [#(#version),*],
                fingerprint: #fingerprint,
                // `telemetry registry` finds the text in a program by its head.
                text: #text.split_at(#head).1,
                kinds: &[#(#kinds),*],
                presets: &[#(#presets),*],
                types: &[#(#types),*],
                events: &[#(#events),*],
            };
        }
    }
}

/// Generates what the runtime needs to know of a registry with sensitive parameters: the kinds that
/// do not leave the host, and whether the strings of labels do not.
pub(crate) fn local(registry: &Registry) -> Option<TokenStream> {
    let (kinds, labels) = (registry.withheld_kinds(), registry.withholds_labels());
    (kinds != 0).then(|| {
        let kinds = Literal::u64_unsuffixed(kinds);
        quote!(.with_local(#kinds, #labels))
    })
}

fn type_(ty: &Type) -> TokenStream {
    let is_flags = ty.form == TypeForm::Flags;
    let values = ty.values.iter().map(|value| {
        let (name, number) = (&value.name, Literal::i128_unsuffixed(value.number));
        quote!((#number, #name))
    });
    quote!(TypeInfo { is_flags: #is_flags, values: &[#(#values),*] })
}

fn param(registry: &Registry, param: &Param, slot: Option<u32>) -> TokenStream {
    let (name, unit) = (&param.name, &param.unit);
    let slot = Literal::u32_unsuffixed(slot.unwrap_or_default());
    let encoding = ident(&format!("{:?}", registry.encoding(param.sort)));
    let one = match param.sort {
        Sort::Pointer | Sort::Addr => quote!(Sort::Address(#slot)),
        Sort::Word => quote!(Sort::Word(#slot)),
        Sort::String => quote!(Sort::String),
        Sort::Bytes => quote!(Sort::Bytes),
        Sort::Named(ty) => {
            let ty = Literal::usize_unsuffixed(ty);
            quote!(Sort::Named(Encoding::#encoding, #ty))
        }
        Sort::U8 | Sort::U16 | Sort::U32 | Sort::U64 | Sort::Label => {
            quote!(Sort::Number(Encoding::#encoding))
        }
        Sort::I8 | Sort::I16 | Sort::I32 | Sort::I64 => quote!(Sort::Number(Encoding::#encoding)),
        Sort::F32 | Sort::F64 | Sort::Bool => quote!(Sort::Number(Encoding::#encoding)),
    };
    let sort = match param.count {
        Count::One if param.align > 1 => {
            let rotation = Literal::u32_unsuffixed(param.rotation());
            quote!(Sort::Aligned(&#one, #rotation))
        }
        Count::One => one,
        Count::Fixed(n) => {
            let n = Literal::u32_unsuffixed(n);
            quote!(Sort::Fixed(&#one, #n))
        }
        Count::UpTo(_) => quote!(Sort::Counted(&#one)),
    };
    quote!(ParamInfo(#name, #unit, #sort))
}
