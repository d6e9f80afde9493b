//! Events in an SQLite database, with the tables of the MPS's `mpseventsql` and more: see
//! docs/sql.md. [`Database`] is the file, [`Schema`] the tables for its registries, and [`Load`]
//! loads one log.
//!
//! It may use `text`, `term` and `input`. It never changes a file that is not its database.

#![cfg(feature = "sql")]

mod counters;
mod database;
mod dots;
mod glue;
mod insert;
mod interrupt;
mod labels;
mod load;
mod log_lanes;
mod names;
mod record;
mod schema;
mod tables;
mod text_log;
mod value;
mod views;

pub(crate) use database::{Database, Transaction};
pub(crate) use dots::Dots;
pub(crate) use load::{Load, Loaded, Log};
pub(crate) use schema::Schema;
pub(crate) use text_log::TextLog;
