//! Events for people, in columns: time, thread, kind, name, parameters.

use telemetry_decode::names::{Numbers, RUNTIME_REGISTRY};
use telemetry_decode::{AddressName, Event, Events, KnownRegistry, Session, Value};
use telemetry_schema::{Count, Param, Sort};

use super::message::{self, Part};
use super::names;
use super::number::decimal;
use super::number::{grouped, hex_bytes_spaced, hex_lower, signed_decimal};
use super::quoted::{escaped, escaped_text};
use telemetry_report::figures::keyed::{PerEvent, PerThread};

/// Nanoseconds of almost three hours, in groups. Longer times are wider.
const TIME_WIDTH: usize = 17;
/// The system's limit for names of threads.
const THREAD_WIDTH: usize = 15;
const KIND_WIDTH: usize = 6;
const EVENT_WIDTH: usize = 20;

/// Escape sequences of colors that are readable on any background.
const PLAIN: &str = "\x1b[0m";
const FAINT: &str = "\x1b[2m";
const BOLD: &str = "\x1b[1m";
/// Colors by bit of the kind, repeated: cyan, green, yellow, magenta, blue, red.
const KINDS: [&str; 6] = ["\x1b[36m", "\x1b[32m", "\x1b[33m", "\x1b[35m", "\x1b[34m", "\x1b[31m"];

/// Appends lines, and caches their common parts.
pub(crate) struct Printer {
    /// Adds a column for the session, since there are several or their number is not known yet.
    shows_session: bool,
    /// Adds the registry, since several of the program's registries may have an event of one name.
    shows_registry: bool,
    is_colored: bool,
    /// The time of the last event, and its column. Events that inherit their times have the same.
    time: (i64, Vec<u8>),
    /// Session and thread as text.
    threads: PerThread<Vec<u8>>,
    styles: PerEvent<Style>,
}

/// The parts that are the same in all events of a code.
struct Style {
    /// Kind, name, and the text before the first value.
    head: Vec<u8>,
    /// By parameter: its form, and the text behind its value. The last has the message that the
    /// event posts.
    params: Vec<(Form, Vec<u8>)>,
}

/// How the value of a parameter is taken. A single number is taken by its bits: copies of a whole
/// `Value` took a seventh of the time.
#[derive(Clone, Copy)]
enum Form {
    Pointer,
    Addr,
    Unsigned,
    Other,
}

impl Printer {
    /// Makes a printer for the sessions and registries that are known before the first event.
    pub(crate) fn new(events: &Events<'_>, is_colored: bool) -> Self {
        let shows_session = events.sessions().len() != 1;
        let shows_registry = programs_registries(events.registries()).nth(1).is_some();
        Printer::with(shows_session, shows_registry, is_colored)
    }

    /// Makes a printer for sessions that are not known yet.
    pub(crate) fn of_any_session(is_colored: bool) -> Self {
        Printer::with(true, false, is_colored)
    }

    /// Makes a printer for one session that has just been connected to.
    #[cfg(unix)]
    pub(crate) fn of_one_session(shows_registry: bool, is_colored: bool) -> Self {
        Printer::with(false, shows_registry, is_colored)
    }

    fn with(shows_session: bool, shows_registry: bool, is_colored: bool) -> Self {
        let (threads, styles) = (PerThread::default(), PerEvent::default());
        Printer { shows_session, shows_registry, is_colored, time: (0, Vec::new()), threads, styles }
    }

    /// Makes a printer of the same columns, for another thread.
    pub(crate) fn another(&self) -> Printer {
        Printer::with(self.shows_session, self.shows_registry, self.is_colored)
    }

    /// Appends the line of an event.
    pub(crate) fn line(&mut self, out: &mut Vec<u8>, event: &Event<'_>) {
        let (time_ns, column) = &mut self.time;
        if *time_ns != event.time_ns() || column.is_empty() {
            *time_ns = event.time_ns();
            column.clear();
            if self.is_colored {
                column.extend_from_slice(FAINT.as_bytes());
            }
            grouped(column, *time_ns, TIME_WIDTH);
        }
        out.extend_from_slice(column);
        let (shows_session, is_colored) = (self.shows_session, self.is_colored);
        let thread = self.threads.get(event, |event| thread_column(event, shows_session, is_colored));
        out.extend_from_slice(thread);
        let shows_registry = self.shows_registry;
        let style = self.styles.get(event, |event| Style::new(event, shows_registry, is_colored));
        out.extend_from_slice(&style.head);
        for (index, (bits, (form, behind))) in event.bits().zip(&style.params).enumerate() {
            let numbers = event.numbers(index);
            match form {
                Form::Pointer => value(out, event, numbers, &Value::Pointer(bits)),
                Form::Addr => value(out, event, numbers, &Value::Addr(bits)),
                Form::Unsigned => value(out, event, numbers, &Value::Unsigned(bits)),
                Form::Other => {
                    if let Some(other) = event.value(index) {
                        value(out, event, numbers, &other);
                    }
                }
            }
            out.extend_from_slice(behind);
        }
    }
}

/// Returns the columns of session and thread.
fn thread_column(event: &Event<'_>, shows_session: bool, is_colored: bool) -> Vec<u8> {
    let id = if shows_session { format!("{:016x}  ", event.session().id) } else { String::new() };
    let end = if is_colored { PLAIN } else { "" };
    format!("  {id}{:THREAD_WIDTH$}{end}  ", thread_name(event.session(), event.thread())).into_bytes()
}

impl Style {
    fn new(event: &Event<'_>, shows_registry: bool, is_colored: bool) -> Style {
        let paint = |code: &'static str| if is_colored { code } else { "" };
        let (plain, faint, bold) = (paint(PLAIN), paint(FAINT), paint(BOLD));
        let of_kind = paint(KINDS[usize::from(event.kind().bit) % KINDS.len()]);
        let is_runtimes = event.registry().name == RUNTIME_REGISTRY;
        let shows_registry = shows_registry || is_runtimes;
        let registry = if shows_registry { format!("{}:", event.registry().name) } else { String::new() };
        let name = format!("{registry}{}", event.name());
        let kinds = event.registry().kinds.iter().map(|kind| kind.name.len());
        let kind_width = kinds.max().unwrap_or(0).max(KIND_WIDTH);
        let kind = &event.kind().name;
        let name_width = if event.schema().params.is_empty() { 0 } else { EVENT_WIDTH };
        let head = format!("{of_kind}{kind:kind_width$}{plain}  {bold}{name:name_width$}{plain}");
        let of_param = |param: &Param| {
            let unit = match param.unit.as_str() {
                "" => String::new(),
                unit => format!("{faint} {unit}{plain}"),
            };
            (format!("  {faint}{}:{plain}", param.name), unit)
        };
        let tail = message(event).map_or(String::new(), |text| format!("  {faint}({text}){plain}"));
        let mut texts = vec![head];
        for param in &event.schema().params {
            let (before, behind) = of_param(param);
            texts.last_mut().into_iter().for_each(|text| text.push_str(&before));
            texts.push(behind);
        }
        texts.last_mut().into_iter().for_each(|text| *text += &format!("{tail}\n"));
        let mut texts = texts.into_iter().map(String::into_bytes);
        let head = texts.next().unwrap_or_default();
        Style { head, params: event.schema().params.iter().map(Form::of).zip(texts).collect() }
    }
}

impl Form {
    fn of(param: &Param) -> Form {
        match param.sort {
            _ if param.count != Count::One => Form::Other,
            Sort::Pointer => Form::Pointer,
            Sort::Addr => Form::Addr,
            Sort::Word | Sort::U8 | Sort::U16 | Sort::U32 | Sort::U64 => Form::Unsigned,
            Sort::I8 | Sort::I16 | Sort::I32 | Sort::I64 | Sort::F32 | Sort::F64 => Form::Other,
            Sort::Bool | Sort::String | Sort::Bytes | Sort::Label | Sort::Named(_) => Form::Other,
        }
    }
}

/// Returns the message that an event posts, and whether the event begins or ends it.
fn message(event: &Event<'_>) -> Option<String> {
    let (name, part) = message::of(event)?;
    Some(match part {
        Part::Begin => format!("begin of message {name}"),
        Part::End => format!("end of message {name}"),
        Part::Whole => format!("message {name}"),
    })
}

/// Appends name and parameters of an event, as in a line.
pub(crate) fn append_event(out: &mut Vec<u8>, event: &Event<'_>) {
    out.extend_from_slice(event.name().as_bytes());
    for (index, param) in event.params().enumerate() {
        out.extend_from_slice(b"  ");
        out.extend_from_slice(param.schema.name.as_bytes());
        out.push(b':');
        append_value(out, event, index, &param);
    }
}

/// Appends one parameter's value with its unit, as in a line.
pub(crate) fn append_value(
    out: &mut Vec<u8>,
    event: &Event<'_>,
    index: usize,
    param: &telemetry_decode::Param<'_>,
) {
    value(out, event, event.numbers(index), &param.value);
    if !param.schema.unit.is_empty() {
        out.push(b' ');
        out.extend_from_slice(param.schema.unit.as_bytes());
    }
}

/// Returns the registries except the runtime's own, which is in every stream.
pub(crate) fn programs_registries(known: &[KnownRegistry]) -> impl Iterator<Item = &KnownRegistry> + Clone {
    known.iter().filter(|known| known.registry.name != RUNTIME_REGISTRY)
}

/// Returns the name of a thread. Its number follows if several threads have the name, and stands
/// alone if the thread has none. Labels have no thread.
pub(crate) fn thread_name(session: &Session, thread: u32) -> String {
    if thread == 0 {
        return "-".to_string();
    }
    let name = session.thread_name(thread).unwrap_or_default();
    let is_number_needed = name.is_empty() || session.is_thread_name_shared(name);
    let number = if is_number_needed { format!("#{thread}") } else { String::new() };
    escaped_text(name) + &number
}

fn value(out: &mut Vec<u8>, event: &Event<'_>, numbers: Option<Numbers>, value: &Value<'_>) {
    match *value {
        Value::Pointer(n) | Value::Addr(n) => {
            out.extend_from_slice(b"0x");
            hex_lower(out, n);
            if let Some(name) = event.name_of_value(value) {
                name_of(out, name);
            }
        }
        Value::Label(n) => match event.label(n) {
            Some(text) => quoted(out, text.as_bytes()),
            None => decimal(out, n),
        },
        Value::Word(n) | Value::Unsigned(n) => {
            decimal(out, n);
            if let Some(text) = numbers.and_then(|numbers| event.string_of(numbers, value)) {
                name_of(out, AddressName::Text(text));
            }
        }
        Value::Signed(n) => signed_decimal(out, n),
        // Very large and very small numbers have an exponent.
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
                self::value(out, event, numbers, &element);
            }
            out.push(b']');
        }
    }
}

/// Appends the name of an address, or the number of the label that is its name.
fn name_of(out: &mut Vec<u8>, name: AddressName<'_>) {
    out.extend_from_slice(b" [");
    if let Some(text) = name.text() {
        escaped(out, text.as_bytes());
    } else if let Some(number) = name.number() {
        out.extend_from_slice(b"label ");
        decimal(out, number);
    }
    out.push(b']');
}

fn quoted(out: &mut Vec<u8>, text: &[u8]) {
    out.push(b'"');
    escaped(out, text);
    out.push(b'"');
}
