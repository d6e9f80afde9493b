//! Speed and memory of reading a stream: `cargo bench --bench decode`.
//!
//! The runtime writes the stream of events W in a process of its own. The cargo that runs this
//! benchmark builds the command, which is measured as a whole process.

#![allow(missing_docs, clippy::print_stdout)]

mod common;

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use common::{Goal, Row, fields, table};
use telemetry::decode::{Order, Reader, Result, Value};
use telemetry::telemetry_event;

#[telemetry_event("tests/registries/work.toml", decode)]
pub mod events {}

const EVENTS: u64 = 10_000_000;
/// Number of events in a stream of a gigabyte.
const MANY: u64 = 120_000_000;
const ROUNDS: usize = 5;

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().collect();
    if let Some(at) = args.iter().position(|arg| arg == "--emit") {
        emit(&args[at + 1], args[at + 2].parse().unwrap_or(EVENTS));
        return Ok(());
    }
    let dir = tempfile::tempdir()?;
    let file = dir.path().join("work.tel");
    make(&file, EVENTS)?;
    let command = build_command()?;
    let row = |name, goal| Row::new(name, "M events/s", goal);
    let mut rows = vec![
        row("typed decoding of W", Goal::AtLeast(80.0)),
        row("generic decoding of W", Goal::AtLeast(40.0)),
        row("generic decoding of W, every value read", Goal::More),
        row("the same, in time order", Goal::More),
    ];
    rows.extend(COMMANDS.map(|(args, goal)| row(args, goal)));
    let bytes = std::fs::read(&file)?;
    for _ in 0..ROUNDS {
        rows[0].add(typed(&bytes)?, 1.0);
        rows[1].add(generic(&bytes, Order::Stream, false)?, 1.0);
        rows[2].add(generic(&bytes, Order::Stream, true)?, 1.0);
        rows[3].add(generic(&bytes, Order::Time, true)?, 1.0);
        for (row, (args, _)) in rows[4..].iter_mut().zip(COMMANDS) {
            row.add(run(&command, args, &file)?, 1.0);
        }
    }
    drop(bytes);
    let big = dir.path().join("big.tel");
    make(&big, MANY)?;
    let len = std::fs::metadata(&big)?.len();
    let name = "telemetry print on a gigabyte, peak memory";
    let mut row = Row::new(name, "MB", Goal::AtMost(64.0));
    row.add(peak(&command, &big)?, 1.0);
    rows.push(row);
    table(rows);
    println!("\nThe last stream has {len} bytes.");
    Ok(())
}

/// Arguments of the command, and the goal in millions of events per second.
const COMMANDS: [(&str, Goal); 6] = [
    ("cnv", Goal::AtLeast(8.0)),
    ("txt", Goal::AtLeast(4.0)),
    ("print", Goal::AtLeast(4.0)),
    ("print --json", Goal::AtLeast(2.0)),
    ("csv", Goal::More),
    ("stats", Goal::More),
];

/// Millions of events per second.
fn rate(start: Instant, events: u64) -> f64 {
    events as f64 / start.elapsed().as_secs_f64() / 1e6
}

fn typed(bytes: &[u8]) -> Result<f64> {
    let start = Instant::now();
    let (mut count, mut sum) = (0, 0_u64);
    let mut events = Reader::from_slice(bytes).order(Order::Stream).typed::<events::Decoder>()?;
    events.for_each(|at| {
        count += 1;
        if let events::Event::Alloc(alloc) = at.event {
            sum = sum.wrapping_add(alloc.pointer ^ alloc.address ^ alloc.size ^ u64::from(alloc.level));
        }
    })?;
    assert_eq!((count, sum), (EVENTS, checksum()));
    Ok(rate(start, count))
}

fn generic(bytes: &[u8], order: Order, values: bool) -> Result<f64> {
    let start = Instant::now();
    let (mut count, mut sum, mut ticks) = (0, 0_u64, 0_u64);
    let mut events = Reader::from_slice(bytes).order(order).events()?;
    while let Some(event) = events.next()? {
        count += 1;
        ticks = ticks.wrapping_add(event.ticks() ^ u64::from(event.schema().code));
        if values {
            let bits = event.values().map(|value| match value {
                Value::Pointer(bits) | Value::Addr(bits) | Value::Word(bits) | Value::Unsigned(bits) => bits,
                _ => 0,
            });
            sum = sum.wrapping_add(bits.fold(0, |sum, bits| sum ^ bits));
        }
    }
    std::hint::black_box(ticks);
    assert_eq!((count, sum), (EVENTS, if values { checksum() } else { 0 }));
    Ok(rate(start, count))
}

/// The checksum that the decoders must compute.
fn checksum() -> u64 {
    static SUM: std::sync::OnceLock<u64> = std::sync::OnceLock::new();
    *SUM.get_or_init(|| {
        (0..EVENTS).fold(0, |sum: u64, i| {
            let (pointer, address, size, level, _) = fields(i);
            sum.wrapping_add(pointer ^ address ^ size ^ u64::from(level))
        })
    })
}

/// Runs the command as a process, and discards its output.
fn run(command: &Path, args: &str, file: &Path) -> io::Result<f64> {
    let start = Instant::now();
    let status = Command::new(command)
        .args(args.split(' '))
        .arg(file)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()?;
    assert!(status.success(), "telemetry {args} failed");
    Ok(rate(start, EVENTS))
}

/// Peak resident memory of `print` in megabytes, polled from `/proc`.
fn peak(command: &Path, file: &Path) -> io::Result<f64> {
    let status =
        Command::new(command).arg("print").arg(file).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let id = status.id();
    let mut child = status;
    let mut peak: f64 = 0.0;
    loop {
        if let Ok(text) = std::fs::read_to_string(format!("/proc/{id}/status"))
            && let Some(line) = text.lines().find(|line| line.starts_with("VmHWM:"))
        {
            let kib = line.split_whitespace().nth(1).and_then(|kib| kib.parse::<f64>().ok());
            peak = peak.max(kib.unwrap_or(0.0) * 1024.0 / 1e6);
        }
        match child.try_wait()? {
            Some(status) => {
                assert!(status.success(), "telemetry print failed");
                return Ok(if peak > 0.0 { peak } else { f64::NAN });
            }
            None => std::thread::sleep(std::time::Duration::from_millis(20)),
        }
    }
}

fn build_command() -> io::Result<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or("cargo".into());
    let mut build = Command::new(cargo);
    build.args(["build", "--release", "-p", "telemetry-cli", "--message-format=json-render-diagnostics"]);
    let output = build.current_dir(env!("CARGO_MANIFEST_DIR")).stderr(Stdio::inherit()).output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut executables =
        text.lines().filter_map(|line| line.split("\"executable\":\"").nth(1)?.split('"').next());
    executables.next_back().map(PathBuf::from).ok_or_else(|| io::Error::other("cargo built no command"))
}

/// Writes a stream of `events` events W.
fn make(file: &Path, events: u64) -> io::Result<()> {
    let this = std::env::current_exe()?;
    let status = Command::new(this).arg("--emit").arg(file).arg(events.to_string()).status()?;
    assert!(status.success(), "the stream could not be written");
    Ok(())
}

/// The child process of `make`. Flushes now and then, so that nothing is lost.
fn emit(file: &str, events: u64) {
    telemetry::Config::new().output(file).control("all").buffer(64 << 20).start().unwrap();
    for i in 0..events {
        let (pointer, address, size, level, _) = fields(i);
        events::alloc!(pointer, address, size, level);
        if i % 1_000_000 == 0 {
            telemetry::flush();
        }
    }
    telemetry::flush();
    assert_eq!(telemetry::counters::total().written, events, "events were lost");
}
