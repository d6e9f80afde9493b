//! Parquet files of a batch, in memory.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use telemetry_columns::{Batch, Data, ParquetWriter, Runs, Table};
use telemetry_format::Calendar;

use crate::rows;

/// The nanoseconds of a day.
pub(crate) const DAY_NS: i64 = 86_400_000_000_000;

/// Returns the nanoseconds of the day of a time. Both count from 1970.
pub(crate) fn day_of(ns: i64) -> Range<i64> {
    let start = ns.div_euclid(DAY_NS).saturating_mul(DAY_NS);
    start..start.saturating_add(DAY_NS)
}

/// A Parquet file that is not in the store yet.
#[derive(Debug)]
pub struct NewFile {
    /// The table.
    pub table: Arc<Table>,
    /// The day of its rows in UTC: `2026-11-22`.
    pub day: String,
    /// The file.
    pub bytes: Vec<u8>,
    /// The number of its rows.
    pub rows: u64,
    /// The time of the first row and of the last one, in nanoseconds since 1970.
    pub time: Option<(i64, i64)>,
}

/// Why segments cannot be converted.
#[derive(Debug)]
pub struct ConvertError(pub(crate) String);

impl fmt::Display for ConvertError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ConvertError {}

impl ConvertError {
    pub(crate) fn of(error: impl fmt::Display) -> ConvertError {
        ConvertError(error.to_string())
    }
}

/// A file that is written in memory.
pub(crate) struct File {
    table: Arc<Table>,
    host: Option<Arc<Runs>>,
    writer: ParquetWriter<Vec<u8>>,
    rows: u64,
    time: Option<(i64, i64)>,
}

impl File {
    pub(crate) fn new(table: Arc<Table>, host: Option<Arc<Runs>>) -> File {
        // Registries are in a table of their own, once.
        let writer = ParquetWriter::new(Vec::new(), &table, &[]);
        File { table, host, writer, rows: 0, time: None }
    }

    pub(crate) fn push(
        &mut self,
        batch: Batch,
        lanes: Option<Vec<i32>>,
        hidden: &[bool],
    ) -> Result<(), ConvertError> {
        self.rows += batch.rows() as u64;
        if let Some(Data::I64(times)) = batch.column("time").map(|column| column.data())
            && let (Some(first), Some(last)) = (times.iter().min(), times.iter().max())
        {
            let (least, greatest) = self.time.unwrap_or((*first, *last));
            self.time = Some((least.min(*first), greatest.max(*last)));
        }
        let name = self.table.name.clone();
        let batch = rows::batch(batch, &self.table, self.host.as_ref(), lanes, hidden);
        let batch =
            batch.ok_or_else(|| ConvertError(format!("the rows of `{name}` are not those of its table")))?;
        self.writer.push(batch).map_err(ConvertError::of)
    }

    pub(crate) fn finish(self, day: i64) -> Result<NewFile, ConvertError> {
        let bytes = self.writer.finish().map_err(ConvertError::of)?;
        Ok(NewFile { table: self.table, day: day_text(day), bytes, rows: self.rows, time: self.time })
    }
}

/// Returns a day since 1970 as text.
pub fn day_text(day: i64) -> String {
    let day = Calendar::from_seconds(day.max(0) as u64 * 86_400);
    format!("{:04}-{:02}-{:02}", day.year, day.month, day.day)
}
