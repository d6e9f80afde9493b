//! Runs the fuzz targets, as many at once as there are processors.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::thread;

use crate::{root, run};

/// Fuzz targets, each with the folders of its seeds.
const TARGETS: &[(&str, &[&str])] = &[
    ("stream", &["fuzz/seeds/stream"]),
    ("report", &["fuzz/seeds/stream"]),
    ("scrub", &["fuzz/seeds/stream"]),
    ("recover", &["fuzz/seeds/recover"]),
    ("registry", &["telemetry-schema/tests/valid", "telemetry-decode/tests"]),
    ("lock", &["telemetry-derive/tests/ui/registries"]),
    ("condition", &["fuzz/seeds/condition"]),
    ("mono", &["fuzz/seeds/mono"]),
    ("ghc", &["fuzz/seeds/ghc"]),
    ("mps", &["fuzz/seeds/mps"]),
    ("perf", &["fuzz/seeds/perf"]),
    ("program", &["fuzz/seeds/program"]),
    ("wire", &["fuzz/seeds/wire"]),
    ("segment", &["fuzz/seeds/stream"]),
    ("typed", &["fuzz/seeds/typed"]),
    ("replay", &["fuzz/seeds/replay"]),
    ("cnv", &["fuzz/seeds/cnv"]),
    ("elf", &["fuzz/seeds/elf"]),
    ("perf_map", &["fuzz/seeds/perf_map"]),
    ("words", &["fuzz/seeds/words"]),
    ("request", &["fuzz/seeds/request"]),
    ("trigger", &["fuzz/seeds/trigger"]),
];

/// Has a line for each target: its name, and the inputs that it has had.
const RECORD: &str = "fuzz/record.txt";
const RECORD_HEAD: &str = "# Inputs that each target has had, by `cargo xtask fuzz --inputs`.\n";

/// Seconds of each target between two looks at the record.
const ROUND: u64 = 300;

/// The seed of runs for a time: a fresh clone tries nearly the same inputs each time. A long run
/// takes other ones in each round, for which libFuzzer has zero.
const SAME: u32 = 1;
const RANDOM: u32 = 0;

const HOST: &str = "x86_64-unknown-linux-gnu";

/// Those that `cargo fuzz` uses. They also work with the stable toolchain.
const FLAGS: &str = "--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares -Cdebug-assertions -Ccodegen-units=1";

/// When to stop.
#[derive(Clone, Copy)]
pub(crate) enum Until {
    /// After this number of seconds of each target.
    Seconds(u64),
    /// When the record has this number of inputs in sum. The record is continued.
    Inputs(u64),
}

/// Runs all targets. With `asan`, with AddressSanitizer, which needs the nightly toolchain.
pub(crate) fn fuzz(until: Until, asan: bool) -> Result<(), String> {
    build(asan)?;
    match until {
        // For libFuzzer, this would be no limit.
        Until::Seconds(0) => {}
        Until::Seconds(seconds) => {
            let inputs = round(seconds, SAME, asan, |_, _| Ok(()))?;
            eprintln!("{inputs} inputs without a finding");
        }
        Until::Inputs(wanted) => loop {
            let record = Mutex::new(read_record()?);
            let sum: u64 = record.lock().expect("no panic").values().sum();
            eprintln!("{sum} inputs so far, of {wanted}");
            if sum >= wanted {
                break;
            }
            round(ROUND, RANDOM, asan, |target, inputs| {
                let mut record = record.lock().expect("no panic");
                *record.entry(target.to_owned()).or_default() += inputs;
                write_record(&record)
            })?;
        },
    }
    Ok(())
}

fn folder(asan: bool) -> &'static str {
    if asan { "target/fuzz-asan" } else { "target/fuzz" }
}

fn build(asan: bool) -> Result<(), String> {
    // rustup's `cargo` chooses the toolchain, not the one that runs this.
    let mut command = Command::new("cargo");
    command.env_remove("RUSTUP_TOOLCHAIN");
    let mut flags = FLAGS.to_owned();
    if asan {
        command.arg("+nightly");
        flags.push_str(" -Zsanitizer=address");
    }
    command.args(["build", "--release", "--locked", "--manifest-path", "fuzz/Cargo.toml"]);
    // With a target, build scripts and macros are built without these flags.
    command.args(["--target", HOST, "--target-dir", folder(asan)]).env("RUSTFLAGS", flags);
    run(&mut command)
}

/// Runs each target for a time. Tells the inputs of each that has no finding, and returns the sum.
fn round(
    seconds: u64,
    seed: u32,
    asan: bool,
    done: impl Fn(&str, u64) -> Result<(), String> + Sync,
) -> Result<u64, String> {
    let left = Mutex::new(TARGETS.iter());
    let outcomes = Mutex::new(Vec::new());
    let at_once = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..at_once {
            scope.spawn(|| {
                loop {
                    let Some((target, seeds)) = left.lock().expect("no panic").next() else { return };
                    let outcome = one(target, seeds, seconds, seed, asan)
                        .and_then(|inputs| done(target, inputs).map(|()| inputs));
                    outcomes.lock().expect("no panic").push(outcome);
                }
            });
        }
    });
    outcomes.into_inner().expect("no panic").into_iter().sum()
}

/// Runs one target for a time. Returns the number of inputs.
fn one(target: &str, seeds: &[&str], seconds: u64, seed: u32, asan: bool) -> Result<u64, String> {
    let wrong = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
    let (corpus, artifacts) = (format!("fuzz/corpus/{target}"), format!("fuzz/artifacts/{target}"));
    for folder in [&corpus, &artifacts] {
        let folder = root().join(folder);
        fs::create_dir_all(&folder).map_err(|error| wrong(&folder, error))?;
    }
    let log = root().join(&artifacts).join("log");
    let file = File::create(&log).map_err(|error| wrong(&log, error))?;
    let mut command = Command::new(format!("{}/{HOST}/release/{target}", folder(asan)));
    command.current_dir(root()).arg(&corpus).args(seeds);
    command.args(["-print_final_stats=1", "-timeout=20", "-rss_limit_mb=2048"]);
    command.arg(format!("-seed={seed}"));
    command.arg(format!("-max_total_time={seconds}")).arg(format!("-artifact_prefix={artifacts}/"));
    command.stdout(file.try_clone().map_err(|error| wrong(&log, error))?).stderr(file);
    let status = command.status().map_err(|error| format!("{command:?}: {error}"))?;
    let text = String::from_utf8_lossy(&fs::read(&log).map_err(|error| wrong(&log, error))?).into_owned();
    let inputs = text.lines().find_map(|line| line.strip_prefix("stat::number_of_executed_units:"));
    match inputs.and_then(|inputs| inputs.trim().parse().ok()) {
        Some(inputs) if status.success() => {
            eprintln!("{target}: {inputs} inputs");
            Ok(inputs)
        }
        _ => {
            let lines: Vec<_> = text.lines().collect();
            let end = lines[lines.len().saturating_sub(40)..].join("\n");
            Err(format!(
                "the target `{target}` has a finding ({status}):\n{end}\nhelp: see {}",
                log.display()
            ))
        }
    }
}

fn read_record() -> Result<BTreeMap<String, u64>, String> {
    let path = root().join(RECORD);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
        Err(error) => return Err(format!("{}: {error}", path.display())),
    };
    let lines = text.lines().zip(1..).filter(|(line, _)| !line.starts_with('#'));
    let parsed = lines.map(|(line, number)| {
        let parse = || {
            let (target, inputs) = line.split_once(' ')?;
            Some((target.to_owned(), inputs.trim().parse().ok()?))
        };
        parse().ok_or_else(|| {
            format!("{}:{number}: found `{line}`, expected a target and a number", path.display())
        })
    });
    parsed.collect()
}

/// Replaces the record as a whole.
fn write_record(record: &BTreeMap<String, u64>) -> Result<(), String> {
    let (path, new) = (root().join(RECORD), root().join(RECORD).with_extension("new"));
    let lines: String = record.iter().map(|(target, inputs)| format!("{target} {inputs}\n")).collect();
    let written = fs::write(&new, format!("{RECORD_HEAD}{lines}")).and_then(|()| fs::rename(&new, &path));
    written.map_err(|error| format!("{}: {error}", path.display()))
}
