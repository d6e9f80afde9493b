//! The way through all events, with begins and ends put together.

use telemetry_decode::Event;

use super::gaps::Gaps;
use super::pairing::{Found, Pairing};
use super::shown::Names;
use super::tally::Tally;
use crate::events::Opened;
use crate::exit::Failure;
use crate::input::cannot_read;
use crate::progress::Progress;

/// Pairs, and what is kept of them.
pub(in crate::commands) struct Paired {
    pub(in crate::commands) pairing: Pairing,
    pub(in crate::commands) tally: Tally,
}

impl Paired {
    /// Of the spans of these names, or of all: so many may be open at once, and so many of the longest are kept.
    pub(in crate::commands) fn new(most_open: u32, names: &[String], top: usize) -> Paired {
        Paired { pairing: Pairing::new(most_open as usize, names), tally: Tally::new(top) }
    }

    /// Goes through all events. `each` hears of every one, `ended` of what is found before the end.
    pub(in crate::commands) fn read(
        &mut self,
        opened: &mut Opened,
        progress: Progress,
        mut each: impl FnMut(&Event<'_>),
        mut ended: impl FnMut(&Names<'_>, &Found, &Gaps) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let Paired { pairing, tally } = self;
        let (mut gaps, mut damages) = (Gaps::new(&opened.events.gaps()), opened.events.damages());
        let mut found = Vec::new();
        while let Some(event) = opened.events.next().map_err(cannot_read)? {
            pairing.take(&event, &mut found);
            each(&event);
            progress.event(|| opened.events.bytes_done());
            if found.is_empty() {
                continue;
            }
            // Damage is found before the first event behind it.
            if opened.events.damages() != damages {
                (gaps, damages) = (Gaps::new(&opened.events.gaps()), opened.events.damages());
            }
            let names = Names::new(&opened.events, &pairing.defs);
            for found in found.drain(..) {
                ended(&names, &found, &gaps)?;
                tally.add(found, &pairing.defs, &gaps);
            }
        }
        let gaps = Gaps::new(&opened.events.gaps());
        let mut unended = Vec::new();
        pairing.finish(|found| unended.push(found));
        unended.into_iter().for_each(|found| tally.add(found, &pairing.defs, &gaps));
        Ok(())
    }
}
