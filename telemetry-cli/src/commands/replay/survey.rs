//! The content of a recording, which is read once before it is replayed.

use serde::{Deserialize, Serialize};
use telemetry_decode::replay::{Live, Origin, Totals};
use telemetry_decode::{Events, Order, Reader};

use super::batch::Batch;
use crate::input::inputs::{Inputs, cannot_read};
use crate::input::verdict::Verdict;
use crate::term::ended::Failure;
use crate::term::progress::Progress;
use crate::text::print::thread_name;

/// The content of a recording.
pub(super) struct Survey {
    pub(super) totals: Totals,
    /// The first of the faults that [`Totals::faults`] counts.
    pub(super) faults: Vec<Wrong>,
    /// The number of faults that lost or missing events can have caused.
    pub(super) faults_of_loss: u64,
    /// Events with a mark that only the program's own replayer understands.
    pub(super) custom: u64,
    /// Events without a mark.
    pub(super) unmarked: u64,
    /// False if the registry has no marks.
    pub(super) is_marked: bool,
    /// False if events may be missing on which others depend.
    pub(super) is_whole: bool,
    pub(super) verdict: Verdict,
}

/// A fault, and its event.
#[derive(Serialize, Deserialize)]
pub(super) struct Wrong {
    /// The event's number among all, from 1.
    pub(super) number: u64,
    pub(super) event: String,
    pub(super) session: String,
    pub(super) thread: u32,
    pub(super) thread_name: String,
    pub(super) time_ns: i64,
    /// Offset in the input in bytes.
    pub(super) offset: u64,
    pub(super) input: String,
    pub(super) why: String,
}

impl Survey {
    pub(super) fn of(reader: Reader<'_>, inputs: &Inputs) -> Result<Survey, Failure> {
        let mut events = reader.order(Order::Time).events().map_err(cannot_read)?;
        let (mut live, mut batch) = (Live::new(), Batch::new(inputs));
        let (mut custom, mut unmarked) = (0, 0);
        let progress = Progress::of_bytes(inputs.len());
        while batch.fill(&mut events, &mut live, |mark| match mark {
            Some(_) => custom += 1,
            None => unmarked += 1,
        })? {
            progress.at(events.bytes_done());
        }
        drop(progress);
        let (faults, totals) = live.finish();
        let (completeness, registries) = (events.completeness(), events.registries());
        let filtered: u64 = completeness.lanes.iter().map(|lane| lane.filtered).sum();
        Ok(Survey {
            totals,
            faults: faults
                .iter()
                .map(|fault| Wrong::new(&fault.origin, fault.cause.to_string(), &events, inputs))
                .collect(),
            faults_of_loss: totals.faults - totals.inexcusable,
            custom,
            unmarked,
            is_marked: registries.iter().any(|known| {
                let given = inputs.given(known.fingerprint).into_iter();
                given.chain([&known.registry]).flat_map(|one| &one.events).any(|event| event.replay.is_some())
            }),
            is_whole: completeness.is_whole() && completeness.excluded() == 0 && filtered == 0,
            verdict: Verdict::new(&completeness, events.sessions(), inputs),
        })
    }
}

impl Wrong {
    pub(super) fn new(origin: &Origin, why: String, events: &Events<'_>, inputs: &Inputs) -> Wrong {
        let registry = events.registries().iter().find(|known| known.fingerprint == origin.registry);
        let event = registry.and_then(|registry| registry.registry.event(origin.code));
        let session = events.sessions().iter().find(|session| session.id == origin.session);
        let (input, offset) = inputs.place(origin.offset);
        Wrong {
            number: origin.number,
            event: event.map_or_else(|| format!("{:#06x}", origin.code), |event| event.name.clone()),
            session: format!("{:016x}", origin.session),
            thread: origin.thread,
            thread_name: session
                .map_or_else(|| format!("#{}", origin.thread), |session| thread_name(session, origin.thread)),
            time_ns: origin.time_ns,
            offset,
            input,
            why,
        }
    }
}
