//! Random schedules of faults: see `docs/design/fleet.md`.

use std::process::{Command, Stdio};

use crate::{cargo, root, run};

/// Where the packages of `fleet` are built, so that both of their commands are side by side.
const FLEET: [&str; 5] = ["--locked", "--manifest-path", "fleet/Cargo.toml", "--target-dir", "target/fleet"];

/// Runs the schedules that the words choose.
pub(crate) fn run_schedules(words: &[&str]) -> Result<(), String> {
    let (schedules, seed) = parse(words)?;
    // The command of the other package ends at points, too.
    let mut build = cargo();
    build.arg("build").args(FLEET).args([
        "-p",
        "telemetry-fleet",
        "-p",
        "telemetry-lake",
        "--bins",
        "--examples",
    ]);
    run(build.args(["--features", "telemetry-fleet/failpoints,telemetry-lake/failpoints"]))?;
    let mut command = cargo();
    command.arg("test").args(FLEET).args(["-p", "telemetry-lake", "--features", "failpoints"]);
    command.args(["--test", "suite", "chaos::", "--", "--nocapture"]);
    command.env("TELEMETRY_SCHEDULES", schedules.to_string()).env("TELEMETRY_SEED", seed.to_string());
    let moto = Command::new(root().join(".ci/moto")).stderr(Stdio::inherit()).output();
    let moto = moto.map_err(|error| format!(".ci/moto: {error}"))?;
    let python = String::from_utf8_lossy(&moto.stdout).trim().to_owned();
    if !python.is_empty() {
        command.env("TELEMETRY_MOTO", python);
    }
    run(&mut command)
}

/// Returns the number of schedules and the first of them.
fn parse(words: &[&str]) -> Result<(u32, u64), String> {
    let wrong = |found: &str| format!("found `{found}`, expected a number; help: cargo xtask help");
    let (mut schedules, mut seed) = (500, 1);
    let mut rest = words;
    loop {
        rest = match rest {
            [] => return Ok((schedules, seed)),
            ["--schedules", number, rest @ ..] => {
                schedules = number.parse().map_err(|_| wrong(number))?;
                rest
            }
            ["--seed", number, rest @ ..] => {
                seed = number.parse().map_err(|_| wrong(number))?;
                rest
            }
            [other, ..] => {
                return Err(format!(
                    "found `{other}`, expected --schedules N or --seed S; help: cargo xtask help"
                ));
            }
        };
    }
}
