//! `telemetry completions`: what a shell needs to complete the command's words.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::Cli;
use crate::exit::{Ended, Outcome};
use crate::output::OutputArgs;

const EXAMPLES: &str = "\
Examples:
  telemetry completions bash > ~/.local/share/bash-completion/completions/telemetry
  telemetry completions zsh > ~/.zfunc/_telemetry
  telemetry completions fish > ~/.config/fish/completions/telemetry.fish";

/// Write completions for a shell
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    shell: Shell,

    #[command(flatten)]
    output: OutputArgs,
}

impl Args {
    pub(crate) fn run(&self) -> Ended {
        let mut output = self.output.open(&[])?;
        clap_complete::generate(self.shell, &mut Cli::command(), "telemetry", output.buffer());
        output.finish()?;
        Ok(Outcome::Clean)
    }
}
