//! The options, and the way from a query to its answer.

mod cells;
mod form;
mod opened;

use std::num::NonZeroUsize;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{CommandFactory, Parser};
use telemetry_filter::Condition;
use telemetry_query::{Engine, FileTables, Recording, Rows};
use tokio::runtime::Builder;
use tokio::sync::Notify;

use crate::input::inputs::InputArgs;
use crate::program::form::{Form, Printer};
use crate::program::opened::Opened;
use crate::term::ended::{Context, Ended, Failure};
use crate::term::output::{Output, OutputArgs};
use crate::term::progress::Step;
use crate::term::{exit, interrupt, quiet};

const EXAMPLES: &str = "\
FILE is a stream, a log of another system, a Parquet file, or a directory of Parquet files. Only the tables
that the query names are read, and of streams only the blocks that may have its rows. Rows come in any order
without ORDER BY. docs/columns.md has all tables and columns, and docs/query.md explains more.

Examples:
  telemetry query --tables gc.tel
  telemetry query 'SELECT count(*), sum(size) FROM PoolInit' gc.tel
  telemetry query 'SELECT thread, max(duration_ns) FROM span GROUP BY thread' gc.tel
  telemetry query 'SELECT * FROM lane' --where 'thread == main and time < 1s' gc.tel
  telemetry query 'SELECT * FROM TraceEnd WHERE time_ns < 1000000' --json gc.tel tables/";

/// Answer a query in SQL from streams and Parquet files
#[derive(Parser)]
#[command(name = "telemetry query", bin_name = "telemetry query", version, after_help = EXAMPLES)]
struct Args {
    /// The query, in quotes
    #[arg(value_name = "SQL", required_unless_present = "tables")]
    sql: Option<String>,

    #[command(flatten)]
    input: InputArgs,

    /// Only events whose values match: `size > 64k and why == Full`; the query selects among them
    #[arg(long = "where", value_name = "CONDITION", value_parser = Condition::parse)]
    condition: Option<Condition>,

    /// List the tables and their columns instead
    #[arg(long, conflicts_with_all = ["csv", "json", "condition"])]
    tables: bool,

    /// Write comma-separated values, with a line of column names
    #[arg(long, conflicts_with = "json")]
    csv: bool,

    /// Print one JSON object per line
    #[arg(long)]
    json: bool,

    /// Use this many threads [default: all processors]
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,

    #[command(flatten)]
    output: OutputArgs,

    /// Print only errors: no warnings, progress or verdict; the exit code stays the same
    #[arg(short, long)]
    quiet: bool,
}

/// The memory for sorting, joining and grouping.
const MEMORY: usize = 128 << 20;

/// Answers the query of the command line.
pub(crate) fn main() -> ExitCode {
    let mut args = Args::parse();
    if args.tables {
        // There is no query, so its place has the first file.
        args.input.files.splice(0..0, args.sql.take().map(Into::into));
    }
    if args.quiet {
        quiet::set();
    }
    let mut context = Context::new(Args::command);
    let ended = run(args, &mut context);
    exit::code(ended, &context)
}

fn run(mut args: Args, context: &mut Context) -> Ended {
    let mut files = FileTables::default();
    let mut read = args.input.files.clone();
    let mut streams = Vec::new();
    for path in std::mem::take(&mut args.input.files) {
        match FileTables::at(&path).map_err(Failure::new)? {
            None => streams.push(path),
            Some(paths) => {
                paths.iter().try_for_each(|path| files.add(path)).map_err(Failure::new)?;
                read.extend(paths);
            }
        }
    }
    args.input.files = streams;
    if args.condition.is_some() && !files.is_empty() {
        let help = "help: use WHERE in the query";
        return Err(Failure::new(format!(
            "--where selects events of streams, not rows of Parquet files; {help}"
        )));
    }
    let all = || std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let threads = args.threads.unwrap_or_else(all);
    let has_streams = !args.input.files.is_empty() || files.is_empty();
    let opened = if has_streams { Some(Opened::new(&args.input)?) } else { None };
    let recording = match &opened {
        Some(opened) => {
            read.extend(opened.paths());
            let source = Box::new(opened.source(&args.input, args.condition.as_ref())?);
            Some(Arc::new(Recording::open(source, threads).map_err(Failure::new)?))
        }
        None => None,
    };

    let runtime = Builder::new_multi_thread().worker_threads(threads.get()).build();
    let runtime = runtime.map_err(|error| Failure::new(format!("cannot start threads: {error}")))?;
    let interrupted = Arc::new(Notify::new());
    let answered = runtime.block_on(async {
        let engine = Engine::new(recording.as_ref(), &files, threads, MEMORY).await.map_err(Failure::new)?;
        if args.tables {
            return list(&args, &engine, &read).await;
        }
        // An interrupt must remove the temporary files of the engine, too.
        let notify = interrupted.clone();
        interrupt::stops(move || notify.notify_one());
        tokio::select! {
            answered = answer(&args, &engine, &read) => answered,
            () = interrupted.notified() => Err(Failure::Interrupted),
        }
    });
    // Threads that still decode see that their rows are not needed.
    drop(runtime);
    answered?;
    if let (Some(recording), Some(opened)) = (recording, opened) {
        opened.report(&recording.reads(), context);
    }
    Ok(())
}

async fn answer(args: &Args, engine: &Engine, read: &[std::path::PathBuf]) -> Ended {
    let mut rows = engine.query(args.sql.as_deref().unwrap_or_default()).await.map_err(Failure::new)?;
    let mut output = args.output.open(read)?;
    let step = if output.is_terminal() { None } else { Some(Step::new("query")) };
    let form = match (args.csv, args.json) {
        (true, _) => Form::Csv,
        (_, true) => Form::Json,
        _ => Form::Text,
    };
    let printer = Printer::new(form, &rows.schema());
    print(&mut rows, printer, &mut output).await?;
    drop(step);
    output.finish()
}

async fn print(rows: &mut Rows, mut printer: Printer, output: &mut Output) -> Ended {
    while let Some(batch) = rows.next().await.map_err(Failure::new)? {
        printer.batch(output, &batch)?;
    }
    printer.end(output.buffer());
    Ok(())
}

/// Lists the tables with their columns.
async fn list(args: &Args, engine: &Engine, read: &[std::path::PathBuf]) -> Ended {
    let mut output = args.output.open(read)?;
    for name in engine.names() {
        let schema = engine.schema(name).await.map_err(Failure::new)?;
        let columns: Vec<_> = schema.fields().iter().map(|field| field.name().as_str()).collect();
        output.buffer().extend_from_slice(format!("{name}: {}\n", columns.join(", ")).as_bytes());
        output.relieve()?;
    }
    output.finish()
}
