//! The emitters: for each event a macro, the typed function behind it, and the library's function.
#![warn(clippy::wildcard_enum_match_arm)]

use telemetry_schema::{Clock, Count, CounterForm, CounterPer, Event, Param, Registry, Role, Sort};

use crate::output::types::integer;
use crate::text::comment::{block, sentence};
use crate::text::names;

/// Returns the declarations of the switches: a bit for each event, and a byte for each message.
pub(crate) fn switches(registry: &Registry) -> String {
    let used = registry.events.iter().filter(|event| event.used).count();
    let mut out =
        block(&["The switches. A linker that does not find the symbol has a library of another version \
        of the registry: generate this header again."
            .to_owned()]);
    out += &format!("extern const unsigned char {}[{}];\n", registry.mask_symbol(), used.div_ceil(8).max(1));
    for message in &registry.messages {
        out += &format!("extern const unsigned char {}[1];\n", registry.message_symbol(message));
    }
    out
}

/// Returns everything of one event, whose switch is the given bit.
pub(crate) fn emitter(registry: &Registry, event: &Event, index: usize, bit: usize) -> String {
    let all: Vec<Parameter> = event.params.iter().map(|param| parameter(registry, event, param)).collect();
    let (name, typed) = (names::emitter(registry, event), names::typed(registry, event));
    let symbol = registry.emitter_symbol(event);
    let parts = |part: fn(&Parameter) -> &Vec<String>| -> Vec<&str> {
        all.iter().flat_map(|param| part(param).iter().map(String::as_str)).collect()
    };
    let list = |declared: Vec<&str>| match declared.is_empty() {
        true => "void".to_owned(),
        false => format!("\n    {}", declared.join(",\n    ")),
    };
    let (raw, taken) = (list(parts(|param| &param.raw)), list(parts(|param| &param.taken)));
    let passed = parts(|param| &param.passed).join(", ");
    let macro_params = parts(|param| &param.names).join(", ");
    let mut checked = parts(|param| &param.checked).join(", \\\n    ");
    if !checked.is_empty() {
        checked = format!(" \\\n    {checked}");
    }
    let test = format!("TELEMETRY_TEST_({}[{}], 0x{:02x})", registry.mask_symbol(), bit / 8, 1 << (bit % 8));
    let always = if event.always { "TELEMETRY_HOT_" } else { "TELEMETRY_COOL_" };
    let test = match registry.message_of(index) {
        Some((message, _)) => {
            let wanted = format!("TELEMETRY_TEST_({}[0], 0xff)", registry.message_symbol(message));
            format!("({always}({test}) \\\n    || {wanted})")
        }
        None => format!("{always}({test})"),
    };
    format!(
        "\n{}#define {name}({macro_params}) \\\n  ({test} \\\n  ? {typed}({checked}) : (void)0)\n\
         void {symbol}({raw});\n\
         static inline void {typed}({taken}) {{\n    {symbol}({passed});\n}}\n",
        doc(registry, event)
    )
}

/// Returns the functions of a counter, whose samples are an event.
pub(crate) fn counter(registry: &Registry, event: &Event, form: CounterForm, per: CounterPer) -> String {
    let (name, symbol) = (names::emitter(registry, event), registry.emitter_symbol(event));
    let (ty, what) = match form {
        CounterForm::Monotonic => ("uint64_t", "counter"),
        CounterForm::Gauge => ("int64_t", "gauge"),
    };
    let of = if per == CounterPer::Thread { " of each thread" } else { "" };
    let unit = event.params.last().map(|value| value.unit.as_str()).filter(|unit| !unit.is_empty());
    let unit = unit.map_or(String::new(), |unit| format!(", in {unit}"));
    let kind = registry.kind_of(event);
    let mut out = String::from("\n");
    out += &block(&[
        sentence(&event.doc),
        String::new(),
        format!(
            "A {what}{of}{unit}. Its samples are events {}, code {:#06x}, kind {}.",
            event.name, event.code, kind.name
        ),
    ]);
    let mut function = |part: &str, ret: &str, takes: &str, call: &str| {
        let returns = if ret == "void" { "" } else { "return " };
        out += &format!(
            "{ret} {symbol}__{part}({takes});\nstatic inline {ret} {name}_{part}({takes}) {{\n    \
             {returns}{symbol}__{part}({call});\n}}\n"
        );
    };
    function("add", "void", &format!("{ty} number"), "number");
    if form == CounterForm::Gauge {
        function("set", "void", &format!("{ty} value"), "value");
    }
    function("value", ty, "void", "");
    out
}

/// Returns the comment of an event.
fn doc(registry: &Registry, event: &Event) -> String {
    let kind = registry.kind_of(event);
    let mut about = format!("Event {}, code {:#06x}, kind {}", event.name, event.code, kind.name);
    if !event.always {
        about += ", compiled out of the hot variety";
    }
    if kind.clock == Clock::Inherit {
        about += ", at the time of the thread's latest event of another kind";
    }
    let mut paragraphs = vec![sentence(&event.doc), String::new(), about + "."];
    paragraphs.extend(event.params.iter().map(|param| {
        let (name, len) = names::param(event, param);
        let unit = if param.unit.is_empty() { String::new() } else { format!(", in {}", param.unit) };
        let max = match (param.max(), &len) {
            (Some(max), Some(len)) => format!(", {len} is at most {max}"),
            _ => String::new(),
        };
        let counter = if param.is_counter { ", a counter" } else { "" };
        let sensitive = param.sensitive.map_or(String::new(), |sensitive| format!(", {}", sensitive.name()));
        let sort = match param.role {
            Some(Role::Stack) => "stack, not an argument".to_owned(),
            None => registry.sort_text(param),
        };
        format!("  {name}: {} ({sort}{unit}{counter}{max}{sensitive})", param.doc)
    }));
    block(&paragraphs)
}

/// A parameter in C.
struct Parameter {
    /// In the library's function.
    raw: Vec<String>,
    /// In the typed function.
    taken: Vec<String>,
    /// From the typed function to the library's.
    passed: Vec<String>,
    /// In the macro.
    names: Vec<String>,
    /// From the macro to the typed function.
    checked: Vec<String>,
}

fn parameter(registry: &Registry, event: &Event, param: &Param) -> Parameter {
    let (name, len) = names::param(event, param);
    if param.role == Some(Role::Stack) {
        return stack(event, &name);
    }
    let one = value(registry, param.sort);
    let pointer =
        |item: &str| if item.ends_with('*') { format!("{item}const *") } else { format!("const {item} *") };
    let (raw, taken, passed, checked) = match (param.count, param.sort) {
        (Count::One, _) => {
            let checked = one.check.replace("{}", &name);
            (declared(&one.raw, &name), declared(&one.taken, &name), one.pass.replace("{}", &name), checked)
        }
        _ => {
            let (raw, item) =
                (declared(&pointer(&one.item_raw), &name), declared(&pointer(&one.item), &name));
            let passed = if matches!(param.sort, Sort::Named(_)) {
                format!("(const {} *){name}", one.item_raw)
            } else {
                name.clone()
            };
            (raw, item, passed, format!("TELEMETRY_POINTER_({name})"))
        }
    };
    let mut all = Parameter {
        raw: vec![raw],
        taken: vec![taken],
        passed: vec![passed],
        names: vec![name],
        checked: vec![checked],
    };
    if let Some(len) = len {
        all.raw.push(format!("size_t {len}"));
        all.taken.push(format!("size_t {len}"));
        all.checked.push(format!("TELEMETRY_INTEGER_(size_t, {len})"));
        all.passed.push(len.clone());
        all.names.push(len);
    }
    all
}

/// Returns a call stack. The caller does not pass it: the typed function finds where it is.
fn stack(event: &Event, name: &str) -> Parameter {
    let frame = names::beside(event, name, "frame");
    Parameter {
        raw: vec![format!("const void *{name}"), format!("const void *{frame}")],
        taken: Vec::new(),
        passed: vec!["telemetry_code_()".to_owned(), "TELEMETRY_FRAME_()".to_owned()],
        names: Vec::new(),
        checked: Vec::new(),
    }
}

fn declared(ty: &str, name: &str) -> String {
    if ty.ends_with('*') { format!("{ty}{name}") } else { format!("{ty} {name}") }
}

/// A value of a type in C. `{}` stands for it.
struct Value {
    raw: String,
    taken: String,
    pass: &'static str,
    check: String,
    /// As an element of an array, in the library's function and in the typed one.
    item_raw: String,
    item: String,
}

fn value(registry: &Registry, sort: Sort) -> Value {
    let plain = |ty: &str, check: String| Value {
        raw: ty.to_owned(),
        taken: ty.to_owned(),
        pass: "{}",
        check,
        item_raw: ty.to_owned(),
        item: ty.to_owned(),
    };
    match sort {
        Sort::Pointer | Sort::Addr => Value {
            raw: "const void *".to_owned(),
            taken: "const volatile void *".to_owned(),
            pass: "(const void *){}",
            check: "TELEMETRY_POINTER_({})".to_owned(),
            item_raw: "void *".to_owned(),
            item: "void *".to_owned(),
        },
        Sort::Word | Sort::U8 | Sort::U16 | Sort::U32 | Sort::U64 => integer_value(sort, plain),
        Sort::I8 | Sort::I16 | Sort::I32 | Sort::I64 => integer_value(sort, plain),
        Sort::F32 => plain("float", "TELEMETRY_REAL_(float, {})".to_owned()),
        Sort::F64 => plain("double", "TELEMETRY_REAL_(double, {})".to_owned()),
        Sort::Bool => Value {
            raw: "uint8_t".to_owned(),
            pass: "(uint8_t){}",
            ..plain("bool", "TELEMETRY_BOOL_({})".to_owned())
        },
        Sort::String => plain("const char *", "TELEMETRY_POINTER_({})".to_owned()),
        Sort::Bytes => plain("const void *", "TELEMETRY_POINTER_({})".to_owned()),
        Sort::Label => Value {
            raw: "uint64_t".to_owned(),
            pass: "{}.number",
            ..plain("telemetry_label_t", "{}".to_owned())
        },
        Sort::Named(index) => {
            let ty = &registry.types[index];
            let (name, repr) = (names::type_name(registry, ty), integer(ty.repr));
            let pass = match ty.repr {
                Sort::U8 => "(uint8_t){}",
                Sort::U16 => "(uint16_t){}",
                Sort::U32 => "(uint32_t){}",
                Sort::I8 => "(int8_t){}",
                Sort::I16 => "(int16_t){}",
                Sort::I32 => "(int32_t){}",
                Sort::I64 => "(int64_t){}",
                Sort::Pointer | Sort::Addr | Sort::Word | Sort::U64 | Sort::F32 | Sort::F64 => "(uint64_t){}",
                Sort::Bool | Sort::String | Sort::Bytes | Sort::Label | Sort::Named(_) => "(uint64_t){}",
            };
            Value {
                raw: repr.to_owned(),
                taken: name.clone(),
                pass,
                check: "TELEMETRY_NAMED_({})".to_owned(),
                item_raw: repr.to_owned(),
                item: format!("TELEMETRY_ITEM_({name}, {repr})"),
            }
        }
    }
}

fn integer_value(sort: Sort, plain: impl Fn(&str, String) -> Value) -> Value {
    let ty = integer(sort);
    plain(ty, format!("TELEMETRY_INTEGER_({ty}, {{}})"))
}
