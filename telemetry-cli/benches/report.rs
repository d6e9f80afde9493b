//! Measures `telemetry report` against `telemetry stats` and `telemetry spans` on the same stream:
//! `cargo bench -p telemetry-cli --bench report -- STREAM [COMMAND]`.
//!
//! The ratio is of processor time, which other processes disturb less than time. `COMMAND` is
//! another build of the command that runs `stats` and `spans`. Without a stream, a small one is
//! made.

#![allow(missing_docs, unsafe_code, clippy::print_stdout)]

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use telemetry_decode::Facts;
use telemetry_decode::writer::Writer;
use telemetry_testing::work::{self, Made};

const ROUNDS: usize = 3;

/// The processor time of the report, as a share of that of `stats` and `spans` together.
const GOAL: f64 = 1.0;
/// The most memory, in KiB, and the most bytes of the page.
const MOST_MEMORY: i64 = 300 << 10;
const MOST_PAGE: u64 = 5_000_000;

/// What a process took.
#[derive(Clone, Copy)]
struct Cost {
    seconds: f64,
    memory: i64,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dir = tempfile::tempdir()?;
    // Cargo adds `--bench`.
    let mut given = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let stream = match given.next() {
        Some(path) => PathBuf::from(path),
        None => made(dir.path())?,
    };
    let telemetry = env!("CARGO_BIN_EXE_telemetry").to_string();
    let before = given.next().unwrap_or_else(|| telemetry.clone());
    let page = dir.path().join("report.html");
    let mut best: [Option<Cost>; 3] = [None; 3];
    for _ in 0..ROUNDS {
        let costs = [
            cost(&before, &["stats", "--json"], &stream, &dir.path().join("stats.json"))?,
            cost(&before, &["spans", "--json"], &stream, &dir.path().join("spans.json"))?,
            cost(&telemetry, &["report"], &stream, &page)?,
        ];
        for (best, cost) in best.iter_mut().zip(costs) {
            *best = Some(best.filter(|best| best.seconds <= cost.seconds).unwrap_or(cost));
        }
    }
    let [Some(stats), Some(spans), Some(report)] = best else { return Err("no round".into()) };
    for (name, cost) in [("stats", stats), ("spans", spans), ("report", report)] {
        println!("{name:8} {:7.2} s of processor time, {:7} KiB at most", cost.seconds, cost.memory);
    }
    let ratio = report.seconds / (stats.seconds + spans.seconds);
    let len = std::fs::metadata(&page)?.len();
    let verdict = |is_reached: bool| if is_reached { "reached" } else { "MISSED" };
    println!("report / (stats + spans): {ratio:.2}, goal {GOAL}: {}", verdict(ratio <= GOAL));
    println!("memory: {} KiB, goal {MOST_MEMORY}: {}", report.memory, verdict(report.memory <= MOST_MEMORY));
    println!("page: {len} bytes, goal {MOST_PAGE}: {}", verdict(len <= MOST_PAGE));
    Ok(())
}

/// Makes a stream of events without spans.
fn made(dir: &Path) -> Result<PathBuf, Box<dyn std::error::Error>> {
    let mut facts = Facts::default();
    facts.set("clock", "os");
    let stream = work::write(Writer::new(Vec::new()).block_size(64 << 10), &facts, 3_000_000, 1, |i| Made {
        ticks: i * 23,
        values: [0x7f00_0000_0000 + i * 7919 % 1_000_003 * 64, 0x10_0000_0000 + i * 48, 16 + i % 4096, i % 4],
    })?;
    let path = dir.join("work.tel");
    std::fs::write(&path, stream)?;
    Ok(path)
}

/// Runs a command to its end, and returns what it took.
fn cost(telemetry: &str, args: &[&str], stream: &Path, output: &Path) -> std::io::Result<Cost> {
    let child = Command::new(telemetry)
        .args(args)
        .arg(stream)
        .arg("-o")
        .arg(output)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let mut status = 0;
    // SAFETY: an all-zero `rusage` is valid: it has only numbers.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the process is a child that was not waited for, and both places are writable.
    let found = unsafe { libc::wait4(child.id() as libc::pid_t, &raw mut status, 0, &raw mut usage) };
    let ended = std::process::ExitStatus::from_raw(status);
    if found < 0 || !ended.success() {
        return Err(std::io::Error::other(format!("{telemetry} {}: {ended}", args.join(" "))));
    }
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    Ok(Cost { seconds: seconds(usage.ru_utime) + seconds(usage.ru_stime), memory: usage.ru_maxrss })
}
