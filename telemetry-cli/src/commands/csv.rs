//! `telemetry csv`: events as tables for spreadsheets, pandas, DuckDB and the like.

mod rows;
mod table;

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use telemetry_decode::Order;
use telemetry_schema as schema;

use crate::input::events::{EventArgs, Opened};
use crate::input::inputs::cannot_read;
use crate::input::threads::ThreadArgs;
use crate::input::turns::{Spare, in_turns};
use crate::term::ended::{Context, Ended, Failure, Run};
use crate::term::output::{Directory, Output};
use crate::term::progress::Progress;
use rows::{Copier, Lines, Rows};
use table::Tables;

const EXAMPLES: &str = "\
The first line names the columns: time_ns (since the session's start), time (UTC), session, thread,
thread_name, registry, kind, event, and the parameters. Without -d, the table has the parameters of all
events that pass the filter. A field is empty if the event has no such parameter.

Examples:
  telemetry csv --event PoolInit gc.tel -o pools.csv
  telemetry csv gc.tel -d tables                        tables/PoolInit.csv, tables/TraceStart.csv, ...
  telemetry csv gc.tel -d tables && duckdb -c \"SELECT avg(size) FROM 'tables/ArenaAlloc.csv'\"";

/// Write events as CSV: one table, or one per event with -d
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Write EVENT.csv for each event that occurs to this directory; the files appear on success
    #[arg(short = 'd', long, value_name = "DIR", conflicts_with = "output")]
    directory: Option<PathBuf>,

    #[command(flatten)]
    threads: ThreadArgs,

    #[command(flatten)]
    common: EventArgs,
}

impl Run for Args {
    fn run(&self, context: &mut Context) -> Ended {
        let mut opened = self.common.open(Order::Time)?;
        let choices = choices(&opened);
        let threads = self.threads.number();
        match &self.directory {
            None => write_one(&mut opened, threads, &choices)?,
            Some(directory) => write_each(&mut opened, threads, directory, &choices)?,
        }
        opened.end(context)
    }
}

/// An event that may occur: its registry, and its index there.
struct Choice {
    fingerprint: u64,
    index: usize,
    event: schema::Event,
}

/// Returns all events that the filter accepts, of the kinds that occur.
fn choices(opened: &Opened) -> Vec<Choice> {
    let lanes = opened.events.completeness().lanes;
    let mut choices = Vec::new();
    for known in opened.registries() {
        for (index, event) in known.registry.events.iter().enumerate() {
            let kind = known.registry.kind_of(event).bit;
            let occurs = lanes.iter().any(|lane| (lane.registry, lane.kind) == (known.fingerprint, kind));
            if occurs && known.wants(index) {
                choices.push(Choice { fingerprint: known.fingerprint, index, event: event.clone() });
            }
        }
    }
    choices
}

/// Writes one table. If the input fails, the events before the failure are written.
fn write_one(opened: &mut Opened, threads: NonZeroUsize, choices: &[Choice]) -> Result<(), Failure> {
    let tables = Tables::one(choices.iter().map(|choice| &choice.event));
    let mut output = opened.output()?;
    tables.append_head(0, output.buffer());
    let progress = Progress::beside(&output, opened.inputs.len());
    let written = write(opened, threads, &tables, progress, |_, lines| output.append(lines));
    match written {
        Ok(()) => output.finish(),
        Err(failure) => output.flush().and(Err(failure)),
    }
}

/// Writes a table for each event that occurs.
fn write_each(
    opened: &mut Opened,
    threads: NonZeroUsize,
    directory: &Path,
    choices: &[Choice],
) -> Result<(), Failure> {
    let _made = Directory::make(directory)?;
    let named = telemetry_columns::Tables::of(opened.registries());
    // Several versions of a registry may have an event of one name.
    let mut by_name = BTreeMap::<String, Vec<&Choice>>::new();
    for choice in choices {
        let Some(table) = named.table_of(choice.fingerprint, choice.index) else { continue };
        by_name.entry(format!("{}.csv", table.name)).or_default().push(choice);
    }
    let (mut tables, mut files) = (Tables::default(), Vec::<(PathBuf, Option<Output>)>::new());
    for (name, choices) in by_name {
        tables.add_of(choices.iter().map(|choice| (choice.fingerprint, &choice.event)));
        files.push((directory.join(name), None));
    }
    let inputs = opened.inputs.paths();
    let progress = Progress::of_bytes(opened.inputs.len());
    write(opened, threads, &tables, progress, |table, lines| {
        let (path, output) = &mut files[table];
        let output = match output {
            Some(output) => output,
            None => {
                let output = output.insert(Output::beside(path, &inputs)?);
                tables.append_head(table, output.buffer());
                output
            }
        };
        output.append(lines)
    })?;
    files.into_iter().filter_map(|(_, output)| output).try_for_each(Output::finish)
}

/// Formats all events on several threads. Calls `append` with lines of a table, in order.
fn write(
    opened: &mut Opened,
    threads: NonZeroUsize,
    tables: &Tables,
    mut progress: Progress,
    mut append: impl FnMut(usize, &[u8]) -> Result<(), Failure> + Send,
) -> Result<(), Failure> {
    let (rows, lines) = (Spare::default(), Spare::default());
    let format = |mut job: Rows| {
        let mut formatted: Lines = lines.take().unwrap_or_default();
        job.format(&mut formatted);
        job.clear();
        rows.give(job);
        formatted
    };
    let append_all = |mut formatted: Lines| {
        let appended = formatted.each(&mut append);
        formatted.clear();
        lines.give(formatted);
        appended
    };
    let (mut copier, mut read) = (Copier::new(tables), None);
    let next = || {
        if read.is_some() {
            return Ok(None);
        }
        // One thread at a time has it.
        let progress = &mut progress;
        copier.begin(rows.take().unwrap_or_default());
        while !copier.is_full() {
            match opened.events.next_batch() {
                Ok(Some(batch)) => {
                    copier.add(&batch);
                    progress.events(batch.len(), || opened.events.bytes_done());
                }
                Ok(None) => {
                    read = Some(Ok(()));
                    break;
                }
                Err(error) => {
                    read = Some(Err(cannot_read(error)));
                    break;
                }
            }
        }
        Ok(Some(copier.take()))
    };
    in_turns(threads, next, format, append_all)?;
    read.unwrap_or(Ok(()))
}
