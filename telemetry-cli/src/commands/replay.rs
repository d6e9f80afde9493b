//! `telemetry replay`: repeats recorded allocations with a real allocator.

mod allocator;
mod batch;
mod memory;
mod report;
mod resident;
mod survey;
mod worker;

use telemetry_decode::replay::Pace;

use self::allocator::Allocator;
use self::memory::Touch;
use self::report::Report;
use self::survey::Survey;
use self::worker::Bench;
use crate::input::inputs::InputArgs;
use crate::input::selection::FilterArgs;
use crate::term::ended::{Context, Ended, Failure, Run};
use crate::term::json::JsonArgs;
use crate::term::output::OutputArgs;
use crate::text::grouped;

const EXAMPLES: &str = "\
The command replays the events that the registry marks with `replay`; docs/replay.md describes the marks.
Events of all threads are replayed in time order on one thread. Each run is a separate process, so its memory
is that of the allocator. The time is that of allocating and touching memory, without reading the stream.

`system` is the allocator of the process, which another library can replace:
  LD_PRELOAD=libjemalloc.so.2 telemetry replay alloc.tel

Examples:
  telemetry replay alloc.tel                       time, memory and fragmentation of the system allocator
  telemetry replay --compare alloc.tel             the same for each allocator
  telemetry replay --repeat 9 --touch none alloc.tel
  telemetry replay --speed 1 alloc.tel             at the speed of the program
  telemetry replay --dry-run alloc.tel             check the recording without allocating";

/// Replay recorded allocations with a real allocator
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    input: InputArgs,

    /// Replay with this allocator (repeatable)
    #[arg(long, value_name = "NAME", default_value = "system")]
    allocator: Vec<Allocator>,

    /// Replay with every allocator
    #[arg(long, conflicts_with = "allocator")]
    compare: bool,

    /// Run each allocator this many times, and show the median
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    repeat: u32,

    /// Keep the recorded intervals, divided by this factor; without it, run at full speed
    #[arg(long, value_name = "FACTOR", value_parser = speed)]
    speed: Option<f64>,

    /// Write to none of the allocated memory, to a byte of each page, or to all of it
    #[arg(long, value_name = "WHAT", default_value = "pages")]
    touch: Touch,

    /// Check the recording without replaying it
    #[arg(long)]
    dry_run: bool,

    /// Allow frees of memory allocated before the recording
    #[arg(long)]
    partial: bool,

    /// Replay even if the recording needs more memory than is available
    #[arg(long)]
    force: bool,

    #[command(flatten)]
    json: JsonArgs,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    filter: FilterArgs,

    #[command(flatten)]
    run: worker::RunArgs,
}

impl Run for Args {
    fn run(&self, context: &mut Context) -> Ended {
        if let Some(allocator) = self.run.worker {
            let inputs = self.run.inputs(&self.input)?;
            let reader = inputs.reader()?.filter(self.filter.filter()?);
            return worker::work(reader, &inputs, &self.run, allocator, self.pace(), self.touch);
        }
        let inputs = self.input.inputs()?;
        // A pipe can be read only once.
        let spooled = if inputs.are_files() { None } else { Some(inputs.spool()?) };
        let reader = match &spooled {
            Some(file) => inputs.reader_of(file)?,
            None => inputs.reader()?,
        };
        let survey = Survey::of(reader.filter(self.filter.filter()?), &inputs)?;
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
        output.show(self.json.is_on(), &report, |out| report.append_text(out))?;
        report.tell(context, self.input.strict);
        Ok(())
    }
}

impl Args {
    fn pace(&self) -> Pace {
        self.speed.map_or(Pace::Fast, Pace::Recorded)
    }

    /// Refuses a recording that needs more memory than the machine has.
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

/// Reads a factor above 0.
fn speed(text: &str) -> Result<f64, String> {
    let speed = text.parse().ok().filter(|speed: &f64| *speed > 0.0 && speed.is_finite());
    speed.ok_or_else(|| "expected a number above 0, such as 1 or 0.5".to_string())
}
