//! `telemetry gdb`: commands for a debugger, as a script.

use crate::term::ended::{Context, Ended, Run};
use crate::term::output::OutputArgs;

const GDB: &str = include_str!("debuggers/telemetry.gdb");
const LLDB: &str = include_str!("debuggers/telemetry.lldb");

const EXAMPLES: &str = "\
The script defines these debugger commands for a stopped process:
  telemetry set WORD...      enable events; words are those of TELEMETRY_CONTROL
  telemetry reset WORD...    disable events
  telemetry get              show which events are output
  telemetry flush            write all recorded events
  telemetry last [NUMBER]    print the last events of all threads to the process's standard error
  telemetry dump FILE        write all events in memory to a stream

Examples:
  telemetry gdb -o telemetry.gdb; gdb -x telemetry.gdb ./app
  telemetry gdb -o telemetry.gdb; gdb -x telemetry.gdb -p 4711
  telemetry gdb --lldb -o telemetry.lldb; lldb -s telemetry.lldb ./app";

/// Write a script with commands for gdb or lldb
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Write the script for lldb
    #[arg(long)]
    lldb: bool,

    #[command(flatten)]
    output: OutputArgs,
}

impl Run for Args {
    fn run(&self, _: &mut Context) -> Ended {
        let mut output = self.output.open(&[])?;
        output.buffer().extend_from_slice(if self.lldb { LLDB } else { GDB }.as_bytes());
        output.finish()
    }
}
