//! The command, run as by a user on streams made for the tests. Each snapshot is a transcript: the
//! command lines, their output, and their exit codes.

mod run;
mod streams;

mod address;
mod big;
mod c;
mod census;
#[cfg(target_os = "linux")]
mod compiled;
mod conditions;
mod convert;
mod csv;
mod damage;
mod diff;
mod docs;
mod extreme;
mod files;
mod filters;
mod flame;
mod follow;
mod ghc;
pub mod golden;
mod groups;
mod gzip;
#[cfg(target_os = "linux")]
mod hostile_logs;
mod init;
mod json;
mod leaks;
mod limits;
mod listen;
mod mono;
mod mps;
#[cfg(unix)]
mod mutants;
mod pages;
mod parquet;
mod perf;
#[cfg(target_os = "linux")]
mod processes;
mod programs;
mod py;
mod python_package;
mod python_sensitive;
#[cfg(unix)]
mod query;
mod recover;
mod registries;
mod replay;
mod report;
mod sensitive;
mod shells;
mod show;
mod span_conditions;
mod spans;
mod sql;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod stacks;
#[cfg(all(feature = "arrow", feature = "parquet"))]
mod table_files;
#[cfg(target_os = "linux")]
mod terminal;
mod text;
#[cfg(unix)]
mod top;
mod unused;
mod usage;
mod validate;
mod versions;
mod viewers;

/// What processes under control emit.
#[cfg(target_os = "linux")]
#[telemetry::telemetry_event("tests/data/gc.toml")]
pub mod gc_events {}

/// Events with rules.
#[cfg(target_os = "linux")]
#[telemetry::telemetry_event("../tests/registries/served.toml")]
pub mod served {}

/// Events with limits and a rule about them.
#[cfg(target_os = "linux")]
#[telemetry::telemetry_event("tests/data/impatient.toml")]
pub mod impatient {}

/// Events with sensitive parameters.
#[cfg(target_os = "linux")]
#[telemetry::telemetry_event("../tests/registries/shop.toml")]
pub mod shop_events {}

/// Events about compiled code.
#[cfg(target_os = "linux")]
#[telemetry::telemetry_event("tests/data/compiled.toml")]
pub mod compiled_events {}

/// Events with call stacks.
#[cfg(target_os = "linux")]
#[telemetry::telemetry_event("../tests/registries/stacks.toml")]
pub mod stack_events {}
