//! The option for the number of threads that read.

use std::num::NonZeroUsize;

#[derive(clap::Args)]
pub(crate) struct ThreadArgs {
    /// Use this many threads [default: all processors]; the output is the same for any number
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
}

impl ThreadArgs {
    /// Returns the number of threads.
    pub(crate) fn number(&self) -> NonZeroUsize {
        self.threads.or_else(|| std::thread::available_parallelism().ok()).unwrap_or(NonZeroUsize::MIN)
    }
}
