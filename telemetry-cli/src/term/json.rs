//! The option for JSON instead of text.

/// The option of commands whose output is one thing.
#[derive(clap::Args)]
pub(crate) struct JsonArgs {
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl JsonArgs {
    /// Returns true if the output is JSON.
    pub(crate) fn is_on(&self) -> bool {
        self.json
    }
}
