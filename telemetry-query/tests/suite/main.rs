//! The program and its tables: the same answers as `telemetry sql`, and no block read in vain.
//!
//! Some tests run the command `telemetry`: that of `$TELEMETRY_COMMAND`, else
//! `target/debug/telemetry` of the workspace.

mod blocks;
mod docs;
mod program;
mod run;
mod same;
mod sensitive;
#[allow(dead_code)]
#[path = "../../../telemetry-cli/tests/suite/streams.rs"]
mod streams;
