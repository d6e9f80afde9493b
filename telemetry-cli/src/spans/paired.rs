//! Reads all events and pairs begins with ends.

use std::num::NonZeroUsize;

use telemetry_decode::names::RUNTIME_REGISTRY;
use telemetry_decode::{EventBatch, Registry};

use telemetry_filter::SpanCondition;
use telemetry_report::spans::{Found, Gaps, Pairing, Tally};

use super::selected::Selected;
use super::shown::Names;
use crate::input::events::Opened;
use crate::input::inputs::cannot_read;
use crate::term::ended::Failure;
use crate::term::progress::Progress;

/// The events of a batch, for the progress.
const USUAL_BATCH: usize = 64;

/// What else is done with the events that are read.
pub(crate) trait Beside {
    /// Returns true if it needs the events of a type.
    fn needs(&self, registry: &Registry, event: usize) -> bool;

    /// Takes some events. Returns true if it found something.
    fn take(&mut self, batch: &EventBatch<'_>) -> bool;

    /// Decides with the gaps so far whether what it found is certain.
    fn decide(&mut self, gaps: &Gaps);
}

/// Nothing else.
impl Beside for () {
    fn needs(&self, _: &Registry, _: usize) -> bool {
        false
    }

    fn take(&mut self, _: &EventBatch<'_>) -> bool {
        false
    }

    fn decide(&mut self, _: &Gaps) {}
}

/// Pairs spans, and tallies them.
pub(crate) struct Paired {
    pub(crate) pairing: Pairing,
    pub(crate) tally: Tally,
    selected: Selected,
}

impl Paired {
    /// Pairs spans with these names, or all. Keeps at most `most_open` open spans and `top` of the
    /// longest. Net durations exclude the time of emissions.
    pub(crate) fn new(most_open: u32, names: &[String], top: usize, is_net: bool) -> Paired {
        let mut pairing = Pairing::new(most_open as usize, names, is_net);
        let selected = Selected::new(None, &mut pairing);
        Paired { pairing, tally: Tally::new(top), selected }
    }

    /// Selects spans by a condition.
    pub(crate) fn select(&mut self, condition: Option<SpanCondition>) {
        self.selected = Selected::new(condition, &mut self.pairing);
    }

    /// Reads all events, and decodes them on several threads. Calls `ended` for every result before
    /// the end. Gives `beside` the events that it or pairing needs, and those of the runtime
    /// itself.
    pub(crate) fn read(
        &mut self,
        opened: &mut Opened,
        threads: NonZeroUsize,
        progress: Progress,
        beside: &mut impl Beside,
        mut ended: impl FnMut(&Pairing, &Names<'_>, &Found, &Gaps) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let Paired { pairing, tally, selected } = self;
        // Events of the runtime itself are few.
        let is_needed = |registry: &Registry, event: usize| {
            registry.name == RUNTIME_REGISTRY
                || pairing.needs(registry, event)
                || beside.needs(registry, event)
        };
        opened.events.need(is_needed);
        opened.events.decode_ahead(threads);
        let (mut gaps, mut damages) = (Gaps::new(&opened.events.gaps()), opened.events.damages());
        let mut found = Vec::new();
        while let Some(batch) = opened.events.next_batch().map_err(cannot_read)? {
            pairing.take_batch(&batch, &mut found);
            let has_found = beside.take(&batch);
            // Many events that are not needed may be between.
            progress.events(USUAL_BATCH, || opened.events.bytes_done());
            if found.is_empty() && !has_found {
                continue;
            }
            // Damage is found before the first batch after it.
            if opened.events.damages() != damages {
                (gaps, damages) = (Gaps::new(&opened.events.gaps()), opened.events.damages());
            }
            beside.decide(&gaps);
            let names = Names::new(&opened.events, &pairing.defs);
            for found in found.drain(..).filter(|found| selected.has(found, &pairing.defs)) {
                ended(pairing, &names, &found, &gaps)?;
                tally.add(found, &pairing.defs, &gaps);
            }
        }
        let gaps = Gaps::new(&opened.events.gaps());
        let mut unended = Vec::new();
        pairing.finish(|found| unended.push(found));
        unended.retain(|found| selected.has(found, &pairing.defs));
        unended.into_iter().for_each(|found| tally.add(found, &pairing.defs, &gaps));
        Ok(())
    }
}
