//! `telemetry sql`: the database of MPS's `mpseventsql`, and more.

use std::path::{Path, PathBuf};

use telemetry_decode::Order;

use crate::cnv_input::registries_of_text;
use crate::exit::{Ended, Failure, Outcome, report};
use crate::input::{Inputs, RegistryArgs, cannot_read, display};
use crate::opening::FormatArgs;
use crate::progress::Progress;
use crate::sql::{Database, Dots, Load, Loaded, Log, Schema, TextLog, Transaction};
use crate::text::{count, grouped};
use crate::verdict::Verdict;

/// Where events go if nobody says it.
const DEFAULT_DATABASE: &str = "telemetry.db";

const EXAMPLES: &str = "\
Every event has a table EVENT_<Name> with a column for each parameter; NAMED_<Name> is the same with labels
and names of enums; `event` has all events. What is in the database already is not loaded again, even from
another file. Each FILE is loaded whole or not at all. Without FILE, cnv text is read from standard input, as
mpseventsql does; it names events by code alone, so they are the MPS's, unless --registry says something else.
See docs/sql.md.

Examples:
  telemetry sql gcbench.tel
  telemetry sql -d -o gcbench.db gcbench.*.tel
  telemetry cnv gcbench.tel | LC_ALL=C sort | telemetry sql --registry events.toml
  sqlite3 telemetry.db 'SELECT event, count(*) FROM event GROUP BY event'";

/// Load events into an SQLite database, as mpseventsql does
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

    /// Exit with 1 if anything at all is lost, missing or unfinished
    #[arg(long)]
    strict: bool,

    /// cnv text instead of a stream; `-` is standard input
    #[arg(short, value_name = "FILE", conflicts_with = "files")]
    input_text: Option<PathBuf>,

    /// The database, made if it is not there [default: $TELEMETRY_DATABASE, else telemetry.db]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Delete everything in the database before; if the load fails, everything stays
    #[arg(short)]
    delete: bool,

    /// Load events even if the database has them already
    #[arg(short)]
    force: bool,

    /// Rebuild what describes events (event_kind, event_type, event_param, the views) from the registries of the input
    #[arg(short)]
    rebuild: bool,

    /// Show progress by a dot on standard output for every 100,000 events
    #[arg(short)]
    progress: bool,

    /// Say what is made: -v registries, -vv rows, -vvv indexes. Implies -p
    #[arg(short, action = clap::ArgAction::Count)]
    verbose: u8,
}

impl Args {
    pub(crate) fn run(&self) -> Ended {
        let path = self.database();
        let database = Database::open(&path)?;
        if let Some(text) = self.text() {
            let transaction = self.begin(&database)?;
            let (is_new, outcome) = self.load_text(text, &path, transaction)?;
            if is_new { database.placed()? } else { database }.shrink();
            return Ok(outcome);
        }
        if self.delete { self.replace(&path, database) } else { self.add(&path, database) }
    }

    /// Adds each stream.
    fn add(&self, path: &Path, mut database: Database) -> Ended {
        let mut outcome = Outcome::Clean;
        for file in &self.files {
            let transaction = self.begin(&database)?;
            let told = self.load_stream(file, &transaction)?;
            if told.is_stream {
                transaction.commit()?;
                database = database.placed()?;
            }
            outcome = outcome.and(told.tell(path, self.strict));
        }
        Ok(outcome)
    }

    /// Replaces what is there by all streams at once.
    fn replace(&self, path: &Path, database: Database) -> Ended {
        let transaction = self.begin(&database)?;
        let mut all = Vec::new();
        for file in &self.files {
            all.push(self.load_stream(file, &transaction)?);
        }
        transaction.commit()?;
        let database = database.placed()?;
        let outcome =
            all.iter().fold(Outcome::Clean, |outcome, told| outcome.and(told.tell(path, self.strict)));
        database.shrink();
        Ok(outcome)
    }

    fn database(&self) -> PathBuf {
        let named =
            || std::env::var_os("TELEMETRY_DATABASE").filter(|name| !name.is_empty()).map(PathBuf::from);
        self.output.clone().or_else(named).unwrap_or_else(|| DEFAULT_DATABASE.into())
    }

    /// The text to be read, if it is to be text.
    fn text(&self) -> Option<&Path> {
        match &self.input_text {
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
        let inputs = Inputs::new(vec![file.to_path_buf()], self.registries.load()?).of_format(self.format);
        let mut schema = self.schema(transaction)?;
        let load = Load::new(transaction, &mut schema, self.verbose)?;
        let earlier = if self.force { Vec::new() } else { load.read_lanes()? };
        let reader = inputs.reader()?.order(Order::Stream).after(earlier);
        let mut events = reader.events().map_err(cannot_read)?;
        // Other systems' logs have no blocks that could be told from others: one is there or it is not.
        if let Some(counts) = events.log_counts().filter(|_| !self.force)
            && let earlier @ 1.. = load.earlier_events(events.sessions())?
        {
            let loaded = Some(Loaded { events: 0, serial: None });
            let all = counts.iter().map(|count| count.count).sum();
            let partly = (earlier < all).then_some((earlier, all));
            return Ok(Told { file, loaded, partly, is_stream: false, verdict: None });
        }
        let (mut dots, progress) = self.shown(|| Progress::of(&inputs));
        let loaded = load.events(&Log::new(file), &mut events, self.rebuild, |events, bytes| {
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

    /// Loads text. True if something was committed.
    fn load_text(
        &self,
        file: &Path,
        database: &Path,
        transaction: Transaction<'_>,
    ) -> Result<(bool, Outcome), Failure> {
        let registries = registries_of_text(self.registries.load()?);
        let log = TextLog::open(file, &registries, self.registries.is_empty())?;
        let mut schema = self.schema(&transaction)?;
        let load = Load::new(&transaction, &mut schema, self.verbose)?;
        let len = log.len();
        let (mut dots, progress) = self.shown(|| Progress::of_bytes(len));
        let (loaded, outcome) = log.load(load, self.rebuild, self.force, |events, bytes| {
            dots.show(events);
            progress.at(bytes);
        })?;
        drop((dots, progress));
        let is_new = loaded.as_ref().is_some_and(|loaded| loaded.serial.is_some());
        if is_new {
            transaction.commit()?;
        }
        if let Some(loaded) = loaded {
            say(&loaded, file, database);
        }
        Ok((is_new, outcome))
    }

    fn schema(&self, transaction: &Transaction<'_>) -> Result<Schema, Failure> {
        Schema::read(transaction.connection()).map_err(|error| transaction.failed(&error))
    }

    /// MPS's dots, or without them a bar.
    fn shown(&self, bar: impl FnOnce() -> Progress) -> (Dots, Progress) {
        let are_dots = self.progress || self.verbose > 0;
        (Dots::new(are_dots), if are_dots { Progress::hidden() } else { bar() })
    }
}

/// What is to be told of a stream once it is committed.
struct Told<'f> {
    file: &'f Path,
    loaded: Option<Loaded>,
    /// Of a log of another system of which some events are there and others are not: how many are, and of how many.
    partly: Option<(u64, u64)>,
    /// False if there is nothing to commit.
    is_stream: bool,
    /// None if it was not read.
    verdict: Option<Verdict>,
}

impl Told<'_> {
    fn tell(&self, database: &Path, strict: bool) -> Outcome {
        if let Some((earlier, all)) = self.partly {
            let (file, database) = (display(self.file), display(database));
            report(format!(
                "{database} has {} of the {} of {file}, and which is not known: nothing was loaded; help: -d replaces \
                 everything that is there, -f loads all events in addition",
                grouped(earlier),
                count(all, "event"),
            ));
            return Outcome::Problems;
        }
        if let Some(loaded) = &self.loaded {
            say(loaded, self.file, database);
        }
        self.verdict.as_ref().map_or(Outcome::Clean, |verdict| verdict.report(strict))
    }
}

/// Says what became of a log.
fn say(loaded: &Loaded, file: &Path, database: &Path) {
    let (file, database) = (display(file), display(database));
    report(match loaded.serial {
        Some(serial) => {
            format!("loaded {} of {file} into {database} as log {serial}", count(loaded.events, "event"))
        }
        None => format!("{database} has all events of {file} already; help: -f loads them again"),
    });
}
