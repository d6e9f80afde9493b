//! The events of a reader as batches.

use std::fmt;

use telemetry_decode::Events;

use crate::batch::builder::Builder;
use crate::batch::error::Result;
use crate::batch::table_batch::Batch;
use crate::model::tables::Tables;

/// The events of a reader as batches of rows. Rows of a table are in the order of the events.
///
/// ```no_run
/// use telemetry_columns::Batches;
/// use telemetry_decode::Reader;
///
/// let mut batches = Batches::new(Reader::open("telemetry.tel")?.events()?);
/// let mut rows = 0;
/// while let Some(batch) = batches.next_batch()? {
///     rows += batch.rows();
/// }
/// assert_eq!(rows as u64, batches.events().completeness().events);
/// # Ok::<(), telemetry_columns::Error>(())
/// ```
#[must_use = "`next_batch` reads the events"]
pub struct Batches<'s> {
    events: Events<'s>,
    builder: Builder,
    is_at_end: bool,
}

impl fmt::Debug for Batches<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batches").finish_non_exhaustive()
    }
}

impl<'s> Batches<'s> {
    /// Reads events in either order.
    pub fn new(events: Events<'s>) -> Batches<'s> {
        let tables = Tables::of(events.registries());
        Batches::with(events, Builder::new(tables))
    }

    /// Reads events into a builder, which sets the size of batches.
    pub fn with(events: Events<'s>, builder: Builder) -> Batches<'s> {
        Batches { events, builder, is_at_end: false }
    }

    /// Returns the next batch; `None` at the end. Batches come when they are full, and at the end
    /// those with fewer rows.
    ///
    /// # Errors
    /// Those of the input. Problems of the stream itself are in the completeness of
    /// [`Batches::events`].
    pub fn next_batch(&mut self) -> Result<Option<Batch>> {
        while !self.is_at_end {
            match self.events.next()? {
                None => self.is_at_end = true,
                Some(event) => {
                    if let Some(batch) = self.builder.push(&event) {
                        return Ok(Some(batch));
                    }
                }
            }
        }
        Ok(self.builder.finish())
    }

    /// Takes back a batch that is no longer needed. The next batch of the table uses its memory.
    pub fn reuse(&mut self, batch: Batch) {
        self.builder.reuse(batch);
    }

    /// Returns the events, which say what is missing.
    pub fn events(&self) -> &Events<'s> {
        &self.events
    }

    /// Returns the tables, with those of all registries so far.
    pub fn tables(&self) -> &Tables {
        self.builder.tables()
    }
}

impl Iterator for Batches<'_> {
    type Item = Result<Batch>;

    fn next(&mut self) -> Option<Result<Batch>> {
        self.next_batch().transpose()
    }
}
