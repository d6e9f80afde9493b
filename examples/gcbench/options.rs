//! The command line.

use crate::workload::{MAX_DEPTH, MIN_DEPTH, Settings};

pub(crate) const HELP: &str = "\
GCBench on a small generational collector that emits events.

usage: gcbench [options]

  --threads N      threads, each with a heap of its own; 1 to 64 (default 2)
  --depth N        depth of the deepest trees, 4 to 20 (default 16, as in GCBench)
  --iterations X   times the usual number of trees (default 1.5)
  --memory MIB     size of each heap's arena, 1 to 16384 (default: ample)
  --nursery KIB    bytes between collections, 64 to 1048576 (default 4096)
  --adapt          fit the nursery to what survives, from the collector's messages
  --progress       draw what the collector does, from its messages
  --check          check every object and reference after each phase (slow)
  --help           print this

The environment selects what is recorded, as for every program with telemetry:

  TELEMETRY_CONTROL    kinds and events (default here: all). For instance
                       \"Trace User\", \"all -Object -Ref\", 0 for nothing
  TELEMETRY_FILENAME   file of the stream (default here: gcbench.tel)
";

/// What the command line asks for.
#[derive(Debug, PartialEq)]
pub(crate) enum Command {
    Run(Settings),
    /// Draws the collector's progress meanwhile.
    RunWithProgress(Settings),
    Help,
}

/// Parses the arguments after the program's name.
///
/// # Errors
/// The first argument that is wrong, and what was expected.
pub(crate) fn parse(args: impl IntoIterator<Item = String>) -> Result<Command, String> {
    let mut settings = Settings {
        threads: 2,
        depth: 16,
        scale: 1.5,
        memory: None,
        nursery: 4 << 20,
        adapt: false,
        check: false,
    };
    let mut progress = false;
    let mut args = args.into_iter();
    while let Some(arg) = args.next() {
        let (name, value) = match arg.split_once('=') {
            Some((name, value)) => (name, Some(value.to_string())),
            None => (arg.as_str(), None),
        };
        let mut number = |least: f64, most: f64| {
            let text = value.clone().or_else(|| args.next());
            let text = text.ok_or_else(|| format!("`{name}` needs a number, {least} to {most}"))?;
            let number = text.parse().ok().filter(|number| (least..=most).contains(number));
            number.ok_or_else(|| format!("`{name} {text}`: expected a number, {least} to {most}"))
        };
        match name {
            "--threads" => settings.threads = whole(name, number(1.0, 64.0)?)?,
            "--depth" => settings.depth = whole(name, number(MIN_DEPTH.into(), MAX_DEPTH.into())?)? as u8,
            "--iterations" => settings.scale = number(0.0, 1e6)?,
            "--memory" => settings.memory = Some((whole(name, number(1.0, 16384.0)?)? as usize) << 20),
            "--nursery" => settings.nursery = (whole(name, number(64.0, 1_048_576.0)?)? as usize) << 10,
            "--adapt" if value.is_none() => settings.adapt = true,
            "--progress" if value.is_none() => progress = true,
            "--check" if value.is_none() => settings.check = true,
            "--help" | "-h" if value.is_none() => return Ok(Command::Help),
            _ => return Err(format!("unknown argument `{arg}`")),
        }
    }
    Ok(if progress { Command::RunWithProgress(settings) } else { Command::Run(settings) })
}

/// Converts a number, already in its option's range, if it has no fraction.
fn whole(name: &str, number: f64) -> Result<u32, String> {
    if number.fract() == 0.0 {
        Ok(number as u32)
    } else {
        Err(format!("`{name} {number}`: expected a whole number"))
    }
}
