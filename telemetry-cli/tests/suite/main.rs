//! The command, run as a user runs it on streams made for the purpose. Each snapshot is a transcript:
//! the command lines, what they printed, and how they ended.

mod run;
mod streams;

mod big;
mod conditions;
mod convert;
mod csv;
mod damage;
mod docs;
mod files;
mod filters;
mod follow;
pub mod golden;
mod gzip;
#[cfg(target_os = "linux")]
mod hostile_logs;
mod json;
mod listen;
mod mono;
#[expect(dead_code, reason = "whole logs are made of them")]
#[path = "../../../telemetry-foreign/tests/suite/mono/made.rs"]
mod mono_made;
mod mps;
#[path = "../../../telemetry-foreign/tests/suite/mps/made.rs"]
mod mps_made;
#[cfg(target_os = "linux")]
mod processes;
mod py;
mod recover;
#[path = "../../../telemetry-foreign/tests/suite/reference.rs"]
mod reference;
mod relations;
mod replay;
mod report;
mod shells;
mod show;
mod spans;
mod sql;
#[cfg(target_os = "linux")]
mod terminal;
mod text;
mod validate;
mod versions;

/// What processes under control emit.
#[cfg(target_os = "linux")]
#[telemetry::telemetry_event("tests/data/gc.toml")]
pub mod gc_events {}
