//! Whether text is coloured.

use std::io::IsTerminal;

use clap::ColorChoice;

use crate::output::OutputArgs;

#[derive(clap::Args)]
pub(crate) struct ColorArgs {
    /// Colours: `auto` is on a terminal, unless NO_COLOR is set or TERM is `dumb`
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = ColorChoice::Auto)]
    color: ColorChoice,
}

impl ColorArgs {
    /// True if what goes to this output is to be coloured.
    pub(crate) fn is_on(&self, output: &OutputArgs) -> bool {
        let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        match self.color {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => {
                output.is_stdout()
                    && std::io::stdout().is_terminal()
                    && !is_set("NO_COLOR")
                    && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
            }
        }
    }
}
