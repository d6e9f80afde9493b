//! All tables of what a command reads, for `parquet` and Arrow files.

use std::collections::{BTreeMap, VecDeque};

use telemetry_columns::{Batch, Builder, CounterValues, Messages, Spans, Tables, block_table, side_tables};
use telemetry_decode::{Event, KnownRegistry};

use crate::input::events::Opened;
use crate::input::inputs::cannot_read;
use crate::term::ended::{Ended, Failure};
use crate::term::progress::Progress;

/// The events of a session on a day in UTC, whose rows have files of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Partition {
    pub(crate) session: u64,
    /// Days since 1970.
    pub(crate) day: i64,
}

/// The most builders beside the current one.
const MAX_OTHERS: usize = 8;

const DAY_NS: i64 = 86_400_000_000_000;

impl Partition {
    fn of(event: &Event<'_>) -> Partition {
        // No program recorded events before 1970: its clock was wrong.
        Partition { session: event.session().id, day: event.wall_ns().div_euclid(DAY_NS).max(0) }
    }
}

/// Rows of a table of events or of a side table, which has no partitions.
pub(crate) struct Rows {
    pub(crate) partition: Option<Partition>,
    pub(crate) batch: Batch,
}

/// Reads the batches of all tables: those of events, and then the side tables.
pub(crate) struct TableBatches<'o> {
    opened: &'o mut Opened,
    progress: Option<Progress>,
    builder: Builder,
    /// The partition of the builder; `None` without partitions, and before the first event.
    partition: Option<Partition>,
    is_partitioned: bool,
    /// The time of the first event in its session, in nanoseconds, with partitions.
    first_ns: Option<i64>,
    /// The builders of other partitions.
    others: BTreeMap<Partition, Builder>,
    messages: Messages,
    counters: CounterValues,
    spans: Spans,
    /// The number of damages that the spans know of.
    damages: u64,
    /// Batches that were read.
    ready: VecDeque<Rows>,
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
    /// Without partitions, a batch of a table of events has rows of any session and day.
    pub(crate) fn new(opened: &'o mut Opened, is_partitioned: bool) -> TableBatches<'o> {
        TableBatches {
            progress: Some(Progress::of_bytes(opened.inputs.len())),
            builder: Builder::new(Tables::of(opened.registries())),
            partition: None,
            is_partitioned,
            first_ns: None,
            others: BTreeMap::new(),
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

    /// Returns the name of the host that a session states.
    #[cfg(feature = "parquet")]
    pub(crate) fn host(&self, session: u64) -> Option<&str> {
        let session = self.opened.events.sessions().iter().find(|known| known.id == session)?;
        session.facts.text("host")
    }

    /// Returns the first session, and the time of the first event in its session, in nanoseconds.
    #[cfg(feature = "parquet")]
    pub(crate) fn first(&self) -> (u64, i64) {
        let session = self.opened.events.sessions().first().map_or(0, |session| session.id);
        (session, self.first_ns.unwrap_or_default())
    }

    /// Returns the next batch; `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<Rows>, Failure> {
        loop {
            if let Some(rows) = self.ready.pop_front() {
                return Ok(Some(rows));
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
                        let batch = batch.map_err(|error| Failure::new(error.to_string()))?;
                        self.ready.push_back(Rows { partition: None, batch });
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
        let TableBatches { opened, progress, builder, partition, is_partitioned, others, ready, .. } = self;
        let TableBatches { messages, counters, spans, damages, first_ns, .. } = self;
        let of_side = |batch| Rows { partition: None, batch };
        while let Some(batch) = opened.events.next_batch().map_err(cannot_read)? {
            // A closure, or `extend`, would be a call for each event.
            for event in batch.iter() {
                if *is_partitioned && *partition != Some(Partition::of(&event)) {
                    first_ns.get_or_insert(event.time_ns());
                    turn_to(Partition::of(&event), partition, builder, others, ready);
                }
                if let Some(batch) = builder.push(&event) {
                    ready.push_back(Rows { partition: *partition, batch });
                }
                if let Some(batch) = messages.push(&event) {
                    ready.push_back(of_side(batch));
                }
                if let Some(batch) = counters.push(&event) {
                    ready.push_back(of_side(batch));
                }
            }
            ready.extend(spans.push_batch(&batch).into_iter().map(of_side));
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
        let others = others.iter_mut().map(|(partition, builder)| (Some(*partition), builder));
        for (partition, builder) in others.chain([(*partition, builder)]) {
            ready.extend(std::iter::from_fn(|| builder.finish()).map(|batch| Rows { partition, batch }));
        }
        ready.extend(std::iter::from_fn(|| messages.finish()).map(of_side));
        ready.extend(std::iter::from_fn(|| counters.finish()).map(of_side));
        ready.extend(std::iter::from_fn(|| spans.finish()).map(of_side));
        Ok(false)
    }

    /// Takes the side tables.
    fn sides(&mut self) -> Ended {
        let sides = side_tables(&self.opened.events);
        self.ready.extend(sides.into_iter().map(|batch| Rows { partition: None, batch }));
        if let Some(index) = self.opened.inputs.index_again()? {
            self.blocks = Some(Box::new(block_table(index)));
        }
        Ok(())
    }
}

/// Makes the builder of another partition the current one. If there are many, the others give their
/// rows, so that memory does not grow with sessions and days.
#[cold]
fn turn_to(
    next: Partition,
    partition: &mut Option<Partition>,
    builder: &mut Builder,
    others: &mut BTreeMap<Partition, Builder>,
    ready: &mut VecDeque<Rows>,
) {
    let new = others.remove(&next).unwrap_or_else(|| Builder::new(builder.tables().clone()));
    let old = std::mem::replace(builder, new);
    others.extend(partition.replace(next).map(|partition| (partition, old)));
    if others.len() >= MAX_OTHERS {
        for (partition, mut builder) in std::mem::take(others) {
            let batches = std::iter::from_fn(|| builder.finish());
            ready.extend(batches.map(|batch| Rows { partition: Some(partition), batch }));
        }
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
