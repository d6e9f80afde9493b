//! `telemetry parquet`: events as Parquet files, for DuckDB, Polars, pandas, Spark and the like.

use std::path::PathBuf;

use crate::input::inputs::InputArgs;
use crate::input::selection::FilterArgs;
use crate::input::threads::ThreadArgs;
use crate::term::ended::{Context, Ended, Run};

const EXAMPLES: &str = "\
Every event type that occurs gets a file DIR/EVENT.parquet, with its rows in time order. The side tables get
files too: session, thread, label, name, lane, loss, damage, block, message and span. docs/columns.md lists all
tables and columns. Files appear on success.

With --partition, a table is a folder: DIR/EVENT/day=2026-11-28/host=NAME/SESSION-TIME.parquet. Further logs add
files to it, and the same log replaces its own. Side tables have no day and host: DIR/loss/SESSION-TIME.parquet.

Examples:
  telemetry parquet -d tables gc.tel                    tables/PoolInit.parquet, tables/TraceStart.parquet, ...
  telemetry parquet -d tables gc.tel && duckdb -c \"SELECT avg(size) FROM 'tables/ArenaAlloc.parquet'\"";

/// Write events as Parquet files: one per event, and the side tables
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Write the files to this directory, created if missing; they appear on success
    #[arg(short = 'd', long, value_name = "DIR")]
    directory: PathBuf,

    /// Write a folder per table, with the events by day (UTC), host and session
    #[arg(long)]
    partition: bool,

    #[command(flatten)]
    threads: ThreadArgs,

    #[command(flatten)]
    input: InputArgs,

    #[command(flatten)]
    filter: FilterArgs,
}

#[cfg(not(feature = "parquet"))]
impl Run for Args {
    fn run(&self, _: &mut Context) -> Ended {
        Err(crate::term::ended::Failure::new(
            "this build of `telemetry` cannot write Parquet files: it has no feature `parquet`; help: run \
             `cargo install --path telemetry-cli --features parquet`",
        ))
    }
}

#[cfg(feature = "parquet")]
mod files;

#[cfg(feature = "parquet")]
impl Run for Args {
    fn run(&self, context: &mut Context) -> Ended {
        use telemetry_decode::Order;

        use crate::input::events::Opened;

        let opened = Opened::new(&self.input, &self.filter, Order::Time)?;
        files::write_all(opened, &self.directory, self.partition, self.threads.number(), context)
    }
}
