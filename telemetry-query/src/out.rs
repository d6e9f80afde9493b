//! What a query needs of a table, and the way of its rows to the engine.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::Result;
use telemetry_columns::{Batch, Table};
use telemetry_decode::{Events, Filter};

use crate::arrays::record_batch;
use crate::queue::{Inlet, Queues};
use crate::recording::{Read, Recording};

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

impl<'s> Out<'s> {
    pub(crate) fn new(scan: &'s Scan, inlet: &'s Inlet) -> Out<'s> {
        Out { scan, inlet, rows: AtomicU64::new(0) }
    }
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
