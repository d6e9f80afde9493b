//! `telemetry tail`: what a running process records, while it does.

use std::cell::RefCell;
use std::io::{self, Read};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;

use telemetry_decode::{Order, Reader};

use crate::exit::{Ended, Failure, Outcome, report};
use crate::input::{Inputs, cannot_read};
use crate::output::Output;
use crate::process::{Pid, Process, word};
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
        let stream = process.open(&format!("tail {}", self.words.join(" ")))?.pieces(true)?;
        end_when_interrupted(&stream);

        let output = RefCell::new(Output::stdout());
        let failed = RefCell::new(None);
        let live = Live { stream, output: &output, failed: &failed };
        let reader = Reader::from_read(live).order(Order::Stream);
        let mut printer = Printer::of_one_session(info.registries.len() > 1);
        let mut events = reader.events().map_err(cannot_read)?;
        loop {
            match events.next() {
                Ok(Some(event)) => {
                    let mut output = output.borrow_mut();
                    printer.line(output.buffer(), &event);
                    output.relieve()?;
                }
                Ok(None) => break,
                Err(error) => return Err(failed.take().unwrap_or_else(|| cannot_read(error))),
            }
        }
        output.borrow_mut().flush()?;
        let completeness = events.completeness();
        if completeness.blocks == 0 {
            report(format!("process {} recorded nothing of that", self.pid));
            return Ok(Outcome::Clean);
        }
        let inputs = Inputs::new(vec![format!("process {}", self.pid).into()], Vec::new());
        Ok(Verdict::new(&completeness, events.sessions(), &inputs).report(self.strict))
    }
}

/// What comes from a process. Before it waits for more, all lines are shown.
struct Live<'o> {
    stream: UnixStream,
    output: &'o RefCell<Output>,
    /// Why they cannot be.
    failed: &'o RefCell<Option<Failure>>,
}

impl Read for Live<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        if let Err(failure) = self.output.borrow_mut().flush() {
            *self.failed.borrow_mut() = Some(failure);
            return Err(io::ErrorKind::Other.into());
        }
        match self.stream.read(to) {
            // The process was killed, or is done with us.
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => Ok(0),
            result => result,
        }
    }
}

/// An interrupt ends the stream, so that the verdict still comes.
fn end_when_interrupted(stream: &UnixStream) {
    let set = stream.try_clone().map_err(|error| error.to_string()).and_then(|stream| {
        let end = move || {
            let _ = stream.shutdown(Shutdown::Both);
        };
        ctrlc::set_handler(end).map_err(|error| error.to_string())
    });
    if let Err(error) = set {
        report(format!("warning: an interrupt will end this without a verdict: {error}"));
    }
}
