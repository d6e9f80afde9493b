//! An eventlog as a source of events.

use telemetry_decode::foreign::{Extent, Log, LogBytes, Page, Survey};
use telemetry_schema::{Registry, Sort};

use super::header::declaration;
use super::layout::EVENT_TYPE;
use super::payload::Wire;
use super::registry::parsed;
use super::survey::{Kind, Walk};
use super::types::Types;

/// An eventlog as a source of events. Each capability is a thread; a further one has the events
/// without capability. The declarations in the header determine how events are read. A type that is
/// not in the registry becomes an event with the header's description as its doc and the payload as
/// its parameter. Logs that follow each other are sessions.
pub struct GhcLog {
    base: &'static Registry,
    types: Vec<Types>,
    as_recorded: bool,
}

impl GhcLog {
    /// Makes a log that has not been read yet.
    pub fn new() -> Self {
        GhcLog { base: parsed(), types: Vec::new(), as_recorded: false }
    }

    /// Gives each event the time when it was written. Otherwise events with the mark `time` in the
    /// registry have the time that they tell of.
    #[must_use]
    pub fn as_recorded(self, as_recorded: bool) -> Self {
        GhcLog { as_recorded, ..self }
    }
}

impl Default for GhcLog {
    fn default() -> Self {
        GhcLog::new()
    }
}

impl Log for GhcLog {
    fn survey(&mut self, bytes: &mut LogBytes<'_>) -> telemetry_decode::Result<Survey> {
        let Walk { survey, types, .. } = Walk::all(self.base, self.as_recorded, bytes)?;
        self.types = types;
        Ok(survey)
    }

    fn read(&self, extent: &Extent, bytes: &[u8], page: &mut Page) {
        let (kind, registry) = Kind::of(extent.note);
        let Some(types) = self.types.get(registry) else { return };
        if kind == Kind::Header {
            return read_header(types, registry, bytes, page);
        }
        let mut place = 0;
        while let Some(rest) = bytes.get(place..).filter(|rest| !rest.is_empty()) {
            // The survey has read all of it. If something cannot be read now, the file has changed.
            let Ok(frame) = types.frame(rest) else { return };
            let Some(layout) = types.layout(frame.entry.event) else { return };
            let payload = rest.get(frame.head..frame.len).unwrap_or_default();
            let told = if kind == Kind::Told { types.told_time(frame.entry.event, payload) } else { None };
            let time = told.unwrap_or(frame.time);
            let mut event = page.event(registry, frame.entry.event.into(), time, place, frame.len);
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
