//! The sessions of a log: one for each of the logs that stand one behind the other, and what events tell of it.

use std::collections::BTreeMap;
use std::ops::Range;

use telemetry_decode::{Clock, Facts, Labels, Session};

use super::Walk;
use crate::ghc::layout::BLOCK_MARKER;
use crate::ghc::payload::Wire;
use crate::ghc::types::Frame;

/// Tags whose events tell of the session.
const RTS_IDENTIFIER: u16 = 29;
const PROGRAM_ARGS: u16 = 30;
const OSPROCESS_PID: u16 = 32;
const OSPROCESS_PPID: u16 = 33;
const WALL_CLOCK_TIME: u16 = 43;

/// True of events that are looked into: those of blocks, and those that tell of the session.
pub(super) fn is_special(tag: u16) -> bool {
    matches!(
        tag,
        BLOCK_MARKER | RTS_IDENTIFIER | PROGRAM_ARGS | OSPROCESS_PID | OSPROCESS_PPID | WALL_CLOCK_TIME
    )
}

/// The session of a log, before its events are known.
pub(super) fn of(id: u64) -> Session {
    let mut facts = Facts::default();
    facts.set("format", "ghc-eventlog");
    facts.set("clock", "os");
    Session {
        id,
        facts,
        clock: Clock::nanoseconds(0, 0),
        threads: BTreeMap::default(),
        labels: Labels::default(),
        declared: true,
        ended: false,
    }
}

impl Walk<'_> {
    /// Looks into the payload of an event. An error is which bytes cannot be read, and why.
    pub(super) fn check(&mut self, frame: &Frame, rest: &[u8], at: u64) -> Result<(), (Range<u64>, String)> {
        let payload = rest.get(frame.head..frame.len).unwrap_or_default();
        let types = &self.types[self.log];
        let event = usize::from(frame.entry.event);
        let Some(layout) = types.layout(frame.entry.event) else { return Ok(()) };
        let params = || &types.registry.events[event];
        let mut bad_text = None;
        let fields = layout.each(payload, |index, wire| {
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
        let bad_text = bad_text.map(|index| (params().name.clone(), name(index)));
        if let Some((event, param)) = bad_text {
            self.damage(at..at, || format!("an event `{event}` whose `{param}` is not UTF-8"));
        }
        self.tell(frame, payload);
        Ok(())
    }

    /// Takes what an event tells of the session.
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
