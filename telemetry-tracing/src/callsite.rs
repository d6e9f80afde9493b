//! The labels of a call site: a place in the source that makes spans or events.

use std::cell::Cell;
use std::collections::HashMap;
use std::ptr;
use std::sync::{PoisonError, RwLock};

use telemetry::Label;
use tracing_core::field::Field;
use tracing_core::{Level, Metadata};

use crate::events;
use crate::mapped::Mapped;

/// What is known of a call site. It is made once, and kept to the end of the process, as the call
/// site itself is.
pub(crate) struct Callsite {
    pub(crate) name: Label,
    pub(crate) target: Label,
    pub(crate) site: Label,
    pub(crate) level: events::Level,
    /// The events of other registries that it becomes.
    pub(crate) mapped: Option<Mapped>,
    fields: Vec<Label>,
    /// The index of the field `message`.
    message: Option<usize>,
}

/// The call sites so far, by the address of their metadata.
static ALL: RwLock<Option<HashMap<usize, &'static Callsite>>> = RwLock::new(None);

/// How many call sites a thread finds without a lock. Others take the place of those.
const NEAR: usize = 64;

/// A call site beside the address of its metadata.
type Entry = Cell<(usize, Option<&'static Callsite>)>;

thread_local! {
    static NEAREST: [Entry; NEAR] = const { [const { Cell::new((0, None)) }; NEAR] };
}

impl Callsite {
    /// Returns the call site with this metadata.
    pub(crate) fn of(metadata: &'static Metadata<'static>) -> &'static Callsite {
        let address = ptr::from_ref(metadata).addr();
        NEAREST.with(|near| {
            // Metadata takes more than 64 bytes.
            let entry = &near[address / 64 % NEAR];
            match entry.get() {
                (found, Some(callsite)) if found == address => callsite,
                _ => {
                    let callsite = find(address).unwrap_or_else(|| add(address, metadata));
                    entry.set((address, Some(callsite)));
                    callsite
                }
            }
        })
    }

    /// Returns the label of a field's name.
    pub(crate) fn field(&self, field: &Field) -> Label {
        self.fields[field.index()]
    }

    /// Returns true if the field is the text of an event.
    pub(crate) fn is_message(&self, field: &Field) -> bool {
        self.message == Some(field.index())
    }

    /// Returns true if an event has a text.
    pub(crate) fn has_message(&self) -> bool {
        self.message.is_some()
    }

    /// Returns true if an event has more than a text.
    pub(crate) fn has_fields(&self) -> bool {
        self.fields.len() > usize::from(self.message.is_some())
    }

    fn new(metadata: &Metadata<'_>) -> Callsite {
        let site = match (metadata.file(), metadata.line()) {
            (Some(file), Some(line)) => telemetry::intern(&format!("{file}:{line}")),
            (Some(file), None) => telemetry::intern(file),
            (None, _) => Label::NONE,
        };
        let message = metadata.fields().field("message").filter(|_| metadata.is_event());
        let message = message.map(|field| field.index());
        let field = |field: Field| match message == Some(field.index()) {
            true => Label::NONE,
            false => telemetry::intern(field.name()),
        };
        Callsite {
            // An event is named after its file and line.
            name: if metadata.is_span() { telemetry::intern(metadata.name()) } else { Label::NONE },
            target: telemetry::intern(metadata.target()),
            site,
            level: level(*metadata.level()),
            mapped: Mapped::of(metadata),
            fields: metadata.fields().iter().map(field).collect(),
            message,
        }
    }
}

fn find(address: usize) -> Option<&'static Callsite> {
    let all = ALL.read().unwrap_or_else(PoisonError::into_inner);
    all.as_ref()?.get(&address).copied()
}

fn add(address: usize, metadata: &Metadata<'_>) -> &'static Callsite {
    let mut all = ALL.write().unwrap_or_else(PoisonError::into_inner);
    // Another thread may have been faster.
    all.get_or_insert_default().entry(address).or_insert_with(|| Box::leak(Box::new(Callsite::new(metadata))))
}

fn level(level: Level) -> events::Level {
    match level {
        Level::ERROR => events::Level::Error,
        Level::WARN => events::Level::Warn,
        Level::INFO => events::Level::Info,
        Level::DEBUG => events::Level::Debug,
        Level::TRACE => events::Level::Trace,
    }
}
