//! `telemetry ship`, `collect` and `lake`: start `telemetry-fleet` and `telemetry-lake`. They are
//! packages of their own, because clients of object stores take minutes to build.

use std::ffi::OsString;

use crate::term::ended::{Context, Ended, Run};
use crate::term::installed;

/// Starts a command of `telemetry-fleet`.
fn start(command: &str, arguments: &[OsString], context: &mut Context) -> Ended {
    let arguments: Vec<_> = std::iter::once(command.into()).chain(arguments.iter().cloned()).collect();
    installed::run("telemetry-fleet", "fleet/telemetry-fleet", &arguments, context)
}

const SHIP_EXAMPLES: &str = "\
This runs the program `telemetry-fleet`, which is a separate package. To install it, run
`cargo install --locked --path fleet/telemetry-fleet` in a clone of the repository. `telemetry-fleet ship --help`
lists its options. See docs/fleet.md.

Examples:
  telemetry ship --spool spool --to file:///srv/telemetry app.tel
  telemetry ship --config ship.toml";

/// Ship streams to a store or a collector, if `telemetry-fleet` is installed
#[derive(clap::Args)]
#[command(after_help = SHIP_EXAMPLES)]
pub(crate) struct Ship {
    /// Options of `telemetry-fleet ship`
    #[arg(value_name = "ARGUMENT", trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

impl Run for Ship {
    fn run(&self, context: &mut Context) -> Ended {
        start("ship", &self.arguments, context)
    }
}

const COLLECT_EXAMPLES: &str = "\
This runs the program `telemetry-fleet`, which is a separate package. To install it, run
`cargo install --locked --path fleet/telemetry-fleet` in a clone of the repository. `telemetry-fleet collect --help`
lists its options. See docs/fleet.md.

Examples:
  telemetry collect --config collect.toml
  telemetry collect token h7 --tokens tokens.toml > h7.token
  telemetry collect control --admin admin.socket h7 gcbench Trace";

/// Receive streams of many hosts, if `telemetry-fleet` is installed
#[derive(clap::Args)]
#[command(after_help = COLLECT_EXAMPLES)]
pub(crate) struct Collect {
    /// Options of `telemetry-fleet collect`; after `token` or `control`, those of that command
    #[arg(value_name = "ARGUMENT", trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

impl Run for Collect {
    fn run(&self, context: &mut Context) -> Ended {
        match self.arguments.split_first() {
            Some((first, rest)) if first == "token" => start("token", rest, context),
            Some((first, rest)) if first == "control" => start("control", rest, context),
            _ => start("collect", &self.arguments, context),
        }
    }
}

const LAKE_EXAMPLES: &str = "\
This runs the program `telemetry-lake`, which is a separate package. To install it, run
`cargo install --locked --path fleet/telemetry-lake` in a clone of the repository. `telemetry-lake --help`
lists its commands. See docs/lake.md.

Examples:
  telemetry lake init s3://telemetry/prod
  telemetry lake commit s3://telemetry/prod         add the events of new segments to the tables
  telemetry lake complete s3://telemetry/prod       show which events are missing";

/// Make tables of many hosts from a store, if `telemetry-lake` is installed
#[derive(clap::Args)]
#[command(after_help = LAKE_EXAMPLES)]
pub(crate) struct Lake {
    /// Command and options of `telemetry-lake`
    #[arg(value_name = "ARGUMENT", trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

impl Run for Lake {
    fn run(&self, context: &mut Context) -> Ended {
        installed::run("telemetry-lake", "fleet/telemetry-lake", &self.arguments, context)
    }
}
