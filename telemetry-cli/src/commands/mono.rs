//! `telemetry mono-debug` and `telemetry mono-report`: text and tables of a Mono log.

use std::io::{self, Write};
use std::path::PathBuf;

use telemetry_decode::Input;
use telemetry_decode::completeness::Damage;
use telemetry_decode::foreign::LogBytes;
use telemetry_foreign::{Format, mono};
use telemetry_format::MAGIC;

use crate::input::opening::{broken_behind, file_of, peek};
use crate::term::ended::{Context, Ended, Failure, Run};
use crate::term::output::OutputArgs;
use crate::text::path::display;
use crate::text::sniff::known_by;

/// The maximum of damaged ranges that are listed.
const MAX_LISTED: usize = 20;

#[derive(clap::Args)]
pub(super) struct LogArgs {
    /// Mono log, data version 1 or 17, also gzipped; `-` is standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,

    #[command(flatten)]
    output: OutputArgs,
}

impl LogArgs {
    /// Passes the bytes of the log to a function, and reports what could not be read.
    pub(super) fn run(
        &self,
        context: &mut Context,
        write: impl FnOnce(&mut LogBytes<'_>, &mut dyn Write) -> io::Result<Vec<Damage>>,
    ) -> Ended {
        let name = display(&self.file);
        let named = |error: io::Error| Failure::new(format!("cannot read {name}: {error}"));
        // The error has the name of the file.
        let input = Input::open(&self.file).map_err(Failure::new)?;
        let (first, input) = peek(input).map_err(named)?;
        if let Some(refusal) = self.refusal(&first) {
            return Err(Failure::new(refusal));
        }
        let (file, broken) = file_of(input).and_then(Format::unpack).map_err(named)?;
        let mut bytes = LogBytes::from_file(file).map_err(named)?;
        if bytes.is_empty() && broken.is_none() {
            context.problem(format_args!("{name} is empty, expected a log of the Mono profiler"));
            return Ok(());
        }
        let mut output = self.output.open(std::slice::from_ref(&self.file))?;
        let damaged = output.write_with(|out| write(&mut bytes, out))?.map_err(named)?;
        output.finish()?;
        for Damage { range, cause, .. } in damaged.iter().take(MAX_LISTED) {
            context
                .problem(format_args!("{name}: bytes {}..{} are damaged: {cause}", range.start, range.end));
        }
        if damaged.len() > MAX_LISTED {
            context.problem(format_args!("{} more damaged ranges", damaged.len() - MAX_LISTED));
        }
        if let Some(error) = &broken {
            context.problem(format_args!(
                "{name}: bytes {0}..{0} are damaged: {1}",
                bytes.len(),
                broken_behind(error)
            ));
        }
        Ok(())
    }

    /// Explains that the first bytes are of another format. Unknown bytes may be a log with a
    /// damaged start.
    fn refusal(&self, first: &[u8]) -> Option<String> {
        let is_stream = first.starts_with(&MAGIC);
        if !is_stream && Format::recognize(first) == Some(Format::Mono) {
            return None;
        }
        let (what, name, file) = (known_by(first)?, display(&self.file), self.file.display());
        let again = match is_stream {
            true => format!(
                "; `telemetry convert --to mono -o LOG {file}` converts the stream of a Mono log back"
            ),
            false => String::new(),
        };
        Some(format!(
            "{name} is {what}, expected a log of the Mono profiler; help: `telemetry stats {file}` and `telemetry \
             print {file}` show its events{again}"
        ))
    }
}

/// `telemetry mono-debug`: the text of `mprof-report --debug`.
pub(super) mod debug {
    use super::{Context, Ended, LogArgs, Run, mono};

    const EXAMPLES: &str = "\
A line is an event, in log order, as `mprof-report --debug` prints it: that of 2010 for data version 1, that
of Mono 6.8 for data version 17. There are two differences. After an allocation of version 1, that tool
prints a position in its own memory, and this command the position in the buffer. Classes and methods of
version 17 have their names even before the log defines them.

Examples:
  telemetry mono-debug prog.mlpd | less
  telemetry mono-debug prog.mlpd | grep '^gc event'";

    /// Print the events of a Mono log, like mprof-report --debug
    #[derive(clap::Args)]
    #[command(after_help = EXAMPLES)]
    pub(crate) struct Args {
        #[command(flatten)]
        log: LogArgs,
    }

    impl Run for Args {
        fn run(&self, context: &mut Context) -> Ended {
            self.log.run(context, mono::debug)
        }
    }
}

/// `telemetry mono-report`: the tables of `mprof-report`.
pub(super) mod tables {
    use super::{Context, Ended, LogArgs, Run, mono};

    const EXAMPLES: &str = "\
The tables are collector, allocations, calls, metadata, exceptions, monitors, threads, heap walks, samples and
counters, as `mprof-report` prints them: that of 2010 for data version 1, that of Mono 6.8 for data version 17.

Examples:
  telemetry mono-report prog.mlpd
  telemetry mono-report --traces --verbose prog.mlpd > report.txt";

    /// Print the tables of a Mono log, like mprof-report
    #[derive(clap::Args)]
    #[command(after_help = EXAMPLES)]
    pub(crate) struct Args {
        #[command(flatten)]
        log: LogArgs,

        /// Show the call stacks of allocations, calls, exceptions and contentions
        #[arg(long)]
        traces: bool,

        /// Also show methods below a millisecond, all classes of a heap, names of images, and all
        /// counters
        #[arg(long)]
        verbose: bool,
    }

    impl Run for Args {
        fn run(&self, context: &mut Context) -> Ended {
            let options = mono::ReportOptions::default().traces(self.traces).verbose(self.verbose);
            self.log.run(context, |bytes, out| mono::report(bytes, options, out))
        }
    }
}
