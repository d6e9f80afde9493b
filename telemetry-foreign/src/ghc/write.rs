//! Writes eventlogs: GHC's own events as they were, other events as messages that GHC's tools can
//! show.

use std::collections::BTreeMap;
use std::io::{self, Write};

use telemetry_decode::{Event, Events, KnownRegistry};
use telemetry_schema::Registry;

use super::blocks::Blocks;
use super::encode;
use super::header::{self, Declared};
use super::layout::{BLOCK_MARKER, DATA_END, EVENT_TYPE, NO_CAP, TYPES, VARIABLE, thread_of, usual};
use super::others::Others;
use super::registry::parsed;
use super::types::Types;
use crate::common::written::Written;

/// Writes events, which come by time, as an eventlog.
///
/// Events of the registry `ghc` become what they were. Their blocks begin where the log's own
/// began, and its `EventType`s determine the header. Events of other registries become user
/// messages with the event's name and values. Where a span begins or ends, they become user
/// markers, or GHC's own events if the span is a collection. Their threads are capabilities.
///
/// # Errors
/// Those of the input and of the output.
pub fn write(events: &mut Events<'_>, out: &mut dyn Write) -> telemetry_decode::Result<Written> {
    let base = parsed();
    let sessions = events.sessions();
    let start = sessions.iter().map(|session| session.clock.start_wall()).min().unwrap_or_default();
    let others = Others::new(events.registries().iter().any(is_ghc), sessions.len() > 1);
    let mut writer = Writer {
        start: if sessions.len() > 1 { Some(start) } else { None },
        base,
        declared: Vec::new(),
        types: None,
        blocks: Blocks::new(out),
        others,
        written: Written::default(),
        event: Vec::new(),
    };
    let registries: Vec<Registry> = events.registries().iter().map(|known| known.registry.clone()).collect();
    while let Some(event) = events.next()? {
        if writer.types.is_none() && !writer.declares(&event) {
            writer.begin(&registries)?;
        }
        writer.event(&event)?;
    }
    if writer.types.is_none() {
        writer.begin(&registries)?;
    }
    Ok(writer.end()?)
}

/// Returns true for GHC's registry, in any version, with any types that a log added to it.
fn is_ghc(registry: &KnownRegistry) -> bool {
    registry.registry.name == "ghc"
}

struct Writer<'o> {
    /// With several sessions, the time when the first began.
    start: Option<u64>,
    base: &'static Registry,
    declared: Vec<(u16, u16, Vec<u8>)>,
    /// `None` until the header is written.
    types: Option<Types>,
    blocks: Blocks<'o>,
    others: Others,
    written: Written,
    /// The event that is being written.
    event: Vec<u8>,
}

impl Writer<'_> {
    /// Returns true for a declaration.
    fn declares(&self, event: &Event<'_>) -> bool {
        event.schema().code == EVENT_TYPE && is_ghc(event.known_registry())
    }

    /// Writes the header.
    fn begin(&mut self, registries: &[Registry]) -> io::Result<()> {
        let (ghc, others): (Vec<&Registry>, Vec<_>) =
            registries.iter().partition(|registry| registry.name == self.base.name);
        let mut types: BTreeMap<u16, (u16, Vec<u8>)> = BTreeMap::new();
        let has_none = self.declared.is_empty();
        for (tag, size, description) in &self.declared {
            types.insert(*tag, (*size, description.clone()));
        }
        let mut declare = |tag: u16, size: u16, description: &[u8]| {
            types.entry(tag).or_insert_with(|| {
                self.declared.push((tag, size, description.to_vec()));
                (size, description.to_vec())
            });
        };
        if has_none || !others.is_empty() {
            for event in &self.base.events {
                if let Some((description, size)) = usual(self.base, event)
                    && (has_none && !ghc.is_empty() || Others::writes(event.code))
                {
                    declare(event.code, size, description.as_bytes());
                }
            }
        }
        if has_none {
            for registry in ghc {
                for event in &registry.events {
                    if event.code != EVENT_TYPE && !TYPES.iter().any(|(tag, ..)| *tag == event.code) {
                        declare(event.code, VARIABLE, event.doc.as_bytes());
                    }
                }
            }
        }
        let mut header = Vec::new();
        let declared = self.declared.iter();
        let declared =
            declared.map(|(tag, size, description)| Declared { tag: *tag, size: *size, description });
        header::append(&mut header, declared);
        self.blocks.outside(&header)?;
        let mut room = usize::MAX;
        self.types = Some(Types::new(self.base, types, false, |_| false, &mut room));
        Ok(())
    }

    fn event(&mut self, event: &Event<'_>) -> io::Result<()> {
        let start = event.session().clock.start_wall();
        let offset = self.start.map_or(0, |first| start.saturating_sub(first));
        if !is_ghc(event.known_registry()) {
            let time = u64::try_from(event.time_ns()).unwrap_or(0).saturating_add(offset);
            let Some(types) = &self.types else { return Ok(()) };
            self.others.event(event, time, types, &mut self.blocks)?;
            self.written.events += 1;
            return Ok(());
        }
        if self.declares(event) {
            match (&self.types, declaration(event)) {
                (None, Some(declared)) => {
                    self.declared.push(declared);
                    self.written.events += 1;
                }
                _ => self.written.leave_out("declare types of events behind the first event"),
            }
            return Ok(());
        }
        let time = event.ticks().saturating_add(offset);
        let cap = cap_of(event.thread());
        let code = event.schema().code;
        if code == BLOCK_MARKER {
            let number = |index: usize| event.value(index).and_then(|value| value.as_u64());
            let end_time = number(1).unwrap_or(time).saturating_add(offset);
            let cap = number(2).and_then(|cap| u16::try_from(cap).ok()).unwrap_or(NO_CAP);
            self.blocks.begin(cap, time, end_time)?;
            self.written.events += 1;
            return Ok(());
        }
        let Some(types) = &self.types else { return Ok(()) };
        let Some((size, layout)) = types.declared(code) else {
            self.written.leave_out("are of types that the log's header does not declare");
            return Ok(());
        };
        self.event.clear();
        match encode::append(&mut self.event, code, time, size, layout, event.values()) {
            Err(why) => self.written.leave_out(&format!("are {why}")),
            Ok(()) => {
                self.written.events += 1;
                if cap == NO_CAP && !self.blocks.is_open(cap) {
                    self.blocks.outside(&self.event)?;
                } else {
                    self.blocks.append(cap, time, &self.event)?;
                }
            }
        }
        Ok(())
    }

    fn end(mut self) -> io::Result<Written> {
        if let Some(types) = &self.types {
            self.others.end(types, &mut self.blocks)?;
        }
        let Writer { blocks, written, .. } = self;
        blocks.finish(&DATA_END.to_be_bytes())?;
        Ok(written)
    }
}

/// Returns the capability of a thread.
fn cap_of(thread: u32) -> u16 {
    match thread {
        thread if thread >= thread_of(NO_CAP) => NO_CAP,
        thread => thread.saturating_sub(1) as u16,
    }
}

/// Returns the declaration of a log that an event states.
fn declaration(event: &Event<'_>) -> Option<(u16, u16, Vec<u8>)> {
    let number = |index: usize| u16::try_from(event.value(index)?.as_u64()?).ok();
    Some((number(0)?, number(1)?, event.value(2)?.as_bytes()?.to_vec()))
}
