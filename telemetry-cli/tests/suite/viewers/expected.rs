//! What a viewer has to show, from the commands `print`, `stats` and `spans`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value as Json;
use telemetry_schema::{Registry, TypeForm};

use crate::run::Folder;

/// Names and texts of the arguments of a slice or instant.
pub(super) type Arguments = Vec<(String, String)>;

/// The contents of a stream.
pub(super) struct Expected {
    /// Number of spans, and sum of their nanoseconds, by name.
    pub(super) spans: BTreeMap<String, (u64, i64)>,
    /// Number of begins without an end, by name.
    pub(super) open: BTreeMap<String, u64>,
    /// Number of events of types that do not end spans, by name.
    pub(super) counts: BTreeMap<String, u64>,
    /// These events with their time and arguments, ordered.
    pub(super) instants: Vec<(String, String, Arguments)>,
    /// The arguments of events that only begin one type of span, by the name of the span.
    pub(super) begins: Vec<(String, Arguments)>,
    /// Names of spans whose begins have no other part.
    pub(super) simple: BTreeSet<String>,
}

pub(super) fn expected(folder: &Folder, file: &str, registry: Option<&Registry>) -> Expected {
    let json = |args: &str| -> Json {
        let run = folder.run(args);
        serde_json::from_slice(&run.stdout).unwrap_or_else(|why| panic!("{args}: {why}: {}", run.stderr))
    };
    let (mut spans, mut open) = (BTreeMap::new(), BTreeMap::new());
    for span in json(&format!("spans --json {file}"))["spans"].as_array().unwrap() {
        let name = span["span"].as_str().unwrap().to_string();
        let of: &mut (u64, i64) = spans.entry(name.clone()).or_default();
        of.0 += span["duration_ns"]["count"].as_u64().unwrap_or(0);
        of.1 += span["total_ns"].as_i64().unwrap_or(0);
        *open.entry(name).or_default() += span["begins_without_end"].as_u64().unwrap();
    }
    spans.retain(|_, of| of.0 > 0);
    open.retain(|_, of| *of > 0);
    let Some(registry) = registry else {
        let (counts, instants) = (BTreeMap::new(), Vec::new());
        return Expected { spans, open, counts, instants, begins: Vec::new(), simple: BTreeSet::new() };
    };
    let roles = Roles::new(registry);
    let mut counts = BTreeMap::new();
    for event in json(&format!("stats --json {file}"))["events"].as_array().unwrap() {
        let (name, of) = (event["event"].as_str().unwrap(), event["registry"].as_str().unwrap());
        if of == registry.name && !roles.has(name) {
            *counts.entry(name.to_string()).or_default() += event["count"].as_u64().unwrap();
        }
    }
    let (mut instants, mut begins) = (Vec::new(), Vec::new());
    for line in String::from_utf8(folder.run(&format!("print --json {file}")).stdout).unwrap().lines() {
        let event: Json = serde_json::from_str(line).unwrap();
        let name = event["event"].as_str().unwrap();
        if event["registry"] != registry.name.as_str() {
            continue;
        }
        let time = nanoseconds(event["time"].as_str().unwrap()).to_string();
        match roles.simple_begin(name) {
            Some(span) => begins.push((span.to_string(), arguments(&event, registry))),
            None if !roles.has(name) => instants.push((name.to_string(), time, arguments(&event, registry))),
            None => {}
        }
    }
    instants.sort();
    begins.sort();
    let simple = roles.simple.values().cloned().collect();
    Expected { spans, open, counts, instants, begins, simple }
}

/// The parts of events in spans.
struct Roles {
    all: BTreeSet<String>,
    /// The span that an event begins, if it does nothing else.
    simple: BTreeMap<String, String>,
}

impl Roles {
    fn new(registry: &Registry) -> Roles {
        let spans = registry.spans.iter().map(|span| (&span.name, span.begin, span.end));
        let pairs =
            registry.messages.iter().filter_map(|message| Some((&message.name, message.begin, message.end?)));
        let pairs = pairs.filter(|(_, begin, end)| {
            !registry.spans.iter().any(|span| (span.begin, span.end) == (*begin, *end))
        });
        let spans: Vec<_> = spans.chain(pairs).collect();
        let name = |index: usize| registry.events[index].name.clone();
        let uses = |of: usize| spans.iter().filter(|(_, begin, end)| *begin == of || *end == of).count();
        let named = |of: &str| spans.iter().filter(|(name, ..)| *name == of).count();
        let simple = spans.iter().filter(|(span, begin, _)| uses(*begin) == 1 && named(span) == 1);
        Roles {
            all: spans.iter().flat_map(|(_, begin, end)| [name(*begin), name(*end)]).collect(),
            simple: simple.map(|(span, begin, _)| (name(*begin), span.to_string())).collect(),
        }
    }

    fn has(&self, event: &str) -> bool {
        self.all.contains(event)
    }

    fn simple_begin(&self, event: &str) -> Option<&str> {
        self.simple.get(event).map(String::as_str)
    }
}

/// Returns the arguments of an event that `print --json` printed, ordered.
fn arguments(event: &Json, registry: &Registry) -> Arguments {
    let schema = registry.events.iter().find(|schema| event["event"] == schema.name.as_str()).unwrap();
    let mut all = Vec::new();
    for param in &schema.params {
        let (name, value) = (param.name.clone(), &event["params"][&param.name]);
        match registry.ty(param.sort) {
            Some(ty) if ty.form == TypeForm::Flags => {
                let flags: Vec<_> =
                    value.as_array().unwrap().iter().map(|flag| flag.as_str().unwrap()).collect();
                all.push((name, if flags.is_empty() { "0".to_string() } else { flags.join("|") }));
            }
            _ => add(&mut all, name, value, &event["strings"][&param.name], &event["names"]),
        }
    }
    all.sort();
    all
}

fn add(all: &mut Arguments, name: String, value: &Json, text: &Json, names: &Json) {
    let text = match (value, text) {
        (_, Json::String(text)) => text.clone(),
        (Json::Array(values), texts) => {
            for (index, value) in values.iter().enumerate() {
                add(all, format!("{name}[{index}]"), value, &texts[index], names);
            }
            return;
        }
        (Json::String(value), _) => match names[value].as_str() {
            Some(name) => format!("{value} {name}"),
            None if ["NaN", "Infinity", "-Infinity"].contains(&value.as_str()) => "not finite".to_string(),
            None => value.clone(),
        },
        (Json::Number(number), _) => match (number.as_i64(), number.as_u64()) {
            (None, None) => float(number.as_f64().unwrap()),
            (Some(number), _) => number.to_string(),
            (None, Some(number)) => (number as i64).to_string(),
        },
        (value, _) => value.to_string(),
    };
    // The reader's SQL ends texts at a NUL.
    let text = text.split('\0').next().unwrap_or_default().to_string();
    all.push((name, text));
}

/// Returns a float as text that is the same for `f32` and `f64`, and for both zeros.
pub(super) fn float(x: f64) -> String {
    format!("{:.6e}", x + 0.0)
}

/// Returns the nanoseconds since 1970 of a time in UTC.
pub(super) fn nanoseconds(time: &str) -> i64 {
    let part = |range: std::ops::Range<usize>| time[range].parse::<i64>().unwrap();
    let (year, month, day) = (part(0..4), part(5..7), part(8..10));
    // Days from 1 March of year 0.
    let (shifted, months) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * shifted + shifted / 4 - shifted / 100 + shifted / 400 + (153 * months + 2) / 5 + day - 1;
    let seconds = (days - 719_468) * 86_400 + part(11..13) * 3600 + part(14..16) * 60 + part(17..19);
    seconds * 1_000_000_000 + part(20..29)
}
