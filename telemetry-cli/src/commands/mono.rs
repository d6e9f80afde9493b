//! What `telemetry mono-debug` and `telemetry mono-report` share: the log, and what is said at the end.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use telemetry_decode::{Damage, Input, LogBytes};
use telemetry_foreign::{Format, mono};

use crate::exit::{Ended, Failure, Outcome, report};
use crate::output::{Output, OutputArgs};

/// Damaged ranges that are listed.
const LISTED: usize = 20;

#[derive(clap::Args)]
pub(super) struct LogArgs {
    /// A log of the Mono log profiler, data version 1 or 17, also gzipped; `-` is standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,

    #[command(flatten)]
    output: OutputArgs,
}

impl LogArgs {
    /// Gives the bytes of the log, and says what of it could not be read.
    pub(super) fn run(
        &self,
        write: impl FnOnce(&mut LogBytes<'_>, &mut dyn Write) -> io::Result<Vec<Damage>>,
    ) -> Ended {
        let (file, problem) = open(&self.file).map_err(Failure::new)?;
        let mut bytes = LogBytes::of_file(file).map_err(Failure::new)?;
        let mut lines = Lines { output: self.output.open()?, failed: None };
        let damaged = write(&mut bytes, &mut lines);
        if let Some(failed) = lines.failed {
            return Err(failed);
        }
        let damaged = damaged.map_err(Failure::new)?;
        lines.output.finish()?;
        for Damage { range, cause, .. } in damaged.iter().take(LISTED) {
            report(format_args!("`{}`, bytes {}..{}: {cause}", self.file.display(), range.start, range.end));
        }
        if damaged.len() > LISTED {
            report(format_args!("and {} more damaged ranges", damaged.len() - LISTED));
        }
        if let Some(problem) = &problem {
            report(format_args!("`{}`: {problem}", self.file.display()));
        }
        Ok(Outcome::problems_if(!damaged.is_empty() || problem.is_some()))
    }
}

/// An output as a writer. Its failure is kept: it says what could not be written.
struct Lines {
    output: Output,
    failed: Option<Failure>,
}

impl Write for Lines {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        self.output.buffer().extend_from_slice(text);
        match self.output.relieve() {
            Ok(_) => Ok(text.len()),
            Err(failed) => {
                self.failed = Some(failed);
                Err(io::ErrorKind::Other.into())
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The log as a regular file, and what is wrong with its compression.
fn open(path: &Path) -> io::Result<(File, Option<io::Error>)> {
    let file = match Input::open(path)? {
        Input::File(file) => file,
        Input::Pipe(mut pipe) => {
            let mut file = tempfile::tempfile()?;
            io::copy(&mut pipe, &mut file)?;
            file
        }
    };
    Format::Mono.unpack(file)
}

/// `telemetry mono-debug`: the text of `mprof-report --debug`.
pub(super) mod debug {
    use super::{Ended, LogArgs, mono};

    const EXAMPLES: &str = "\
A line is an event, in the order of the log, as `mprof-report --debug` prints it: that of 2010 for data version 1,
that of Mono 6.8 for data version 17. Two things differ: behind an allocation of version 1 stands where in the buffer
its event ends, not where in the tool's memory; and classes and methods of version 17 have their names also before
the log tells them.

Examples:
  telemetry mono-debug prog.mlpd | less
  telemetry mono-debug prog.mlpd | grep '^gc event'";

    /// Print the events of a Mono log, as mprof-report --debug does
    #[derive(clap::Args)]
    #[command(after_help = EXAMPLES)]
    pub(crate) struct Args {
        #[command(flatten)]
        log: LogArgs,
    }

    impl Args {
        pub(crate) fn run(&self) -> Ended {
            self.log.run(mono::debug)
        }
    }
}

/// `telemetry mono-report`: the tables of `mprof-report`.
pub(super) mod tables {
    use super::{Ended, LogArgs, mono};

    const EXAMPLES: &str = "\
The tables of the collector, allocations, calls, metadata, exceptions, monitors, threads, walks of the heap, samples and
counters, as `mprof-report` prints them: that of 2010 for data version 1, that of Mono 6.8 for data version 17.

Examples:
  telemetry mono-report prog.mlpd
  telemetry mono-report --traces --verbose prog.mlpd > report.txt";

    /// Print the tables of a Mono log, as mprof-report does
    #[derive(clap::Args)]
    #[command(after_help = EXAMPLES)]
    pub(crate) struct Args {
        #[command(flatten)]
        log: LogArgs,

        /// Show where allocations, calls, exceptions and contentions came from
        #[arg(long)]
        traces: bool,

        /// Show also methods of less than a millisecond, all classes of a heap, names of images, and all counters
        #[arg(long)]
        verbose: bool,
    }

    impl Args {
        pub(crate) fn run(&self) -> Ended {
            let options = mono::ReportOptions { traces: self.traces, verbose: self.verbose };
            self.log.run(|bytes, out| mono::report(bytes, options, out))
        }
    }
}
