//! Streams from [`telemetry_decode::writer::Writer`] as tables, compared with their events.

mod any;
mod arrow;
mod bounds;
mod parquet;
mod reference;
mod side;
mod tables;
mod text;
mod values;
mod written;
