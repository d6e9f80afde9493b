//! Rules about events.

use std::collections::HashMap;
use std::ops::Range;

use toml::Spanned;
use toml::de::DeTable;

use crate::check::codes::Codes;
use crate::check::context::Check;
use crate::check::fields::{Fields, integer};
use crate::check::kinds::Kinds;
use crate::check::names::Style;
use crate::check::types::Types;
use crate::check::{counters, limits, marks, params, replay, time, tracing};
use crate::model::census::CensusStep;
use crate::model::range::RangeAction;
use crate::model::registry::{Event, Registry};
use crate::text::diagnostic::quote;
use crate::text::keys;
use crate::text::limits::MAX_EVENT_LEN;

/// The events ordered by code.
pub(super) struct Events {
    pub(super) rows: Vec<Row>,
    pub(super) index: HashMap<String, usize>,
    /// False if an event or its name is invalid: then unknown events are not reported.
    pub(super) sound: bool,
}

/// An event, and whether the types and sizes of its parameters are valid.
pub(super) struct Row {
    pub(super) event: Event,
    pub(super) sound: bool,
}

/// Checks `[[event]]`, and `[[counter]]`, whose samples are events.
pub(super) fn events(cx: &mut Check, file: &Fields, kinds: &mut Kinds, types: &mut Types) -> Events {
    let (tables, sound) = file.tables(cx, "event");
    let mut events = Events { rows: Vec::with_capacity(tables.len()), index: HashMap::new(), sound };
    let all = tables.iter().map(|table| *table.get_ref()).chain(file.any_tables("counter"));
    let all: Vec<_> = all.collect();
    let codes = || all.iter().filter_map(|table| table.get("code"));
    let numbers = codes().filter_map(|code| integer(code.get_ref()));
    let hexadecimal = codes().any(|code| cx.text.get(code.span()).is_some_and(|text| text.starts_with("0x")));
    let mut codes = Codes::new(numbers, hexadecimal);
    let mut seen = tracing::Marks::new();
    let measure = Registry { types: types.list.clone(), ..Registry::default() };
    for table in &tables {
        let text = table.get_ref().get("name").and_then(|name| name.get_ref().as_str());
        let what = text.map_or("an event".to_string(), |name| format!("event {}", quote(name)));
        let fields = Fields::new(cx, what, table.span(), table.get_ref(), keys::EVENT);
        let name = fields.need_text(cx, "name");
        let spelled = name.as_ref().is_some_and(|name| cx.spelling("event", name, Style::Camel));
        events.sound &= spelled;
        if let Some(name) = name.as_ref().filter(|_| spelled) {
            cx.emitter(name);
            cx.claim("event", name);
        }
        let code = codes.of_event(cx, &fields);
        let (params, sound) = params::params(cx, &fields, types);
        let event = Event {
            name: name.as_ref().map_or(String::new(), |name| name.get_ref().to_string()),
            code,
            always: fields.flag(cx, "always", true),
            used: fields.flag(cx, "used", true),
            kind: kinds.of_event(cx, &fields),
            doc: fields.need_doc(cx),
            replay: replay::replay(cx, &fields, &params, sound),
            range: marks::range(cx, &fields, &params, sound),
            census: marks::census(cx, &fields, &params, sound),
            tracing: tracing::tracing(cx, &fields, &params, sound, &mut seen),
            time: time::time(cx, &fields, &params, sound),
            counter: counters::mark(cx, &fields, &params, sound),
            limit: limits::limit(cx, &fields, &params, sound),
            params,
        };
        if sound {
            let place = name.map_or(fields.span.clone(), |name| name.span());
            size(cx, &fields, &event, &measure, place);
        }
        events.rows.push(Row { event, sound });
    }
    begun(cx, &tables, &events);
    let (counters, sound) = counters::counters(cx, file, kinds, &mut codes);
    events.sound &= sound;
    events.rows.extend(counters.into_iter().map(|event| Row { event, sound: true }));
    events.rows.sort_by_key(|row| row.event.code);
    let rows = events.rows.iter().enumerate();
    events.index = rows.map(|(index, row)| (row.event.name.clone(), index)).collect();
    events
}

/// Checks that what goes on, moves or ends in the marks of events also begins.
fn begun(cx: &mut Check, tables: &[Spanned<&DeTable>], events: &Events) {
    if !events.sound || !cx.diags.is_empty() {
        return;
    }
    let all = || events.rows.iter().map(|row| &row.event);
    let ranges = all().filter_map(|event| event.range.as_ref());
    let ranges = ranges.filter(|range| range.action == RangeAction::Begin).map(|range| range.what.as_str());
    let ranges: Vec<&str> = ranges.collect();
    let censuses = all().filter_map(|event| event.census.as_ref());
    let censuses =
        censuses.filter(|census| census.step == CensusStep::Begin).map(|census| census.what.as_str());
    let censuses: Vec<&str> = censuses.collect();
    for (table, row) in tables.iter().zip(&events.rows) {
        let what = format!("event {}", quote(&row.event.name));
        let fields = Fields::new(cx, what, table.span(), table.get_ref(), keys::EVENT);
        if let Some(range) = &row.event.range {
            marks::begun(cx, &fields, "range", &range.what, &ranges);
        }
        if let Some(census) = &row.event.census {
            marks::begun(cx, &fields, "census", &census.what, &censuses);
        }
    }
}

/// Checks that an event fits a block.
fn size(cx: &mut Check, fields: &Fields, event: &Event, measure: &Registry, place: Range<usize>) {
    let len = event.max_len(measure);
    if len <= MAX_EVENT_LEN {
        return;
    }
    let message = format!("{} takes up to {len} bytes, expected at most {MAX_EVENT_LEN}", fields.what);
    let diagnostic = cx.diags.error(place, message);
    if let Some(largest) = event.params.iter().max_by_key(|param| *param.wire_len(measure).end()) {
        let len = *largest.wire_len(measure).end();
        diagnostic.help(format!("{} alone takes up to {len}: make it shorter", quote(&largest.name)));
    }
}
