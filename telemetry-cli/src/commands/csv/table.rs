//! The columns of tables, and what all lines of an event type share.

use std::collections::HashMap;

use telemetry_columns::layout::{Layout, Slot};
use telemetry_decode::Event;
use telemetry_schema::{self as schema, Count, Sort, Type};

/// Columns that every event has.
const COMMON: [&str; 8] =
    ["time_ns", "time", "session", "thread", "thread_name", "registry", "kind", "event"];

/// The tables of a run.
#[derive(Default)]
pub(super) struct Tables {
    /// The columns of parameters, after those that all events have, by table.
    layouts: Vec<Layout<()>>,
    /// Tables by fingerprint and code of their events.
    by_event: HashMap<(u64, u16), usize>,
    /// All events are in the first table.
    is_one: bool,
}

/// What is the same in all lines of an event type.
pub(super) struct Style {
    /// Index of the table.
    pub(super) table: usize,
    /// Registry, kind and event as fields.
    pub(super) head: Vec<u8>,
    /// The parameters that have a column, in the order of the columns.
    pub(super) fields: Vec<Field>,
    /// The commas of the columns behind, and the end of the line.
    pub(super) tail: Vec<u8>,
}

/// A parameter in a line.
pub(super) struct Field {
    /// The commas before it.
    pub(super) commas: Vec<u8>,
    /// Index of the parameter.
    pub(super) param: usize,
    /// The type of a single number, with its names.
    pub(super) number: Option<(Sort, Option<Type>)>,
}

impl Tables {
    /// Makes one table for all events, with the parameters of these.
    pub(super) fn one<'e>(events: impl IntoIterator<Item = &'e schema::Event>) -> Tables {
        let mut tables = Tables { is_one: true, ..Tables::default() };
        tables.add(events);
        tables
    }

    /// Adds a table with the parameters of all of these events.
    fn add<'e>(&mut self, events: impl IntoIterator<Item = &'e schema::Event>) -> usize {
        let mut layout = Layout::default();
        for param in events.into_iter().flat_map(|event| &event.params) {
            // Text has no types, so parameters of one name share a column.
            layout.column(&param.name, &column(param), (), "");
        }
        self.layouts.push(layout);
        self.layouts.len() - 1
    }

    /// Adds a table for events with these fingerprints.
    pub(super) fn add_of<'e>(&mut self, events: impl IntoIterator<Item = (u64, &'e schema::Event)> + Clone) {
        let table = self.add(events.clone().into_iter().map(|(_, event)| event));
        self.by_event.extend(events.into_iter().map(|(of, event)| ((of, event.code), table)));
    }

    /// Appends the first line of a table.
    pub(super) fn append_head(&self, table: usize, out: &mut Vec<u8>) {
        let columns = self.layouts[table].slots().iter().map(|slot| slot.name.as_str());
        let columns: Vec<_> = COMMON.into_iter().chain(columns).collect();
        out.extend_from_slice(columns.join(",").as_bytes());
        out.push(b'\n');
    }

    /// Returns the style of an event. Only events that the filter accepts have a table.
    pub(super) fn style(&self, event: &Event<'_>) -> Option<Style> {
        let key = (event.known_registry().fingerprint, event.schema().code);
        let table = if self.is_one { 0 } else { *self.by_event.get(&key)? };
        Some(Style::new(event, table, self.layouts[table].slots()))
    }
}

/// Returns the name of a parameter's column.
fn column(param: &schema::Param) -> String {
    // Parameters have no point in their names.
    if COMMON.contains(&param.name.as_str()) { format!("param.{}", param.name) } else { param.name.clone() }
}

impl Style {
    fn new(event: &Event<'_>, table: usize, slots: &[Slot<()>]) -> Style {
        let head = format!(",{},{},{}", event.registry().name, event.kind().name, event.name());
        let params = &event.schema().params;
        let (mut fields, mut commas) = (Vec::new(), Vec::new());
        for slot in slots {
            commas.push(b',');
            if let Some(param) = params.iter().position(|param| param.name == slot.param) {
                let number = number(event, &params[param]);
                fields.push(Field { commas: std::mem::take(&mut commas), param, number });
            }
        }
        commas.push(b'\n');
        Style { table, head: head.into_bytes(), fields, tail: commas }
    }
}

/// Returns the type of a parameter whose bits are all that its text needs.
fn number(event: &Event<'_>, param: &schema::Param) -> Option<(Sort, Option<Type>)> {
    let is_number = !matches!(param.sort, Sort::String | Sort::Bytes | Sort::Label);
    let ty = || event.registry().ty(param.sort).cloned();
    (is_number && param.count == Count::One).then(|| (param.sort, ty()))
}
