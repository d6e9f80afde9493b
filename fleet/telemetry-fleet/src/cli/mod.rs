//! The arguments, and what they start.

mod access;
mod collect;
mod config;
#[cfg(unix)]
mod control;
mod open_files;
mod ship;
mod signals;
mod token;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Ship telemetry streams of many hosts to an object store
#[derive(Parser)]
#[command(version, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Ship(ship::Ship),
    Collect(collect::Collect),
    Token(token::Token),
    #[cfg(unix)]
    Control(control::Control),
}

/// Runs the command.
///
/// # Errors
/// Why it cannot go on.
pub(crate) fn run() -> Result<ExitCode, String> {
    let own: Vec<_> = std::env::args_os().collect();
    match parse(&own)? {
        Command::Ship(_) => ship::run(|| match parse(&own)? {
            Command::Ship(ship) => Ok(ship),
            _ => Err("the command has changed".to_owned()),
        }),
        Command::Collect(_) => collect::run(|| match parse(&own)? {
            Command::Collect(collect) => Ok(collect),
            _ => Err("the command has changed".to_owned()),
        }),
        Command::Token(token) => token.run(),
        #[cfg(unix)]
        Command::Control(control) => control.run(),
    }
}

/// Parses the arguments, after those of the file that `--config` names.
fn parse(own: &[std::ffi::OsString]) -> Result<Command, String> {
    let all = config::with_file(own)?;
    if all.len() == own.len() {
        return Ok(Cli::parse_from(all).command);
    }
    match Cli::try_parse_from(all) {
        Ok(cli) => Ok(cli.command),
        Err(error) if !error.use_stderr() => error.exit(),
        Err(error) => Err(error.to_string().trim_start_matches("error: ").trim_end().to_owned()),
    }
}
