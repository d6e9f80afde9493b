//! Events of telemetry streams as tables, with the memory layout of Apache Arrow.
//!
//! [`Tables`] says which tables and columns the events of registries have. [`Batches`] reads events
//! into columns.
//!
//! ```no_run
//! use telemetry_columns::{Batches, Data};
//! use telemetry_decode::Reader;
//!
//! let mut batches = Batches::new(Reader::open("telemetry.tel")?.events()?);
//! while let Some(batch) = batches.next_batch()? {
//!     if let Some(Data::U64(sizes)) = batch.column("size").map(|column| column.data()) {
//!         println!("{}: {} bytes", batch.table().name, sizes.iter().sum::<u64>());
//!     }
//! }
//! # Ok::<(), telemetry_columns::Error>(())
//! ```
//!
//! # Features
//!
//! None is on by default.
//!
//! - `arrow`: `schema` and `record_batch` give batches to programs that read Arrow's format.
//! - `ipc`: `ArrowWriter` writes the rows of a table as an Arrow file or stream.
//! - `parquet`: `ParquetWriter` writes the rows of a table as a Parquet file.
//! - `spans`: `Spans` pairs begins and ends as a table.

#[cfg(feature = "arrow")]
mod arrow;
mod batch;
mod model;
#[cfg(feature = "parquet")]
mod parquet;
mod side;

#[cfg(feature = "arrow")]
pub use arrow::arrays::record_batch;
#[cfg(feature = "arrow")]
pub use arrow::schema::schema;
#[cfg(feature = "ipc")]
pub use arrow::writer::ArrowWriter;
pub use batch::batches::Batches;
pub use batch::builder::Builder;
pub use batch::column::ColumnData;
pub use batch::data::{Bits, Data, Items, Runs};
pub use batch::error::{Error, Result};
pub use batch::table_batch::Batch;
pub use model::column::{Column, ColumnType, Common, Source};
pub use model::table::Table;
pub use model::tables::Tables;
#[cfg(feature = "parquet")]
pub use parquet::group::{EncodedRowGroup, RowGroup};
#[cfg(feature = "parquet")]
pub use parquet::writer::ParquetWriter;
pub use side::accounts::{block_table, side_tables};
#[cfg(feature = "spans")]
pub use side::carried_spans::{CarriedSpans, OpenSpan, SpanPart};
pub use side::counters::CounterValues;
pub use side::messages::Messages;
pub use side::rows::{Cell, Rows};
#[cfg(feature = "spans")]
pub use side::spans::Spans;

/// The rule for the names of columns, for the command. Not public API.
#[doc(hidden)]
pub mod layout {
    pub use crate::model::layout::{Layout, Slot, beside};
}
