//! `telemetry control`: shows, switches, flushes, marks and asks a running process, and takes
//! snapshots.

use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::process::{
    Counters, Info, KindCounters, Masks, Pool, Process, ProcessName, SinkCounters, State, word,
};
use crate::term::ended::{Context, Ended, Failure, Run};
use crate::term::json::JsonArgs;
use crate::term::output::Output;
use crate::text::date;
use crate::text::quantity::duration;
use crate::text::table::Table;
use crate::text::{count, escaped_text, grouped};

const EXAMPLES: &str = "\
Words are those of TELEMETRY_CONTROL, and apply from left to right: `all`, the name of a kind, event or preset,
`registry:word`, or a number as a bitmap of kinds. A leading `-` excludes.

Examples:
  telemetry control 4711                         enabled events, and event counts
  telemetry control gcbench                      the same, if one process has this name
  telemetry control 4711 Trace -TraceTick        enable a kind without one of its events
  telemetry control 4711 --for 5s Ref            enable a kind for five seconds
  telemetry control 4711 --reset all             disable all events
  telemetry control 4711 --record Ref            record a kind in memory
  telemetry control 4711 --snapshot now.tel      write all events in memory to a file
  telemetry control 4711 --mark 'deploy 17'      mark this moment in its stream
  telemetry control 4711 --ask 'cache.size pages'  have the program answer a request that it knows
  telemetry control 4711 --json | jq .counters";

/// Show or change the events of a running process; flush it, mark a moment, or take a snapshot
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Process number, or the name of its program, as `telemetry list` shows them; or a socket of
    /// `telemetry listen --control`
    #[arg(value_name = "PROCESS")]
    process: ProcessName,

    /// Events to enable; without words, show the state
    #[arg(value_name = "WORD", allow_hyphen_values = true, value_parser = word, conflicts_with = "json")]
    words: Vec<String>,

    /// Disable the named events instead
    #[arg(long, requires = "words")]
    reset: bool,

    /// Enable the events for this time only, such as `5s`, at most a day
    #[arg(long = "for", value_name = "TIME", value_parser = time, requires = "words", conflicts_with_all = ["reset", "record"])]
    time: Option<Duration>,

    /// Change which events are recorded, instead of which are output
    #[arg(long, requires = "words")]
    record: bool,

    /// Write all recorded events to the sinks
    #[arg(long, conflicts_with_all = ["words", "snapshot", "json"])]
    flush: bool,

    /// Write all events in memory to a file, without removing them
    #[arg(long, value_name = "FILE", conflicts_with_all = ["words", "json"])]
    snapshot: Option<PathBuf>,

    /// Mark this moment with a text, as an event of the process
    #[arg(long, value_name = "TEXT", value_parser = mark_text, conflicts_with_all = ["words", "flush", "snapshot", "counters", "json"])]
    mark: Option<String>,

    /// Ask the program itself: the name of a request that it answers, and a text for it
    #[arg(long, value_name = "NAME [TEXT]", value_parser = mark_text, conflicts_with_all = ["words", "flush", "snapshot", "counters", "mark", "json"])]
    ask: Option<String>,

    /// Show only counters
    #[arg(long, conflicts_with_all = ["words", "flush", "snapshot"])]
    counters: bool,

    #[command(flatten)]
    json: JsonArgs,
}

/// Parses the time of `--for`.
fn time(text: &str) -> Result<Duration, String> {
    let time = duration(text)?;
    let range = Duration::from_millis(1)..=Duration::from_secs(24 * 60 * 60);
    if range.contains(&time) { Ok(time) } else { Err(format!("expected 1 ms to a day, found `{text}`")) }
}

impl Run for Args {
    fn run(&self, context: &mut Context) -> Ended {
        let process = self.process.find()?;
        if self.flush {
            process.open("flush")?;
            return Ok(());
        }
        if let Some(text) = &self.mark {
            process.open(&format!("mark {text}"))?;
            return Ok(());
        }
        if let Some(request) = &self.ask {
            let Answer { answer } = process.ask(&format!("ask {request}"))?;
            let mut output = Output::stdout();
            for line in answer.lines() {
                output.buffer().extend_from_slice(escaped_text(line).as_bytes());
                output.buffer().push(b'\n');
            }
            return output.finish();
        }
        if let Some(path) = &self.snapshot {
            return snapshot(&process, path);
        }
        if !self.words.is_empty() {
            return self.switch(&process, context);
        }
        let info = if self.counters { None } else { Some(process.info()?) };
        let State { counters, pool, kinds, sinks } = process.ask("counters")?;
        let shown = Shown { version: 1, info, counters, pool, kinds, sinks };
        Output::stdout().show(self.json.is_on(), &shown, |out| shown.append_text(out))
    }
}

impl Args {
    fn switch(&self, process: &Process, context: &mut Context) -> Ended {
        let mask = if self.record { "record " } else { "" };
        let verb = if self.reset { "reset" } else { "set" };
        let verb = match self.time {
            Some(time) => format!("for {}", time.as_millis()),
            None => format!("{mask}{verb}"),
        };
        let masks: Masks = process.ask(&format!("{verb} {}", self.words.join(" ")))?;
        let mut output = Output::stdout();
        let mut table = Table::new(2, &["output", &words(&masks.output)]);
        table.row(["record".into(), words(&masks.record)]);
        table.append(output.buffer(), 0);
        output.finish()?;
        masks.unknown.messages().for_each(|why| context.problem(why));
        Ok(())
    }
}

/// What the program answers.
#[derive(Deserialize)]
struct Answer {
    answer: String,
}

/// The most bytes of a mark's text.
const MAX_MARK: usize = 4096;

/// Parses the text of a mark, which is the rest of a line.
fn mark_text(text: &str) -> Result<String, String> {
    let text = text.trim();
    if text.is_empty() {
        return Err("nothing, expected a text".into());
    }
    if text.len() > MAX_MARK {
        return Err(format!(
            "{} bytes, expected at most {}",
            grouped(text.len() as u64),
            grouped(MAX_MARK as u64)
        ));
    }
    match text.chars().find(|c| c.is_control() && *c != '\t') {
        Some(c) => Err(format!("{c:?} in it, expected a line of text")),
        None => Ok(text.into()),
    }
}

/// All that the command shows; docs/cli.md describes the JSON form.
#[derive(Serialize)]
struct Shown {
    version: u32,
    #[serde(flatten)]
    info: Option<Info>,
    counters: Counters,
    #[serde(skip_serializing_if = "Option::is_none")]
    pool: Option<Pool>,
    kinds: Vec<KindCounters>,
    sinks: Vec<SinkCounters>,
}

impl Shown {
    fn append_text(&self, out: &mut Vec<u8>) {
        if let Some(info) = &self.info {
            let mut table = Table::new(2, &["process", &info.called().to_string()]);
            let mut row = |key: &str, value: String| table.row([format!("  {key}"), value]);
            row("program", escaped_text(&info.program));
            row("session", escaped_text(&info.session));
            row("started", date::rfc_3339(info.started_ns));
            row("file", escaped_text(&info.filename));
            for registry in &info.registries {
                row("registry", escaped_text(&format!("{} {}", registry.name, registry.version)));
                if !registry.presets.is_empty() {
                    row("presets", escaped_text(&registry.presets.join(" ")));
                }
            }
            row("output", words(&info.masks.output));
            row("record", words(&info.masks.record));
            table.append(out, 0);
            out.push(b'\n');
        }
        let mut kinds = Table::new(
            2,
            &["kind", "registry", "emitted", "written", "retained", "evicted", "lost", "truncated"],
        );
        for KindCounters { registry, name, counters, .. } in &self.kinds {
            kinds.row([escaped_text(name), escaped_text(registry)].into_iter().chain(cells(counters)));
        }
        kinds.row(["all".to_string(), String::new()].into_iter().chain(cells(&self.counters)));
        kinds.append(out, 0);
        if self.counters.lost() > 0 {
            let loss = self.counters.loss();
            let causes =
                loss.causes().map(|(cause, events)| format!("{} ({})", grouped(events), cause.text()));
            let causes: Vec<_> = causes.collect();
            out.extend_from_slice(format!("lost: {}\n", causes.join(", ")).as_bytes());
        }
        if let Some(pool) = &self.pool {
            out.extend_from_slice(format!("{}\n", self.usage(pool)).as_bytes());
        }
        for sink in &self.sinks {
            let numbers = sink.counters.iter().map(|(key, number)| format!("{} {key}", grouped(*number)));
            let numbers: Vec<_> = numbers.collect();
            let failed = sink.failure.iter().map(|why| format!("; it failed: {why}"));
            let line = format!("{}: {}{}", sink.name, numbers.join(", "), failed.collect::<String>());
            out.extend_from_slice(escaped_text(&line).as_bytes());
            out.push(b'\n');
        }
    }
}

impl Shown {
    /// Describes the pool, and the kinds of which the flight recorder retains most.
    fn usage(&self, pool: &Pool) -> String {
        let Pool { size, free, open, waiting, retained, lanes, labels } = *pool;
        let mut kinds: Vec<_> = self.kinds.iter().filter(|kind| kind.retained_bytes > 0).collect();
        kinds.sort_by_key(|kind| std::cmp::Reverse(kind.retained_bytes));
        let most = kinds.iter().take(3);
        let most: Vec<_> = most
            .map(|kind| {
                escaped_text(&format!("{}:{} {}", kind.registry, kind.name, grouped(kind.retained_bytes)))
            })
            .collect();
        let most = if most.is_empty() { String::new() } else { format!(" ({})", most.join(", ")) };
        let labels = if labels > 0 { format!("; {} of labels", grouped(labels)) } else { String::new() };
        let lanes = count(lanes, "lane");
        let [size, free, open, waiting, retained] = [size, free, open, waiting, retained].map(grouped);
        format!(
            "pool: {size} bytes: {free} free, {open} in open blocks of {lanes}, {waiting} waiting for sinks, \
             {retained} retained by the recorder{most}{labels}"
        )
    }
}

fn cells(counters: &Counters) -> [String; 6] {
    let Counters { emitted, written, retained, evicted, truncated, .. } = *counters;
    [emitted, written, retained, evicted, counters.lost(), truncated].map(grouped)
}

/// Formats the enabled events.
fn words(mask: &str) -> String {
    if mask.is_empty() { "nothing".into() } else { escaped_text(mask) }
}

/// Writes the memory of a process to a file, which appears when it is complete.
fn snapshot(process: &Process, path: &Path) -> Ended {
    let mut output = Output::to(path)?;
    let connection = process.open("snapshot")?;
    let len = connection.len;
    let mut stream = connection.pieces(false)?;
    let (mut piece, mut got) = (vec![0; 64 << 10], 0);
    loop {
        match stream.read(&mut piece) {
            Ok(0) => break,
            Ok(n) => {
                got += n as u64;
                output.buffer().extend_from_slice(&piece[..n]);
                output.relieve()?;
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(process.silent(&error)),
        }
    }
    if let Some(len) = len.filter(|len| *len != got) {
        let (got, len) = (grouped(got), grouped(len));
        return Err(Failure::new(format!(
            "process {} sent {got} bytes of a snapshot, expected {len}",
            process.pid
        )));
    }
    output.finish()
}
