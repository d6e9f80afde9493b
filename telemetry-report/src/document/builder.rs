//! Makes the document from what was gathered.

use serde::Serialize;
use serde_json::Value as Json;
use telemetry_decode::Events;

use super::against::Against;
use super::forms::{CountsForm, Document, MarkForm, RateForm, SampleForm};
use super::room::Room;
use super::source::Source;
use super::texts::Texts;
use super::{census, counters, losses, memory, spans, trim};
use crate::gather::axis::{INTERVALS, Series};
use crate::gather::cut::cut;
use crate::gather::gatherer::Gatherer;
use crate::gather::marks::Marks;
use crate::spans::SampledShape;

/// The program that makes the page, and what it knows beside the events.
#[derive(Debug, Clone, Default)]
pub struct Origin {
    /// Name and version of the program.
    pub made_by: String,
    /// Names of the inputs.
    pub inputs: Vec<String>,
}

impl Document {
    /// Makes a document with at most this much of each table. `stats` and `paired` are the objects
    /// of `telemetry stats --json` and `telemetry spans --json`.
    ///
    /// # Errors
    /// If one of the objects cannot be serialized.
    pub(crate) fn new(
        gathered: &Gatherer,
        events: &Events<'_>,
        origin: &Origin,
        stats: &impl Serialize,
        paired: &impl Serialize,
        against: Option<&Against<'_>>,
        room: Room,
    ) -> serde_json::Result<Document> {
        let mut source = Source {
            gathered,
            sessions: events.sessions(),
            registries: events.registries(),
            kinds: Vec::new(),
            room,
        };
        let (mut stats, mut paired) = (serde_json::to_value(stats)?, serde_json::to_value(paired)?);
        if let Some(Json::Array(events)) = stats.get_mut("events") {
            // The counts of each thread are in `rate`.
            events.iter_mut().filter_map(Json::as_object_mut).for_each(|event| _ = event.remove("threads"));
        }
        [&mut stats, &mut paired].into_iter().for_each(|object| trim::trim(object, room.listed));
        // The page has the verdict once.
        paired.as_object_mut().and_then(|paired| paired.remove("completeness"));
        let mut texts = Texts::default();
        let event_forms: Vec<_> =
            gathered.events.iter().map(|(fingerprint, index)| source.event(*fingerprint, *index)).collect();
        let completeness = events.completeness();
        for lane in completeness.lanes.iter().filter(|lane| lane.missing > 0 || lane.lost.events() > 0) {
            source.kind_of(lane.registry, lane.kind);
        }
        let (losses, more_losses) = losses::losses(&source, &completeness);
        let (marks, more_marks) = source.marks();
        Ok(Document {
            version: 1,
            made_by: origin.made_by.clone(),
            inputs: origin.inputs.iter().map(|name| cut(name)).collect(),
            origin: gathered.axis.origin().to_string(),
            duration: gathered.axis.until(),
            sessions: source.sessions.iter().map(|session| source.session(session)).collect(),
            threads: source.threads(),
            kinds: source.kinds.iter().map(|(of, bit)| source.kind(*of, *bit)).collect(),
            events: event_forms,
            spans: spans::types(&source),
            stats,
            paired,
            losses,
            more_losses,
            marks,
            more_marks,
            rate: source.rate(),
            lanes: spans::lanes(&source, &mut texts),
            durations: spans::durations(&source),
            values: spans::values(&source),
            memory: memory::memory(&source),
            censuses: census::censuses(&source)?,
            counters: counters::counters(&source),
            sampled: sampled(&source),
            pauses: spans::pauses(&source, &mut texts),
            flames: spans::flames(&source, &mut texts),
            sample: source.sample(),
            against: against.map(|against| against.form(room.listed)),
            notes: source.notes(),
            texts: texts.list,
        })
    }
}

/// Returns the samples by open span, if threads were sampled.
fn sampled(source: &Source<'_>) -> Option<SampledShape> {
    let sampled = &source.gathered.sampled;
    let mut shape = (!sampled.is_empty()).then(|| sampled.shape(&source.gathered.pairing))?;
    shape.spans.truncate(source.room.listed);
    shape.spans.iter_mut().for_each(|span| span.span = cut(&span.span));
    Some(shape)
}

impl Source<'_> {
    fn rate(&self) -> RateForm {
        let slots = &self.gathered.slots.list;
        let mut series: Vec<_> =
            slots.iter().map(|slot| (slot.thread, slot.event, slot.counts.clone())).collect();
        let mut width = self.gathered.axis.width();
        let numbers = |series: &[(u32, u32, Series<u64>)]| -> usize {
            series.iter().map(|(_, _, counts)| counts.values.len()).sum()
        };
        while numbers(&series) > self.room.counts && width < u64::MAX / 4 {
            series.iter_mut().for_each(|(_, _, counts)| counts.fold());
            width *= 2;
            if series.iter().all(|(_, _, counts)| counts.values.len() <= 1) {
                break;
            }
        }
        let series = series.into_iter().filter(|(_, _, counts)| !counts.values.is_empty());
        RateForm {
            width,
            buckets: (self.gathered.axis.until() / width + 1).min(INTERVALS),
            series: series
                .map(|(thread, event, counts)| CountsForm {
                    thread: self.shown_thread(thread),
                    event,
                    first: counts.first,
                    counts: counts.values,
                })
                .collect(),
        }
    }

    /// Returns the first marks, and the number of those that are left out.
    fn marks(&self) -> (Vec<MarkForm>, u64) {
        let Marks { list, more } = &self.gathered.marks;
        let shown = list.iter().take(self.room.listed);
        let forms = shown.map(|mark| MarkForm {
            at: mark.at,
            thread: self.shown_thread(mark.thread),
            text: cut(&mark.text),
        });
        (forms.collect(), more + list.len().saturating_sub(self.room.listed) as u64)
    }

    fn sample(&self) -> Vec<SampleForm> {
        let list = &self.gathered.samples.list;
        let all: usize = list.iter().map(|sample| sample.rows.len()).sum();
        // One of each `step` of those that were kept.
        let step = all.div_ceil(self.room.rows.max(1)).max(1).next_power_of_two();
        let forms = list.iter().enumerate().map(|(number, sample)| {
            let step = if sample.rows.len() < 100 { 1 } else { step };
            let mut before = 0;
            let rows = sample.rows.iter().step_by(step).map(|row| {
                let since = row.moment.saturating_sub(before);
                before = row.moment;
                let head = [Json::from(since), Json::from(self.shown_thread(row.thread))];
                head.into_iter().chain(row.values.iter().cloned()).collect()
            });
            let rows = rows.collect();
            SampleForm { event: number as u32, every: sample.every * step as u64, total: sample.total, rows }
        });
        forms.collect()
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if let Some(ended) = self.gathered.memory.ended {
            notes.push(format!(
                "The record of memory ends {ended} ns after the first event: too much memory was live."
            ));
        }
        if self.gathered.stacks.dropped > 0 {
            notes.push(format!(
                "{} stacks are not in the flame graphs: there are too many different frames.",
                self.gathered.stacks.dropped
            ));
        }
        notes.extend(census::notes(self.gathered));
        notes.extend(counters::notes(self.gathered, self.room.listed));
        if self.gathered.flames.dropped > 0 {
            notes.push(format!(
                "{} spans are not in the flame graphs: there are too many different paths.",
                self.gathered.flames.dropped
            ));
        }
        notes
    }
}
