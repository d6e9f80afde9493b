//! The registry's docs as rustdoc shows them.

use telemetry_schema::{Clock, Event, Param, Preset, Registry, Version};

/// Returns the doc of the module.
pub(crate) fn registry(registry: &Registry) -> String {
    let Version { major, median, minor } = registry.version;
    let text =
        format!("{}\n\nRegistry `{}` {major}.{median}.{minor}.", sentence(&registry.doc), registry.name);
    if registry.presets.is_empty() {
        return text;
    }
    let list = |preset: &Preset| format!("\n- `{}`: `{}`", preset.name, preset.words);
    text + "\n\nPresets:\n" + &registry.presets.iter().map(list).collect::<String>()
}

/// Returns the doc of an emitter and of its event's struct.
pub(crate) fn event(registry: &Registry, event: &Event) -> String {
    let kind = registry.kind_of(event);
    let mut text = format!("{}\n\n", sentence(&event.doc));
    text += &format!("Event `{}`, code {:#06x}, kind `{}`", event.name, event.code, kind.name);
    if !event.always {
        text += ", compiled out of the hot variety";
    }
    if kind.clock == Clock::Inherit {
        text += ", at the time of the thread's latest event of another kind";
    }
    text += ".";
    if !event.params.is_empty() {
        text += "\n";
    }
    for param in &event.params {
        text += &format!("\n- `{}`: {}", param.name, self::param(registry, param));
    }
    text
}

/// Returns how many arguments an emitter takes, and which: two parts of an error.
pub(crate) fn arguments(registry: &Registry, event: &Event, name: &syn::Ident) -> (String, String) {
    let passed = || event.params.iter().filter(|param| param.role.is_none());
    let names: Vec<&str> = passed().map(|param| param.name.as_str()).collect();
    let takes = match names.len() {
        0 => format!("`{name}!` takes no arguments"),
        1 => format!("`{name}!` takes 1 argument"),
        count => format!("`{name}!` takes {count} arguments"),
    };
    let mut list = format!("\nhelp: write {name}!({})", names.join(", "));
    for param in passed() {
        list += &line(registry, param);
    }
    (takes, list)
}

/// Returns the error about the wrong arguments of a scope: `extra` are those of the end.
pub(crate) fn wrong_scope(
    registry: &Registry,
    (begin, end): (&Event, &Event),
    extra: &[&Param],
    name: &syn::Ident,
) -> String {
    let names = |params: &[&Param]| {
        let names: Vec<&str> = params.iter().map(|param| param.name.as_str()).collect();
        names.join(", ")
    };
    let begins: Vec<&Param> = begin.params.iter().filter(|param| param.role.is_none()).collect();
    let mut text = format!("`{name}!` takes the arguments of `{}`", begin.name);
    let mut call = names(&begins);
    if !extra.is_empty() {
        text += &format!(", and after a `;` the others of `{}`", end.name);
        call += &format!("; {}", names(extra));
    }
    text += &format!("\nhelp: write {name}!({call})");
    for param in begins.iter().chain(extra) {
        text += &line(registry, param);
    }
    text
}

/// Returns a line of an error about a parameter.
fn line(registry: &Registry, param: &Param) -> String {
    let mut line = format!("\n  {}: {}", param.name, registry.sort_text(param));
    if !param.unit.is_empty() {
        line += &format!(" ({})", param.unit);
    }
    if !param.doc.is_empty() {
        line += &format!(", {}", param.doc);
    }
    line
}

/// Returns the doc of a parameter's field of a decoded event.
pub(crate) fn field(registry: &Registry, param: &Param) -> String {
    let since = param.since.map_or(String::new(), |since| format!("; `None` in streams before {since}"));
    self::param(registry, param) + &since
}

/// Returns what an emitter's doc says about a parameter.
pub(crate) fn param(registry: &Registry, param: &Param) -> String {
    let sort = param.role.map_or_else(|| registry.sort_text(param), |role| role.name().to_string());
    let unit = if param.unit.is_empty() { String::new() } else { format!(", in {}", param.unit) };
    let align =
        if param.align > 1 { format!(", as a rule a multiple of {}", param.align) } else { String::new() };
    let counter = if param.is_counter { ", a counter" } else { "" };
    let sensitive = param.sensitive.map_or(String::new(), |sensitive| format!(", {}", sensitive.name()));
    let doc = if param.doc.is_empty() { String::new() } else { format!("{} ", param.doc) };
    format!("{doc}({sort}{unit}{counter}{align}{sensitive})")
}

/// Returns a doc as a sentence of its own.
pub(crate) fn sentence(doc: &str) -> String {
    let doc = doc.trim();
    if doc.is_empty() || doc.ends_with(['.', '!', '?']) { doc.to_owned() } else { format!("{doc}.") }
}
