//! GCBench on a small generational collector that emits events. It shows how to write a registry
//! for a program of one's own, of which `telemetry-std` knows nothing.
//!
//! The collector (`gc`) and the benchmark (`workload.rs`) emit the events of
//! `events.toml`. The program then reads its own stream and summarizes it on one screen.

mod counts;
mod gc;
mod history;
mod listen;
mod options;
mod report;
mod workload;

use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Instant;

use counts::Counts;
use history::History;
use listen::Heard;
use options::Command;
use report::{grouped, mega};
use telemetry::decode::{self, Error};
use telemetry::{Config, VARIETY, Variety, telemetry_event};
use workload::{Outcome, Settings};

#[telemetry_event("events.toml", decode)]
pub mod events {}

fn main() -> ExitCode {
    let (settings, draws) = match options::parse(std::env::args().skip(1)) {
        Ok(Command::Run(settings)) => (settings, false),
        Ok(Command::RunWithProgress(settings)) => (settings, true),
        Ok(Command::Help) => {
            return exit(io::stdout().write_all(options::HELP.as_bytes()).map_err(Into::into));
        }
        Err(wrong) => {
            eprintln!("gcbench: {wrong}\nhelp: `--help` lists the options");
            return ExitCode::from(2);
        }
    };
    // Defaults: the environment overrides them. The buffer is large enough for the times when the
    // benchmark's threads take all processors from the drain.
    Config::new().output("gcbench.tel").control("all").buffer(64 << 20).start().unwrap();
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
    exit(run.map_err(Into::into).and_then(|()| print_stream(&mut out, &outcome)))
}

/// Maps the result to an exit code. A closed pipe is not an error.
fn exit(result: decode::Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(Error::Io(error)) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("gcbench: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The benchmark's own results.
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

/// The messages received from the collector, and their effect.
fn print_heard(out: &mut impl Write, heard: &Heard) -> io::Result<()> {
    let Heard { messages, dropped, nursery, survived } = heard;
    writeln!(out, "received {} messages of the collector, {dropped} dropped", grouped(*messages))?;
    let [first, last] = [0, 1].map(|at| format!("{} KiB, {:.1} %", nursery[at] >> 10, 100.0 * survived[at]));
    writeln!(out, "nursery  and what survives in it: first {first}, last {last}")
}

/// A summary of the stream.
fn print_stream(out: &mut impl Write, outcome: &Outcome) -> decode::Result<()> {
    telemetry::flush();
    let (path, counters) = (telemetry::sinks::output(), telemetry::counters::total());
    let lost = counters.lost_pool + counters.lost_reentrant + counters.lost_sink;
    if counters.written + lost == 0 {
        let why = match VARIETY {
            Variety::Cool => "no event is on; TELEMETRY_CONTROL=all switches all of them on",
            _ => "no event is on, or all that are on are compiled out",
        };
        return Ok(writeln!(out, "stream   none: {why}")?);
    }
    // A pipe, a device or a socket cannot be read again.
    if !path.is_file() {
        let written = grouped(counters.written);
        return Ok(writeln!(out, "stream   {}: {written} events; {} lost", path.display(), grouped(lost))?);
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
    Ok(out.write_all(report::render(&counts, &history).as_bytes())?)
}

/// Whether all written events were read, and none was lost.
fn verdict(counts: &Counts, written: u64) -> String {
    let read = &counts.completeness;
    let absent = read.lost().events() + written.saturating_sub(read.events);
    let damaged = read.damaged_ranges + read.undecodable_parts + read.unreadable.len() as u64;
    // The session is still running, so `is_complete` does not apply.
    if absent + damaged > 0 {
        return format!("incomplete: {} events absent, {} places damaged", grouped(absent), grouped(damaged));
    }
    let spans: usize = counts.spans.values().map(Vec::len).sum();
    format!("complete; {} spans, {} without an end", grouped(spans as u64), grouped(counts.unpaired))
}
