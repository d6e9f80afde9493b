//! `telemetry tail`: what a running process records, while it does.

use std::io::{self, Read};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;

use telemetry_decode::{Event, Filter};

use crate::color::ColorArgs;
use crate::exit::{Ended, Outcome, report};
use crate::input::Inputs;
use crate::interrupt;
use crate::live::{self, Seen};
use crate::output::OutputArgs;
use crate::process::{Pid, Process, Unknown, word};
use crate::text::escaped_text;
use crate::text::print::Printer;
use crate::verdict::Verdict;

const EXAMPLES: &str = "\
The columns are those of `telemetry print`. Events come in the order of the stream, lane by lane, within the
latency of the process (1 s, or TELEMETRY_LATENCY); neither what is on nor its other sinks change. Ends with
the process, or with Ctrl-C.

Examples:
  telemetry tail 4711                    what is on
  telemetry tail 4711 Trace -TraceTick   a kind without one of its events
  telemetry tail 4711 all | grep 0x7f001040";

/// Follow what a running process records
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Number of the process, as `telemetry list` shows it
    #[arg(value_name = "PID")]
    pid: Pid,

    /// What to follow, in words of TELEMETRY_CONTROL [default: what is on]
    #[arg(value_name = "WORD", allow_hyphen_values = true, value_parser = word)]
    words: Vec<String>,

    #[command(flatten)]
    color: ColorArgs,

    /// Exit with 1 if anything at all is lost, missing or unfinished
    #[arg(long)]
    strict: bool,
}

impl Args {
    pub(crate) fn run(&self) -> Ended {
        let process = Process::find(self.pid)?;
        let info = process.info()?;
        if self.words.is_empty() && info.masks.output.is_empty() {
            report(format!(
                "nothing is on in process {pid} yet; help: `telemetry tail {pid} all` follows everything",
                pid = self.pid
            ));
        }
        if !self.words.is_empty() {
            self.report_unknown(&process);
        }
        let stream = process.open(&format!("tail {}", self.words.join(" ")))?.pieces(true)?;
        end_when_interrupted(&stream);

        let inputs = Inputs::new(vec![format!("process {}", self.pid).into()], Vec::new());
        let output = OutputArgs::default();
        let is_coloured = self.color.is_on(&output);
        let mut printer = Printer::of_one_session(info.registries.len() > 1, is_coloured);
        let line = |out: &mut Vec<u8>, event: &Event<'_>| printer.line(out, event);
        let Seen { completeness, sessions } =
            live::write_lines(Sent(stream), &inputs, Filter::default(), output.open(&[])?, line)?;
        if completeness.blocks == 0 {
            report(format!("process {} recorded nothing of that", self.pid));
            return Ok(Outcome::Clean);
        }
        Ok(Verdict::new(&completeness, &sessions, &inputs).report(self.strict))
    }

    /// Says which words name nothing. What they name may yet come, with a registry whose first event does.
    fn report_unknown(&self, process: &Process) {
        // A process of an earlier version does not know the question.
        let answer = process.ask(&format!("unknown {}", self.words.join(" ")));
        let Unknown { unknown } = answer.unwrap_or_default();
        unknown.iter().for_each(|why| report(escaped_text(why)));
    }
}

/// What comes from a process.
struct Sent(UnixStream);

impl Read for Sent {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        match self.0.read(to) {
            // The process was killed, or is done with us.
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => Ok(0),
            result => result,
        }
    }
}

/// An interrupt ends the stream, so that the verdict still comes.
fn end_when_interrupted(stream: &UnixStream) {
    match stream.try_clone() {
        Ok(stream) => interrupt::stops(move || {
            let _ = stream.shutdown(Shutdown::Both);
        }),
        Err(error) => report(format!("warning: an interrupt will end this without a verdict: {error}")),
    }
}
