//! All tables of what a command reads, for `parquet` and Arrow files.

use std::collections::VecDeque;

use telemetry_columns::{Batch, Builder, CounterValues, Messages, Spans, Tables, block_table, side_tables};
use telemetry_decode::KnownRegistry;

use crate::input::events::Opened;
use crate::input::inputs::cannot_read;
use crate::term::ended::{Ended, Failure};
use crate::term::progress::Progress;

/// Reads the batches of all tables: those of events, and then the side tables.
pub(crate) struct TableBatches<'o> {
    opened: &'o mut Opened,
    progress: Option<Progress>,
    builder: Builder,
    messages: Messages,
    counters: CounterValues,
    spans: Spans,
    /// The number of damages that the spans know of.
    damages: u64,
    /// Batches that were read.
    ready: VecDeque<Batch>,
    /// The batches of the list of blocks, which may be long.
    blocks: Option<Box<dyn Iterator<Item = telemetry_columns::Result<Batch>> + Send>>,
    next: Step,
}

/// The next step.
#[derive(Clone, Copy)]
enum Step {
    Events,
    Sides,
    Blocks,
    End,
}

impl<'o> TableBatches<'o> {
    pub(crate) fn new(opened: &'o mut Opened) -> TableBatches<'o> {
        TableBatches {
            progress: Some(Progress::of_bytes(opened.inputs.len())),
            builder: Builder::new(Tables::of(opened.registries())),
            messages: Messages::default(),
            counters: CounterValues::default(),
            spans: Spans::new(&opened.events.gaps()),
            damages: opened.events.damages(),
            opened,
            ready: VecDeque::new(),
            blocks: None,
            next: Step::Events,
        }
    }

    /// Returns the registries found so far.
    pub(crate) fn registries(&self) -> &[KnownRegistry] {
        self.opened.registries()
    }

    /// Returns the next batch; `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<Batch>, Failure> {
        loop {
            if let Some(batch) = self.ready.pop_front() {
                return Ok(Some(batch));
            }
            self.next = match self.next {
                Step::Events => match self.read()? {
                    true => Step::Events,
                    false => Step::Sides,
                },
                Step::Sides => {
                    self.sides()?;
                    Step::Blocks
                }
                Step::Blocks => match self.blocks.as_mut().and_then(Iterator::next) {
                    Some(batch) => {
                        self.ready.push_back(batch.map_err(|error| Failure::new(error.to_string()))?);
                        Step::Blocks
                    }
                    None => Step::End,
                },
                Step::End => return Ok(None),
            };
        }
    }

    /// Reads events until there is a batch. Returns false at the end.
    fn read(&mut self) -> Result<bool, Failure> {
        let TableBatches { opened, progress, builder, messages, counters, spans, damages, ready, .. } = self;
        while let Some(batch) = opened.events.next_batch().map_err(cannot_read)? {
            // A closure, or `extend`, would be a call for each event.
            for event in batch.iter() {
                if let Some(batch) = builder.push(&event) {
                    ready.push_back(batch);
                }
                if let Some(batch) = messages.push(&event) {
                    ready.push_back(batch);
                }
                if let Some(batch) = counters.push(&event) {
                    ready.push_back(batch);
                }
            }
            ready.extend(spans.push_batch(&batch));
            let events = batch.len();
            progress.as_ref().inspect(|progress| progress.events(events, || opened.events.bytes_done()));
            // Damage is found before the first event after it.
            if opened.events.damages() != *damages {
                *damages = opened.events.damages();
                spans.set_gaps(&opened.events.gaps());
            }
            if !ready.is_empty() {
                return Ok(true);
            }
        }
        *progress = None;
        spans.set_gaps(&opened.events.gaps());
        ready.extend(std::iter::from_fn(|| builder.finish()));
        ready.extend(std::iter::from_fn(|| messages.finish()));
        ready.extend(std::iter::from_fn(|| counters.finish()));
        ready.extend(std::iter::from_fn(|| spans.finish()));
        Ok(false)
    }

    /// Takes the side tables.
    fn sides(&mut self) -> Ended {
        self.ready.extend(side_tables(&self.opened.events));
        if let Some(index) = self.opened.inputs.index_again()? {
            self.blocks = Some(Box::new(block_table(index)));
        }
        Ok(())
    }
}

/// Passes the batches of events to a function.
#[cfg(feature = "arrow")]
pub(crate) fn each_batch_of_events(opened: &mut Opened, mut take: impl FnMut(Batch) -> Ended) -> Ended {
    let progress = Progress::of_bytes(opened.inputs.len());
    let mut builder = Builder::new(Tables::of(opened.registries()));
    while let Some(batch) = opened.events.next_batch().map_err(cannot_read)? {
        for event in batch.iter() {
            builder.push(&event).map_or(Ok(()), &mut take)?;
        }
        progress.events(batch.len(), || opened.events.bytes_done());
    }
    std::iter::from_fn(|| builder.finish()).try_for_each(take)
}
