//! `telemetry address`: what an address was part of, and when.

mod lives;
mod owners;
mod shown;
mod step;

use telemetry_decode::{Order, Registry};

use self::lives::Lives;
use self::shown::Life;
use crate::input::events::EventArgs;
use crate::term::ended::{Context, Ended, Run};
use crate::term::json::JsonArgs;
use crate::term::message::{note, warning};
use crate::text::count;
use crate::text::quantity::time_ns;

const EXAMPLES: &str = "\
The command shows each range of memory that contained the address, from the events that the registry marks with
`range` or `replay`; docs/address.md describes the marks. The registries of the MPS and of Mono have them. A range
ends with its own event, when it moves, or when another range of its name takes its memory. With --at, the
outermost range comes first.

Examples:
  telemetry address 0x7f0000001234 gc.tel          every range that contained it, by time
  telemetry address --at 1.5s 0x7f0000001234 gc.tel
  telemetry address --events 0x7f0000001234 gc.tel also the events with this pointer or address
  telemetry address --json 0x10ee0 mpsio.log | jq '.ranges[].what'";

/// Show the ranges of memory that contained an address, and when
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The address: `0x` and hexadecimal digits, or a decimal number
    #[arg(value_name = "ADDRESS", value_parser = address)]
    address: u64,

    /// Only ranges at this time since the session's start, the outermost first
    #[arg(long, value_name = "TIME", value_parser = time_ns, allow_hyphen_values = true)]
    at: Option<i64>,

    /// Also list events that have the address as a pointer or address
    #[arg(long)]
    events: bool,

    /// Show at most this many ranges and events, the latest ones
    #[arg(short = 'n', long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    limit: u32,

    #[command(flatten)]
    json: JsonArgs,

    #[command(flatten)]
    common: EventArgs,
}

impl Run for Args {
    fn run(&self, context: &mut Context) -> Ended {
        let mut opened = self.common.open(Order::Time)?;
        let output = opened.output()?;
        let wants_events = self.events;
        opened.events.need(move |registry: &Registry, event: usize| {
            let event = &registry.events[event];
            event.range.is_some() || event.replay.is_some() || wants_events && step::has_places(event)
        });
        let mut lives = Lives::new(self.address, self.at, self.limit as usize, self.events);
        opened.each(|event| lives.take(event))?;
        let mut events = opened.registries().iter().flat_map(|known| &known.registry.events);
        let is_marked = events.any(|event| event.range.is_some() || event.replay.is_some());
        let verdict = opened.verdict();
        let (gaps, registries) = (opened.events.gaps(), opened.registries());
        let found = lives.finish();
        let shown = Life::new(self.address, self.at, &found, opened.sessions(), registries, &gaps, &verdict);
        output.show(self.json.is_on(), &shown, |out| shown.append_text(out))?;
        if !is_marked {
            note(
                "no event of the input has a mark `range` or `replay`; help: docs/address.md describes marks",
            );
        } else if shown.is_empty() {
            let at = self.at.map_or(String::new(), |_| " at this time".to_string());
            note(format!("no range contained {:#x}{at}", self.address));
        }
        let left_out = [(found.dropped, "earlier range"), (found.events_dropped, "earlier event")];
        for (number, what) in left_out.into_iter().filter(|(number, _)| *number > 0) {
            warning(format!("{} left out; help: --limit N shows more", count(number, what)));
        }
        if found.owners_dropped > 0 {
            let number = count(found.owners_dropped, "owner");
            warning(format!("{number} forgotten: more than {} were known at once", owners::MOST));
        }
        let uncertain = shown.uncertain();
        if uncertain > 0 {
            warning(format!("{} uncertain: events are missing in between", count(uncertain, "range")));
        }
        opened.end_with(&verdict, context)
    }
}

/// Reads an address.
fn address(text: &str) -> Result<u64, String> {
    let digits = text.replace('_', "");
    let read = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => digits.parse(),
    };
    read.map_err(|_| "expected an address of at most 64 bits, such as 0x7f0000001234".to_string())
}
