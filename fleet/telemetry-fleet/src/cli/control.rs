//! `telemetry-fleet control`.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::ExitCode;

use telemetry_fleet::segment::Host;
use telemetry_fleet::wire::Ask;

const EXAMPLES: &str = "\
The host must allow it: see --allow of `telemetry-fleet ship`. A snapshot goes the way of all segments, to the store.

Exit codes: 0 if it is done, 1 if it is not, 2 for other errors.

Examples:
  telemetry-fleet control --admin admin.socket h7 gcbench Trace -TraceTick
  telemetry-fleet control --admin admin.socket --reset h7 gcbench Trace
  telemetry-fleet control --admin admin.socket --snapshot h7 gcbench";

/// Ask a program of a host, through the collector: switch its events, flush it, or take a snapshot
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Control {
    /// Name of the host
    #[arg(value_name = "HOST")]
    host: Host,

    /// Name of the program
    #[arg(value_name = "PROGRAM")]
    program: String,

    /// Events to enable, in words of `telemetry control`
    #[arg(value_name = "WORD", allow_hyphen_values = true, required_unless_present_any = ["flush", "snapshot"])]
    words: Vec<String>,

    /// Socket of the collector: see --admin of `telemetry-fleet collect`
    #[arg(long, value_name = "PATH")]
    admin: PathBuf,

    /// Disable the named events instead
    #[arg(long, requires = "words")]
    reset: bool,

    /// Write all recorded events to the program's sinks
    #[arg(long, conflicts_with_all = ["words", "snapshot"])]
    flush: bool,

    /// Send all events in memory to the store
    #[arg(long, conflicts_with = "words")]
    snapshot: bool,
}

impl Control {
    pub(crate) fn run(self) -> Result<ExitCode, String> {
        let ask = match self {
            Control { flush: true, .. } => Ask::Flush,
            Control { snapshot: true, .. } => Ask::Snapshot,
            Control { reset: true, .. } => Ask::Reset,
            _ => Ask::Set,
        };
        let fields = [ask.word(), self.host.as_str(), &self.program, &self.words.join(" ")];
        if let Some(wrong) = fields.iter().find(|field| field.contains(['\t', '\n'])) {
            return Err(format!("`{}` has a tab or a line feed, expected words", wrong.escape_debug()));
        }
        let failed = |error| format!("{}: {error}", self.admin.display());
        let mut socket = UnixStream::connect(&self.admin).map_err(failed)?;
        socket.write_all((fields.join("\t") + "\n").as_bytes()).map_err(failed)?;
        let mut answer = String::new();
        BufReader::new(socket).read_line(&mut answer).map_err(failed)?;
        match answer.trim_end_matches('\n').split_once('\t') {
            Some(("done", text)) => {
                println!("{text}");
                Ok(ExitCode::SUCCESS)
            }
            Some(("not done", why)) => {
                eprintln!("error: {why}");
                Ok(ExitCode::from(1))
            }
            _ => Err(format!("{}: the collector gave no answer", self.admin.display())),
        }
    }
}
