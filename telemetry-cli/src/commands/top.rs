//! `telemetry top`: the rates, durations and losses of a running program, on the whole terminal.

mod feed;
mod recent;
mod view;
mod window;

use std::fs::File;
use std::io::Read;
use std::net::Shutdown;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use telemetry_decode::{Completeness, Filter, Input, Session};

use crate::input::follow::{Follow, Growth};
use crate::input::inputs::{Inputs, RegistryArgs, SensitiveArgs};
use crate::input::opening::FormatArgs;
use crate::input::selection::FilterArgs;
use crate::input::verdict::Verdict;
use crate::process::{Process, ProcessName, Sent, word};
use crate::term::ended::{Context, Ended, Failure, Run};
use crate::term::message::note;
use crate::term::output::Output;
use crate::term::picture::Picture;
use crate::term::{interrupt, picture};
use crate::text::path::display;
use feed::{Feed, Now};
use view::{Sort, View};

const EXAMPLES: &str = "\
Rates and percentiles are of the last 10 s. Percentiles are at most 4 % wrong. A process sends its events as to
`telemetry tail`; its settings and other sinks do not change. A file is shown to its end, and then as it grows.
When the process ends, the last picture stays until the key q.

Keys: q quits, s sorts, p pauses, ? lists the keys.

Examples:
  telemetry top 4711                    the enabled events
  telemetry top gcbench all             all events of the process with this name
  telemetry top --kind Trace gc.tel     a file that a program writes
  telemetry top --once gc.tel           one picture as text, for scripts";

const INSTEAD: &str = "`--once` prints one picture as text";

/// The time between two pictures, and the least one after a key.
const REDRAW: Duration = Duration::from_millis(250);
const REDRAW_AT_KEY: Duration = Duration::from_millis(100);

/// How late events of a file may come, if its program has the usual latency.
const USUAL_LATENCY: Duration = Duration::from_secs(1);

/// The time of which `--once` shows a running process, in seconds.
const ONCE_SECONDS: f64 = 1.0;
/// How long `--once` waits for events of a process, which may emit none.
const ONCE_MOST: Duration = Duration::from_secs(10);

/// Show rates, durations and losses of a running program on the terminal
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Process number, name of its program, or a stream in a file
    #[arg(value_name = "PROCESS|FILE")]
    input: PathBuf,

    /// Of a process, these events, in words of TELEMETRY_CONTROL [default: enabled events]
    #[arg(value_name = "WORD", allow_hyphen_values = true, value_parser = word)]
    words: Vec<String>,

    /// Print one picture as text, and end
    #[arg(long)]
    once: bool,

    #[command(flatten)]
    registries: RegistryArgs,

    #[command(flatten)]
    sensitive: SensitiveArgs,

    /// Exit with 1 also for lost or missing events and unended sessions
    #[arg(long)]
    strict: bool,

    #[command(flatten)]
    filter: FilterArgs,
}

/// Where events come from.
struct Source {
    input: Box<dyn Read + Send>,
    inputs: Inputs,
    /// Ends the input.
    stop: Box<dyn FnOnce() + Send>,
    process: Option<Process>,
    latency: Duration,
    growth: Arc<Growth>,
    /// What the picture calls it.
    name: String,
    /// What is said at its end.
    end: String,
}

type Result<T> = std::result::Result<T, Failure>;
/// The accounts at the end of an input.
type Accounts = (Completeness, Vec<Session>);

impl Run for Args {
    fn run(&self, context: &mut Context) -> Ended {
        let filter = self.filter.filter()?;
        let source = match self.is_file() {
            true => self.open_file()?,
            false => self.open_process()?,
        };
        let process = source.process.as_ref().map(|process| process.pid);
        let (completeness, sessions) =
            if self.once { self.print(source, filter) } else { self.show(source, filter) }?;
        if let Some(pid) = process.filter(|_| completeness.blocks == 0) {
            note(format!("process {pid} recorded no such event"));
            return Ok(());
        }
        // A file has grown by now.
        let inputs = match process {
            Some(pid) => Inputs::new(vec![format!("process {pid}").into()], Vec::new()),
            None => Inputs::new(vec![self.input.clone()], self.registries.load()?),
        };
        Verdict::new(&completeness, &sessions, &inputs).report(context, self.strict);
        Ok(())
    }
}

impl Args {
    /// Returns true if the input is a file. A number is one of a process.
    fn is_file(&self) -> bool {
        let name = self.input.to_str().unwrap_or_default();
        match name.parse() {
            Ok(ProcessName::Number(_) | ProcessName::Socket(_)) => false,
            _ => self.input.exists() || name.contains('/') || self.input.extension().is_some(),
        }
    }

    fn name(&self) -> String {
        display(&self.input)
    }

    fn open_file(&self) -> Result<Source> {
        let path = &self.input;
        if let Some(word) = self.words.first() {
            return Err(Failure::new(format!(
                "{} is a file, and words such as `{word}` are for a process; help: `--event` and `--kind` select events",
                self.name()
            )));
        }
        let failed = |error| Failure::new(format!("cannot read {}: {error}", display(path)));
        let metadata = std::fs::metadata(path).map_err(failed)?;
        if metadata.is_dir() {
            // The error names the problem.
            Input::open(path).map_err(Failure::new)?;
        }
        if !metadata.is_file() {
            return Err(Failure::new(format!("cannot read {}: it is not a regular file", self.name())));
        }
        if let Some(format) = FormatArgs::default().of_file(path)? {
            return Err(Failure::new(format!(
                "{} is a log of format {}, and `top` is for telemetry streams",
                self.name(),
                format.name()
            )));
        }
        let inputs = Inputs::new(vec![path.clone()], self.registries.load()?).showing(self.sensitive);
        type Opened = (Box<dyn Read + Send>, Box<dyn FnOnce() + Send>, Arc<Growth>);
        let (input, stop, growth): Opened = match self.once {
            true => (Box::new(File::open(path).map_err(failed)?), Box::new(|| {}), Arc::default()),
            false => {
                let follow = Follow::open(path).map_err(failed)?;
                let (stop, growth) = (follow.stopper(), follow.growth());
                (Box::new(follow), Box::new(stop), growth)
            }
        };
        let end =
            if self.once { String::new() } else { format!("all sessions in {} have ended", self.name()) };
        let (name, latency) = (self.name(), USUAL_LATENCY);
        Ok(Source { input, inputs, stop, process: None, latency, growth, name, end })
    }

    fn open_process(&self) -> Result<Source> {
        let name =
            self.input.to_str().ok_or_else(|| Failure::new("expected a process or a file, found no text"))?;
        let name: ProcessName =
            name.parse().map_err(|error| Failure::new(format!("{}: {error}", self.name())))?;
        let process = name.find()?;
        let info = process.info()?;
        if self.words.is_empty() && info.masks.output.is_empty() {
            let pid = process.pid;
            note(format!(
                "process {pid} has no event enabled yet; help: `telemetry top {pid} all` shows all events"
            ));
        }
        if !self.words.is_empty() {
            process.expect_known(&self.words)?;
        }
        let stream = process.open(&format!("tail {}", self.words.join(" ")))?.pieces(true)?;
        let other = stream.try_clone();
        let other = other
            .map_err(|error| Failure::new(format!("cannot talk to process {}: {error}", process.pid)))?;
        Ok(Source {
            input: Box::new(Sent(stream)),
            inputs: Inputs::new(vec![format!("process {}", process.pid).into()], self.registries.load()?)
                .showing(self.sensitive),
            stop: Box::new(move || drop(other.shutdown(Shutdown::Both))),
            latency: Duration::try_from_secs_f64(info.latency).unwrap_or(USUAL_LATENCY),
            growth: Arc::new(Growth::known()),
            name: format!("process {}", process.pid),
            end: format!("process {} has closed the stream", process.pid),
            process: Some(process),
        })
    }
}

/// A thread that reads.
struct Reading {
    name: String,
    feed: Arc<Feed>,
    reader: JoinHandle<Result<Accounts>>,
    stop: Option<Box<dyn FnOnce() + Send>>,
}

impl Reading {
    /// Begins to read a source, and to ask its process. Calls a function at the end.
    fn start(source: Source, filter: Filter, at_end: impl FnOnce() + Send + 'static) -> Result<Reading> {
        let Source { input, inputs, stop, process, latency, growth, name, end } = source;
        let feed = Feed::new(latency, growth);
        let process = process.map(Arc::new);
        let (reading, asked) = (Arc::clone(&feed), process.clone());
        let read = move || {
            let read = reading.read(input, &inputs, filter);
            match (&read, asked) {
                (Err(_), _) => reading.stop(),
                (Ok(_), Some(process)) if process.is_ending() => {
                    reading.end(format!("process {} has ended", process.pid));
                }
                (Ok(_), _) => reading.end(end),
            }
            at_end();
            read
        };
        let failed = |error| Failure::new(format!("cannot start a thread: {error}"));
        let reader = std::thread::Builder::new().name("reader".to_string()).spawn(read).map_err(failed)?;
        if let Some(process) = process {
            let asking = Arc::clone(&feed);
            let ask = move || asking.ask(&process);
            std::thread::Builder::new().name("asker".to_string()).spawn(ask).map_err(failed)?;
        }
        Ok(Reading { name, feed, reader, stop: Some(stop) })
    }

    /// Returns true if nothing more is read.
    fn is_over(&self) -> bool {
        self.feed.is_stopped() || self.reader.is_finished()
    }

    /// Ends the reading.
    fn end(mut self) -> Result<Accounts> {
        self.feed.stop();
        if let Some(stop) = self.stop.take() {
            stop();
        }
        self.reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

impl Args {
    /// Prints one picture.
    fn print(&self, source: Source, filter: Filter) -> Result<Accounts> {
        let is_live = source.process.is_some();
        let longest = Instant::now() + 3 * source.latency + ONCE_MOST;
        let reading = Reading::start(source, filter, || {})?;
        let interrupted = Arc::clone(&reading.feed);
        interrupt::stops(move || interrupted.stop());
        let mut now = reading.feed.now();
        let has_enough = |now: &Now| {
            is_live && now.state.is_some() && now.figures.seconds.is_some_and(|of| of >= ONCE_SECONDS)
        };
        while !reading.is_over() && !has_enough(&now) && (!is_live || Instant::now() < longest) {
            std::thread::sleep(REDRAW_AT_KEY);
            now = reading.feed.now();
        }
        // A file was read to its end, and a process may have ended.
        let now = reading.feed.now();
        let name = reading.name.clone();
        let accounts = reading.end()?;
        let (columns, _) = picture::size_of_stdout().unwrap_or((80, 24));
        let view =
            View { input: &name, sort: Sort::Rate, is_paused: false, shows_help: false, columns, rows: None };
        let mut output = Output::stdout();
        for (_, line) in view.lines(&now) {
            output.buffer().extend_from_slice(line.as_bytes());
            output.buffer().push(b'\n');
        }
        output.finish()?;
        Ok(accounts)
    }

    /// Shows pictures until the user ends it.
    fn show(&self, source: Source, filter: Filter) -> Result<Accounts> {
        let mut picture = Picture::open(INSTEAD)?;
        let failed = |error| Failure::new(format!("cannot use the terminal: {error}"));
        let (waker, at_interrupt) = (picture.waker().map_err(failed)?, picture.waker().map_err(failed)?);
        let reading = Reading::start(source, filter, move || waker.wake())?;
        let interrupted = Arc::clone(&reading.feed);
        interrupt::stops(move || {
            interrupted.stop();
            at_interrupt.wake();
        });
        let shown = draw(&mut picture, &reading).map_err(failed);
        drop(picture);
        let accounts = reading.end();
        shown.and(accounts)
    }
}

/// Draws pictures until a key or an interrupt ends it.
fn draw(picture: &mut Picture, reading: &Reading) -> std::io::Result<()> {
    let mut now = reading.feed.now();
    let (mut sort, mut is_paused, mut shows_help) = (Sort::Rate, false, false);
    let (mut drawn, mut due) = (None::<Instant>, Instant::now());
    while !reading.feed.is_stopped() {
        let wait = due.saturating_duration_since(Instant::now());
        if wait.is_zero() {
            let fresh = reading.feed.now();
            match is_paused {
                true => now.ended = fresh.ended,
                false => now = fresh,
            }
            let (columns, rows) = picture.size();
            let view = View { input: &reading.name, sort, is_paused, shows_help, columns, rows: Some(rows) };
            picture.draw(&view.lines(&now))?;
            drawn = Some(Instant::now());
            due = Instant::now() + REDRAW;
            continue;
        }
        let before = picture.size();
        let keys = picture.wait(wait)?;
        // Arrows and such begin with an escape character.
        let keys = if keys.starts_with(b"\x1b") { Vec::new() } else { keys };
        for key in &keys {
            match key {
                _ if shows_help => shows_help = false,
                b'q' | b'Q' => return Ok(()),
                b's' => sort = sort.next(),
                b'p' | b' ' => is_paused = !is_paused,
                b'?' | b'h' => shows_help = true,
                _ => {}
            }
        }
        if !keys.is_empty() || picture.size() != before {
            due = due.min(drawn.map_or(due, |drawn| drawn + REDRAW_AT_KEY));
        }
        if reading.reader.is_finished() && now.ended.is_none() && !is_paused {
            now = reading.feed.now();
            // The thread has panicked.
            if now.ended.is_none() {
                return Ok(());
            }
        }
    }
    Ok(())
}
