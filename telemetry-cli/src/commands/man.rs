//! `telemetry man`: manual pages, made from the definition of the command line.

use std::path::PathBuf;

use clap::Command;
use clap_mangen::Man;

use crate::term::ended::{Context, Ended, Failure, Run};
use crate::term::output::{Directory, Output};

const EXAMPLES: &str = "\
Examples:
  telemetry man stats | man -l -
  telemetry man -d ~/.local/share/man/man1      telemetry.1, telemetry-print.1, ...";

/// Write manual pages
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Write the page of this command to standard output [default: `telemetry`]
    #[arg(value_name = "COMMAND", conflicts_with = "directory")]
    command: Option<String>,

    /// Write all pages to this directory
    #[arg(short, long, value_name = "DIR")]
    directory: Option<PathBuf>,
}

impl Run for Args {
    fn run(&self, context: &mut Context) -> Ended {
        let mut root = (context.definition)();
        root.build();
        let pages: Vec<(String, &Command)> = std::iter::once(("telemetry".to_string(), &root))
            .chain(
                root.get_subcommands()
                    .filter(|command| command.get_name() != "help")
                    .map(|command| (format!("telemetry-{}", command.get_name()), command)),
            )
            .collect();
        if let Some(directory) = &self.directory {
            let _made = Directory::make(directory)?;
            for (name, command) in &pages {
                write(name, command, Output::to(&directory.join(format!("{name}.1")))?)?;
            }
            return Ok(());
        }
        let wanted =
            self.command.as_ref().map_or("telemetry".to_string(), |name| format!("telemetry-{name}"));
        let (name, command) = pages.iter().find(|(name, _)| *name == wanted).ok_or_else(|| {
            let name = self.command.as_deref().unwrap_or_default();
            Failure::new(format!("no command `{name}`; help: `telemetry --help` lists them"))
        })?;
        write(name, command, Output::stdout())?;
        Ok(())
    }
}

fn write(name: &str, command: &Command, mut output: Output) -> Result<(), Failure> {
    let page = Man::new(command.clone()).title(name.to_string());
    page.render(output.buffer()).map_err(|error| Failure::new(format!("cannot write the page: {error}")))?;
    output.finish()
}
