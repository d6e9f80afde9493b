//! `telemetry doctor`: why a trace is empty, or not what was expected.

mod command;
mod environment;
mod finding;
mod path;
mod process;
mod program;
mod stream;

use std::ffi::OsString;
use std::path::Path;

use self::finding::Findings;
use crate::exit::{Ended, Failure, Outcome};
use crate::output::Output;
use crate::process::Pid;

const EXAMPLES: &str = "\
What is looked at is a running process if it is a number, a stream or a program if it is a file, and else a
command: that is run, with a control socket, and watched until it ends. Without anything it is the stream
that a program writes by default: $TELEMETRY_FILENAME, or telemetry.tel.

Each finding says what was found, why that is so, and what helps. The exit code is 0 if all is well, 1 if a
problem was found, 2 if nobody could look.

Examples:
  telemetry doctor                        the stream that should be here
  telemetry doctor 4711                   a running process
  telemetry doctor app.tel
  telemetry doctor ./app --size 100       run a program and watch it
  telemetry doctor --seconds 5 ./server   the same for five seconds
  telemetry doctor --json 4711 | jq -r '.findings[].cause'";

/// Find out why a trace is empty
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Number of a process, a file, or a command with its arguments
    #[arg(value_name = "PID|FILE|COMMAND", trailing_var_arg = true, allow_hyphen_values = true)]
    what: Vec<OsString>,

    /// Watch a command for so long, and end it then; by default until it ends
    #[arg(long, value_name = "SECONDS")]
    seconds: Option<f64>,

    /// As one JSON object
    #[arg(long)]
    json: bool,
}

impl Args {
    pub(crate) fn run(&self) -> Ended {
        let findings = self.look()?;
        Output::stdout().show(self.json, &findings, |out| findings.append_text(out))?;
        Ok(Outcome::problems_if(findings.has_problem()))
    }

    fn look(&self) -> Result<Findings, Failure> {
        let [first, rest @ ..] = self.what.as_slice() else {
            let named = std::env::var_os("TELEMETRY_FILENAME").filter(|name| !name.is_empty());
            return stream::look(Path::new(named.as_deref().unwrap_or("telemetry.tel".as_ref())));
        };
        let path = Path::new(first);
        if rest.is_empty() && self.seconds.is_none() {
            if let Some(pid) = first.to_str().and_then(|text| text.parse::<Pid>().ok()) {
                return process::look(pid);
            }
            if !program::is_executable(path) && (path.exists() || program::find(first).is_none()) {
                return stream::look(path);
            }
        }
        command::look(first, rest, self.seconds, self.json)
    }
}
