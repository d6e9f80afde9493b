//! `telemetry query`: starts the program `telemetry-query`. It is a package of its own, because its
//! engine takes minutes to build.

use std::ffi::OsString;
use std::path::Path;

use crate::term::ended::{Context, Ended, Failure, Run};
use crate::term::installed;
use crate::term::quiet;
use crate::text::path::{is_lake, is_no_input};

const EXAMPLES: &str = "\
This runs the program `telemetry-query`, which is a separate package. To install it, run
`cargo install --locked --path telemetry-query` in a clone of the repository. `telemetry-query --help` lists
its options. See docs/query.md.

Examples:
  telemetry query --tables gc.tel
  telemetry query 'SELECT count(*), sum(size) FROM PoolInit' gc.tel
  telemetry query 'SELECT * FROM loss' --json gc.tel";

/// Answer a query in SQL from streams and Parquet files, if `telemetry-query` is installed
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Query, files and options of `telemetry-query`
    #[arg(value_name = "ARGUMENT", trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

impl Run for Args {
    fn run(&self, context: &mut Context) -> Ended {
        // No query begins like an address, so this is an input.
        if let Some(lake) = self.arguments.iter().map(Path::new).find(|argument| is_lake(argument)) {
            return Err(Failure::new(is_no_input(lake)));
        }
        let quiet = quiet::is_on().then(|| "--quiet".into());
        let arguments: Vec<_> = quiet.into_iter().chain(self.arguments.iter().cloned()).collect();
        installed::run("telemetry-query", "telemetry-query", &arguments, context)
    }
}
