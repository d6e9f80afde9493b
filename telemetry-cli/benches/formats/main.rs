//! Measures how fast other systems' logs are read, compared with the real tools if they are
//! installed: `cargo bench -p telemetry-cli --bench formats [-- mps ghc mono]`.
//!
//! The logs are made here by the writers of `convert --to`, with events like those of real runs.
//! Each program is measured as a whole process, in turn with the others: CPU time of user and
//! system, elapsed time, and peak memory. Its text goes to /dev/null. Rates are the best of all
//! rounds.
//!
//! `TELEMETRY=PATH` measures another build of the command.

#![allow(missing_docs, clippy::print_stdout, unsafe_code)]

mod logs;
mod measure;

use std::error::Error;
use std::path::Path;

use measure::{Cost, PASS, Program};

const ROUNDS: usize = 5;

/// Rounds of programs that take many seconds.
const FEW_ROUNDS: usize = 2;

/// The system, the million events of its log, the function that makes it, and the measurements.
type Bench = (&'static str, u64, fn(&Path, u64) -> logs::Made, fn(&Path) -> Vec<Work>);

const BENCHES: &[Bench] =
    &[("mps", 4, logs::mps, mps), ("ghc", 7, logs::ghc, ghc), ("mono", 16, logs::mono, mono)];

/// A program that reads a log.
struct Work {
    program: Program,
    rounds: usize,
    /// The goals: at least this rate in millions of events per second of CPU, and at most these
    /// megabytes.
    goal: Option<f64>,
    most_memory: f64,
    /// The program that does the same, by its place in the list, and the share of its rate to
    /// reach.
    beside: Option<(usize, Option<f64>)>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    if let [PASS, log] = args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        return Ok(measure::pass(Path::new(log))?);
    }
    let dir = tempfile::tempdir()?;
    for (name, millions, make, work) in BENCHES {
        if args.is_empty() || args.iter().any(|arg| arg == name) {
            let log = dir.path().join(name);
            let events = make(&log, millions * 1_000_000)?;
            compare(name, &log, events, &work(&log))?;
            std::fs::remove_file(&log)?;
        }
    }
    Ok(())
}

fn mps(log: &Path) -> Vec<Work> {
    let database = log.with_extension("db");
    let sql = Program::telemetry(&["sql", "-o"], &[&database, log]).makes(database.clone());
    vec![
        Work::of(Program::bare_pass(log)),
        Work::of(Program::telemetry(&["info"], &[log])).beside(0, None),
        Work::of(Program::telemetry(&["cnv"], &[log])).beside(0, None).goal(8.0),
        Work::of(Program::telemetry(&["txt"], &[log])).beside(0, None).goal(3.0),
        Work { rounds: 3, ..Work::of(sql).beside(0, None).goal(1.3) },
    ]
}

fn ghc(log: &Path) -> Vec<Work> {
    let mut all = vec![
        Work::of(Program::bare_pass(log)),
        Work {
            most_memory: 64.0,
            ..Work::of(Program::telemetry(&["info"], &[log])).beside(0, None).goal(40.0)
        },
        Work { most_memory: 64.0, ..Work::of(Program::telemetry(&["show"], &[log])).goal(4.0) },
    ];
    if let Some(real) = Program::installed("ghc-events", &["show"], log) {
        all[2].beside = Some((all.len(), None));
        all.push(Work { rounds: FEW_ROUNDS, ..Work::of(real) });
    }
    all
}

fn mono(log: &Path) -> Vec<Work> {
    let mut all = vec![
        Work::of(Program::bare_pass(log)),
        Work::of(Program::telemetry(&["mono-report"], &[log])).goal(80.0),
        Work::of(Program::telemetry(&["mono-debug"], &[log])).goal(15.0),
    ];
    // The goals were set on a machine on which mprof-report makes 68 M and 12 M.
    for (args, ours, goal) in [(&[][..], 1, 80.0 / 68.0), (&["--debug"], 2, 15.0 / 12.0)] {
        if let Some(real) = Program::installed("mprof-report", args, log) {
            all[ours].beside = Some((all.len(), Some(goal)));
            all.push(Work { rounds: if args.is_empty() { ROUNDS } else { FEW_ROUNDS }, ..Work::of(real) });
        }
    }
    all
}

impl Work {
    fn of(program: Program) -> Work {
        Work { program, rounds: ROUNDS, goal: None, most_memory: f64::INFINITY, beside: None }
    }

    fn goal(self, goal: f64) -> Work {
        Work { goal: Some(goal), ..self }
    }

    fn beside(self, other: usize, goal: Option<f64>) -> Work {
        Work { beside: Some((other, goal)), ..self }
    }
}

/// Runs all programs in turn, and prints their rates.
fn compare(what: &str, log: &Path, events: u64, all: &[Work]) -> Result<(), Box<dyn Error>> {
    let len = std::fs::metadata(log)?.len();
    println!("\n{what}: {:.2} M events, {:.1} MB", events as f64 / 1e6, len as f64 / 1e6);
    let mut costs = vec![Cost::MOST; all.len()];
    for round in 0..ROUNDS {
        for (work, cost) in all.iter().zip(&mut costs).filter(|(work, _)| round < work.rounds) {
            *cost = cost.better_of(&work.program.run()?);
        }
    }
    println!("{:24}{:>10}{:>10}{:>8}", "", "M/s CPU", "M/s", "MB");
    for (work, cost) in all.iter().zip(&costs) {
        let rate = |cost: &Cost| events as f64 / cost.cpu.as_secs_f64() / 1e6;
        let passed = events as f64 / cost.passed.as_secs_f64() / 1e6;
        print!("{:24}{:10.2}{passed:10.2}{:8.1}", work.program.name, rate(cost), cost.megabytes);
        if let Some(goal) = work.goal {
            print!("   goal {goal} M/s: {}", verdict(rate(cost) >= goal));
        }
        if work.most_memory.is_finite() {
            print!(", below {} MB: {}", work.most_memory, verdict(cost.megabytes < work.most_memory));
        }
        if let Some((other, goal)) = work.beside {
            let ratio = rate(cost) / rate(&costs[other]);
            print!("   {ratio:.2} of {}", all[other].program.name);
            if let Some(goal) = goal {
                print!(", goal {goal:.2}: {}", verdict(ratio >= goal));
            }
        }
        println!();
    }
    Ok(())
}

fn verdict(is_reached: bool) -> &'static str {
    if is_reached { "reached" } else { "MISSED" }
}
