//! `telemetry leaks`: what was allocated and not freed, by call stack.

mod held;
mod shown;

use telemetry_decode::Order;
use telemetry_decode::replay::{Origin, Step};

use self::held::Held;
use self::shown::{Asked, Leaks};
use crate::input::events::EventArgs;
use crate::input::inputs::cannot_read;
use crate::input::marks::Marks;
use crate::stats::grouping::Grouping;
use crate::symbols::Stacks;
use crate::term::ended::{Context, Ended, Run};
use crate::term::json::JsonArgs;
use crate::term::message::warning;
use crate::term::progress::Progress;
use crate::text::quantity::time_ns;

/// The groups of text without `--limit`.
const LIMIT: usize = 20;

const EXAMPLES: &str = "\
The command follows the events that the registry marks with `replay`: docs/replay.md describes the marks. A
block has the call stack of the event that allocated it, or of a later event of the same thread that has the
same address and a stack. A block that is reallocated keeps it. Memory is needed for the blocks that are live
at once. Filters leave out events, so that blocks may be shown that were freed.

Examples:
  telemetry leaks app.tel                        what is live at the end, most bytes first
  telemetry leaks --at 1.5s app.tel              what was live then
  telemetry leaks --by pool,thread app.tel       by a parameter of the allocation, and by thread
  telemetry leaks --json app.tel | jq '.groups[] | [.bytes, .values.stack[0]]'";

/// Show what was allocated and not freed, by call stack
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Show what was live at this time since the session's start [default: the end]
    #[arg(long, value_name = "TIME", value_parser = time_ns, allow_hyphen_values = true)]
    at: Option<i64>,

    /// Group blocks by these parameters of the events that allocated them, or by fields such as
    /// `event` and `thread`; `stack` is the call stack
    #[arg(long, value_name = "NAME", value_delimiter = ',', default_value = "stack")]
    by: Vec<String>,

    /// List at most this many groups, those with most bytes [default: 20, and all with --json]
    #[arg(short = 'n', long, value_name = "N")]
    limit: Option<usize>,

    #[command(flatten)]
    json: JsonArgs,

    #[command(flatten)]
    common: EventArgs,
}

impl Run for Args {
    fn run(&self, context: &mut Context) -> Ended {
        // An event may have its stack under another name.
        let named: Vec<String> = self.by.iter().filter(|name| *name != "stack").cloned().collect();
        let grouping = Grouping::new(&named, &[], "--by")?;
        let mut opened = self.common.open(Order::Time)?;
        let mut stacks = Stacks::of(&opened.inputs)?;
        let takes_stacks = !opened.inputs.are_files();
        let mut held = Held::new(&self.by);
        let progress = Progress::of_bytes(opened.inputs.len());
        let mut marks = Marks::new(&opened.inputs);
        let mut number = 0;
        while let Some(event) = opened.events.next().map_err(cannot_read)? {
            number += 1;
            if takes_stacks {
                stacks.take(&event);
            }
            if self.at.is_none_or(|at| event.time_ns() <= at) {
                match marks.of(&event) {
                    Some(mark) => {
                        let step = Step::marked(&event, mark);
                        step.into_iter()
                            .for_each(|step| held.step(step, &Origin::of(number, &event), &event));
                    }
                    None => held.other(&event),
                }
            }
            progress.event(|| opened.events.bytes_done());
        }
        drop(progress);
        let verdict = opened.verdict();
        if verdict.has_blocks() {
            grouping.check(opened.registries())?;
        }
        let completeness = opened.events.completeness();
        let filtered: u64 = completeness.lanes.iter().map(|lane| lane.filtered).sum();
        let is_whole = completeness.is_whole() && completeness.excluded() == 0 && filtered == 0;
        let all = if self.json.is_on() { usize::MAX } else { LIMIT };
        let asked = Asked { by: &self.by, at_ns: self.at, most: self.limit.unwrap_or(all) };
        let leaks = Leaks::new(held, &asked, &mut stacks, (opened.sessions(), is_whole), &verdict);
        opened.output()?.show(self.json.is_on(), &leaks, |out| {
            if verdict.has_blocks() {
                leaks.append_text(out);
            }
        })?;
        if verdict.has_blocks() {
            for text in leaks.doubts() {
                if self.common.input.strict { context.problem(text) } else { warning(text) }
            }
            leaks.nothing().into_iter().for_each(warning);
        }
        opened.end_with(&verdict, context)
    }
}
