//! `telemetry tail`: prints the events of a running process.

use std::net::Shutdown;
use std::os::unix::net::UnixStream;

use crate::input::inputs::Inputs;
use crate::input::lines::LineArgs;
use crate::input::live::{self, Seen};
use crate::input::selection::FilterArgs;
use crate::input::verdict::Verdict;
use crate::process::{ProcessName, Sent, word};
use crate::term::ended::{Context, Ended, Run};
use crate::term::interrupt;
use crate::term::message::{note, warning};
use crate::term::output::OutputArgs;
use crate::text::print::Printer;

const EXAMPLES: &str = "\
The columns are those of `telemetry print`. Events arrive in stream order, within the latency of the process
(1 s, or TELEMETRY_LATENCY). The process's settings and other sinks do not change. The command ends with the
process, or with Ctrl-C.

Examples:
  telemetry tail 4711                    the enabled events
  telemetry tail 4711 Trace -TraceTick   a kind without one of its events
  telemetry tail --json --thread worker 4711 all | jq .params
  telemetry tail 4711 all | grep 0x7f001040";

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

    #[command(flatten)]
    lines: LineArgs,

    #[command(flatten)]
    output: OutputArgs,

    /// Exit with 1 also for lost or missing events and unended sessions
    #[arg(long)]
    strict: bool,

    #[command(flatten)]
    filter: FilterArgs,
}

impl Run for Args {
    fn run(&self, context: &mut Context) -> Ended {
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

        let inputs = Inputs::new(vec![format!("process {}", process.pid).into()], Vec::new());
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

/// Ends the stream at an interrupt, before the verdict.
fn end_when_interrupted(stream: &UnixStream) {
    match stream.try_clone() {
        Ok(stream) => interrupt::stops(move || {
            let _ = stream.shutdown(Shutdown::Both);
        }),
        Err(error) => warning(format!("an interrupt will end this without a verdict: {error}")),
    }
}
