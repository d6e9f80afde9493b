//! Streams from [`telemetry_decode::writer::Writer`] as tables, compared with their events.

mod any;
#[cfg(feature = "ipc")]
mod arrow;
mod bounds;
mod counters;
#[cfg(feature = "parquet")]
mod parquet;
mod reference;
mod side;
mod tables;
mod text;
mod values;
mod written;
