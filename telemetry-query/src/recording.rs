//! Streams or logs that a query reads, as one.

use std::fmt;
use std::num::NonZeroUsize;
use std::ops::RangeInclusive;
use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;

use telemetry_columns::Tables;
use telemetry_decode::blocks::Index;
use telemetry_decode::{Completeness, Events, Filter, Order, Session};

/// The inputs, which are opened again for each read.
pub trait Source: Send + Sync {
    /// Begins to read events.
    ///
    /// # Errors
    /// If an input cannot be read.
    fn events(&self, order: Order, filter: Filter) -> Result<Events<'static>, String>;

    /// Reads the headers of blocks. Returns nothing for logs of other systems, which have none.
    ///
    /// # Errors
    /// If an input cannot be read.
    fn index(&self) -> Result<Option<Index>, String>;
}

/// Streams or logs of other systems, and what queries have read of them.
pub struct Recording {
    source: Box<dyn Source>,
    tables: Tables,
    sessions: Vec<Session>,
    pub(crate) threads: NonZeroUsize,
    reads: Mutex<Vec<Read>>,
    workers: Mutex<Vec<JoinHandle<()>>>,
}

/// What was read for a table of a query.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Read {
    /// The name of the table.
    pub table: String,
    /// What was read, and what is missing.
    pub completeness: Completeness,
    /// The sessions.
    pub sessions: Vec<Session>,
    /// True if only the headers of blocks were read.
    pub is_of_headers: bool,
    /// True if the query needed no more rows before all events were read.
    pub is_stopped: bool,
    /// The number of rows that the engine was given.
    pub rows: u64,
}

impl fmt::Debug for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recording").finish_non_exhaustive()
    }
}

impl Recording {
    /// Opens inputs. Reads the headers of blocks, and no event. Decodes on this many threads.
    ///
    /// # Errors
    /// If an input cannot be read.
    pub fn open(source: Box<dyn Source>, threads: NonZeroUsize) -> Result<Recording, String> {
        let events = source.events(Order::Stream, Filter::default())?;
        let (tables, sessions) = (Tables::of(events.registries()), events.sessions().to_vec());
        drop(events);
        let (reads, workers) = (Mutex::default(), Mutex::default());
        Ok(Recording { source, tables, sessions, threads, reads, workers })
    }

    /// Returns the tables of events.
    pub fn tables(&self) -> &Tables {
        &self.tables
    }

    /// Returns what was read so far, after all reads have ended.
    ///
    /// # Panics
    /// If a read has panicked.
    pub fn reads(&self) -> Vec<Read> {
        let workers = std::mem::take(&mut *lock(&self.workers));
        for worker in workers {
            if let Err(panic) = worker.join() {
                std::panic::resume_unwind(panic);
            }
        }
        std::mem::take(&mut *lock(&self.reads))
    }

    pub(crate) fn source(&self) -> &dyn Source {
        &*self.source
    }

    /// Returns the starts of the sessions since 1970: the first and the last.
    pub(crate) fn starts(&self) -> RangeInclusive<i128> {
        let starts = || self.sessions.iter().map(|session| i128::from(session.clock.start_wall()));
        starts().min().unwrap_or(0)..=starts().max().unwrap_or(0)
    }

    pub(crate) fn note(&self, read: Read) {
        lock(&self.reads).push(read);
    }

    pub(crate) fn keep(&self, worker: JoinHandle<()>) {
        lock(&self.workers).push(worker);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
