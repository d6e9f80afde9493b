//! `telemetry doctor`: why a trace is empty or wrong.

mod command;
mod environment;
mod finding;
mod path;
mod process;
mod program;
mod ring;
mod stream;

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use self::finding::Findings;
use crate::input::inputs::default_stream;
use crate::process::ProcessName;
use crate::term::ended::{Context, Ended, Failure, Run};
use crate::term::json::JsonArgs;
use crate::term::output::Output;
use crate::text::quantity::duration;

const EXAMPLES: &str = "\
A number or the name of a running program means a process. A file is a stream or a program. Anything else is
a command. A name with a slash is never a process. The command runs with a control socket, and is watched until
it ends. Without an argument, the stream that a program writes by default is checked: $TELEMETRY_FILENAME, or
telemetry.tel.

Each finding has a cause, an explanation and a remedy. The exit code is 0 without a problem, 1 if a problem
was found, and 2 if the check could not run.

Examples:
  telemetry doctor                        the default stream
  telemetry doctor 4711                   a running process
  telemetry doctor gcbench                the same, if one process has this name
  telemetry doctor app.tel
  telemetry doctor -- ./app --size 100    run a program and watch it
  telemetry doctor --for 5s -- ./server   the same for five seconds
  telemetry doctor --json 4711 | jq -r '.findings[].cause'";

/// Find out why a trace is empty
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Process number or program name, file, or command with its arguments
    #[arg(value_name = "PROCESS|FILE|COMMAND", trailing_var_arg = true, allow_hyphen_values = true)]
    what: Vec<OsString>,

    /// Stop the command after this time: `30s`, `1m`, `1.5h`
    #[arg(long = "for", value_name = "DURATION", value_parser = duration)]
    duration: Option<Duration>,

    #[command(flatten)]
    json: JsonArgs,
}

impl Run for Args {
    fn run(&self, context: &mut Context) -> Ended {
        let findings = self.look()?;
        Output::stdout().show(self.json.is_on(), &findings, |out| findings.append_text(out))?;
        context.problem_if(findings.has_problem());
        Ok(())
    }
}

impl Args {
    fn look(&self) -> Result<Findings, Failure> {
        let [first, rest @ ..] = self.what.as_slice() else {
            return stream::look(&default_stream()?);
        };
        let path = Path::new(first);
        if rest.is_empty() && self.duration.is_none() {
            let name = first.to_str().and_then(|text| text.parse().ok());
            match name.filter(|_| !first.as_encoded_bytes().contains(&b'/')) {
                Some(ProcessName::Number(pid)) => return process::look(pid),
                Some(name) if name.is_running() => return process::look(name.find()?.pid),
                _ => {}
            }
            if !program::is_executable(path) && (path.exists() || program::find(first).is_none()) {
                return stream::look(path);
            }
        }
        command::look(first, rest, self.duration, self.json.is_on())
    }
}
