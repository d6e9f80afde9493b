//! The scan of logs, event by event.

use std::collections::BTreeMap;
use std::io;

use telemetry_decode::completeness::{Cause, Damage};
use telemetry_decode::foreign::{Extent, LogBytes, Survey};
use telemetry_schema::Registry;

use super::block::Block;
use super::walk::{Kind, Stop, Walk};
use super::{search, session};
use crate::common::run_id::{self, run_id};
use crate::ghc::header::Header;
use crate::ghc::layout::{EVENT_TYPE, MAX_EVENT};
use crate::ghc::types::{Frame, MAX_UNKNOWN, Types};

/// The most events that are taken at the time that they tell of. Each has an extent, and may have a
/// lane, of its own.
const MAX_TOLD: u32 = 1 << 14;
/// The most bytes that are scanned together. Between them, the lists may be found full.
const WINDOW: usize = 1 << 20;
/// Bytes for strings of numbers, as for those of a stream.
const LABEL_ROOM: usize = 32 << 20;
/// The most logs with different headers. The types of each take some hundred kilobytes.
const MAX_HEADERS: usize = 32;

impl<'r> Walk<'r> {
    /// Scans logs that follow each other. With `as_recorded`, all events have the times when they
    /// were written.
    pub(crate) fn all(
        base: &'r Registry,
        as_recorded: bool,
        bytes: &mut LogBytes<'_>,
    ) -> io::Result<Walk<'r>> {
        let mut walk = Walk {
            base,
            told_left: if as_recorded { 0 } else { MAX_TOLD },
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
            label_room: LABEL_ROOM,
            unknown: MAX_UNKNOWN,
        };
        // An empty file has nothing to report.
        let mut next = (!bytes.is_empty()).then_some(0);
        while let Some(at) = next {
            next = walk.log(bytes, at)?;
        }
        walk.survey.damage.sort_by_key(|damage| damage.range.start);
        Ok(walk)
    }

    /// Scans one log, and returns the place of the next.
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
            // Only declarations, to which no event belongs: they are damage, too.
            for (range, _) in header.declarations {
                self.damage(range, || "the header of a log without events".into());
            }
            return Ok(None);
        };
        self.log = match self.types.iter().position(|types| types.is_of(&header.types) && !is_damaged) {
            Some(same) => same,
            None if self.types.len() >= MAX_HEADERS => {
                self.damage(start..bytes.len(), || {
                    format!("more than {MAX_HEADERS} logs in one whose headers differ; the rest is left out")
                });
                return Ok(None);
            }
            None => {
                let types =
                    Types::new(self.base, header.types, is_damaged, session::is_special, &mut self.unknown);
                if types.left_out > 0 {
                    let left_out = types.left_out;
                    self.damage(data..data, || {
                        format!("{left_out} types of events beyond {MAX_UNKNOWN} that GHC does not have")
                    });
                }
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
            let Some(lane) = self.lane(Block::NONE.thread, 0, 0) else {
                self.damage(range, || "declarations behind too many events whose times go back".into());
                continue;
            };
            let extent = Extent::new(lane, range, count, 0).with_note(self.note(Kind::Header));
            self.survey.extents.push(extent);
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

    /// Scans the events of a log, and returns the place of the next log.
    fn events(&mut self, bytes: &mut LogBytes<'_>) -> io::Result<Option<u64>> {
        let len = bytes.len();
        loop {
            if let Some(why) = Survey::full(self.survey.extents.len(), self.survey.damage.len()) {
                self.close();
                self.survey.damage.push(Damage::new(self.at..len, Cause::LeftOut(why), 0));
                return Ok(None);
            }
            let here = bytes.at(self.at, 2 * MAX_EVENT)?;
            let here = &here[..here.len().min(WINDOW)];
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
                        let Some(why) = Survey::full_of_sessions(self.survey.sessions.len()) else {
                            return Ok(Some(behind));
                        };
                        self.survey.damage.push(Damage::new(behind..len, Cause::LeftOut(why), 0));
                        return Ok(None);
                    }
                    self.at = behind;
                    self.resync(bytes, "bytes behind the log's end mark".into())?;
                }
                Stop::Lost(why) => self.resync(bytes, why)?,
            }
            if self.at < len
                && search::is_header(bytes.at(self.at, 8)?)
                && Survey::full_of_sessions(self.survey.sessions.len()).is_none()
            {
                self.end(self.at);
                return Ok(Some(self.at));
            }
        }
    }

    /// Scans the events of some bytes, up to the first unusual one.
    fn run(&mut self, here: &[u8], is_last: bool) -> Stop {
        let mut place = 0;
        // After this, an event may be cut off by the end of the bytes.
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
            let told = match frame.entry.is_special && self.told_left > 0 {
                true => {
                    let payload = rest.get(frame.head..frame.len).unwrap_or_default();
                    self.types[self.log].told_time(frame.entry.event, payload)
                }
                false => None,
            };
            match told {
                Some(time) => self.take_told(&Frame { time, ..frame }, at),
                None => self.take(&frame, at),
            }
            place += frame.len;
        };
        self.at += place as u64;
        stop
    }
}
