//! Events for people, in columns: time, thread, kind, name, parameters.

use std::collections::HashMap;

use telemetry_decode::{Event, Events, KnownRegistry, RUNTIME_REGISTRY, Session, Value};
use telemetry_schema::Param;

use super::number::{grouped, hex_bytes_spaced, hex_lower, signed_decimal};
use super::{decimal, escaped, escaped_text, names};

/// Nanoseconds of almost three hours, in groups. Longer times are wider.
const TIME_WIDTH: usize = 17;
/// The system's limit for the name of a thread.
const THREAD_WIDTH: usize = 15;
const KIND_WIDTH: usize = 6;
const EVENT_WIDTH: usize = 20;

/// Appends lines, and keeps what is the same in many of them.
pub(crate) struct Printer {
    /// Several sessions (or nobody knows yet): a column says which.
    shows_session: bool,
    /// Several registries of the program: an event's name alone does not say which it is.
    shows_registry: bool,
    /// By session and thread.
    threads: HashMap<(u64, u32), ThreadColumn>,
    styles: Vec<Styles>,
    /// Index of those of the last event.
    style: usize,
}

/// Session and thread as they are printed.
struct ThreadColumn {
    /// How many threads of the session had told their names when this was made.
    known: usize,
    text: String,
}

/// The events of a registry, by index; made when first seen.
struct Styles {
    fingerprint: u64,
    events: Vec<Option<Style>>,
}

struct Style {
    /// Kind and name.
    head: Vec<u8>,
    /// What stands before and behind each value.
    params: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Printer {
    /// A printer for the sessions and registries of these events, as far as they are known before the
    /// first one.
    pub(crate) fn new(events: &Events<'_>) -> Self {
        Printer {
            shows_session: events.sessions().len() != 1,
            shows_registry: programs_registries(events.registries()).nth(1).is_some(),
            threads: HashMap::new(),
            styles: Vec::new(),
            style: 0,
        }
    }

    /// A printer for one session that has just been connected to.
    #[cfg(unix)]
    pub(crate) fn of_one_session(shows_registry: bool) -> Self {
        Printer {
            shows_session: false,
            shows_registry,
            threads: HashMap::new(),
            styles: Vec::new(),
            style: 0,
        }
    }

    /// Appends the line of an event.
    pub(crate) fn line(&mut self, out: &mut Vec<u8>, event: &Event<'_>) {
        grouped(out, event.time_ns, TIME_WIDTH);
        out.extend_from_slice(b"  ");
        out.extend_from_slice(self.thread(event).as_bytes());
        let style = self.style(event);
        out.extend_from_slice(&style.head);
        for (param, (before, behind)) in event.params().zip(&style.params) {
            out.extend_from_slice(before);
            value(out, event, &param.value);
            out.extend_from_slice(behind);
        }
        out.push(b'\n');
    }

    fn thread(&mut self, event: &Event<'_>) -> &str {
        let (key, known) = ((event.session.id, event.thread), event.session.threads.len());
        if self.threads.get(&key).is_none_or(|column| column.known != known) {
            let text = self.thread_text(event.session, event.thread);
            self.threads.insert(key, ThreadColumn { known, text });
        }
        self.threads.get(&key).map_or("", |column| &column.text)
    }

    fn thread_text(&self, session: &Session, thread: u32) -> String {
        let id = if self.shows_session { format!("{:016x}  ", session.id) } else { String::new() };
        format!("{id}{:THREAD_WIDTH$}  ", thread_name(session, thread))
    }

    fn style(&mut self, event: &Event<'_>) -> &Style {
        let fingerprint = event.registry.fingerprint;
        if self.styles.get(self.style).is_none_or(|styles| styles.fingerprint != fingerprint) {
            let found = self.styles.iter().position(|styles| styles.fingerprint == fingerprint);
            self.style = found.unwrap_or_else(|| {
                let events = event.registry.events.iter().map(|_| None).collect();
                self.styles.push(Styles { fingerprint, events });
                self.styles.len() - 1
            });
        }
        let index = event.registry.event_index(event.schema.code).unwrap_or_default();
        let shows_registry = self.shows_registry;
        self.styles[self.style].events[index].get_or_insert_with(|| Style::new(event, shows_registry))
    }
}

impl Style {
    fn new(event: &Event<'_>, shows_registry: bool) -> Style {
        let is_runtimes = event.registry.name == RUNTIME_REGISTRY;
        let shows_registry = shows_registry || is_runtimes;
        let registry = if shows_registry { format!("{}:", event.registry.name) } else { String::new() };
        let name = format!("{registry}{}", event.name());
        let kinds = event.registry.kinds.iter().map(|kind| kind.name.len());
        let kind_width = kinds.max().unwrap_or(0).max(KIND_WIDTH);
        let head = format!("{:kind_width$}  {name:EVENT_WIDTH$}", event.kind().name);
        let of_param = |param: &Param| {
            let unit = if param.unit.is_empty() { String::new() } else { format!(" {}", param.unit) };
            (format!("  {}:", param.name).into_bytes(), unit.into_bytes())
        };
        let params: Vec<_> = event.schema.params.iter().map(of_param).collect();
        let head = if params.is_empty() { head.trim_end().to_string() } else { head };
        Style { head: head.into_bytes(), params }
    }
}

/// Appends name and parameters of an event, as a line has them.
pub(crate) fn append_event(out: &mut Vec<u8>, event: &Event<'_>) {
    out.extend_from_slice(event.name().as_bytes());
    for param in event.params() {
        out.extend_from_slice(b"  ");
        out.extend_from_slice(param.schema.name.as_bytes());
        out.push(b':');
        append_value(out, event, &param);
    }
}

/// Appends a value with its unit, as a line has it.
pub(crate) fn append_value(out: &mut Vec<u8>, event: &Event<'_>, param: &telemetry_decode::Param<'_>) {
    value(out, event, &param.value);
    if !param.schema.unit.is_empty() {
        out.push(b' ');
        out.extend_from_slice(param.schema.unit.as_bytes());
    }
}

/// The registries but for the runtime's own, which is in every stream.
pub(crate) fn programs_registries(known: &[KnownRegistry]) -> impl Iterator<Item = &KnownRegistry> + Clone {
    known.iter().filter(|known| known.name != RUNTIME_REGISTRY)
}

/// The name of a thread; its number behind that where several have the name, or alone where it has none.
/// Labels are of no thread.
pub(crate) fn thread_name(session: &Session, thread: u32) -> String {
    if thread == 0 {
        return "-".to_string();
    }
    let name = session.thread_name(thread).unwrap_or_default();
    let same = session.threads.values().filter(|facts| facts.text("name") == Some(name)).count();
    let number = if name.is_empty() || same > 1 { format!("#{thread}") } else { String::new() };
    escaped_text(name) + &number
}

fn value(out: &mut Vec<u8>, event: &Event<'_>, value: &Value<'_>) {
    match *value {
        Value::Pointer(n) | Value::Addr(n) => {
            out.extend_from_slice(b"0x");
            hex_lower(out, n);
            if let Some(number) = event.name_of(n) {
                name_of(out, event, number);
            }
        }
        Value::Label(n) => match event.label(n) {
            Some(text) => quoted(out, text.as_bytes()),
            None => decimal(out, n),
        },
        Value::Word(n) | Value::Unsigned(n) => decimal(out, n),
        Value::Signed(n) => signed_decimal(out, n),
        // With an exponent where it is very large or small.
        Value::F32(x) => out.extend_from_slice(format!("{x:?}").as_bytes()),
        Value::F64(x) => out.extend_from_slice(format!("{x:?}").as_bytes()),
        Value::Bool(b) => out.extend_from_slice(if b { b"true" } else { b"false" }),
        Value::String(text) => quoted(out, text.0),
        Value::Bytes(bytes) => {
            out.push(b'[');
            hex_bytes_spaced(out, bytes);
            out.push(b']');
        }
        Value::Named(named) => names::named(out, named.number(), named.ty()),
        Value::Array(array) => {
            out.push(b'[');
            for (index, element) in array.iter().enumerate() {
                if index > 0 {
                    out.push(b' ');
                }
                self::value(out, event, &element);
            }
            out.push(b']');
        }
    }
}

/// The name of an address, of which the number of its label is known.
fn name_of(out: &mut Vec<u8>, event: &Event<'_>, number: u64) {
    out.extend_from_slice(b" [");
    match event.label(number) {
        Some(text) => escaped(out, text.as_bytes()),
        None => {
            out.extend_from_slice(b"label ");
            decimal(out, number);
        }
    }
    out.push(b']');
}

fn quoted(out: &mut Vec<u8>, text: &[u8]) {
    out.push(b'"');
    escaped(out, text);
    out.push(b'"');
}
