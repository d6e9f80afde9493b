//! `telemetry tail`: prints the events of a running process, or checks its rules.

mod rules;

use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use crate::input::inputs::{Inputs, SensitiveArgs};
use crate::input::lines::LineArgs;
use crate::input::live::{self, Seen};
use crate::input::selection::FilterArgs;
use crate::input::verdict::Verdict;
use crate::process::{Process, ProcessName, Sent, word};
use crate::term::ended::{Context, Ended, Failure, Run};
use crate::term::interrupt;
use crate::term::message::{note, warning};
use crate::term::output::OutputArgs;
use crate::text::count;
use crate::text::print::Printer;
use rules::{Form, Live};

const EXAMPLES: &str = "\
The columns are those of `telemetry print`. Events arrive in stream order, within the latency of the process
(1 s, or TELEMETRY_LATENCY). The process's settings and other sinks do not change. The command ends with the
process, or with Ctrl-C.

Examples:
  telemetry tail 4711                    the enabled events
  telemetry tail 4711 Trace -TraceTick   a kind without one of its events
  telemetry tail --json --thread worker 4711 all | jq .params
  telemetry tail 4711 all | grep 0x7f001040
  telemetry tail --rules 4711            what breaks the rules of its registries";

/// How late events may come, if the process does not say it.
const USUAL_LATENCY: Duration = Duration::from_secs(1);

/// The runtime's event about what limits leave out.
const LEFT_OUT: &str = "telemetry:EventsLeftOut";

/// Print the events of a running process as it emits them
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Process number, or the name of its program, as `telemetry list` shows them
    #[arg(value_name = "PROCESS")]
    process: ProcessName,

    /// Events to print, in words of TELEMETRY_CONTROL [default: enabled events]
    #[arg(value_name = "WORD", allow_hyphen_values = true, value_parser = word)]
    words: Vec<String>,

    /// Check the rules of the registries, and print what breaks them [default of WORD: all]
    #[arg(long)]
    rules: bool,

    #[command(flatten)]
    lines: LineArgs,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    sensitive: SensitiveArgs,

    /// Exit with 1 also for lost or missing events and unended sessions
    #[arg(long)]
    strict: bool,

    #[command(flatten)]
    filter: FilterArgs,
}

impl Run for Args {
    fn run(&self, context: &mut Context) -> Ended {
        if self.rules {
            return self.check_rules(context);
        }
        let filter = self.filter.filter()?;
        let process = self.process.find()?;
        let info = process.info()?;
        if self.words.is_empty() && info.masks.output.is_empty() {
            note(format!(
                "process {pid} has no event enabled yet; help: `telemetry tail {pid} all` prints all events",
                pid = process.pid
            ));
        }
        if !self.words.is_empty() {
            process.expect_known(&self.words)?;
        }
        let stream = process.open(&format!("tail {}", self.words.join(" ")))?.pieces(true)?;
        end_when_interrupted(&stream);

        let inputs = self.inputs(&process);
        let has_several = info.registries.len() > 1;
        let mut printer =
            self.lines.printer(&self.output, |is_colored| Printer::of_one_session(has_several, is_colored));
        let output = self.output.open(&[])?;
        let Seen { completeness, sessions, is_stopped } =
            live::write_lines(Sent(stream), &inputs, filter, output, self.lines.limit(), |out, event| {
                printer.line(out, event);
            })?;
        if is_stopped {
            self.lines.tell_stopped();
            return Ok(());
        }
        if completeness.blocks == 0 {
            note(format!("process {} recorded no such event", process.pid));
            return Ok(());
        }
        Verdict::new(&completeness, &sessions, &inputs).report(context, self.strict);
        Ok(())
    }
}

impl Args {
    fn inputs(&self, process: &Process) -> Inputs {
        Inputs::new(vec![format!("process {}", process.pid).into()], Vec::new()).showing(self.sensitive)
    }

    fn check_rules(&self, context: &mut Context) -> Ended {
        if let Some(filter) = self.filter.text() {
            return Err(Failure::new(format!(
                "`--rules` needs all events of a rule, found the filter `{filter}`; help: words choose events"
            )));
        }
        let process = self.process.find()?;
        let latency = Duration::try_from_secs_f64(process.info()?.latency).unwrap_or(USUAL_LATENCY);
        let words = match self.words.is_empty() {
            true => "all".to_string(),
            false => {
                process.expect_known(&self.words)?;
                self.words.join(" ")
            }
        };
        // Whatever the words take away: what limits leave out may explain what is missing.
        let stream = process.open(&format!("tail {words} {LEFT_OUT}"))?.pieces(true)?;
        let other = stream.set_read_timeout(Some(rules::TICK)).and_then(|()| stream.try_clone());
        let other = other
            .map_err(|error| Failure::new(format!("cannot talk to process {}: {error}", process.pid)))?;
        end_when_interrupted(&stream);

        let inputs = self.inputs(&process);
        let form = Form { is_json: self.lines.is_json(), most: self.lines.limit() };
        let live = Live::new(&inputs, latency, &words, form);
        let stop = move || drop(other.shutdown(Shutdown::Both));
        let (seen, told) = live.run(Sent(stream), self.output.open(&[])?, stop)?;
        if told.broken > 0 {
            context.problem(format!("{} of broken rules", count(told.broken, "finding")));
        }
        if told.is_unordered {
            warning(format!(
                "more than {} events came within the latency, so later findings are not decided; help: name fewer events",
                rules::MAX_WAITING
            ));
        }
        if told.given_up > 0 {
            warning(format!(
                "{} not checked, because more than {} were open at once",
                count(told.given_up, "event"),
                rules::MAX_OPEN
            ));
        }
        if seen.is_stopped {
            note(format!("stopped at --limit, after {}", count(told.all, "line")));
        } else if seen.completeness.blocks == 0 {
            note(format!("process {} recorded no such event", process.pid));
        } else {
            Verdict::new(&seen.completeness, &seen.sessions, &inputs).report(context, self.strict);
        }
        Ok(())
    }
}

/// Ends the stream at an interrupt, before the verdict.
fn end_when_interrupted(stream: &UnixStream) {
    match stream.try_clone() {
        Ok(stream) => interrupt::stops(move || {
            let _ = stream.shutdown(Shutdown::Both);
        }),
        Err(error) => warning(format!("an interrupt will end this without a verdict: {error}")),
    }
}
