//! The subcommands: each is a file with its options and a `run`. `cli` puts them together.
//!
//! They may use all other rooms. A command never uses another one: code that two of them need is in
//! an earlier room. It never ends the process by itself.

mod address;
mod c;
mod census;
mod check;
pub(crate) mod cli;
mod cnv;
mod completions;
#[cfg(unix)]
mod control;
mod convert;
mod csv;
mod diff;
#[cfg(unix)]
mod doctor;
mod flame;
mod fleet;
mod gdb;
mod history;
mod info;
mod init;
mod leaks;
#[cfg(unix)]
mod list;
mod listen;
mod man;
mod mono;
pub(crate) mod mps_programs;
mod parquet;
mod print;
mod py;
mod query;
mod recover;
mod registry;
mod release;
mod replay;
mod report;
mod scrub;
mod show;
mod spans;
mod sql;
mod stats;
#[cfg(unix)]
mod tail;
#[cfg(unix)]
mod top;
mod txt;
mod validate;
