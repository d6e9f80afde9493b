//! The figures of one run of two.

use std::collections::BTreeMap;
use std::path::Path;

use telemetry_report::figures::distribution::Distribution;
use telemetry_report::figures::rate::{Counts, Rate};
use telemetry_report::spans::{self, Gaps, Pairing};
use telemetry_report::stats::{Count, Tally};

use crate::input::events::{EventArgs, Opened};
use crate::input::inputs::cannot_read;
use crate::spans::selected::Selected;
use crate::stats::grouping::Grouping;
use crate::stats::groups::Groups;
use crate::term::ended::Failure;
use crate::term::progress::Progress;

/// The maximum of spans that are open at once. About 240 bytes each.
const MAX_OPEN: usize = 500_000;

/// A run that is read for its figures alone.
pub(crate) struct Measured {
    pub(crate) opened: Opened,
    tally: Tally,
    spans: spans::Tally,
    pairing: Pairing,
    selected: Selected,
    groups: Groups,
}

/// What was counted of a run.
#[derive(Clone, Copy)]
pub(crate) struct RunOf<'a> {
    pub(crate) opened: &'a Opened,
    pub(crate) tally: &'a Tally,
    pub(crate) spans: &'a spans::Tally,
    pub(crate) pairing: &'a Pairing,
    pub(crate) groups: &'a Groups,
}

/// Names of a registry, and of an event or span in it.
pub(crate) type Name = (String, String);

/// The figures of an event type.
#[derive(Default)]
pub(crate) struct EventFigures {
    pub(crate) count: u64,
    pub(crate) bytes: u64,
    rate: Rate,
    /// Number of events in equal intervals of the run.
    pub(crate) counts: Vec<u64>,
    /// Events for each second, in these intervals.
    pub(crate) intervals: Vec<f64>,
}

impl Measured {
    /// Begins to read a run.
    pub(crate) fn open(common: &EventArgs, path: &Path) -> Result<Measured, Failure> {
        let (opened, condition) = common.open_one_for_both(path)?;
        let mut pairing = Pairing::new(MAX_OPEN, &[], false);
        let selected = Selected::new(condition, &mut pairing);
        let (tally, spans) = (Tally::default(), spans::Tally::new(0));
        Ok(Measured { opened, tally, spans, pairing, selected, groups: Groups::default() })
    }

    /// Reads all events.
    pub(crate) fn read(&mut self, grouping: Option<&Grouping>) -> Result<(), Failure> {
        let Measured { opened, tally, spans, pairing, selected, groups } = self;
        let progress = Progress::of_bytes(opened.inputs.len());
        // Whether a span is certain does not matter.
        let gaps = Gaps::default();
        let mut found = Vec::new();
        while let Some(batch) = opened.events.next_batch().map_err(cannot_read)? {
            tally.add_batch(&batch);
            if let Some(grouping) = grouping {
                groups.add_batch(&batch, grouping);
            }
            pairing.take_batch(&batch, &mut found);
            let wanted = found.drain(..).filter(|found| selected.has(found, &pairing.defs));
            wanted.for_each(|found| spans.add(found, &pairing.defs, &gaps));
            progress.events(batch.len(), || opened.events.bytes_done());
        }
        if let Some(grouping) = grouping {
            groups.limit(grouping, 1);
        }
        Ok(())
    }

    /// Returns what was counted.
    pub(crate) fn run(&self) -> RunOf<'_> {
        let Measured { opened, tally, spans, pairing, groups, .. } = self;
        RunOf { opened, tally, spans, pairing, groups }
    }
}

impl RunOf<'_> {
    /// Returns the number of all events, and the seconds from the first to the last.
    pub(crate) fn whole(&self) -> (Count, Option<f64>) {
        let mut all = Count::NONE;
        self.tally.lanes.iter().flat_map(|(_, counts)| counts.iter()).for_each(|(_, one)| all.merge(one));
        let rate = self.tally.rate();
        let ns = all.last_ns.checked_sub(all.first_ns).filter(|ns| *ns > 0);
        // Sessions count from their own starts, so several need the time of the clock.
        let counts = rate.over(&rate);
        let by_clock = counts.width_ns.saturating_mul(counts.counts.len() as u64) as f64;
        let seconds = match self.opened.sessions().len() {
            0 | 1 => ns.map(|ns| ns as f64 / 1e9),
            _ => (all.count > 1).then_some(by_clock / 1e9),
        };
        (all, seconds)
    }

    /// Returns the number of all events in equal intervals of the run.
    pub(crate) fn counts(&self) -> Counts {
        let whole = self.tally.rate();
        whole.over(&whole).columns()
    }

    /// Returns the figures of all event types that occurred. All versions of a registry are one.
    pub(crate) fn events(&self) -> BTreeMap<Name, EventFigures> {
        let mut all: BTreeMap<Name, EventFigures> = BTreeMap::new();
        let name = |fingerprint, index: usize| {
            let known = self.opened.registries().iter().find(|known| known.fingerprint == fingerprint)?;
            Some((known.registry.name.clone(), known.registry.events.get(index)?.name.clone()))
        };
        for ((_, _, fingerprint), counts) in &self.tally.lanes {
            for (index, count) in counts.iter() {
                let Some(name) = name(*fingerprint, index) else { continue };
                let of = all.entry(name).or_default();
                of.count += count.count;
                of.bytes += count.bytes;
            }
        }
        for (fingerprint, index, tally) in self.tally.events.iter() {
            if let Some(of) = name(fingerprint, index).and_then(|name| all.get_mut(&name)) {
                of.rate.merge(&tally.rate);
            }
        }
        let whole = self.tally.rate();
        for of in all.values_mut() {
            let counts = of.rate.over(&whole).columns();
            // The run begins and ends within an interval.
            let inner = counts.counts.get(1..counts.counts.len().saturating_sub(1)).unwrap_or_default();
            let seconds = counts.width_ns as f64 / 1e9;
            of.intervals = inner.iter().map(|count| *count as f64 / seconds).collect();
            of.counts = counts.counts;
        }
        all
    }

    /// Returns the durations of all spans that ended. Those with values behind their name are
    /// apart, and also together, by the name in the registry.
    pub(crate) fn durations(&self) -> BTreeMap<Name, (Distribution, i64)> {
        let mut all: BTreeMap<Name, (Distribution, i64)> = BTreeMap::new();
        for (def, tally) in self.pairing.defs.iter().zip(&self.spans.spans) {
            let detailed = def.detail.as_ref().map(|_| def.declared_name());
            for name in [Some(&*def.span.name), detailed].into_iter().flatten() {
                let of = all.entry((def.registry.clone(), name.to_string())).or_default();
                of.0.merge(&tally.durations);
                of.1 = of.1.saturating_add(tally.total_ns);
            }
        }
        all.retain(|_, (durations, _)| durations.quantile(0.0).is_some());
        all
    }
}
