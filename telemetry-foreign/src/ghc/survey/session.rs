//! The sessions of a log file, one for each log in it, and the facts that events have about them.

use std::ops::Range;

use telemetry_decode::names::{NameValue, NamedAt};
use telemetry_decode::{Clock, Facts, Session};
use telemetry_schema::NameBy;

use super::walk::Walk;
use crate::ghc::layout::BLOCK_MARKER;
use crate::ghc::payload::Wire;
use crate::ghc::types::Frame;

/// Tags of events with facts about the session.
const RTS_IDENTIFIER: u16 = 29;
const PROGRAM_ARGS: u16 = 30;
const OSPROCESS_PID: u16 = 32;
const OSPROCESS_PPID: u16 = 33;
const WALL_CLOCK_TIME: u16 = 43;

/// Returns true for events that are examined: those of blocks, and those with facts about the
/// session.
pub(super) fn is_special(tag: u16) -> bool {
    matches!(
        tag,
        BLOCK_MARKER | RTS_IDENTIFIER | PROGRAM_ARGS | OSPROCESS_PID | OSPROCESS_PPID | WALL_CLOCK_TIME
    )
}

/// Returns the session of a log, before its events are known.
pub(super) fn of(id: u64) -> Session {
    let mut facts = Facts::default();
    facts.set("format", "ghc-eventlog");
    facts.set("clock", "os");
    Session::new(id, facts, Clock::nanoseconds(0, 0))
}

impl Walk<'_> {
    /// Examines the payload of an event. An error says which bytes cannot be read, and why.
    pub(super) fn check(&mut self, frame: &Frame, rest: &[u8], at: u64) -> Result<(), (Range<u64>, String)> {
        let payload = rest.get(frame.head..frame.len).unwrap_or_default();
        let types = &self.types[self.log];
        let event = usize::from(frame.entry.event);
        let Some(layout) = types.layout(frame.entry.event) else { return Ok(()) };
        let params = || &types.registry.events[event];
        let mut bad_text = None;
        let marks = types.namings.of_event(event);
        let mut said = vec![(0, &payload[..0]); 2 * marks.len()];
        let fields = layout.each(payload, |index, wire| {
            for (mark, said) in marks.iter().zip(said.chunks_exact_mut(2)) {
                let value = match wire {
                    Wire::Number(number) => (number, &payload[..0]),
                    Wire::Run { bytes, .. } => (0, bytes),
                    Wire::Counted(_) => continue,
                };
                if index == mark.naming.of {
                    said[0] = value;
                } else if index == mark.naming.by {
                    said[1] = value;
                }
            }
            if let Wire::Run { bytes, text: true } = wire
                && bad_text.is_none()
                && std::str::from_utf8(bytes).is_err()
            {
                bad_text = Some(index);
            }
        });
        let name = |index: usize| params().params.get(index).map_or("", |param| &param.name).to_string();
        if let Err((index, why)) = fields {
            let text = format!("an event `{}` whose `{}` cannot be read: {why}", params().name, name(index));
            return Err((at..at + frame.len as u64, text));
        }
        let labels = &mut self.survey.sessions[self.session].labels;
        for (mark, said) in marks.iter().zip(said.chunks_exact(2)) {
            let by = match mark.naming.name {
                NameBy::Text => NameValue::Text(said[1].1),
                _ => NameValue::Bits(said[1].0),
            };
            mark.note(NamedAt::in_order(frame.time), said[0].0, by, labels, &mut self.label_room);
        }
        let bad_text = bad_text.map(|index| (params().name.clone(), name(index)));
        if let Some((event, param)) = bad_text {
            self.damage(at..at, || format!("an event `{event}` whose `{param}` is not UTF-8"));
        }
        self.tell(frame, payload);
        Ok(())
    }

    /// Takes the facts of an event about the session.
    fn tell(&mut self, frame: &Frame, payload: &[u8]) {
        let session = &mut self.survey.sessions[self.session];
        let number = |at: usize| {
            payload
                .get(at..)
                .and_then(|bytes| bytes.first_chunk())
                .map_or(0, |bytes| u32::from_be_bytes(*bytes))
        };
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let rest = payload.get(4..).unwrap_or_default();
        let facts = &mut session.facts;
        match frame.tag {
            RTS_IDENTIFIER if facts.get("rts").is_none() => facts.set("rts", text(rest)),
            PROGRAM_ARGS if facts.get("program").is_none() => {
                let mut args = rest.split(|byte| *byte == 0).map(text).collect::<Vec<_>>();
                args.truncate(args.len() - usize::from(rest.ends_with(&[0])));
                facts.set("program", args.first().cloned().unwrap_or_default());
                facts.set("args", args);
            }
            OSPROCESS_PID if facts.get("pid").is_none() => facts.set("pid", i64::from(number(4))),
            OSPROCESS_PPID if facts.get("ppid").is_none() => facts.set("ppid", i64::from(number(4))),
            WALL_CLOCK_TIME if session.clock == Clock::nanoseconds(0, 0) => {
                let seconds = u64::from(number(4)) << 32 | u64::from(number(8));
                let wall = seconds.saturating_mul(1_000_000_000).saturating_add(number(12).into());
                session.clock = Clock::nanoseconds(0, wall.saturating_sub(frame.time));
            }
            _ => {}
        }
    }
}
