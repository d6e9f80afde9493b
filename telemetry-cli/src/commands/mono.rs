//! What `telemetry mono-debug` and `telemetry mono-report` share: the log, and what is said at the end.

use std::io::{self, Write};
use std::path::PathBuf;

use telemetry_decode::{Damage, Input, LogBytes};
use telemetry_foreign::{Format, mono};
use telemetry_format::MAGIC;

use crate::exit::{Ended, Failure, Outcome, report};
use crate::input::display;
use crate::opening::{broken_behind, file_of, known_by, peek};
use crate::output::OutputArgs;

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
        let name = display(&self.file);
        let named = |error: io::Error| Failure::new(format!("cannot read {name}: {error}"));
        // What cannot be opened says its name itself.
        let input = Input::open(&self.file).map_err(Failure::new)?;
        let (first, input) = peek(input).map_err(named)?;
        if let Some(refusal) = self.refusal(&first) {
            report(refusal);
            return Ok(Outcome::Problems);
        }
        let (file, broken) = file_of(input).and_then(Format::unpack).map_err(named)?;
        let mut bytes = LogBytes::of_file(file).map_err(named)?;
        if bytes.is_empty() && broken.is_none() {
            report(format_args!("{name} is empty, expected a log of the Mono profiler"));
            return Ok(Outcome::Problems);
        }
        let mut output = self.output.open(std::slice::from_ref(&self.file))?;
        let damaged = output.write_with(|out| write(&mut bytes, out))?.map_err(named)?;
        output.finish()?;
        for Damage { range, cause, .. } in damaged.iter().take(LISTED) {
            report(format_args!("{name}: bytes {}..{} are damaged: {cause}", range.start, range.end));
        }
        if damaged.len() > LISTED {
            report(format_args!("and {} more damaged ranges", damaged.len() - LISTED));
        }
        if let Some(error) = &broken {
            report(format_args!(
                "{name}: bytes {0}..{0} are damaged: {1}",
                bytes.len(),
                broken_behind(error)
            ));
        }
        Ok(Outcome::problems_if(!damaged.is_empty() || broken.is_some()))
    }

    /// What is said of an input that is known to be something else, by its first bytes. What nobody knows may be a log
    /// whose beginning is damaged.
    fn refusal(&self, first: &[u8]) -> Option<String> {
        let is_stream = first.starts_with(&MAGIC);
        if !is_stream && Format::recognize(first) == Some(Format::Mono) {
            return None;
        }
        let (what, name, file) = (known_by(first)?, display(&self.file), self.file.display());
        let again = match is_stream {
            true => format!(
                "; of the stream of a Mono log `telemetry convert --to mono -o LOG {file}` makes one again"
            ),
            false => String::new(),
        };
        Some(format!(
            "{name} is {what}, expected a log of the Mono profiler; help: `telemetry stats {file}` and `telemetry \
             print {file}` show what it has{again}"
        ))
    }
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
