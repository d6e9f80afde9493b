//! `telemetry man`: the manual's pages, made from what `--help` says.

use std::path::PathBuf;

use clap::{Command, CommandFactory};
use clap_mangen::Man;

use crate::Cli;
use crate::exit::{Ended, Failure, Outcome};
use crate::output::{Directory, Output};

const EXAMPLES: &str = "\
Examples:
  telemetry man stats | man -l -
  telemetry man -d ~/.local/share/man/man1      telemetry.1, telemetry-print.1, ...";

/// Write manual pages
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The page of this command, to standard output [default: that of `telemetry` itself]
    #[arg(value_name = "COMMAND", conflicts_with = "directory")]
    command: Option<String>,

    /// Write all pages to this directory
    #[arg(short, long, value_name = "DIR")]
    directory: Option<PathBuf>,
}

impl Args {
    pub(crate) fn run(&self) -> Ended {
        let mut root = Cli::command();
        root.build();
        let pages: Vec<(String, &Command)> = std::iter::once(("telemetry".to_string(), &root))
            .chain(
                root.get_subcommands().map(|command| (format!("telemetry-{}", command.get_name()), command)),
            )
            .collect();
        if let Some(directory) = &self.directory {
            let _made = Directory::make(directory)?;
            for (name, command) in &pages {
                write(name, command, Output::to(&directory.join(format!("{name}.1")))?)?;
            }
            return Ok(Outcome::Clean);
        }
        let wanted =
            self.command.as_ref().map_or("telemetry".to_string(), |name| format!("telemetry-{name}"));
        let (name, command) = pages.iter().find(|(name, _)| *name == wanted).ok_or_else(|| {
            let name = self.command.as_deref().unwrap_or_default();
            Failure::new(format!("no command `{name}`; help: `telemetry --help` lists them"))
        })?;
        write(name, command, Output::stdout())?;
        Ok(Outcome::Clean)
    }
}

fn write(name: &str, command: &Command, mut output: Output) -> Result<(), Failure> {
    let page = Man::new(command.clone()).title(name.to_string());
    page.render(output.buffer()).map_err(|error| Failure::new(format!("cannot write the page: {error}")))?;
    output.finish()
}
