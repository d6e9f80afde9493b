//! The classes of types and events, and what reads them.

use std::fmt::Write;

use telemetry_schema::{Count, Event, Param, Registry, Sort, Type, TypeForm};

use crate::text::python::{attribute, class_name, comment, docstring};

/// Returns a class of each enum and each set of flags.
pub(crate) fn types(registry: &Registry) -> String {
    registry.types.iter().map(one_type).collect()
}

fn one_type(ty: &Type) -> String {
    let base = match ty.form {
        TypeForm::Enum => "IntEnum",
        TypeForm::Flags => "IntFlag",
    };
    let mut out = format!("\n\nclass {}(_enum.{base}):\n", class_name(&ty.name));
    if !ty.doc.is_empty() {
        out += &docstring("    ", &format!("{}.", ty.doc));
        out.push('\n');
    }
    for value in &ty.values {
        if !value.doc.is_empty() {
            let _ = writeln!(out, "    #: {}", comment(&value.doc));
        }
        let _ = writeln!(out, "    {} = {}", class_name(&value.name), value.number);
    }
    out
}

/// Returns a class of each event.
pub(crate) fn events(registry: &Registry) -> String {
    registry.events.iter().map(|event| one_event(registry, event)).collect()
}

fn one_event(registry: &Registry, event: &Event) -> String {
    let name = class_name(&event.name);
    let mut out = format!("\n\n@_dataclasses.dataclass(init=False)\nclass {name}(Event):\n");
    let retired = if event.used { "" } else { " (retired)" };
    out += &docstring("    ", &format!("{}{retired}.", event.doc));
    let names = event.params.iter().map(|param| format!("\"{}\"", attribute(&param.name)));
    let names: Vec<_> = names.collect();
    let comma = if names.len() == 1 { "," } else { "" };
    let _ = writeln!(out, "\n    __slots__ = ({}{comma})", names.join(", "));
    let _ = writeln!(out, "    DESC: _t.ClassVar[EventDesc] = Event.{name}");
    for param in &event.params {
        let notes = [
            comment(&param.doc),
            if param.unit.is_empty() { String::new() } else { format!("in {}", comment(&param.unit)) },
            if param.is_counter { "a counter".to_string() } else { String::new() },
            if param.align > 1 { format!("a multiple of {}, as a rule", param.align) } else { String::new() },
            param.sensitive.map_or(String::new(), |sensitive| sensitive.name().to_string()),
            param.since.map_or(String::new(), |since| format!("absent from streams before {since}")),
        ];
        let notes: Vec<_> = notes.into_iter().filter(|note| !note.is_empty()).collect();
        if !notes.is_empty() {
            let _ = writeln!(out, "    #: {}", notes.join("; "));
        }
        let _ = writeln!(out, "    {}: {}", attribute(&param.name), annotation(registry, event, param));
    }
    out += &initializer(registry, event);
    out
}

/// Returns the function that creates an event. A dataclass would take `time_ns` and `thread`, which
/// follow from `ticks` and `lane`, and slots leave no room for its defaults.
fn initializer(registry: &Registry, event: &Event) -> String {
    // A registry from a stream may have such a parameter.
    let this = if event.params.iter().any(|param| param.name == "self") { "_self" } else { "self" };
    let mut out =
        format!("\n    def __init__(\n        {this},\n        ticks: _b.int,\n        lane: Lane,\n");
    for param in &event.params {
        let default = if param.since.is_some() { " = None" } else { "" };
        let annotation = annotation(registry, event, param);
        let _ = writeln!(out, "        {}: {annotation}{default},", attribute(&param.name));
    }
    let _ = writeln!(out, "    ) -> None:\n        {this}.ticks = ticks\n        {this}.lane = lane");
    for param in &event.params {
        let _ = writeln!(out, "        {this}.{0} = {0}", attribute(&param.name));
    }
    out
}

/// Returns the type of a parameter for a type checker.
fn annotation(registry: &Registry, event: &Event, param: &Param) -> String {
    // A parameter hides what Python has of its name.
    let builtin = |name: &str| match event.params.iter().any(|param| param.name == name) {
        true => format!("_b.{name}"),
        false => name.to_string(),
    };
    let one = match param.sort {
        Sort::Named(_) => {
            format!("_t.Union[{}, {}]", class_name(registry.sort_name(param.sort)), builtin("int"))
        }
        Sort::Label => "LabelRef".to_string(),
        Sort::F32 | Sort::F64 => builtin("float"),
        Sort::Bool => builtin("bool"),
        Sort::String => builtin("str"),
        Sort::Bytes => builtin("bytes"),
        Sort::Pointer | Sort::Addr | Sort::Word => builtin("int"),
        Sort::U8 | Sort::U16 | Sort::U32 | Sort::U64 => builtin("int"),
        Sort::I8 | Sort::I16 | Sort::I32 | Sort::I64 => builtin("int"),
    };
    let all = match param.count {
        Count::One => one,
        Count::Fixed(_) | Count::UpTo(_) => format!("{}[{one}]", builtin("list")),
    };
    let all = if param.sensitive.is_some() { format!("_t.Union[{all}, HiddenValue]") } else { all };
    if param.since.is_some() { format!("_t.Optional[{all}]") } else { all }
}

/// Returns the functions of the module.
pub(crate) fn module(registry: &Registry) -> String {
    let classes: Vec<_> = registry.events.iter().map(|event| class_name(&event.name)).collect();
    let mut types = String::new();
    for ty in &registry.types {
        let _ = writeln!(types, "        \"{}\": {},", ty.name, class_name(&ty.name));
    }
    let mut listed = String::new();
    for class in classes {
        let _ = writeln!(listed, "        {class},");
    }
    let block = |open: &str, lines: &str, close: &str| match lines.is_empty() {
        true => format!("{open}{close}"),
        false => format!("{open}\n{lines}    {close}"),
    };
    include_str!("module.py.in")
        .replace("@NAME@", &registry.name)
        .replace("@CLASSES@", &block("[", &listed, "]"))
        .replace("@TYPES@", &block("{", &types, "}"))
}
