//! `telemetry convert`: converts events of one format to another.

#[cfg(feature = "arrow")]
mod arrow;
mod stream;
mod timeline;

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use telemetry_decode::Order;
use telemetry_decode::writer::Compress;
use telemetry_foreign::chrome::ChromeTrace;
use telemetry_foreign::ctf::CtfTrace;
use telemetry_foreign::perfetto::PerfettoTrace;
use telemetry_foreign::{Format, Timeline, Written};

use crate::input::events::EventArgs;
use crate::input::inputs::cannot_read;
use crate::input::threads::ThreadArgs;
use crate::term::ended::{Context, Ended, Failure, Run};
use crate::term::folder::Folder;
use crate::term::message::warning;
use crate::term::output::cannot_write;
use crate::term::progress::Progress;
use crate::text::count;

const EXAMPLES: &str = "\
The input is a stream or a log of another system, detected by its first bytes or named by --input-format.
Events are written in time order. Events that the target format cannot represent are counted and reported;
docs/formats.md lists what each format keeps. --to arrow writes tables, as docs/columns.md describes. With -d,
it writes a file for each event that occurs and for each side table. Otherwise, it writes the table of the one
event that passes the filter. A file is an Arrow file, also called Feather, and standard output an Arrow stream.
--to perfetto, --to chrome and --to ctf write traces for viewers, as docs/exports.md describes; with --to ctf,
-d names the directory. Without --to, the ending of the output's name chooses the format: .tel, mpsio.log,
.eventlog, .mlpd, .arrow, .feather, .pftrace, .perfetto-trace, .json, .json.gz, .ctf.

Examples:
  telemetry convert --to telemetry -o gc.tel mpsio.log      another system's log as a stream
  telemetry convert --to ghc-eventlog -o gc.eventlog gc.tel a stream for another system's tools
  telemetry convert --to telemetry --compress -o old.tel gc.tel
  telemetry convert --to mps --kind Trace gc.tel | mpseventcnv -f -
  telemetry convert -o gc.pftrace gc.tel                    a trace for Perfetto
  telemetry convert -o gc.json.gz gc.tel                    a trace for Chrome's and other viewers
  telemetry convert -d trace.ctf gc.tel                     a trace for babeltrace2 and Trace Compass
  telemetry convert --to arrow -d tables gc.tel             tables/PoolInit.arrow, tables/TraceStart.arrow, ...
  telemetry convert --to arrow --event PoolInit gc.tel | python pools.py";

/// The format of the output.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum To {
    Telemetry,
    Mps,
    GhcEventlog,
    Mono,
    Arrow,
    Perfetto,
    Chrome,
    Ctf,
}

/// Convert streams and other systems' logs to another format
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Format to write [default: by the ending of the output's name]
    #[arg(long, value_enum, value_name = "FORMAT")]
    to: Option<To>,

    /// With --to arrow: write a file for each table to this directory; they appear on success. With
    /// --to ctf: write the trace to this directory, which is replaced only on success
    #[arg(short = 'd', long, value_name = "DIR", conflicts_with = "output")]
    directory: Option<PathBuf>,

    /// Compress the blocks of events, too; each block is compressed alone
    #[arg(long)]
    compress: bool,

    #[command(flatten)]
    threads: ThreadArgs,

    #[command(flatten)]
    common: EventArgs,
}

impl Run for Args {
    fn run(&self, context: &mut Context) -> Ended {
        let to = self.format()?;
        if self.compress && to != To::Telemetry {
            return Err(Failure::new(
                "--compress is for --to telemetry: other formats have no compressed blocks",
            ));
        }
        if self.directory.is_some() && !matches!(to, To::Arrow | To::Ctf) {
            return Err(Failure::new(
                "-d is for --to arrow and ctf: other formats have all events in one file",
            ));
        }
        match to {
            To::Telemetry => self.write(None, context),
            To::Mps => self.write(Some(Format::Mps), context),
            To::GhcEventlog => self.write(Some(Format::GhcEventlog), context),
            To::Mono => self.write(Some(Format::Mono), context),
            To::Arrow => self.write_arrow(context),
            To::Perfetto => self.write_timeline(context, |out| Box::new(PerfettoTrace::new(out))),
            To::Chrome => {
                let is_compressed = self.output_name().is_some_and(|name| name.ends_with(".gz"));
                self.write_timeline(context, |out| Box::new(ChromeTrace::new(out, is_compressed)))
            }
            To::Ctf => self.write_ctf(context),
        }
    }
}

/// Endings of the names of files, and their formats.
const ENDINGS: [(&str, To); 11] = [
    (".tel", To::Telemetry),
    ("mpsio.log", To::Mps),
    (".eventlog", To::GhcEventlog),
    (".mlpd", To::Mono),
    (".arrow", To::Arrow),
    (".feather", To::Arrow),
    (".pftrace", To::Perfetto),
    (".perfetto-trace", To::Perfetto),
    (".json", To::Chrome),
    (".json.gz", To::Chrome),
    (".ctf", To::Ctf),
];

impl Args {
    /// Returns the format to write.
    fn format(&self) -> Result<To, Failure> {
        if let Some(to) = self.to {
            return Ok(to);
        }
        let directory = self.directory.as_ref().and_then(|path| path.file_name()?.to_str());
        let name = directory.or_else(|| self.output_name());
        let found = name.and_then(|name| ENDINGS.iter().find(|(ending, _)| name.ends_with(ending)));
        found.map(|(_, to)| *to).ok_or_else(|| {
            let what = match name {
                Some(name) => format!("the ending of `{name}` is not that of a format"),
                None => "neither a format nor a file is named".to_string(),
            };
            let known = ENDINGS.map(|(ending, _)| ending).join(", ");
            Failure::new(format!(
                "{what}, expected a name that ends in {known}; help: name a format with --to FORMAT"
            ))
        })
    }

    fn output_name(&self) -> Option<&str> {
        self.common.output.path()?.file_name()?.to_str()
    }

    /// Writes a log of another system, or a stream.
    fn write(&self, format: Option<Format>, context: &mut Context) -> Ended {
        // Only a GHC log has both the time at which an event was written and the time that it
        // describes.
        let mut opened = match format {
            Some(Format::GhcEventlog) => self.common.open_as_recorded(Order::Time)?,
            _ => self.common.open(Order::Time)?,
        };
        if format.is_none() && opened.hides_sensitive() {
            return Err(Failure::new(
                "the input has sensitive parameters, whose values a stream cannot hide; help: `telemetry scrub` \
                 replaces them, and `--show-sensitive` keeps them",
            ));
        }
        opened.events.decode_ahead(self.threads.number());
        let mut output = self.common.output.open_stream(&opened.inputs.paths())?;
        output.expect_no_terminal()?;
        let progress = Progress::of_bytes(opened.inputs.len());
        // The registry would be most of a short log's stream.
        let compress = if self.compress { Compress::All } else { Compress::Texts };
        let written = match format {
            Some(format) => output.write_with(|out| format.write(&mut opened.events, out)),
            None => output.write_with(|out| stream::write(&mut opened.events, out, compress, &progress)),
        };
        drop(progress);
        let written = written?.map_err(cannot_read)?;
        output.finish()?;
        self.report_left_out(&written, context);
        opened.end(context)
    }

    /// Writes a trace for a viewer with a time axis.
    fn write_timeline(
        &self,
        context: &mut Context,
        begin: impl for<'o> FnOnce(&'o mut dyn Write) -> Box<dyn Timeline + 'o>,
    ) -> Ended {
        let mut opened = self.common.open(Order::Time)?;
        opened.events.decode_ahead(self.threads.number());
        let mut output = opened.output()?;
        output.expect_no_terminal()?;
        let progress = Progress::of_bytes(opened.inputs.len());
        let written = output.write_with(|out| timeline::write(&mut opened, &mut *begin(out), &progress));
        drop(progress);
        let written = written?.map_err(cannot_read)?;
        output.finish()?;
        self.report_left_out(&written, context);
        opened.end(context)
    }

    /// Writes a folder in the Common Trace Format.
    fn write_ctf(&self, context: &mut Context) -> Ended {
        let Some(path) = &self.directory else {
            return Err(Failure::new("a trace in CTF is a directory; help: name one with -d DIR"));
        };
        let mut opened = self.common.open(Order::Time)?;
        opened.events.decode_ahead(self.threads.number());
        let is_trace = |path: &Path| {
            let metadata = std::fs::read(path.join("metadata")).unwrap_or_default();
            metadata.starts_with(b"/* CTF 1.8 */")
        };
        let folder = Folder::beside(path, is_trace)?;
        let mut trace = CtfTrace::new(folder.temporary());
        let failed = |error: std::io::Error| cannot_write(path, &error);
        let progress = Progress::of_bytes(opened.inputs.len());
        while let Some(event) = opened.events.next().map_err(cannot_read)? {
            trace.event(&event).map_err(failed)?;
            progress.event(|| opened.events.bytes_done());
        }
        drop(progress);
        let written = trace.finish(&opened.events).map_err(failed)?;
        folder.finish()?;
        self.report_left_out(&written, context);
        opened.end(context)
    }

    /// Says which events the format cannot represent.
    fn report_left_out(&self, written: &Written, context: &mut Context) {
        for (why, events) in &written.left_out {
            let message = format!("{} {why}", count(*events, "event"));
            if self.common.input.strict { context.problem(message) } else { warning(message) }
        }
    }

    #[cfg(feature = "arrow")]
    fn write_arrow(&self, context: &mut Context) -> Ended {
        let mut opened = self.common.open(Order::Time)?;
        opened.events.decode_ahead(self.threads.number());
        if let Some(directory) = &self.directory {
            return arrow::write_each(opened, directory, context);
        }
        let output = opened.output()?;
        output.expect_no_terminal()?;
        arrow::write_one(opened, output, context)
    }

    #[cfg(not(feature = "arrow"))]
    fn write_arrow(&self, _: &mut Context) -> Ended {
        Err(Failure::new(
            "this build of `telemetry` cannot write Arrow files: it has no feature `arrow`; help: run \
             `cargo install --path telemetry-cli --features arrow`",
        ))
    }
}
