//! Names in C: those of events, types and values begin with that of their registry.

use std::collections::BTreeMap;
use std::fmt;

use telemetry_schema::{Count, Event, Param, Registry, Type, TypeValue, snake_case};

/// Two things that would have one name in C.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clash {
    name: String,
    first: String,
    second: String,
}

impl fmt::Display for Clash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Clash { name, first, second } = self;
        write!(f, "{first} and {second} both have the name `{name}` in C; help: rename one of them")
    }
}

impl std::error::Error for Clash {}

/// Returns the name of an event's macro: `cache_lookup_start`.
pub(crate) fn emitter(registry: &Registry, event: &Event) -> String {
    format!("{}_{}", registry.name, snake_case(&event.name))
}

/// Returns the name of the typed function behind the macro.
pub(crate) fn typed(registry: &Registry, event: &Event) -> String {
    emitter(registry, event) + "_"
}

/// Returns the name of a type: `cache_why`.
pub(crate) fn type_name(registry: &Registry, ty: &Type) -> String {
    format!("{}_{}", registry.name, snake_case(&ty.name))
}

/// Returns the name of a value of a type: `CACHE_WHY_FULL`.
pub(crate) fn constant(registry: &Registry, ty: &Type, value: &TypeValue) -> String {
    format!("{}_{}", type_name(registry, ty), snake_case(&value.name)).to_uppercase()
}

/// Returns the name of a parameter, and that of its length if it has one.
pub(crate) fn param(event: &Event, param: &Param) -> (String, Option<String>) {
    let free = |name: String| free(event, name);
    let name =
        if WORDS.contains(&param.name.as_str()) { free(param.name.clone()) } else { param.name.clone() };
    let has_length = param.sort.is_run() || matches!(param.count, Count::UpTo(_));
    (name, has_length.then(|| free(format!("{}_len", param.name))))
}

/// Returns the name of another argument of a parameter.
pub(crate) fn beside(event: &Event, name: &str, what: &str) -> String {
    free(event, format!("{name}_{what}"))
}

/// Returns a name that no parameter of the event has.
fn free(event: &Event, mut name: String) -> String {
    while event.params.iter().any(|param| param.name == name) || WORDS.contains(&name.as_str()) {
        name.push('_');
    }
    name
}

/// Checks that all names are different, of all registries of one library.
pub(crate) fn check(registries: &[&Registry]) -> Result<(), Clash> {
    let mut names: BTreeMap<String, String> = BTreeMap::new();
    let mut add = |name: String, what: String| match names.insert(name.clone(), what.clone()) {
        Some(first) => Err(Clash { name, first, second: what }),
        None => Ok(()),
    };
    for registry in registries {
        let of = &registry.name;
        add(format!("<{of}.h>"), format!("registry {of}"))?;
        for event in registry.events.iter().filter(|event| event.used) {
            if event.counter.is_some() {
                for part in ["add", "set", "value"] {
                    add(
                        format!("{}_{part}", emitter(registry, event)),
                        format!("counter {of}:{}", event.name),
                    )?;
                }
                continue;
            }
            let what = format!("event {of}:{}", event.name);
            add(emitter(registry, event), what.clone())?;
            add(typed(registry, event), what)?;
        }
        for ty in &registry.types {
            add(type_name(registry, ty), format!("type {of}:{}", ty.name))?;
            for value in &ty.values {
                add(constant(registry, ty, value), format!("value {of}:{}.{}", ty.name, value.name))?;
            }
        }
    }
    Ok(())
}

/// Words that no parameter can be named in C and C++: keywords, and macros that compilers and
/// usual headers define.
#[rustfmt::skip]
const WORDS: &[&str] = &[
    "alignas", "alignof", "and", "and_eq", "asm", "auto", "bitand", "bitor", "bool", "break", "case", "catch", "char",
    "class", "compl", "complex", "concept", "const", "const_cast", "consteval", "constexpr", "constinit", "continue",
    "decltype", "default", "delete", "do", "double", "dynamic_cast", "else", "enum", "errno", "explicit", "export",
    "extern", "false", "far", "float", "for", "friend", "goto", "if", "imaginary", "inline", "int", "linux", "long",
    "mutable", "namespace", "near", "new", "noexcept", "not", "not_eq", "nullptr", "operator", "or", "or_eq",
    "private", "protected", "public", "register", "reinterpret_cast", "requires", "restrict", "return", "short",
    "signed", "size_t", "sizeof", "static", "static_assert", "static_cast", "stderr", "stdin", "stdout", "struct", "switch",
    "template", "this", "thread_local", "throw", "true", "try", "typedef", "typeid", "typename", "typeof", "union",
    "int16_t", "int32_t", "int64_t", "int8_t", "uint16_t", "uint32_t", "uint64_t", "uint8_t", "unix", "unsigned", "using", "virtual", "void", "volatile", "wchar_t", "while", "xor", "xor_eq",
];
