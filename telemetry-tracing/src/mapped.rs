//! Spans and events that become events of the program's own registries.

use std::error::Error;
use std::fmt::{self, Debug, Display};
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError, RwLock};

use telemetry::__private::mapped::Value;
use tracing_core::Metadata;
use tracing_core::field::{Field, Visit};

use crate::text::Text;

/// An event of a registry with the mark `tracing`. The module of the registry has them all, as
/// `TRACING`.
pub use telemetry::__private::mapped::Mapping;

/// The reason why a layer cannot make events of spans: two events are made of the same one.
#[derive(Debug)]
pub struct MappingError(&'static Mapping, &'static Mapping);

impl Display for MappingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let MappingError(first, second) = self;
        let Mapping { target, name, .. } = first;
        write!(
            f,
            "event `{}` of registry `{}` and event `{}` of registry `{}` are both made of `{name}` of \
             target `{target}`, expected one of them\nhelp: give the mark `tracing` of one another name",
            first.event, first.registry, second.event, second.registry
        )
    }
}

impl Error for MappingError {}

/// All marks of the process.
static ALL: RwLock<Vec<&'static Mapping>> = RwLock::new(Vec::new());

/// True if there is any, so that programs without marks do not lock.
static IS_ANY: AtomicBool = AtomicBool::new(false);

/// What did not fit, in the order in which it was found.
static MISMATCHES: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// The most mismatches that are reported. There is one for each call site at most.
const MAX_MISMATCHES: usize = 1000;

/// Adds marks, or none of them.
pub(crate) fn add(mappings: &mut dyn Iterator<Item = &'static Mapping>) -> Result<(), MappingError> {
    let mut all = ALL.write().unwrap_or_else(PoisonError::into_inner);
    let before = all.len();
    for mapping in mappings {
        let key = |mapping: &Mapping| (mapping.target, mapping.name, mapping.at_close);
        let is_same = |other: &Mapping| (other.registry, other.event) == (mapping.registry, mapping.event);
        IS_ANY.store(true, Ordering::Relaxed);
        match all.iter().find(|other| key(other) == key(mapping)) {
            None => all.push(mapping),
            // A program may make its layer several times.
            Some(other) if is_same(other) => {}
            Some(other) => {
                let error = MappingError(other, mapping);
                all.truncate(before);
                return Err(error);
            }
        }
    }
    Ok(())
}

/// Returns true if a call site has a mark whose event is on.
pub(crate) fn is_on(metadata: &Metadata<'_>) -> bool {
    if !IS_ANY.load(Ordering::Relaxed) {
        return false;
    }
    let all = ALL.read().unwrap_or_else(PoisonError::into_inner);
    all.iter().any(|mapping| is_of(mapping, metadata) && (mapping.is_on)())
}

/// Returns what did not fit so far: call sites without a field that a parameter of their event
/// needs, and values of another type. What they say is recorded by the registry `tracing` instead.
///
/// Each text is also written to standard error. A test of a program can check that there is none.
#[must_use]
pub fn mismatches() -> Vec<String> {
    MISMATCHES.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// The events that a call site becomes.
pub(crate) struct Mapped {
    pub(crate) new: Option<Target>,
    pub(crate) close: Option<Target>,
}

/// An event, and where the values of its parameters come from.
pub(crate) struct Target {
    mapping: &'static Mapping,
    sources: Vec<Source>,
}

/// The source of a parameter's value.
#[derive(Clone, Copy)]
enum Source {
    /// The field with this index.
    Field(usize),
    /// The number of the span. Of an event, that of the span around it.
    Span,
    /// The number of the span around the span.
    Parent,
}

impl Mapped {
    /// Returns the events that a call site becomes; none if it has no mark, or does not fit it.
    pub(crate) fn of(metadata: &Metadata<'_>) -> Option<Mapped> {
        let all = ALL.read().unwrap_or_else(PoisonError::into_inner);
        let find = |at_close| {
            let is_it = |mapping: &&&Mapping| is_of(mapping, metadata) && mapping.at_close == at_close;
            all.iter().find(is_it).map(|mapping| Target::of(mapping, metadata)).transpose()
        };
        let mapped = find(false).and_then(|new| {
            let close = if metadata.is_span() { find(true)? } else { None };
            Ok(Mapped { new, close })
        });
        match mapped {
            Ok(Mapped { new: None, close: None }) => None,
            Ok(mapped) => Some(mapped),
            Err(text) => {
                report(&text);
                None
            }
        }
    }
}

impl Target {
    /// The error is the text of the mismatch.
    fn of(mapping: &'static Mapping, metadata: &Metadata<'_>) -> Result<Target, String> {
        let fields = metadata.fields();
        let source = |&(name, ty): &(&str, &str)| match (fields.field(name), name, ty) {
            (Some(field), ..) => Ok(Source::Field(field.index())),
            (None, "span", "u64") => Ok(Source::Span),
            (None, "parent", "u64") if metadata.is_span() => Ok(Source::Parent),
            (None, ..) => {
                let fields: Vec<_> = fields.iter().map(|field| format!("`{}`", field.name())).collect();
                let found = if fields.is_empty() { "no field".to_string() } else { fields.join(", ") };
                let what = format!("found {found}, expected the field `{name}`");
                Err(mismatch(mapping, metadata, &what))
            }
        };
        let sources = mapping.params.iter().map(source).collect::<Result<_, _>>()?;
        Ok(Target { mapping, sources })
    }

    /// Returns true if the event is on.
    pub(crate) fn is_on(&self) -> bool {
        (self.mapping.is_on)()
    }

    /// Emits the event. A value that does not fit is reported, and false is returned.
    pub(crate) fn emit(&self, metadata: &Metadata<'_>, values: &Values, span: u64, parent: u64) -> bool {
        let all: Vec<Value<'_>> =
            self.sources.iter().map(|source| values.get(*source, span, parent)).collect();
        let Err(index) = (self.mapping.emit)(&all) else { return true };
        let (name, ty) = self.mapping.params[index];
        let found = match all[index] {
            Value::None => "no value".to_string(),
            Value::Integer(number) => number.to_string(),
            Value::Float(number) => format!("{number:?}"),
            Value::Bool(value) => value.to_string(),
            Value::Text(text) => format!("{text:?}"),
        };
        let what = format!("found {found} in the field `{name}`, expected a value of type `{ty}`");
        report(&mismatch(self.mapping, metadata, &what));
        false
    }
}

fn is_of(mapping: &Mapping, metadata: &Metadata<'_>) -> bool {
    mapping.name == metadata.name() && mapping.target == metadata.target()
}

fn mismatch(mapping: &Mapping, metadata: &Metadata<'_>, what: &str) -> String {
    let Mapping { registry, event, target, name, .. } = mapping;
    let form = if metadata.is_span() { "span" } else { "event" };
    let place = match (metadata.file(), metadata.line()) {
        (Some(file), Some(line)) => format!(", {file}:{line}"),
        _ => String::new(),
    };
    format!(
        "the {form} `{name}` of target `{target}` does not fit event `{event}` of registry `{registry}`: \
         {what}{place}"
    )
}

/// Reports a mismatch. The same one is reported once.
fn report(text: &str) {
    let mut all = MISMATCHES.lock().unwrap_or_else(PoisonError::into_inner);
    if all.len() < MAX_MISMATCHES && !all.iter().any(|other| other == text) {
        all.push(text.to_string());
        drop(all);
        // `eprintln!` would panic if standard error is closed.
        let _ = writeln!(io::stderr(), "telemetry-tracing: {text}");
    }
}

/// The values of the fields of a span or event, by the index of the field.
#[derive(Default)]
pub(crate) struct Values(Vec<Kept>);

enum Kept {
    None,
    Integer(i128),
    Float(f64),
    Bool(bool),
    Text(String),
}

impl Values {
    fn get(&self, source: Source, span: u64, parent: u64) -> Value<'_> {
        match source {
            Source::Span => Value::Integer(span.into()),
            Source::Parent => Value::Integer(parent.into()),
            Source::Field(index) => match self.0.get(index) {
                None | Some(Kept::None) => Value::None,
                Some(Kept::Integer(number)) => Value::Integer(*number),
                Some(Kept::Float(number)) => Value::Float(*number),
                Some(Kept::Bool(value)) => Value::Bool(*value),
                Some(Kept::Text(text)) => Value::Text(text),
            },
        }
    }

    /// Returns the values of what records itself.
    pub(crate) fn of(record: impl FnOnce(&mut Values)) -> Values {
        let mut values = Values::default();
        record(&mut values);
        values
    }

    /// Takes the values that are given again, or for the first time.
    pub(crate) fn update(&mut self, later: Values) {
        for (index, value) in later.0.into_iter().enumerate() {
            match (value, self.0.get_mut(index)) {
                (Kept::None, _) => {}
                (value, Some(old)) => *old = value,
                (value, None) => {
                    self.0.resize_with(index, || Kept::None);
                    self.0.push(value);
                }
            }
        }
    }

    fn set(&mut self, field: &Field, value: Kept) {
        if self.0.len() <= field.index() {
            self.0.resize_with(field.index() + 1, || Kept::None);
        }
        self.0[field.index()] = value;
    }
}

impl Visit for Values {
    fn record_u64(&mut self, field: &Field, value: u64) {
        self.set(field, Kept::Integer(value.into()));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.set(field, Kept::Integer(value.into()));
    }

    fn record_i128(&mut self, field: &Field, value: i128) {
        self.set(field, Kept::Integer(value));
    }

    fn record_u128(&mut self, field: &Field, value: u128) {
        match i128::try_from(value) {
            Ok(value) => self.set(field, Kept::Integer(value)),
            Err(_) => self.record_debug(field, &value),
        }
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.set(field, Kept::Float(value));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.set(field, Kept::Bool(value));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.record_debug(field, &format_args!("{value}"));
    }

    fn record_error(&mut self, field: &Field, value: &(dyn Error + 'static)) {
        self.record_debug(field, &format_args!("{value}"));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.set(field, Kept::Text(Text::of_any(value).to_string()));
    }
}
