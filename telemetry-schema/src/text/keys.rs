//! The keys of every table of an `events.toml`, in the order in which the canonical form writes
//! them.

/// Of the file.
pub const FILE: &[&str] =
    &["registry", "kinds", "presets", "types", "event", "counter", "span", "message", "rule", "allow"];

/// Of `[registry]`.
pub const REGISTRY: &[&str] = &["name", "version", "doc"];

/// Of `version`.
pub const VERSION: &[&str] = &["major", "median", "minor"];

/// Of a kind.
pub const KIND: &[&str] = &["bit", "doc", "clock", "priority", "network"];

/// Of a type.
pub const TYPE: &[&str] = &["repr", "flags", "doc", "values"];

/// Of a value of a type, if it is not just a number.
pub const VALUE: &[&str] = &["value", "doc"];

/// Of an event.
pub const EVENT: &[&str] = &[
    "name", "code", "always", "used", "kind", "doc", "replay", "range", "census", "tracing", "time",
    "counter", "limit", "sample", "params",
];

/// Of the mark `replay`.
pub const REPLAY: &[&str] = &["action", "old", "pointer", "size", "align"];

/// Of the mark `range`.
pub const RANGE: &[&str] =
    &["begin", "end", "move", "key", "base", "size", "limit", "from", "moves", "owner"];

/// Of the mark `census`.
pub const CENSUS: &[&str] = &["begin", "row", "end", "class", "value"];

/// Of the mark `tracing`.
pub const TRACING: &[&str] = &["target", "name", "at"];

/// Of the mark `counter` of an event.
pub const EVENT_COUNTER: &[&str] = &["form", "per"];

/// Of the limit of an event.
pub const LIMIT: &[&str] = &["per_second", "burst"];

/// Of the sample of an event.
pub const SAMPLE: &[&str] = &["one_in", "by"];

/// Of a counter.
pub const COUNTER: &[&str] = &["name", "code", "used", "kind", "form", "per", "unit", "doc"];

/// Of a parameter.
pub const PARAM: &[&str] = &[
    "name",
    "sort",
    "type",
    "max",
    "align",
    "usual",
    "unit",
    "counter",
    "names",
    "numbers",
    "role",
    "sensitive",
    "since",
    "doc",
];

/// Of a span.
pub const SPAN: &[&str] = &["name", "begin", "end", "key", "named_by", "pause", "doc"];

/// Of a message.
pub const MESSAGE: &[&str] = &["name", "begin", "end", "key", "limit", "doc"];

/// Of a rule.
pub const RULE: &[&str] =
    &["name", "after", "comes", "within", "never", "at_most", "open", "by", "per", "doc"];

/// Of an allow.
pub const ALLOW: &[&str] =
    &["change", "event", "param", "kind", "preset", "type", "value", "span", "message", "reason"];
