//! Tasks of this repository, by `cargo xtask`.

mod api;
mod archive;
mod chaos;
mod checked;
mod fuzz;
mod mutants;
mod release;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::fuzz::Until;

const HELP: &str = "\
usage: cargo xtask COMMAND

  ci                  what has to pass before a change lands: .ci/run
  api                 check the public interface of the libraries against its text; needs nightly
  bless [NAME...]     rewrite generated parts: api, docs, format, python, registries, seeds; without NAME all
  bench [NAME]        run benchmarks: record, messages, decode, around, off, compile
  fuzz [--asan] [SECONDS]
                      run every fuzz target, each for SECONDS (60), or only build them (0); --asan needs
                      nightly
  fuzz [--asan] --inputs NUMBER
                      run them until fuzz/record.txt has NUMBER of inputs in sum
  miri                run tests of memory under miri; this and the next two need nightly
  tsan                run tests of threads with ThreadSanitizer
  asan                run tests of memory and of the readers with AddressSanitizer
  soak [MINUTES]      run one process with every fault at once (30); every event must be accounted for
  chaos [--schedules N] [--seed S]
                      run hosts, a collector, a store and committers through N random schedules of
                      faults (500), from the one with the number S (1)
  mutants [PACKAGE...]
                      change 500 places of each package, one at a time, and run its tests: format,
                      schema, decode and runtime; needs cargo-mutants, and takes hours
  mutants --changed COMMIT [--seconds N]
                      the same for the lines that changed since COMMIT, in N seconds
  release --dry-run   check versions, changelog and packages, build the archive of the command,
                      and list the order of publication";

/// Returns the repository's root.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a folder of the repository").to_path_buf()
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match words.as_slice() {
        ["ci"] => run(&mut Command::new(root().join(".ci/run"))),
        ["api"] => api::run(&root(), api::Mode::Check),
        ["bless", names @ ..] => bless(names),
        ["bench", names @ ..] if names.len() <= 1 => bench(names),
        ["fuzz", "--asan", words @ ..] => fuzz(words, true),
        ["fuzz", words @ ..] => fuzz(words, false),
        [name] if checked::is_check(name) => checked::run_check(name),
        ["mutants", words @ ..] => mutants::mutants(words),
        ["soak"] => soak(30),
        ["soak", minutes] if minutes.parse::<u64>().is_ok() => soak(minutes.parse().unwrap_or(30)),
        ["chaos", words @ ..] => chaos::run_schedules(words),
        ["release", "--dry-run"] => release::dry_run(&root()),
        ["release", ..] => Err("publishing is not automated; help: `cargo xtask release --dry-run`".into()),
        [] | ["help" | "--help" | "-h"] => {
            eprintln!("{HELP}");
            return ExitCode::SUCCESS;
        }
        _ => Err(format!("unknown command\n{HELP}")),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(wrong) => {
            eprintln!("error: {wrong}");
            ExitCode::FAILURE
        }
    }
}

/// Runs a command in the root.
pub(crate) fn run(command: &mut Command) -> Result<(), String> {
    let shown = format!("{command:?}");
    let status = command.current_dir(root()).status().map_err(|error| format!("{shown}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{shown}: {status}")) }
}

pub(crate) fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Generated files: a name, the variable that makes a test write them, and the test.
const BLESSED: &[(&str, &str, &[&str])] = &[
    ("docs", "UPDATE_DOCS", &["-p", "telemetry-schema", "--test", "suite", "version::table"]),
    ("docs", "UPDATE_DOCS", &["-p", "telemetry-cli", "--test", "suite", "docs::"]),
    ("docs", "UPDATE_DOCS", &["-p", "telemetry-events", "--test", "suite", "evolution::"]),
    ("format", "UPDATE_DOCUMENT", &["-p", "telemetry-decode", "--test", "suite", "document::"]),
    ("python", "UPDATE_PYTHON", &["-p", "telemetry-codegen-python", "--lib", "the_reader_has"]),
    ("registries", "UPDATE_REGISTRIES", &["-p", "telemetry-events", "--test", "versions"]),
    (
        "seeds",
        "UPDATE_SEEDS",
        &["-p", "telemetry-decode", "-p", "telemetry-foreign", "--test", "suite", "seeds"],
    ),
];

fn bless(names: &[&str]) -> Result<(), String> {
    let is_known = |name: &str| name == "api" || BLESSED.iter().any(|(known, ..)| *known == name);
    if let Some(name) = names.iter().find(|name| !is_known(name)) {
        return Err(format!(
            "`{name}` cannot be rewritten; expected api, docs, format, python, registries or seeds"
        ));
    }
    if names.is_empty() || names.contains(&"api") {
        api::run(&root(), api::Mode::Write)?;
    }
    for (name, variable, test) in BLESSED {
        if names.is_empty() || names.contains(name) {
            run(cargo().arg("test").args(*test).env(variable, "1"))?;
        }
    }
    eprintln!("read the changes before you commit them: git diff");
    Ok(())
}

fn bench(names: &[&str]) -> Result<(), String> {
    let mut command = cargo();
    command.args(["bench", "-p", "telemetry-events"]);
    match names {
        [name] => command.args(["--bench", name]),
        _ => command.arg("--benches"),
    };
    run(&mut command)
}

/// Runs the long life of the suite's soak.
fn soak(minutes: u64) -> Result<(), String> {
    let mut command = cargo();
    command.args(["test", "--release", "--test", "suite", "soak::long", "--", "--nocapture"]);
    run(command.env("SOAK_SECONDS", minutes.saturating_mul(60).to_string()))
}

fn fuzz(words: &[&str], asan: bool) -> Result<(), String> {
    let number = |text: &str| {
        text.parse().map_err(|_| format!("found `{text}`, expected a number; help: cargo xtask help"))
    };
    let until = match words {
        [] => Until::Seconds(60),
        ["--inputs", inputs] => Until::Inputs(number(inputs)?),
        [seconds] => Until::Seconds(number(seconds)?),
        _ => return Err("too many words; help: cargo xtask help".into()),
    };
    fuzz::fuzz(until, asan)
}
