//! The `telemetry` command.
//!
//! Each command is a file in `commands`. All commands share inputs, filters, output, verdict and
//! exit codes.

// Some helpers are for `telemetry sql` alone.
#![cfg_attr(not(feature = "sql"), allow(dead_code))]

mod commands;
mod compare;
mod git;
mod input;
#[cfg(unix)]
mod process;
mod registry;
mod rules;
mod spans;
mod sql;
mod stats;
mod symbols;
mod term;
mod text;
mod witness;

use std::process::ExitCode;

use commands::cli::Cli;
use commands::mps_programs::Program;
use term::ended::{Context, Run};
use term::{exit, quiet};

fn main() -> ExitCode {
    let mut arguments = std::env::args_os();
    if let Some(program) = arguments.next().as_deref().and_then(Program::of) {
        return program.run(arguments);
    }
    let mut context = Context::new(Cli::grouped);
    let cli = Cli::read();
    if cli.quiet {
        quiet::set();
    }
    let ended = cli.command.run(&mut context);
    exit::code(ended, &context)
}
