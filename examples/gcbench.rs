//! GCBench on a small generational collector that tells what it does.
//!
//! The collector (`gcbench/gc`) and the benchmark (`gcbench/workload.rs`) emit the events of
//! `events.toml`; the stream they leave is then read again, and summed up on one screen.

#[path = "gcbench/counts.rs"]
mod counts;
#[path = "gcbench/gc/mod.rs"]
mod gc;
#[path = "gcbench/history.rs"]
mod history;
#[path = "gcbench/listen.rs"]
mod listen;
#[path = "gcbench/options.rs"]
mod options;
#[path = "gcbench/report.rs"]
mod report;
#[path = "gcbench/workload.rs"]
mod workload;

use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Instant;

use counts::Counts;
use history::History;
use listen::Heard;
use options::Command;
use report::{grouped, mega};
use telemetry::{Config, VARIETY, Variety, telemetry_event};
use workload::{Outcome, Settings};

#[telemetry_event("events.toml", decode)]
pub mod events {}

fn main() -> ExitCode {
    let (settings, draws) = match options::parse(std::env::args().skip(1)) {
        Ok(Command::Run(settings)) => (settings, false),
        Ok(Command::RunWithProgress(settings)) => (settings, true),
        Ok(Command::Help) => return exit(io::stdout().write_all(options::HELP.as_bytes())),
        Err(wrong) => {
            eprintln!("gcbench: {wrong}\nhelp: `--help` lists the options");
            return ExitCode::from(2);
        }
    };
    // Whoever runs the program has the last word: this is for what the environment does not say. The
    // buffer is for the moments when the threads keep the drain from the processors.
    Config::new().filename("gcbench.tel").control("all").buffer(64 << 20).start();
    let (result, heard) = listen::during(&settings, draws, || workload::run(&settings));
    let outcome = match result {
        Ok(outcome) => outcome,
        Err(failure) => {
            eprintln!("gcbench: {failure}");
            return ExitCode::FAILURE;
        }
    };
    let mut out = io::stdout();
    let run = print_run(&mut out, &settings, &outcome).and_then(|()| match &heard {
        Some(heard) => print_heard(&mut out, heard),
        None => Ok(()),
    });
    exit(run.and_then(|()| print_stream(&mut out, &outcome)))
}

/// The end. That nobody reads what is printed is no error.
fn exit(result: io::Result<()>) -> ExitCode {
    match result {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            eprintln!("gcbench: {error}");
            ExitCode::FAILURE
        }
        _ => ExitCode::SUCCESS,
    }
}

/// What the benchmark itself can tell.
fn print_run(out: &mut impl Write, settings: &Settings, outcome: &Outcome) -> io::Result<()> {
    let Settings { threads, depth, scale, nursery, .. } = settings;
    let nursery = nursery >> 10;
    writeln!(out, "GCBench  threads {threads}, depth {depth}, iterations x {scale}, nursery {nursery} KiB")?;
    let sum = |get: fn(&gc::Counters) -> u64| outcome.heaps.iter().map(get).sum::<u64>();
    writeln!(
        out,
        "run      {:.3} s: {:.1} MB of objects, {:.1} MB of tables, {} traces; no mistake",
        outcome.elapsed.as_secs_f64(),
        mega(sum(|heap| heap.allocated)),
        mega(sum(|heap| heap.tables)),
        sum(|heap| heap.traces),
    )
}

/// What the program heard of its collector, and what came of it.
fn print_heard(out: &mut impl Write, heard: &Heard) -> io::Result<()> {
    let Heard { messages, dropped, nursery, survived } = heard;
    writeln!(out, "heard    {} messages of the collector, {dropped} dropped", grouped(*messages))?;
    let [first, last] = [0, 1].map(|at| format!("{} KiB, {:.1} %", nursery[at] >> 10, 100.0 * survived[at]));
    writeln!(out, "nursery  and what survives in it: {first} at first, {last} in the end")
}

/// What the stream tells.
fn print_stream(out: &mut impl Write, outcome: &Outcome) -> io::Result<()> {
    telemetry::flush();
    let (path, counters) = (telemetry::filename(), telemetry::counters());
    let lost = counters.lost_pool + counters.lost_nested + counters.lost_sink;
    if counters.written + lost == 0 {
        let why = match VARIETY {
            Variety::Cool => "no event is on; TELEMETRY_CONTROL=all switches all of them on",
            Variety::Hot | Variety::Rash => "no event is on, or all that are on are compiled out",
        };
        return writeln!(out, "stream   none: {why}");
    }
    // A pipe, a device and what a socket took cannot be read again.
    if !path.is_file() {
        let written = grouped(counters.written);
        return writeln!(out, "stream   {}: {written} events; {} lost", path.display(), grouped(lost));
    }
    let start = Instant::now();
    let (counts, history) = (Counts::read(&path)?, History::read(&path)?);
    writeln!(
        out,
        "stream   {}: {:.1} MB, {} events, {:.1} M/s; {} lost",
        path.display(),
        mega(counts.completeness.bytes.total()),
        grouped(counters.written),
        counters.written as f64 / 1e6 / outcome.elapsed.as_secs_f64(),
        grouped(lost),
    )?;
    let verdict = verdict(&counts, counters.written);
    writeln!(out, "decoded  in {:.3} s: {verdict}\n", start.elapsed().as_secs_f64())?;
    out.write_all(report::render(&counts, &history).as_bytes())
}

/// Whether all that was written was read, and nothing was lost before.
fn verdict(counts: &Counts, written: u64) -> String {
    let read = &counts.completeness;
    let absent = read.lost().events() + written.saturating_sub(read.events);
    let damaged = read.damaged_ranges + read.undecodable_parts + read.unreadable.len() as u64;
    // The session goes on, so `is_complete` cannot be asked.
    if absent + damaged > 0 {
        return format!("incomplete: {} events absent, {} places damaged", grouped(absent), grouped(damaged));
    }
    let spans: usize = counts.spans.values().map(Vec::len).sum();
    format!("complete; {} spans, {} without an end", grouped(spans as u64), grouped(counts.unpaired))
}
