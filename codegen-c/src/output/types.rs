//! Enums and flags.

use telemetry_schema::{Registry, Sort, Type, TypeForm};

use crate::text::comment::{block, safe, sentence};
use crate::text::names::{constant, type_name};

/// Returns the declaration of a type. In C++ it is an enum of its own in any case. In C, an enum's
/// values must be an `int`, so types with others are plain integers there, and flags too.
pub(crate) fn declaration(registry: &Registry, ty: &Type) -> String {
    let (name, repr) = (type_name(registry, ty), integer(ty.repr));
    let doc = if ty.doc.is_empty() { format!("Type {}.", ty.name) } else { sentence(&ty.doc) };
    let mut out = String::from("\n") + &block(&[doc]);
    let is_int = ty.values.iter().all(|value| i32::try_from(value.number).is_ok());
    let values = || {
        let values = ty.values.iter().map(|value| {
            let doc =
                if value.doc.is_empty() { String::new() } else { format!(" /* {} */", safe(&value.doc)) };
            format!("    {} = {},{doc}\n", constant(registry, ty, value), literal(ty.repr, value.number))
        });
        values.collect::<String>()
    };
    match ty.form {
        TypeForm::Enum if is_int => {
            out += &format!(
                "enum {name} TELEMETRY_REPR_({repr}) {{\n{}}};\ntypedef enum {name} {name};\n",
                values()
            );
        }
        _ => {
            out += &format!("#ifdef __cplusplus\nenum {name} : {repr} {{\n{}}};\n", values());
            if ty.form == TypeForm::Flags {
                out += &format!(
                    "inline {name} operator|({name} a, {name} b) {{\n    return static_cast<{name}>(static_cast<{repr}>(a) | static_cast<{repr}>(b));\n}}\n"
                );
            }
            out += &format!("#else\ntypedef {repr} {name};\n");
            for value in &ty.values {
                let number = literal(ty.repr, value.number);
                out += &format!("#define {} (({name}){number})\n", constant(registry, ty, value));
            }
            out += "#endif\n";
        }
    }
    out
}

/// Returns the integer type of C for a type of the registry.
pub(crate) fn integer(sort: Sort) -> &'static str {
    match sort {
        Sort::U8 => "uint8_t",
        Sort::U16 => "uint16_t",
        Sort::U32 => "uint32_t",
        Sort::I8 => "int8_t",
        Sort::I16 => "int16_t",
        Sort::I32 => "int32_t",
        Sort::I64 => "int64_t",
        Sort::U64 => "uint64_t",
        // No repr of a type. All of these have 64 bits at most.
        Sort::Pointer | Sort::Addr | Sort::Word | Sort::F32 | Sort::F64 | Sort::Bool => "uint64_t",
        Sort::String | Sort::Bytes | Sort::Label | Sort::Named(_) => "uint64_t",
    }
}

/// Returns a number as a literal. The smallest of 64 bits has none in C.
fn literal(repr: Sort, number: i128) -> String {
    match (repr, i32::try_from(number)) {
        (_, Ok(number)) => number.to_string(),
        (Sort::I64, _) if number == i64::MIN.into() => format!("(-INT64_C({}) - 1)", i64::MAX),
        (Sort::I8 | Sort::I16 | Sort::I32 | Sort::I64, _) => format!("INT64_C({number})"),
        _ => format!("UINT64_C({number})"),
    }
}
