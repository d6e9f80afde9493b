//! `telemetry sql`: the database of the MPS's `mpseventsql`, and more.

#![cfg(feature = "sql")]

use std::path::{Path, PathBuf};

use telemetry_decode::Order;

use crate::input::cnv_input::{cannot_filter_text, registries_of_text, report_guesses};
use crate::input::inputs::{Inputs, RegistryArgs, SensitiveArgs, cannot_read};
use crate::input::opening::FormatArgs;
use crate::input::selection::FilterArgs;
use crate::input::threads::ThreadArgs;
use crate::input::verdict::Verdict;
use crate::sql::{Database, Dots, Load, Loaded, Log, Schema, TextLog, Transaction};
use crate::term::ended::{Context, Ended, Failure, Run};
use crate::term::message::{has_verdicts, note};
use crate::term::progress::Progress;
use crate::text::path::display;
use crate::text::{count, grouped};

/// The default database.
const DEFAULT_DATABASE: &str = "telemetry.db";

/// The options of which messages speak.
const DELETE: &str = "--delete";
const FORCE: &str = "--force";

const EXAMPLES: &str = "\
Every event has a table EVENT_<Name> with a column for each parameter. NAMED_<Name> is the same with names
of labels and enums; `event` has all events. Events that the database has are not loaded again, even from
another file. Each FILE is loaded completely or not at all. Without FILE, the command reads cnv text from
standard input, like mpseventsql. The registries of cnv text are those of --registry, by default the MPS's.
See docs/sql.md.

Examples:
  telemetry sql gcbench.tel
  telemetry sql --kind Trace --kind Pool gcbench.tel
  telemetry sql --delete -o gcbench.db gcbench.*.tel
  telemetry cnv gcbench.tel | LC_ALL=C sort | telemetry sql --registry events.toml
  sqlite3 telemetry.db 'SELECT event, count(*) FROM event GROUP BY event'";

/// Load events into an SQLite database, like mpseventsql
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Streams, loaded one after the other; `-` is standard input
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,

    #[command(flatten)]
    registries: RegistryArgs,

    #[command(flatten)]
    format: FormatArgs,

    #[command(flatten)]
    sensitive: SensitiveArgs,

    /// Exit with 1 also for lost or missing events and unended sessions
    #[arg(long)]
    strict: bool,

    /// Sorted cnv text instead of a stream; `-` is standard input
    #[arg(short = 'i', long, value_name = "FILE", conflicts_with = "files")]
    text: Option<PathBuf>,

    /// The database, created if missing [default: $TELEMETRY_DATABASE, else telemetry.db]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Replace the content of the database; if the load fails, the old content stays
    #[arg(long)]
    delete: bool,

    /// Load events even if the database has them
    #[arg(long)]
    force: bool,

    /// Rebuild event_kind, event_type, event_param and the views from the registries of the input
    #[arg(short, long)]
    rebuild: bool,

    /// Print a dot for every 100,000 events
    #[arg(short, long)]
    progress: bool,

    /// Log what is created: -v registries, -vv rows, -vvv indexes; implies -p
    #[arg(short, long, action = clap::ArgAction::Count)]
    verbose: u8,

    #[command(flatten)]
    threads: ThreadArgs,

    #[command(flatten)]
    filter: FilterArgs,
}

impl Run for Args {
    fn run(&self, context: &mut Context) -> Ended {
        let path = self.database();
        let database = Database::open(&path)?;
        if let Some(text) = self.text_input() {
            let transaction = self.begin(&database)?;
            let is_new = self.load_text(context, text, &path, transaction)?;
            if is_new { database.placed()? } else { database }.shrink();
            return Ok(());
        }
        if self.delete { self.replace(context, &path, database) } else { self.add(context, &path, database) }
    }
}

impl Args {
    /// Adds each stream.
    fn add(&self, context: &mut Context, path: &Path, mut database: Database) -> Ended {
        for file in &self.files {
            let transaction = self.begin(&database)?;
            let told = self.load_stream(file, &transaction)?;
            if told.is_stream {
                transaction.commit()?;
                database = database.placed()?;
            }
            told.tell(context, path, self.strict);
        }
        Ok(())
    }

    /// Replaces the content with all streams in one transaction.
    fn replace(&self, context: &mut Context, path: &Path, database: Database) -> Ended {
        let transaction = self.begin(&database)?;
        let mut all = Vec::new();
        for file in &self.files {
            all.push(self.load_stream(file, &transaction)?);
        }
        transaction.commit()?;
        let database = database.placed()?;
        all.iter().for_each(|told| told.tell(context, path, self.strict));
        database.shrink();
        Ok(())
    }

    fn database(&self) -> PathBuf {
        let named =
            || std::env::var_os("TELEMETRY_DATABASE").filter(|name| !name.is_empty()).map(PathBuf::from);
        self.output.clone().or_else(named).unwrap_or_else(|| DEFAULT_DATABASE.into())
    }

    /// Returns the input of cnv text, if there is one.
    fn text_input(&self) -> Option<&Path> {
        match &self.text {
            Some(text) => Some(text),
            None if self.files.is_empty() => Some(Path::new("-")),
            None => None,
        }
    }

    fn begin<'d>(&self, database: &'d Database) -> Result<Transaction<'d>, Failure> {
        let transaction = database.begin()?;
        if self.delete {
            transaction.clear().map_err(|error| transaction.failed(&error))?;
        }
        Ok(transaction)
    }

    /// Loads a stream.
    fn load_stream<'f>(&self, file: &'f Path, transaction: &Transaction<'_>) -> Result<Told<'f>, Failure> {
        let inputs = Inputs::new(vec![file.to_path_buf()], self.registries.load()?)
            .of_format(self.format)
            .showing(self.sensitive);
        let mut schema = self.schema(transaction)?;
        let load = Load::new(transaction, &mut schema, self.verbose)?;
        self.same_filter(&load)?;
        let earlier = if self.force { Vec::new() } else { load.positions()? };
        let reader = inputs.reader()?.order(Order::Stream).filter(self.filter.filter()?).resume(earlier);
        let mut events = reader.events().map_err(cannot_read)?;
        // Logs of other systems have no identifiable blocks, so only a whole log can be skipped.
        if let Some(counts) = events.log_counts().filter(|_| !self.force)
            && let earlier @ 1.. = load.earlier_events(events.sessions())?
        {
            let loaded = Some(Loaded { events: 0, serial: None });
            let all = counts.iter().map(|count| count.count).sum();
            let partly = (earlier < all && self.filter.is_empty()).then_some((earlier, all));
            return Ok(Told { file, loaded, partly, is_stream: false, verdict: None });
        }
        events.decode_ahead(self.threads.number());
        let (mut dots, progress) = self.shown(|| Progress::of_bytes(inputs.len()));
        let log = Log::new(file).filtered(self.filter_text());
        let loaded = load.events(&log, &mut events, self.rebuild, |events, bytes| {
            dots.show(events);
            progress.at(bytes);
        })?;
        drop((dots, progress));
        let completeness = events.completeness();
        let is_known = completeness.lanes.iter().any(|lane| lane.earlier > 0);
        Ok(Told {
            file,
            loaded: Some(loaded).filter(|loaded| loaded.serial.is_some() || is_known),
            partly: None,
            is_stream: completeness.blocks > 0,
            verdict: Some(Verdict::new(&completeness, events.sessions(), &inputs)),
        })
    }

    /// Returns the options that decide what is in the database.
    fn filter_text(&self) -> Option<String> {
        let shows = self.sensitive.show_sensitive.then(|| "--show-sensitive".to_string());
        let all: Vec<String> = self.filter.text().into_iter().chain(shows).collect();
        (!all.is_empty()).then(|| all.join(" "))
    }

    /// Refuses another filter than that of earlier streams: the database tells only how far each
    /// was read, and not which events were left out.
    fn same_filter(&self, load: &Load<'_, '_>) -> Result<(), Failure> {
        let filter = self.filter_text();
        let Some(other) = load.other_filter(filter.as_deref())?.filter(|_| !self.force) else {
            return Ok(());
        };
        let text =
            |filter: Option<String>| filter.map_or("no filter".to_string(), |text| format!("`{text}`"));
        Err(Failure::new(format!(
            "{} was loaded with {}, found {}; help: the same filter, {DELETE} to replace all events, or another \
             database with -o",
            display(&self.database()),
            text(other),
            text(filter),
        )))
    }

    /// Loads text. Returns true if something was committed.
    fn load_text(
        &self,
        context: &mut Context,
        file: &Path,
        database: &Path,
        transaction: Transaction<'_>,
    ) -> Result<bool, Failure> {
        if !self.filter.is_empty() {
            return Err(cannot_filter_text());
        }
        let registries = registries_of_text(self.registries.load()?);
        let log = TextLog::open(file, &registries, self.registries.is_empty())?;
        let mut schema = self.schema(&transaction)?;
        let load = Load::new(&transaction, &mut schema, self.verbose)?;
        let len = log.len();
        let (mut dots, progress) = self.shown(|| Progress::of_bytes(len));
        let loaded = log.load(context, load, self.rebuild, self.force, |events, bytes| {
            dots.show(events);
            progress.at(bytes);
        })?;
        drop((dots, progress));
        report_guesses(&registries);
        let is_new = loaded.as_ref().is_some_and(|loaded| loaded.serial.is_some());
        if is_new {
            transaction.commit()?;
        }
        if let Some(loaded) = loaded {
            say(&loaded, file, database);
        }
        Ok(is_new)
    }

    fn schema(&self, transaction: &Transaction<'_>) -> Result<Schema, Failure> {
        Schema::read(transaction.connection()).map_err(|error| transaction.failed(&error))
    }

    /// Shows the MPS's dots, or without them a bar.
    fn shown(&self, bar: impl FnOnce() -> Progress) -> (Dots, Progress) {
        let are_dots = self.progress || self.verbose > 0;
        (Dots::new(are_dots), if are_dots { Progress::hidden() } else { bar() })
    }
}

/// The report on a stream after its commit.
struct Told<'f> {
    file: &'f Path,
    loaded: Option<Loaded>,
    /// For a log of another system that is partly loaded: the number of loaded events, and of all.
    partly: Option<(u64, u64)>,
    /// False if there is nothing to commit.
    is_stream: bool,
    /// None if it was not read.
    verdict: Option<Verdict>,
}

impl Told<'_> {
    fn tell(&self, context: &mut Context, database: &Path, strict: bool) {
        if let Some((earlier, all)) = self.partly {
            let (file, database) = (display(self.file), display(database));
            context.problem(format!(
                "{database} has {} of the {} of {file}, but not which; loaded nothing; help: {DELETE} replaces all events \
                 in the database, {FORCE} adds all events again",
                grouped(earlier),
                count(all, "event"),
            ));
            return;
        }
        if let Some(loaded) = &self.loaded {
            say(loaded, self.file, database);
        }
        if let Some(verdict) = &self.verdict {
            verdict.report(context, strict);
        }
    }
}

/// Reports the result of loading a log.
fn say(loaded: &Loaded, file: &Path, database: &Path) {
    let (file, database) = (display(file), display(database));
    note(match loaded.serial {
        Some(serial) => {
            format!("loaded {} of {file} into {database} as log {serial}", count(loaded.events, "event"))
        }
        None => {
            // The MPS's program has only letters.
            let force = if has_verdicts() { FORCE } else { "-f" };
            format!("{database} already has all events of {file}; help: {force} loads them again")
        }
    });
}
