//! An eventlog as a source of events.

use std::io;

use telemetry_decode::{Extent, Log, LogBytes, Page, Survey};
use telemetry_schema::{Registry, Sort};

use super::header::declaration;
use super::layout::EVENT_TYPE;
use super::payload::Wire;
use super::survey::Walk;
use super::types::Types;

/// An eventlog as a source of events. Each capability is a thread, and what belongs to none is a further one.
///
/// Whatever the header declares is read by it: a type that the relation does not have is an event with the header's
/// description for a doc and its payload for a parameter. Logs that stand one behind the other are sessions.
pub struct GhcLog {
    relation: Registry,
    types: Vec<Types>,
}

impl GhcLog {
    /// A log that was not read yet.
    pub fn new() -> Self {
        GhcLog { relation: super::registry(), types: Vec::new() }
    }
}

impl Default for GhcLog {
    fn default() -> Self {
        GhcLog::new()
    }
}

impl Log for GhcLog {
    fn survey(&mut self, bytes: &mut LogBytes<'_>) -> io::Result<Survey> {
        let Walk { survey, types, .. } = Walk::all(&self.relation, bytes)?;
        self.types = types;
        Ok(survey)
    }

    fn read(&self, extent: &Extent, bytes: &[u8], page: &mut Page) {
        let registry = (extent.note >> 1) as usize;
        let Some(types) = self.types.get(registry) else { return };
        if extent.note & 1 == 1 {
            return read_header(types, registry, bytes, page);
        }
        let mut place = 0;
        while let Some(rest) = bytes.get(place..).filter(|rest| !rest.is_empty()) {
            // The survey has seen that all of it can be read: it is another file now if something cannot.
            let Ok(frame) = types.frame(rest) else { return };
            let Some(layout) = types.layout(frame.entry.event) else { return };
            let payload = rest.get(frame.head..frame.len).unwrap_or_default();
            let mut event = page.event(registry, frame.entry.event.into(), frame.time, place, frame.len);
            let read = layout.each(payload, |_, wire| match wire {
                Wire::Number(number) => event.number(number),
                Wire::Run { bytes, .. } => event.run(bytes),
                Wire::Counted(bytes) => {
                    let number = |bytes: &[u8]| bytes.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
                    event.array(Sort::U32, bytes.chunks_exact(4).map(number));
                }
            });
            if read.is_err() {
                return;
            }
            place += frame.len;
        }
    }
}

/// Reads declarations of types.
fn read_header(types: &Types, registry: usize, bytes: &[u8], page: &mut Page) {
    let Some(index) = types.registry.event_index(EVENT_TYPE) else { return };
    let mut place = 0;
    while let Ok((declared, len)) = declaration(bytes.get(place..).unwrap_or_default()) {
        let mut event = page.event(registry, index, 0, place, len);
        event.number(declared.tag.into());
        event.number(declared.size.into());
        event.run(declared.description);
        place += len;
    }
}
