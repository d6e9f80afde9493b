//! The read of a table for a query: threads decode, and the engine takes batches from a queue.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::PartitionStream;
use telemetry_columns::{Batch, Builder, Table};
use telemetry_decode::{Events, Filter, Order};

use crate::arrays::record_batch;
use crate::queue::{Inlet, Queues, batches};
use crate::recording::{Read, Recording};
use crate::sides;

/// The most rows of a batch. A batch of a usual table is some hundred kilobytes.
const BATCH_ROWS: usize = 16 << 10;

/// Batches that wait for the engine, by thread.
const WAITING: usize = 2;

/// A table, and what a query needs of it.
pub(crate) struct Scan {
    pub(crate) recording: Arc<Recording>,
    pub(crate) table: Arc<Table>,
    /// The columns that the query needs, by their indices.
    pub(crate) columns: Vec<usize>,
    /// The schema of these columns.
    pub(crate) schema: SchemaRef,
    /// The selection of events, for a table of events.
    pub(crate) filter: Option<Filter>,
    pub(crate) queues: Queues,
}

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
            let out = Out { scan: &self, inlet: &inlet, rows: AtomicU64::new(0) };
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

/// The reason why a read ended early.
pub(crate) enum Stop {
    /// The engine needs no more rows.
    Enough,
    Failed(String),
}

/// The way of a table's rows to the engine.
pub(crate) struct Out<'s> {
    scan: &'s Scan,
    inlet: &'s Inlet,
    rows: AtomicU64,
}

impl Out<'_> {
    /// Gives the engine a batch, if it is of the table.
    pub(crate) fn give(&self, batch: Batch) -> Result<(), Stop> {
        if batch.table().name != self.scan.table.name {
            return Ok(());
        }
        let failed = |error: datafusion::arrow::error::ArrowError| Stop::Failed(error.to_string());
        let batch = record_batch(batch, &self.scan.columns, &self.scan.schema).map_err(failed)?;
        self.rows.fetch_add(batch.num_rows() as u64, Relaxed);
        self.send(batch)
    }

    fn send(&self, batch: RecordBatch) -> Result<(), Stop> {
        self.inlet.blocking_send(Ok(batch)).map_err(|_| Stop::Enough)
    }

    /// Reads all events on all threads, and notes what was read.
    pub(crate) fn read_all(
        &self,
        events: &mut Events<'static>,
        read: impl Fn(&mut Events<'_>) -> telemetry_decode::Result<Result<(), Stop>> + Sync,
    ) -> Result<(), Stop> {
        // A shard that stops fails, so that no other one is begun.
        let stopped = || telemetry_decode::Error::Io(std::io::ErrorKind::Interrupted.into());
        let stop = std::sync::Mutex::new(None);
        let read = |shard: &mut Events<'_>| match read(shard)? {
            Ok(()) => Ok(()),
            Err(reason) => {
                stop.lock().unwrap_or_else(std::sync::PoisonError::into_inner).get_or_insert(reason);
                Err(stopped())
            }
        };
        let done = events.read_shards(self.scan.recording.threads, read, |(), _| ());
        let stop = stop.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        let is_stopped = matches!(stop, Some(Stop::Enough));
        self.note(events, is_stopped);
        match (stop, done) {
            (Some(stop), _) => Err(stop),
            (None, Err(error)) => Err(Stop::Failed(format!("cannot read the stream: {error}"))),
            (None, Ok(())) => Ok(()),
        }
    }

    /// Notes what was read of events.
    pub(crate) fn note(&self, events: &Events<'_>, is_stopped: bool) {
        self.note_read(Read {
            table: self.scan.table.name.clone(),
            completeness: events.completeness(),
            sessions: events.sessions().to_vec(),
            is_of_headers: false,
            is_stopped,
            rows: 0,
        });
    }

    /// Notes a read.
    pub(crate) fn note_read(&self, mut read: Read) {
        read.rows = self.rows.load(Relaxed);
        // A condition may name a thread or a session that no stream has.
        read.completeness.unmatched.clear();
        self.scan.recording.note(read);
    }
}
