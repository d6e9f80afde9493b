//! The read of a table for a query: threads decode, and the engine takes batches from a queue.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::PartitionStream;
use telemetry_columns::Builder;
use telemetry_decode::{Events, Filter, Order};

use crate::out::{Out, Scan, Stop};
use crate::queue::{Inlet, batches};
use crate::sides;

/// The most rows of a batch. A batch of a usual table is some hundred kilobytes.
const BATCH_ROWS: usize = 16 << 10;

/// Batches that wait for the engine, by thread.
const WAITING: usize = 2;

/// A part of the rows of a table. Each takes the next batch when it needs one.
pub(crate) struct Partition {
    scan: Arc<Scan>,
    runs: AtomicUsize,
}

impl fmt::Debug for Partition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Partition").field("table", &self.scan.table.name).finish_non_exhaustive()
    }
}

impl PartitionStream for Partition {
    fn schema(&self) -> &SchemaRef {
        &self.scan.schema
    }

    fn execute(&self, _: Arc<TaskContext>) -> SendableRecordBatchStream {
        let run = self.runs.fetch_add(1, Relaxed);
        let len = WAITING * self.scan.recording.threads.get();
        let outlet = self.scan.queues.of_run(run, len, |inlet| self.scan.clone().start(inlet));
        Box::pin(RecordBatchStreamAdapter::new(self.scan.schema.clone(), batches(outlet)))
    }
}

impl Scan {
    /// Returns the partitions of the table.
    pub(crate) fn partitions(self) -> Vec<Arc<dyn PartitionStream>> {
        let number = if self.filter.is_some() { self.recording.threads.get() } else { 1 };
        let scan = Arc::new(self);
        let partition = |_| Arc::new(Partition { scan: scan.clone(), runs: AtomicUsize::new(0) }) as _;
        (0..number).map(partition).collect()
    }

    /// Starts the thread that reads. It ends when all is read, or when the engine closes the queue.
    fn start(self: Arc<Scan>, inlet: Inlet) {
        let recording = self.recording.clone();
        recording.keep(std::thread::spawn(move || {
            let out = Out::new(&self, &inlet);
            let done = match &self.filter {
                Some(filter) => self.read_events(filter, &out),
                None => sides::read(&self, &out),
            };
            if let Err(Stop::Failed(error)) = done {
                // An engine that needs no more rows needs no error.
                let _ = inlet.blocking_send(Err(DataFusionError::External(error.into())));
            }
        }));
    }

    fn read_events(&self, filter: &Filter, out: &Out<'_>) -> Result<(), Stop> {
        let mut events =
            self.recording.source().events(Order::Stream, filter.clone()).map_err(Stop::Failed)?;
        let names: Vec<_> =
            self.columns.iter().map(|index| self.table.columns[*index].name.as_str()).collect();
        let read = |shard: &mut Events<'_>| {
            let tables = self.recording.tables().clone();
            let mut builder = Builder::new(tables).rows(BATCH_ROWS).only(names.iter().copied());
            while let Some(events) = shard.next_batch()? {
                for event in events.iter() {
                    if let Some(batch) = builder.push(&event)
                        && let Err(stop) = out.give(batch)
                    {
                        return Ok(Err(stop));
                    }
                }
            }
            Ok(std::iter::from_fn(|| builder.finish()).try_for_each(|batch| out.give(batch)))
        };
        out.read_all(&mut events, read)
    }
}
