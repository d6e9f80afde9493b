//! Writes the events of a part again, with other values for sensitive parameters.

use std::collections::HashMap;

use telemetry_format::Header;
use telemetry_schema::{NameBy, Named, Param, Registry, Sensitive, Slots, Sort};

use super::how::{New, Scrub};
use super::labels::{Labels, LaneKey, Next, lane_key, resume};
use crate::decode::walk::{Walk, walk};
use crate::registry::known_registry::KnownRegistry;
use crate::registry::param_value::value;
use crate::values::raw::Raw;
use crate::values::value::Value;
use crate::write::pack;

/// A registry, with what is sensitive in it.
pub(super) struct Marked {
    /// With the marks that follow from others.
    pub(super) registry: Registry,
    slots: Slots,
    /// The bits of kinds whose events are written again.
    kinds: u64,
    /// The bits of kinds with a parameter that stands for labels.
    pub(super) label_kinds: u64,
}

/// The state of a lane between parts of a block.
struct Open {
    walk: Walk,
    /// Slots of the written events.
    slots: Vec<u64>,
    /// Bytes of the block that were written.
    written: u32,
}

/// The lanes whose blocks are written in parts.
#[derive(Default)]
pub(super) struct Parts {
    lanes: HashMap<LaneKey, (Next, Open)>,
    /// The number of values that were replaced.
    pub(super) replaced: u64,
}

impl Marked {
    /// Returns what is sensitive in a registry. Labels are, in some registry of the stream, if
    /// `has_labels`.
    pub(super) fn new(registry: &Registry, has_labels: bool) -> Marked {
        let mut registry = registry.clone();
        registry.mark_numbered();
        let slots = registry.slots();
        let mut kinds = registry.sensitive_kinds();
        let mut label_kinds = 0;
        for event in &registry.events {
            let bit = 1 << (registry.kind_of(event).bit & 63);
            if has_labels && event.namings().any(|naming| naming.named == Named::Label) {
                kinds |= bit;
            }
            let is_label = |param: &Param| param.sort == Sort::Label;
            if has_labels && event.params.iter().any(is_label) {
                label_kinds |= bit;
            }
        }
        Marked { registry, slots, kinds, label_kinds }
    }

    /// Returns true if events of a kind are written again.
    pub(super) fn has_kind(&self, kind: u8) -> bool {
        self.kinds & 1_u64.checked_shl(kind.into()).unwrap_or(0) != 0
    }

    /// Returns what stands in place of each value of an event that is sensitive.
    fn news(
        &self,
        (index, session): (usize, u64),
        values: &[Value<'_>],
        scrub: &Scrub,
        labels: &Labels,
    ) -> Vec<Option<New>> {
        let event = &self.registry.events[index];
        let new = |(param, value): (&Param, &Value<'_>)| {
            let sensitive = param.sensitive?;
            Some(scrub.replace(&self.registry, param, sensitive, value))
        };
        let mut news: Vec<Option<New>> = event.params.iter().zip(values).map(new).collect();
        for naming in event.namings() {
            let is_intern = naming.named == Named::Label && naming.name == NameBy::Text;
            let (Some(Value::Label(label)), Some(Value::String(text))) =
                (values.get(naming.of), values.get(naming.by))
            else {
                continue;
            };
            let mark: Option<Sensitive> = labels.mark(session, *label).filter(|_| is_intern);
            if let (Some(sensitive), Some(place)) = (mark, news.get_mut(naming.by)) {
                let max = event.params[naming.by].max_len;
                *place = Some(New::Text(scrub.text_of(scrub.method(sensitive), text.0, max)));
            }
        }
        news
    }
}

impl Parts {
    /// Returns a part with other values, and the header that it then has. The header has fewer
    /// events if not all could be read. Returns none for a part that continues one that was not
    /// read.
    pub(super) fn rewrite(
        &mut self,
        known: &KnownRegistry,
        marked: &Marked,
        (scrub, labels): (&Scrub, &Labels),
        header: &Header,
        payload: &[u8],
    ) -> Option<(Header, Vec<u8>)> {
        let registry = &marked.registry;
        let kind = registry.kinds.iter().position(|kind| kind.bit == header.kind);
        let of_kind = kind.map_or(0..0, |kind| marked.slots.of_kind(kind));
        let mut open = resume(&mut self.lanes, header, || Open {
            walk: Walk::from(header),
            slots: vec![0; of_kind.len()],
            written: 0,
        })?;
        let (mut out, mut last) = (Vec::with_capacity(payload.len()), open.walk.time);
        let (slots, replaced) = (&mut open.slots, &mut self.replaced);
        let walked =
            walk(known, header.kind, payload, header.events, &mut open.walk, |index, ticks, raws, _| {
                let index = index as usize;
                let Some(event) = registry.events.get(index) else { return };
                let of = |(param, raw): (&Param, &Raw)| value(registry, payload, param, raw);
                let mut values: Vec<Value<'_>> = event.params.iter().zip(raws).map(of).collect();
                let news = marked.news((index, header.session), &values, scrub, labels);
                for (value, new) in values.iter_mut().zip(&news) {
                    if let Some(new) = new {
                        (*value, *replaced) = (new.value(), *replaced + 1);
                    }
                }
                let slot = |param: usize| Some((marked.slots.number(index, param)? - of_kind.start) as usize);
                let event = pack::Event { registry, event, code: event.code, values: &values, slots: &slot };
                event.pack(ticks.wrapping_sub(last), &mut out, slots);
                last = ticks;
            });
        let (offset, len) = (open.written, out.len() as u32);
        open.written += len;
        if walked.wrong.is_none() {
            let next = (header.seq, header.offset.saturating_add(header.payload_len));
            self.lanes.insert(lane_key(header), (next, open));
        }
        Some((Header { events: walked.events, offset, payload_len: len, ..header.clone() }, out))
    }
}
