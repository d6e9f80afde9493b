//! `telemetry control`: a running process asked, switched, flushed, and a snapshot of it taken.

use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::date;
use crate::exit::{Ended, Failure, Outcome, report};
use crate::output::Output;
use crate::process::{Counters, Info, KindCounters, Masks, Pid, Process, SinkCounters, State, silent, word};
use crate::table::Table;
use crate::text::{escaped_text, grouped};

const EXAMPLES: &str = "\
Words are those of TELEMETRY_CONTROL, and apply from left to right: `all`, the name of a kind or of an event,
`registry:word`, a number as a bitmap of kinds; a leading `-` takes away.

Examples:
  telemetry control 4711                         what is on, and what became of the events
  telemetry control 4711 Trace -TraceTick        switch on a kind without one of its events
  telemetry control 4711 --reset all             silence
  telemetry control 4711 --record Ref            keep a kind's last events in memory
  telemetry control 4711 --snapshot now.tel      write what is in memory to a file
  telemetry control 4711 --json | jq .counters";

/// Show or change what a running process records, flush it, take a snapshot of it
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Number of the process, as `telemetry list` shows it
    #[arg(value_name = "PID")]
    pid: Pid,

    /// What to switch on; without words, shows what is on
    #[arg(value_name = "WORD", allow_hyphen_values = true, value_parser = word)]
    words: Vec<String>,

    /// Switch off what the words name
    #[arg(long, requires = "words")]
    reset: bool,

    /// Switch what is recorded, rather than what of that is output
    #[arg(long, requires = "words")]
    record: bool,

    /// Have everything written that was recorded so far
    #[arg(long, conflicts_with_all = ["words", "snapshot"])]
    flush: bool,

    /// Write all that the process has in memory to a file, which takes nothing away from its output
    #[arg(long, value_name = "FILE", conflicts_with = "words")]
    snapshot: Option<PathBuf>,

    /// Show only counters
    #[arg(long, conflicts_with_all = ["words", "flush", "snapshot"])]
    counters: bool,

    /// As one JSON object
    #[arg(long, conflicts_with_all = ["words", "flush", "snapshot"])]
    json: bool,
}

impl Args {
    pub(crate) fn run(&self) -> Ended {
        let process = Process::find(self.pid)?;
        if self.flush {
            process.open("flush")?;
            return Ok(Outcome::Clean);
        }
        if let Some(path) = &self.snapshot {
            return snapshot(&process, path);
        }
        if !self.words.is_empty() {
            return self.switch(&process);
        }
        let info = if self.counters { None } else { Some(process.info()?) };
        let State { counters, kinds, sinks } = process.ask("counters")?;
        let shown = Shown { version: 1, info, counters, kinds, sinks };
        Output::stdout().show(self.json, &shown, |out| shown.append_text(out))?;
        Ok(Outcome::Clean)
    }

    fn switch(&self, process: &Process) -> Ended {
        let mask = if self.record { "record " } else { "" };
        let verb = if self.reset { "reset" } else { "set" };
        let masks: Masks = process.ask(&format!("{mask}{verb} {}", self.words.join(" ")))?;
        let mut output = Output::stdout();
        let mut table = Table::new(2, &["output", &words(&masks.output)]);
        table.row(["record".into(), words(&masks.record)]);
        table.append(output.buffer(), 0);
        output.finish()?;
        masks.unknown.iter().for_each(|why| report(escaped_text(why)));
        Ok(Outcome::problems_if(!masks.unknown.is_empty()))
    }
}

/// All that the command shows. The JSON form, described in docs/cli.md, is this.
#[derive(Serialize)]
struct Shown {
    version: u32,
    #[serde(flatten)]
    info: Option<Info>,
    counters: Counters,
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
            }
            row("output", words(&info.masks.output));
            row("record", words(&info.masks.record));
            table.append(out, 0);
            out.push(b'\n');
        }
        let mut kinds =
            Table::new(2, &["kind", "registry", "emitted", "written", "held", "recycled", "lost", "cut"]);
        for KindCounters { registry, name, counters } in &self.kinds {
            kinds.row([escaped_text(name), escaped_text(registry)].into_iter().chain(cells(counters)));
        }
        kinds.row(["all".to_string(), String::new()].into_iter().chain(cells(&self.counters)));
        kinds.append(out, 0);
        let Counters { lost_pool, lost_nested, lost_sink, .. } = self.counters;
        if self.counters.lost() > 0 {
            let causes = [
                (lost_pool, "no memory was free"),
                (lost_nested, "an emission was under way"),
                (lost_sink, "no sink took them"),
            ];
            let causes = causes.iter().filter(|(number, _)| *number > 0);
            let causes: Vec<_> =
                causes.map(|(number, why)| format!("{} because {why}", grouped(*number))).collect();
            out.extend_from_slice(format!("lost: {}\n", causes.join(", ")).as_bytes());
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

fn cells(counters: &Counters) -> [String; 6] {
    let Counters { emitted, written, held, recycled, cut, .. } = *counters;
    [emitted, written, held, recycled, counters.lost(), cut].map(grouped)
}

/// What is on, as people read it.
fn words(mask: &str) -> String {
    if mask.is_empty() { "nothing".into() } else { escaped_text(mask) }
}

/// Writes what a process has in memory to a file, which appears when it is whole.
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
            Err(error) => return Err(silent(process.pid, &error)),
        }
    }
    if let Some(len) = len.filter(|len| *len != got) {
        let (got, len) = (grouped(got), grouped(len));
        return Err(Failure::new(format!(
            "process {} sent {got} bytes of a snapshot, expected {len}",
            process.pid
        )));
    }
    output.finish()?;
    Ok(Outcome::Clean)
}
