//! Whether text is colored.

use anstream::AutoStream;
use clap::ColorChoice;

use crate::term::output::OutputArgs;

#[derive(clap::Args)]
pub(crate) struct ColorArgs {
    /// Colors; `auto` respects the terminal, NO_COLOR and CLICOLOR_FORCE
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = ColorChoice::Auto)]
    color: ColorChoice,
}

impl ColorArgs {
    /// Returns true if text for this output is colored.
    pub(crate) fn is_on(&self, output: &OutputArgs) -> bool {
        match self.color {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => {
                output.is_stdout() && AutoStream::choice(&std::io::stdout()) != anstream::ColorChoice::Never
            }
        }
    }
}
