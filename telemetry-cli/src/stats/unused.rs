//! What never occurs, as text and JSON.

use serde::Serialize;
use telemetry_report::stats::{Switched, Unused, UnusedEvent, UnusedValue};

use crate::input::remedy;
use crate::input::verdict::Verdict;
use crate::text::table::Table;
use crate::text::{escaped_text, signed_grouped};

/// All that the command shows; docs/json.md describes the JSON form.
#[derive(Serialize)]
pub(crate) struct UnusedStats<'a> {
    version: u32,
    events: Vec<OfEvent<'a>>,
    values: Vec<OfValue<'a>>,
    completeness: &'a Verdict,
}

#[derive(Serialize)]
struct OfEvent<'a> {
    event: &'a str,
    code: u16,
    kind: &'a str,
    registry: &'a str,
    retired: bool,
    switches: Vec<OfSwitch>,
}

#[derive(Serialize)]
struct OfSwitch {
    session: String,
    on: bool,
    since_ns: i64,
}

#[derive(Serialize)]
struct OfValue<'a> {
    #[serde(rename = "type")]
    ty: &'a str,
    value: &'a str,
    number: i128,
    flag: bool,
    registry: &'a str,
}

impl<'a> UnusedStats<'a> {
    pub(crate) fn new(unused: &'a Unused, completeness: &'a Verdict) -> UnusedStats<'a> {
        let event = |event: &'a UnusedEvent| OfEvent {
            event: &event.event,
            code: event.code,
            kind: &event.kind,
            registry: &event.registry,
            retired: event.is_retired,
            switches: event.switches.iter().map(OfSwitch::new).collect(),
        };
        let value = |value: &'a UnusedValue| OfValue {
            ty: &value.ty,
            value: &value.value,
            number: value.number,
            flag: value.is_flag,
            registry: &value.registry,
        };
        UnusedStats {
            version: 1,
            events: unused.events.iter().map(event).collect(),
            values: unused.values.iter().map(value).collect(),
            completeness,
        }
    }

    pub(crate) fn append_text(&self, out: &mut Vec<u8>) {
        if self.events.is_empty() && self.values.is_empty() {
            out.extend_from_slice(b"every event and every value of the registries occurs\n");
        }
        if !self.events.is_empty() {
            let mut table = Table::new(4, &["event that never occurs", "kind", "registry", "switch"]);
            for event in &self.events {
                table.row(
                    [event.event, event.kind, event.registry]
                        .map(escaped_text)
                        .into_iter()
                        .chain([event.switch()]),
                );
            }
            table.append(out, 0);
        }
        if !self.values.is_empty() {
            let separator: &[u8] = if self.events.is_empty() { b"" } else { b"\n" };
            out.extend_from_slice(separator);
            let mut table = Table::new(3, &["value that never occurs", "of", "registry", "number"]);
            for value in &self.values {
                let of = if value.flag { "flags" } else { "enum" };
                let name = format!("{}.{}", value.ty, value.value);
                table.row([
                    escaped_text(&name),
                    of.to_string(),
                    escaped_text(value.registry),
                    value.number.to_string(),
                ]);
            }
            table.append(out, 0);
        }
        remedy::append(out, self.completeness);
    }
}

impl OfEvent<'_> {
    /// Says why the event does not occur, as far as the streams tell.
    fn switch(&self) -> String {
        if self.retired {
            return "retired".to_string();
        }
        match &self.switches[..] {
            [] => "-".to_string(),
            [one] => format!("{} since {} ns", one.word(), signed_grouped(one.since_ns)),
            all => {
                let on = all.iter().filter(|switch| switch.on).count();
                format!("on in {on} of {} sessions that changed it", all.len())
            }
        }
    }
}

impl OfSwitch {
    fn new(switched: &Switched) -> OfSwitch {
        let Switched { session, is_on, since_ns } = *switched;
        OfSwitch { session: format!("{session:016x}"), on: is_on, since_ns }
    }

    fn word(&self) -> &'static str {
        if self.on { "on" } else { "off" }
    }
}
