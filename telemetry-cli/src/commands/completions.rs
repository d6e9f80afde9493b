//! `telemetry completions`: scripts by which shells complete the command's words.

use clap_complete::Shell;

use crate::term::ended::{Context, Ended, Run};
use crate::term::output::OutputArgs;

const EXAMPLES: &str = "\
Examples:
  telemetry completions bash > ~/.local/share/bash-completion/completions/telemetry
  telemetry completions zsh > ~/.zfunc/_telemetry
  telemetry completions fish > ~/.config/fish/completions/telemetry.fish";

/// Write the completion script of a shell
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    shell: Shell,

    #[command(flatten)]
    output: OutputArgs,
}

impl Run for Args {
    fn run(&self, context: &mut Context) -> Ended {
        let mut root = (context.definition)();
        let mut output = self.output.open(&[])?;
        clap_complete::generate(self.shell, &mut root, "telemetry", output.buffer());
        output.finish()
    }
}
