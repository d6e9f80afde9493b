//! Pairs spans, and passes them and all other events to a writer of a timeline.

use telemetry_decode::EventBatch;
use telemetry_foreign::{Moment, Span, SpanEnd, Timeline, Written};
use telemetry_report::spans::{End, Found, Gaps, Pairing, Place, Which};

use crate::input::events::Opened;
use crate::term::progress::Progress;

/// The maximum of spans that are open at once. About 240 bytes each, and their parameters.
const MAX_OPEN: usize = 200_000;

/// Writes events, which come by time, and their spans.
pub(super) fn write(
    opened: &mut Opened,
    to: &mut dyn Timeline,
    progress: &Progress,
) -> telemetry_decode::Result<Written> {
    let mut spans =
        Spans { pairing: Pairing::new(MAX_OPEN, &[], false), found: Vec::new(), categories: Vec::new() };
    spans.pairing.keep_places();
    let (mut gaps, mut damages) = (Gaps::new(&opened.events.gaps()), opened.events.damages());
    while let Some(batch) = opened.events.next_batch()? {
        spans.take(&batch, to)?;
        progress.events(batch.len(), || opened.events.bytes_done());
        if spans.found.is_empty() {
            continue;
        }
        // Damage is found before the first batch after it.
        if opened.events.damages() != damages {
            (gaps, damages) = (Gaps::new(&opened.events.gaps()), opened.events.damages());
        }
        spans.pass(opened, &gaps, to)?;
    }
    let Spans { pairing, found, .. } = &mut spans;
    pairing.finish(|open| found.push(open));
    spans.pass(opened, &gaps, to)?;
    Ok(to.finish(&opened.events)?)
}

struct Spans {
    pairing: Pairing,
    found: Vec<Found>,
    /// The kind of the event that begins it, by type of span.
    categories: Vec<String>,
}

impl Spans {
    /// Passes events that do not end spans, and keeps the others for their spans.
    fn take(&mut self, batch: &EventBatch<'_>, to: &mut dyn Timeline) -> std::io::Result<()> {
        for event in batch.iter() {
            if self.pairing.begins_of(&event) == Some(None) {
                to.event(&event)?;
                continue;
            }
            let before = self.found.len();
            self.pairing.take(&event, &mut self.found);
            let begins = self.pairing.begins_of(&event).flatten().unwrap_or(0);
            let ended = |found: &&Found| matches!(found, Found::Whole { .. });
            let ends = self.found[before..].iter().filter(ended).count() as u32;
            match begins + ends {
                0 => to.event(&event)?,
                _ => to.hold(self.pairing.number(), begins, ends, &event)?,
            }
        }
        Ok(())
    }

    /// Passes the spans that were found.
    fn pass(&mut self, opened: &Opened, gaps: &Gaps, to: &mut dyn Timeline) -> std::io::Result<()> {
        for found in std::mem::take(&mut self.found) {
            let (which, begin, end, place) = match &found {
                Found::NoBegin(..) => continue,
                Found::Begun(which, begin) => (which, begin, SpanEnd::Open, Place::Thread),
                Found::NoEnd(which, begin, place) => (which, begin, SpanEnd::Never, *place),
                Found::Dropped(which, begin) => (which, begin, SpanEnd::Dropped, Place::Apart),
                Found::Whole { which, begin, end, place, .. } => {
                    let is_certain = gaps.are_not_in(&self.pairing.defs[which.def], which, begin, end);
                    (which, begin, SpanEnd::At(moment(end), is_certain), *place)
                }
            };
            self.add_category(which, opened);
            let span = &self.pairing.defs[which.def].span;
            to.span(&Span {
                def: which.def,
                name: &span.name,
                category: &self.categories[which.def],
                has_key: span.key.is_some(),
                is_nested: place == Place::Thread,
                session: which.session,
                begin: moment(begin),
                end,
            })?;
        }
        Ok(())
    }

    fn add_category(&mut self, which: &Which, opened: &Opened) {
        while self.categories.len() <= which.def {
            let def = &self.pairing.defs[self.categories.len()];
            let known = opened.registries().iter().find(|known| known.fingerprint == def.fingerprint);
            let begin = known.map(|known| (&known.registry, &known.registry.events[def.span.begin]));
            let kind = begin.map(|(registry, begin)| registry.kind_of(begin).name.clone());
            self.categories.push(kind.unwrap_or_default());
        }
    }
}

fn moment(end: &End) -> Moment {
    Moment { number: end.number, thread: end.thread, ns: end.ns }
}
