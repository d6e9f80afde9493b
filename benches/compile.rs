//! The cost at compile time: `cargo bench --bench compile`.
//!
//! Builds real crates in a temporary directory, with the cargo that runs this benchmark.

#![allow(missing_docs, clippy::print_stdout)]

mod common;

use std::fmt::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use common::{Goal, Row, table};

const ROUNDS: usize = 3;

fn main() -> std::io::Result<()> {
    let row = |name, goal| Row::new(name, "s", goal);
    let mut rows = vec![
        row("cold release build of runtime and derive", Goal::AtMost(30.0)),
        row("check of a crate with one event", Goal::Less),
        row("check of a crate with 1,000 events", Goal::Less),
        row("added by 1,000 events", Goal::AtMost(2.0)),
        row("the same crate with a lock file", Goal::Less),
        row("added by the lock file", Goal::AtMost(0.1)),
    ];
    for _ in 0..ROUNDS {
        let dir = tempfile::tempdir()?;
        rows[0].add(cold(dir.path()), 1.0);
        let one = check(dir.path(), 1, false)?;
        let many = check(dir.path(), 1_000, false)?;
        let locked = check(dir.path(), 1_000, true)?;
        rows[1].add(one, 1.0);
        rows[2].add(many, 1.0);
        rows[3].add(many - one, 1.0);
        rows[4].add(locked, 1.0);
        rows[5].add(locked - many, 1.0);
    }
    table(rows);
    Ok(())
}

/// Seconds that a command takes; NaN if it fails.
fn seconds(command: &mut Command) -> f64 {
    let start = Instant::now();
    let done = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    if done.is_ok_and(|status| status.success()) { start.elapsed().as_secs_f64() } else { f64::NAN }
}

fn cargo(dir: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
    command.env("CARGO_TARGET_DIR", dir.join("target")).current_dir(env!("CARGO_MANIFEST_DIR"));
    command
}

fn cold(dir: &Path) -> f64 {
    let packages = ["-p", "telemetry-runtime", "-p", "telemetry-derive"];
    seconds(cargo(dir).args(["build", "--release", "--offline"]).args(packages))
}

/// Seconds to check a crate whose dependencies are already checked. It has `events` events of four
/// parameters, each emitted three times; if `locked`, with a lock file.
fn check(dir: &Path, events: u32, locked: bool) -> std::io::Result<f64> {
    let package = dir.join(format!("events-{events}"));
    std::fs::create_dir_all(package.join("src"))?;
    let mut registry = String::from(
        "[registry]\nname = \"many\"\nversion = { major = 1, median = 0, minor = 0 }\ndoc = \"many events\"\n\
         [kinds]\nOnly = { bit = 0, doc = \"all of them\" }\n",
    );
    let mut source = String::from(
        "use telemetry::telemetry_event;\n#[telemetry_event(\"events.toml\")]\npub mod events {}\nfn main() {\n",
    );
    for number in 0..events {
        let _ = write!(
            registry,
            "[[event]]\nname = \"Event{number}\"\ncode = {number}\nkind = \"Only\"\ndoc = \"event {number}\"\n\
             params = [\n  {{ name = \"p\", sort = \"P\" }},\n  {{ name = \"a\", sort = \"A\" }},\n\
             \x20 {{ name = \"w\", sort = \"W\" }},\n  {{ name = \"u\", sort = \"U\" }},\n]\n"
        );
        let call = format!("    events::event{number}!(1usize, 2usize, 3usize, 4);\n");
        source += &call.repeat(3);
    }
    source += "}\n";
    let manifest = format!(
        "[package]\nname = \"events-{events}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\
         [dependencies]\ntelemetry-events = {{ path = {:?} }}\n[workspace]\n",
        env!("CARGO_MANIFEST_DIR")
    );
    std::fs::write(package.join("Cargo.toml"), manifest)?;
    let lock = package.join("events.lock");
    if locked {
        let registry = telemetry_schema::parse(&registry).expect("a valid registry");
        std::fs::write(lock, telemetry_schema::version::Lock::of(&registry, None).to_text())?;
    } else if lock.exists() {
        std::fs::remove_file(lock)?;
    }
    std::fs::write(package.join("events.toml"), registry)?;
    std::fs::write(package.join("src/main.rs"), &source)?;
    std::fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.lock"), package.join("Cargo.lock"))?;
    let run = || seconds(cargo(dir).args(["check", "--offline"]).current_dir(&package));
    run();
    // All dependencies are checked now; the next run checks only this crate.
    std::fs::write(package.join("src/main.rs"), source + "// again\n")?;
    Ok(run())
}
