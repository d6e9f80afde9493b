//! The way through a whole log: where which events stand, and what is damaged.
//!
//! Time is nearly, but not always, in order inside of a capability, and after damage it can be anything. The extents of
//! a lane must be in order, so a capability has further lanes for extents that are not.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;

use telemetry_decode::{Cause, Clock, Damage, Extent, Facts, Labels, LogBytes, LogLane, Session, Survey};
use telemetry_schema::Registry;

use super::header::{Header, scan};
use super::layout::{
    BLOCK_MARKER, DATA_END, EVENT_TYPE, HEADER_BEGIN, MARKER, MAX_EVENT, NO_CAP, TYPES_BEGIN,
};
use super::payload::Wire;
use super::types::{Frame, NoFrame, Types};

/// Bytes at which an extent ends where time does not go back, and where it ends if it does.
const EXTENT: u64 = 64 << 10;
const LONGEST: u64 = 512 << 10;
/// An extent ends where nothing happened for so long, if there is such a place: what is stamped with an earlier time is
/// seldom stamped with one that is this much earlier.
const QUIET_NS: u64 = 100_000;
/// An event this far from the one before, and outside of what its block says, has another time than it was written
/// with, or is none.
const FAR_NS: u64 = 3_600_000_000_000;
/// Most logs one behind the other.
const MAX_LOGS: usize = 1000;
/// Damage that is said in words.
const MAX_SAID: usize = 1000;

/// Tags whose events tell of the session.
const RTS_IDENTIFIER: u16 = 29;
const PROGRAM_ARGS: u16 = 30;
const OSPROCESS_PID: u16 = 32;
const OSPROCESS_PPID: u16 = 33;
const WALL_CLOCK_TIME: u16 = 43;

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

/// The block that events stand in.
#[derive(Clone, Copy)]
struct Block {
    start: u64,
    /// Its end; far away if it ends where the next one begins.
    end: u64,
    /// Its capability's thread.
    thread: u32,
    /// The times of its events.
    times: (u64, u64),
    /// True if one of them was outside.
    is_odd: bool,
}

/// An extent that is being made.
#[derive(Clone, Copy)]
struct Open {
    thread: u32,
    at: u64,
    len: u64,
    events: u32,
    first: u64,
    latest: u64,
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

/// The thread of a capability.
pub(super) fn thread_of(cap: u16) -> u32 {
    u32::from(cap) + 1
}

impl Block {
    /// What is in no block: events of no capability, of any time.
    const NONE: Block =
        Block { start: 0, end: 0, thread: NO_CAP as u32 + 1, times: (0, u64::MAX), is_odd: false };
    /// A block that ends where the next one begins.
    const ENDLESS: u64 = u64::MAX;
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
                let types = Types::new(self.relation, header.types, is_damaged, |tag| {
                    matches!(
                        tag,
                        BLOCK_MARKER
                            | RTS_IDENTIFIER
                            | PROGRAM_ARGS
                            | OSPROCESS_PID
                            | OSPROCESS_PPID
                            | WALL_CLOCK_TIME
                    )
                });
                self.survey.registries.push(types.registry.clone());
                self.survey.counts.push(vec![0; types.registry.events.len()]);
                self.types.push(types);
                self.types.len() - 1
            }
        };
        self.session = self.survey.sessions.len();
        let len = bytes.len() - start;
        let id = id_of(bytes.at(start, 4096)?, len);
        self.survey.sessions.push(session(id));
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
                    if is_header(bytes.at(behind, 8)?) {
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
            if self.at < len && is_header(bytes.at(self.at, 8)?) && self.survey.sessions.len() < MAX_LOGS {
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

    /// Adds an event to the extent that is being made.
    #[inline(always)]
    fn take(&mut self, frame: &Frame, at: u64) {
        let thread = self.block.thread;
        let len = frame.len as u64;
        let fits = self.open.as_ref().is_some_and(|open| {
            open.thread == thread
                && (open.len < EXTENT
                    || open.len + len <= LONGEST
                        && (frame.time < open.latest
                            || open.len < 2 * EXTENT && frame.time - open.latest < QUIET_NS))
        });
        if !fits {
            self.close();
            self.open = Some(Open { thread, at, len: 0, events: 0, first: frame.time, latest: frame.time });
        }
        if let Some(open) = &mut self.open {
            open.len += len;
            open.events += 1;
            open.first = open.first.min(frame.time);
            open.latest = open.latest.max(frame.time);
        }
        if let Some(count) = self.survey.counts[self.log].get_mut(usize::from(frame.entry.event)) {
            *count += 1;
        }
    }

    /// Ends the extent that is being made.
    fn close(&mut self) {
        let Some(open) = self.open.take() else { return };
        let Open { thread, at, len, events, first, latest } = open;
        let lane = self.lane(thread, first, latest);
        let note = self.note(false);
        self.survey.extents.push(Extent { lane, at, len: len as u32, events, first_ticks: first, note });
    }

    /// The lane of an extent of these times: of the thread's lanes that end before it the one that ends last, or a new
    /// one.
    fn lane(&mut self, thread: u32, first: u64, latest: u64) -> u32 {
        let lanes = self.lanes.entry((self.session, thread)).or_default();
        let found = lanes.range(..=(first, u32::MAX)).next_back().map(|(key, ())| *key);
        let lane = match found {
            Some(key) => {
                lanes.remove(&key);
                key.1
            }
            None => {
                let lane = self.survey.lanes.len() as u32;
                self.survey.lanes.push(LogLane { session: self.session, thread });
                let name = if thread == Block::NONE.thread {
                    "no capability".to_string()
                } else {
                    format!("capability {}", thread - 1)
                };
                let facts = self.survey.sessions[self.session].threads.entry(thread).or_default();
                facts.set("name", name);
                lane
            }
        };
        lanes.insert((latest, lane), ());
        lane
    }

    /// Looks at an event that is not as usual. An error is that it is none, or none of this log.
    fn special(&mut self, frame: &Frame, rest: &[u8], at: u64) -> Result<(), Stop> {
        let (earliest, latest) = self.block.times;
        let is_odd = |time: u64| (time < earliest || time > latest) && time.abs_diff(self.last) > FAR_NS;
        if frame.tag == BLOCK_MARKER && self.is_marker(rest) {
            // It begins a time of its own.
        } else if is_odd(frame.time) {
            // If the next one is odd, too, the events do not begin where they seem to.
            let next = rest.get(frame.len..).unwrap_or_default();
            let is_next_odd = match self.types[self.log].frame(next) {
                Ok(next) => is_odd(next.time),
                Err(NoFrame::Undeclared(tag)) => tag != DATA_END,
                Err(NoFrame::Cut(_)) => !next.is_empty(),
            };
            let (tag, time) = (frame.tag, frame.time);
            if is_next_odd && at + (frame.len as u64) < self.block.end {
                let why = format!("an event of type {tag} at {time} ns, expected {earliest} to {latest}");
                return Err(Stop::Lost(why));
            }
            if !self.block.is_odd {
                self.block.is_odd = true;
                self.damage(at..at, || format!("an event at {time} ns, expected {earliest} to {latest}"));
            }
        } else {
            self.last = frame.time;
        }
        let Block { start, end, .. } = self.block;
        let is_inside = end != 0 && end != Block::ENDLESS && at < end;
        if frame.tag == BLOCK_MARKER && is_inside && !self.is_marker(rest) {
            let why = format!("a block inside of the one at {start}, and no event of its time behind that");
            return Err(Stop::Lost(why));
        }
        if is_inside && at + frame.len as u64 > end {
            let behind = rest.get((end - at) as usize..).unwrap_or_default();
            if self.is_marker(behind) {
                let (tag, len, left) = (frame.tag, frame.len, end - at);
                let why = format!(
                    "an event of type {tag} with {len} bytes, of which {left} are in the block at {start}"
                );
                return Err(Stop::Lost(why));
            }
            self.block.end = Block::ENDLESS;
            self.damage(start..start, || format!("a block whose end, at {end}, is inside of an event"));
        }
        if frame.tag == BLOCK_MARKER {
            self.begin_block(frame, rest, at);
        }
        Ok(())
    }

    /// Begins a block.
    fn begin_block(&mut self, frame: &Frame, rest: &[u8], at: u64) {
        let Some(marker) = Marker::read(rest).filter(|_| frame.len >= MARKER) else { return };
        let before = self.block;
        self.last = marker.time;
        if at < before.end && before.end != Block::ENDLESS {
            let (left, start) = (before.end - at, before.start);
            self.damage(at..at, || {
                format!("a block begins {left} bytes before the end of the one at {start}")
            });
        }
        let times = (marker.time.saturating_sub(1_000_000_000), marker.end_time);
        self.block = Block {
            start: at,
            end: at + u64::from(marker.size),
            thread: thread_of(marker.cap),
            times: if marker.end_time < marker.time { (0, u64::MAX) } else { times },
            is_odd: false,
        };
        if (marker.size as usize) < frame.len {
            self.block.end = Block::ENDLESS;
            let size = marker.size;
            self.damage(at..at, || format!("a block of {size} bytes, expected {} or more", frame.len));
        }
        if marker.end_time < marker.time {
            let Marker { time, end_time, .. } = marker;
            self.damage(at..at, || format!("a block that begins at {time} ns and ends at {end_time} ns"));
        }
    }

    /// Looks into the payload of an event. An error is which bytes cannot be read, and why.
    fn check(&mut self, frame: &Frame, rest: &[u8], at: u64) -> Result<(), (Range<u64>, String)> {
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

    /// What it means that there is no event.
    fn no_frame(&mut self, no: NoFrame, left: usize) -> Stop {
        match no {
            NoFrame::Undeclared(DATA_END) if left == 2 || self.at >= self.block.end => Stop::Mark,
            NoFrame::Undeclared(tag) => {
                Stop::Lost(format!("an event of type {tag}, which the log does not declare"))
            }
            NoFrame::Cut(Some(len)) => {
                Stop::Lost(format!("the log ends after {left} bytes of an event of {len}"))
            }
            NoFrame::Cut(None) => Stop::Lost(format!("the log ends after {left} bytes of an event")),
        }
    }

    /// Goes on, behind damage that begins here, at the next block.
    fn resync(&mut self, bytes: &mut LogBytes<'_>, why: String) -> io::Result<()> {
        self.close();
        let (from, len) = (self.at, bytes.len());
        let found = scan(bytes, from + 1, MARKER + MAX_EVENT, |here, at| {
            is_header(here) || self.is_marker(here) || at + 2 == len && here == DATA_END.to_be_bytes()
        })?;
        self.at = found.unwrap_or(len).max(from);
        self.damage(from..self.at, || why);
        self.block = Block::NONE;
        Ok(())
    }

    /// True if bytes look as if a block began there: a marker, and behind it an event of its time.
    fn is_marker(&self, here: &[u8]) -> bool {
        if !here.starts_with(&BLOCK_MARKER.to_be_bytes()) {
            return false;
        }
        let types = &self.types[self.log];
        let Ok(frame) = types.frame(here) else { return false };
        let Some(marker) = Marker::read(here).filter(|_| frame.len >= MARKER) else { return false };
        if (marker.size as usize) < frame.len || marker.end_time < marker.time {
            return false;
        }
        let behind = here.get(frame.len..).unwrap_or_default();
        let times = marker.time.saturating_sub(1_000_000_000)..=marker.end_time;
        match types.frame(behind) {
            Ok(next) => times.contains(&next.time) || marker.size as usize == frame.len,
            Err(NoFrame::Undeclared(tag)) => tag == DATA_END,
            Err(NoFrame::Cut(_)) => true,
        }
    }

    /// Says how a log ends that has no end mark.
    fn end(&mut self, len: u64) {
        let is_said = self.survey.damage.last().is_some_and(|damage| damage.range.end >= len);
        if self.ended || is_said {
            return;
        }
        let Block { start, end, .. } = self.block;
        if end != Block::ENDLESS && end > len {
            self.damage(len..len, || {
                format!("the log ends {} bytes before the block at {start} does", end - len)
            });
        } else {
            self.damage(len..len, || "the log ends without its end mark".into());
        }
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

/// What begins a block.
struct Marker {
    time: u64,
    size: u32,
    end_time: u64,
    cap: u16,
}

impl Marker {
    fn read(bytes: &[u8]) -> Option<Marker> {
        let bytes: &[u8; MARKER] = bytes.first_chunk()?;
        let number =
            |range: Range<usize>| bytes[range].iter().fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte));
        Some(Marker {
            time: number(2..10),
            size: number(10..14) as u32,
            end_time: number(14..22),
            cap: number(22..24) as u16,
        })
    }
}

fn is_header(bytes: &[u8]) -> bool {
    let [begin, types] = [HEADER_BEGIN, TYPES_BEGIN].map(u32::to_be_bytes);
    bytes.get(..4) == Some(&begin) && bytes.get(4..8) == Some(&types)
}

/// A number for the run that a log tells of: a hash (FNV-1a) of how it begins and of its length, so that it is the same
/// whenever the log is read.
fn id_of(first: &[u8], len: u64) -> u64 {
    let bytes = first.get(..first.len().min(4096)).unwrap_or_default();
    let hash = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    let sum = bytes.iter().fold(0xcbf2_9ce4_8422_2325, hash);
    len.to_le_bytes().iter().fold(sum, hash)
}

/// The session of a log, before its events are known.
fn session(id: u64) -> Session {
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
