//! `telemetry replay`: recorded allocations driven through a real allocator again.

mod allocator;
mod batch;
mod memory;
mod report;
mod resident;
mod survey;
mod worker;

use std::io;

use telemetry_decode::replay::Pace;

use self::allocator::Allocator;
use self::memory::Touch;
use self::report::Report;
use self::survey::Survey;
use self::worker::Bench;
use crate::exit::{Ended, Failure};
use crate::input::InputArgs;
use crate::output::OutputArgs;
use crate::selection::FilterArgs;
use crate::text::grouped;

const EXAMPLES: &str = "\
Events are replayed that their relation marks with `replay`; docs/replay.md tells how. Threads are replayed as
one, in the order of time. Each run is a process of its own, so that the memory it takes is the allocator's.
What is measured is the time in the allocator and in touching memory, not that of reading the stream.

`system` is what the process has by that name, so that another may be put in its place:
  LD_PRELOAD=libjemalloc.so.2 telemetry replay alloc.tel

Examples:
  telemetry replay alloc.tel                       time, memory and fragmentation of the system's allocator
  telemetry replay --compare alloc.tel             the same of all allocators
  telemetry replay --repeat 9 --touch none alloc.tel
  telemetry replay --speed 1 alloc.tel             at the program's own pace
  telemetry replay --dry-run alloc.tel             check the recording, allocate nothing";

/// Drive an allocator with the allocations of a recording
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    input: InputArgs,

    /// The allocator (repeatable)
    #[arg(long, value_name = "NAME", default_value = "system")]
    allocator: Vec<Allocator>,

    /// Every allocator
    #[arg(long, conflicts_with = "allocator")]
    compare: bool,

    /// Runs with each allocator, of which the median is shown
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    repeat: u32,

    /// Keep the intervals of the recording, divided by this; by default there are none
    #[arg(long, value_name = "FACTOR", value_parser = speed)]
    speed: Option<f64>,

    /// Which of the allocated memory is written to
    #[arg(long, value_name = "WHAT", default_value = "pages")]
    touch: Touch,

    /// Check the recording only
    #[arg(long)]
    dry_run: bool,

    /// Take it for the end of a recording: giving up memory that was allocated before it is in order
    #[arg(long)]
    partial: bool,

    /// Replay although more memory is live than the system has
    #[arg(long)]
    force: bool,

    /// As one JSON object
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    filter: FilterArgs,

    #[command(flatten)]
    run: worker::RunArgs,
}

impl Args {
    pub(crate) fn run(&self) -> Ended {
        if let Some(allocator) = self.run.worker {
            let inputs = self.run.inputs(&self.input)?;
            let reader = inputs.reader()?.filter(self.filter.filter());
            return worker::work(reader, &inputs, &self.run, allocator, self.pace(), self.touch);
        }
        let inputs = self.input.inputs()?;
        // What can be read only once is read once.
        let spooled = if inputs.are_files() { None } else { Some(inputs.spool()?) };
        let reader = match &spooled {
            Some(file) => inputs.reader_of(file)?,
            None => inputs.reader()?,
        };
        let survey = Survey::of(reader.filter(self.filter.filter()), &inputs)?;
        let output = self.output.open(&inputs.paths())?;
        let runs = if self.dry_run || survey.totals.allocs == 0 {
            Vec::new()
        } else {
            self.enough_memory(&survey)?;
            let allocators = if self.compare { Allocator::ALL } else { &self.allocator };
            let bench = Bench { repeat: self.repeat, blocks: survey.totals.peak_blocks, spooled };
            bench.run(allocators)?
        };
        let report = Report::new(&survey, &runs, self.partial);
        output.show(self.json, &report, |out| report.append_text(out))?;
        Ok(report.tell(self.input.strict))
    }

    fn pace(&self) -> Pace {
        self.speed.map_or(Pace::Fast, Pace::Recorded)
    }

    /// A recording may ask for anything. That must not be what the machine dies of.
    fn enough_memory(&self, survey: &Survey) -> Result<(), Failure> {
        let needed = survey.totals.peak_bytes;
        match resident::available() {
            Some(available) if needed > available && !self.force => Err(Failure::new(format!(
                "the recording has {} bytes live at once, and {} are available; help: --force replays it anyway",
                grouped(needed),
                grouped(available)
            ))),
            _ => Ok(()),
        }
    }
}

/// A factor above 0.
fn speed(text: &str) -> Result<f64, String> {
    let speed = text.parse().ok().filter(|speed: &f64| *speed > 0.0 && speed.is_finite());
    speed.ok_or_else(|| "expected a number above 0, such as 1 or 0.5".to_string())
}

/// A failure of something that the system does for us.
fn cannot(what: &str, error: &io::Error) -> Failure {
    Failure::new(format!("cannot {what}: {error}"))
}
