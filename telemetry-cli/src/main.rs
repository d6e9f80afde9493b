//! The `telemetry` command: one file per subcommand in `commands`; inputs, filters, output, verdict and
//! exit codes each in one place that all of them share.

mod change;
mod cnv_input;
mod color;
mod commands;
mod date;
mod distribution;
mod events;
mod exit;
mod fit;
mod follow;
mod frequent;
mod git;
mod input;
mod interrupt;
mod live;
mod mps_programs;
mod opening;
mod output;
mod pipe;
#[cfg(unix)]
mod process;
mod progress;
mod rate;
mod relation;
mod released;
mod selection;
mod sql;
mod table;
mod text;
mod verdict;
mod witness;

use std::process::ExitCode;

use clap::Parser;

/// Reads telemetry streams, and checks the relations that they are made from.
#[derive(Parser)]
#[command(name = "telemetry", version, after_help = exit::HELP, disable_help_subcommand = true)]
struct Cli {
    #[command(subcommand)]
    command: commands::Command,
}

fn main() -> ExitCode {
    let mut arguments = std::env::args_os();
    if let Some(program) = arguments.next().as_deref().and_then(mps_programs::Program::of) {
        return program.run(arguments);
    }
    exit::code(Cli::parse().command.run())
}
