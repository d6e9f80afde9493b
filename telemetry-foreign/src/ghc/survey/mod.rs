//! The way through a whole log: where which events stand, and what is damaged.

mod block;
mod extents;
mod search;
mod session;

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;

use telemetry_decode::{Cause, Damage, Extent, LogBytes, Survey};
use telemetry_schema::Registry;

use super::header::Header;
use super::layout::{EVENT_TYPE, MAX_EVENT};
use super::types::Types;
use crate::run_id::{self, run_id};
use block::Block;
use extents::Open;

pub(super) use block::thread_of;

/// Most logs one behind the other.
const MAX_LOGS: usize = 1000;
/// Damage that is said in words.
const MAX_SAID: usize = 1000;

/// What the walk has found.
pub(super) struct Walk<'r> {
    relation: &'r Registry,
    pub(super) survey: Survey,
    pub(super) types: Vec<Types>,
    /// Where the next event begins.
    at: u64,
    /// The session and the types of the log that is read.
    session: usize,
    log: usize,
    block: Block,
    /// The extent that is being made.
    open: Option<Open>,
    /// By session and thread, lanes by the time of their latest event.
    lanes: BTreeMap<(usize, u32), BTreeMap<(u64, u32), ()>>,
    /// The time of the last event whose time can be believed.
    last: u64,
    /// True if the log's end was seen.
    ended: bool,
}

/// Why the walk stopped at an event.
enum Stop {
    /// There is more, at the same place.
    More,
    /// The log ends.
    End,
    /// What is there is no event.
    Lost(String),
    /// A mark that the log ends.
    Mark,
}

impl<'r> Walk<'r> {
    /// Goes through logs that stand one behind the other.
    pub(super) fn all(relation: &'r Registry, bytes: &mut LogBytes<'_>) -> io::Result<Walk<'r>> {
        let mut walk = Walk {
            relation,
            survey: Survey::default(),
            types: Vec::new(),
            at: 0,
            session: 0,
            log: 0,
            block: Block::NONE,
            open: None,
            lanes: BTreeMap::new(),
            last: 0,
            ended: false,
        };
        // Of a file without a byte there is nothing to say.
        let mut next = (!bytes.is_empty()).then_some(0);
        while let Some(at) = next {
            next = walk.log(bytes, at)?;
        }
        walk.survey.damage.sort_by_key(|damage| damage.range.start);
        Ok(walk)
    }

    /// Goes through one log; gives the place of the next.
    fn log(&mut self, bytes: &mut LogBytes<'_>, start: u64) -> io::Result<Option<u64>> {
        let header = Header::read(bytes, start)?;
        let is_damaged = !header.damage.is_empty();
        for damage in header.damage {
            self.damage(damage.range, || damage.cause.to_string());
        }
        let Some(data) = header.end else {
            if !is_damaged {
                self.damage(bytes.len()..bytes.len(), || "the log ends in its header".into());
            }
            // Nothing but declarations, of which no event is: they are damage, too.
            for (range, _) in header.declarations {
                self.damage(range, || "the header of a log without events".into());
            }
            return Ok(None);
        };
        self.log = match self.types.iter().position(|types| types.is_of(&header.types) && !is_damaged) {
            Some(same) => same,
            None => {
                let types = Types::new(self.relation, header.types, is_damaged, session::is_special);
                self.survey.registries.push(types.registry.clone());
                self.survey.counts.push(vec![0; types.registry.events.len()]);
                self.types.push(types);
                self.types.len() - 1
            }
        };
        self.session = self.survey.sessions.len();
        // The header is the same in all logs of a version of GHC.
        self.survey.sessions.push(session::of(run_id(bytes.at(data, run_id::TELLING)?)));
        (self.block, self.last, self.ended, self.at) = (Block::NONE, 0, false, data);
        let declared = self.types[self.log].registry.event_index(EVENT_TYPE);
        for (range, count) in header.declarations {
            let lane = self.lane(Block::NONE.thread, 0, 0);
            self.survey.extents.push(Extent {
                lane,
                at: range.start,
                len: (range.end - range.start) as u32,
                events: count,
                first_ticks: 0,
                note: self.note(true),
            });
            if let Some(event) = declared {
                self.survey.counts[self.log][event] += u64::from(count);
            }
        }
        let next = self.events(bytes)?;
        self.close();
        let session = &mut self.survey.sessions[self.session];
        session.ended = self.ended;
        Ok(next)
    }

    /// Goes through the events of a log; gives the place of the next log.
    fn events(&mut self, bytes: &mut LogBytes<'_>) -> io::Result<Option<u64>> {
        let len = bytes.len();
        loop {
            let here = bytes.at(self.at, 2 * MAX_EVENT)?;
            let is_last = self.at + here.len() as u64 >= len;
            match self.run(here, is_last) {
                Stop::More => {}
                Stop::End => {
                    self.end(len);
                    return Ok(None);
                }
                Stop::Mark => {
                    self.close();
                    let (mark, behind) = (self.at, self.at + 2);
                    if self.block.end != Block::ENDLESS && mark < self.block.end {
                        let (left, start) = (self.block.end - mark, self.block.start);
                        self.damage(mark..mark, || {
                            format!("the log's end mark {left} bytes before the end of the block at {start}")
                        });
                    }
                    self.ended = true;
                    if behind >= len {
                        return Ok(None);
                    }
                    if search::is_header(bytes.at(behind, 8)?) {
                        if self.survey.sessions.len() < MAX_LOGS {
                            return Ok(Some(behind));
                        }
                        self.damage(behind..len, || format!("more than {MAX_LOGS} logs in one"));
                        return Ok(None);
                    }
                    self.at = behind;
                    self.resync(bytes, "bytes behind the log's end mark".into())?;
                }
                Stop::Lost(why) => self.resync(bytes, why)?,
            }
            if self.at < len
                && search::is_header(bytes.at(self.at, 8)?)
                && self.survey.sessions.len() < MAX_LOGS
            {
                self.end(self.at);
                return Ok(Some(self.at));
            }
        }
    }

    /// Goes through the events of some bytes, up to the first that is not as usual.
    fn run(&mut self, here: &[u8], is_last: bool) -> Stop {
        let mut place = 0;
        // Behind this, an event may be cut because the bytes are.
        let until = if is_last { here.len() } else { here.len().saturating_sub(2 * MAX_EVENT - 1) };
        let stop = loop {
            if place >= until {
                break if is_last { Stop::End } else { Stop::More };
            }
            let rest = &here[place..];
            let at = self.at + place as u64;
            let frame = match self.types[self.log].frame(rest) {
                Ok(frame) => frame,
                Err(no) => {
                    self.at = at;
                    return self.no_frame(no, rest.len());
                }
            };
            if at >= self.block.end && self.block.end != 0 {
                self.block = Block::NONE;
            }
            let (earliest, latest) = self.block.times;
            if frame.time < earliest
                || frame.time > latest
                || frame.entry.is_special
                || at + frame.len as u64 > self.block.end && self.block.end != 0
            {
                if let Err(stop) = self.special(&frame, rest, at) {
                    self.at = at;
                    return stop;
                }
                if frame.entry.is_special
                    && let Err((wrong, why)) = self.check(&frame, rest, at)
                {
                    self.close();
                    self.damage(wrong, || why);
                    place += frame.len;
                    continue;
                }
            } else {
                self.last = frame.time;
            }
            self.take(&frame, at);
            place += frame.len;
        };
        self.at += place as u64;
        stop
    }

    fn note(&self, is_header: bool) -> u64 {
        (self.log as u64) << 1 | u64::from(is_header)
    }

    fn damage(&mut self, range: Range<u64>, why: impl FnOnce() -> String) {
        let is_said = self.survey.damage.len() < MAX_SAID;
        // Bytes must be accounted for; where there are so many, what is only said need not be.
        if is_said || !range.is_empty() {
            let why = if is_said { why() } else { String::new() };
            self.survey.damage.push(Damage { range, cause: Cause::Log(why), events: 0 });
        }
    }
}
