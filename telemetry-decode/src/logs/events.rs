//! The events of logs of other systems, by time or in the order of the log.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::ops::Range;

use crate::bytes::source::Source;
use crate::decode::decoder::Decoder;
use crate::lanes::lane::{Lane, LaneKey};
use crate::registry::condition::Candidate;
use crate::registry::event::{Event, NO_POSITION};
use crate::registry::filter::Filter;
use crate::registry::known_registry::matches_any;
use crate::report::completeness::{Cause, Damage};
use crate::report::error::Result;

use super::bytes::LogBytes;
use super::log::{Extent, Log, Survey};
use super::page::{Head, Page};

/// Number of bytes of one read for decoding extents.
const READ_LEN: usize = 128 << 10;

/// Logs in sequence in the bytes of a source.
pub(crate) struct LogInput<'s> {
    pub(crate) source: Source<'s>,
    pub(crate) logs: Vec<Placed<'s>>,
}

/// A log, and its range in the source.
pub(crate) struct Placed<'s> {
    pub(crate) log: Box<dyn Log + 's>,
    pub(crate) range: Range<u64>,
    pub(crate) cut: Option<String>,
}

/// The events of logs.
pub(crate) struct LogEvents<'s> {
    logs: Vec<Surveyed<'s>>,
    /// The extents of all logs, in order.
    extents: Vec<Extent>,
    lanes: Vec<Queue>,
    way: Way,
    bytes: LogBytes<'s>,
    /// Pages that can be reused.
    spare: Vec<Page>,
}

/// A log after its survey.
struct Surveyed<'s> {
    log: Box<dyn Log + 's>,
    /// Offset of the log.
    start: u64,
    /// Index of each of the log's registries among all registries.
    registries: Vec<u32>,
    /// Number of events, by the log's own index of the registry, and by event.
    counts: Vec<Vec<u64>>,
}

/// The unread extents of a lane, and the page of the current one.
struct Queue {
    log: u32,
    session: u32,
    thread: u32,
    /// Index of the lane in the decoder.
    account: u32,
    is_wanted: bool,
    /// Indices of the unread extents, the next one last. Only used by time.
    extents: Vec<u32>,
    page: Option<Page>,
    /// Offset of the page's extent.
    at: u64,
    /// Index of the current event in the page.
    current: usize,
}

enum Way {
    /// In the order of the log: the index of the next extent, and the lane of the current one.
    Stream { next: usize, lane: Option<u32> },
    /// By time: the time of each lane's next event, and the lane of the current event.
    Time { waiting: BinaryHeap<Reverse<Waiting>>, lane: Option<u32> },
}

/// The time of a lane's next event. Events of the same time are in the order of the log.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Waiting {
    wall_ns: i64,
    session: u32,
    ticks: u64,
    at: u64,
    lane: u32,
}

impl<'s> LogEvents<'s> {
    /// Surveys all logs, and adds their sessions, registries and lanes to the decoder.
    pub(crate) fn new(input: LogInput<'s>, by_time: bool, decoder: &mut Decoder) -> Result<Self> {
        decoder.report.is_of_logs = true;
        let LogInput { source, logs } = input;
        let bytes = LogBytes::new(source.clone(), 0..source.len(), READ_LEN);
        let mut events = LogEvents {
            logs: Vec::new(),
            extents: Vec::new(),
            lanes: Vec::new(),
            way: Way::Stream { next: 0, lane: None },
            bytes,
            spare: Vec::new(),
        };
        for Placed { mut log, range, cut } in logs {
            let mut bytes = LogBytes::new(source.clone(), range.clone(), LogBytes::READ_LEN);
            let survey = log.survey(&mut bytes)?;
            if let Some(cut) = cut {
                let (range, cause) = (range.end..range.end, Cause::Log(cut));
                decoder.report.damage(Damage { range, cause, events: 0 });
            }
            events.add(log, range, survey, decoder);
        }
        if by_time {
            for (index, extent) in events.extents.iter().enumerate().rev() {
                events.lanes[extent.lane as usize].extents.push(index as u32);
            }
            let lanes = 0..events.lanes.len() as u32;
            let waiting = lanes.filter_map(|lane| events.waiting(lane, decoder)).map(Reverse).collect();
            events.way = Way::Time { waiting, lane: None };
        }
        Ok(events)
    }

    /// Returns the number of bytes of all logs.
    pub(crate) fn len(&self) -> u64 {
        self.bytes.len()
    }

    /// Adds the survey of a log.
    fn add(&mut self, log: Box<dyn Log + 's>, range: Range<u64>, survey: Survey, decoder: &mut Decoder) {
        let Survey { sessions, registries, counts, lanes, mut extents, damage } = survey;
        let add = |registry| decoder.state.add_registry(registry, &decoder.filter);
        let fingerprints: Vec<u64> = registries.into_iter().map(add).collect();
        let known = |fingerprint: &u64| decoder.state.registry(*fingerprint).unwrap_or_default() as u32;
        let registries = fingerprints.iter().map(known).collect();
        let first_session = decoder.state.sessions.len() as u32;
        for session in sessions {
            decoder.state.add_session(session);
        }
        let (first_lane, log_index) = (self.lanes.len() as u32, self.logs.len() as u32);
        for lane in lanes {
            let session = first_session + lane.session as u32;
            let registry = fingerprints.first().copied().unwrap_or_default();
            let account = decoder.lanes.len() as u32;
            decoder.lanes.push(Lane::new(LaneKey { session, thread: lane.thread, registry, kind: 0 }));
            self.lanes.push(Queue {
                log: log_index,
                session,
                thread: lane.thread,
                account,
                is_wanted: wants_lane(decoder, session, lane.thread),
                extents: Vec::new(),
                page: None,
                at: 0,
                current: 0,
            });
        }
        // All bytes that are neither damage nor in an extent are headers and framing, and were
        // read.
        let mut rest = range.end - range.start;
        for Damage { range: bytes, cause, events } in damage {
            rest = rest.saturating_sub(bytes.end - bytes.start);
            let range = range.start + bytes.start..range.start + bytes.end;
            decoder.report.damage(Damage { range, cause, events });
        }
        for extent in &mut extents {
            rest = rest.saturating_sub(extent.len.into());
            extent.lane += first_lane;
            extent.at += range.start;
        }
        // The list of a single log, which may be long, is not copied.
        match self.extents.is_empty() {
            true => self.extents = extents,
            false => self.extents.append(&mut extents),
        }
        decoder.report.bytes.read += rest;
        if decoder.state.sessions.len() as u32 > first_session {
            decoder.report.blocks += 1;
        }
        self.logs.push(Surveyed { log, start: range.start, registries, counts });
    }

    /// Returns the number of events of each type, whatever the filter: index of the registry, index
    /// of the event type, number.
    pub(crate) fn counts(&self) -> impl Iterator<Item = (usize, usize, u64)> + '_ {
        self.logs.iter().flat_map(|log| {
            log.registries.iter().zip(&log.counts).flat_map(|(registry, counts)| {
                counts.iter().enumerate().map(|(event, count)| (*registry as usize, event, *count))
            })
        })
    }

    /// Moves to the next event. Returns false at the end.
    #[inline]
    pub(crate) fn advance(&mut self, decoder: &mut Decoder) -> io::Result<bool> {
        match self.way {
            Way::Stream { lane: Some(lane), .. } if self.lanes[lane as usize].step() => Ok(true),
            Way::Stream { .. } => self.next_extent(decoder),
            Way::Time { .. } => self.next_by_time(decoder),
        }
    }

    /// Returns the current event.
    #[inline]
    pub(crate) fn event<'a>(&'a self, decoder: &'a Decoder) -> Option<Event<'a>> {
        let (Way::Stream { lane, .. } | Way::Time { lane, .. }) = self.way;
        let queue = self.lanes.get(lane? as usize)?;
        let page = queue.page.as_ref()?;
        let head = page.heads.get(queue.current)?;
        let log = &self.logs[queue.log as usize];
        let session = decoder.state.sessions.get(queue.session as usize)?;
        let registry = log.registries.get(usize::from(head.registry))?;
        let registry = decoder.state.registries.get(*registry as usize)?;
        Some(Event {
            session,
            thread: queue.thread,
            ticks: head.ticks,
            time_ns: session.clock.ns(head.ticks),
            known: registry,
            schema: registry.registry.events.get(head.event as usize)?,
            index: head.event as usize,
            packed_len: head.len,
            offset: queue.at + u64::from(head.at),
            position: NO_POSITION,
            payload: &page.payload,
            raw: page.raws(head),
        })
    }

    #[cold]
    #[inline(never)]
    fn next_extent(&mut self, decoder: &mut Decoder) -> io::Result<bool> {
        let Way::Stream { mut next, lane } = self.way else { return Ok(false) };
        if let Some(lane) = lane {
            self.release(lane);
        }
        while let Some(extent) = self.extents.get(next).copied() {
            next += 1;
            self.load(extent, false, decoder)?;
            if self.lanes[extent.lane as usize].has_event() {
                self.way = Way::Stream { next, lane: Some(extent.lane) };
                return Ok(true);
            }
            self.release(extent.lane);
        }
        self.way = Way::Stream { next, lane: None };
        Ok(false)
    }

    fn next_by_time(&mut self, decoder: &mut Decoder) -> io::Result<bool> {
        loop {
            let Way::Time { lane, .. } = &mut self.way else { return Ok(false) };
            // The lane of the latest event continues, unless another lane is earlier now.
            let next = match lane.take() {
                None => None,
                Some(lane) => {
                    if !self.lanes[lane as usize].step() {
                        self.release(lane);
                    }
                    self.waiting(lane, decoder)
                }
            };
            let Way::Time { waiting, lane } = &mut self.way else { return Ok(false) };
            let first = match (next, waiting.peek_mut()) {
                (None, None) => return Ok(false),
                (None, Some(first)) => std::collections::binary_heap::PeekMut::pop(first).0.lane,
                // Dropping the peeked entry restores the order of the heap.
                (Some(next), Some(mut first)) if first.0 < next => {
                    std::mem::replace(&mut *first, Reverse(next)).0.lane
                }
                (Some(next), _) => next.lane,
            };
            if self.lanes[first as usize].has_event() {
                *lane = Some(first);
                return Ok(true);
            }
            let Some(index) = self.lanes[first as usize].extents.pop() else { continue };
            self.load(self.extents[index as usize], true, decoder)?;
            if !self.lanes[first as usize].has_event() {
                self.release(first);
            }
            let again = self.waiting(first, decoder);
            let Way::Time { waiting, .. } = &mut self.way else { return Ok(false) };
            waiting.extend(again.map(Reverse));
        }
    }

    /// Returns the time of a lane's next event, or of its next extent. Returns `None` at the lane's
    /// end.
    #[inline]
    fn waiting(&self, lane: u32, decoder: &Decoder) -> Option<Waiting> {
        let queue = &self.lanes[lane as usize];
        let (ticks, at) = match queue.head() {
            Some(head) => (head.ticks, queue.at + u64::from(head.at)),
            None => {
                let extent = &self.extents[*queue.extents.last()? as usize];
                (extent.first_ticks, extent.at)
            }
        };
        let wall_ns = decoder.state.sessions[queue.session as usize].clock.wall_ns(ticks);
        Some(Waiting { wall_ns, session: queue.session, ticks, at, lane })
    }

    /// Decodes an extent into its lane's page, and keeps the selected events.
    fn load(&mut self, extent: Extent, is_sorted: bool, decoder: &mut Decoder) -> io::Result<()> {
        let queue = &mut self.lanes[extent.lane as usize];
        (queue.at, queue.current) = (extent.at, 0);
        let account = &mut decoder.lanes[queue.account as usize];
        if !queue.is_wanted {
            account.filtered += u64::from(extent.events);
            decoder.report.bytes.filtered += u64::from(extent.len);
            return Ok(());
        }
        let log = &self.logs[queue.log as usize];
        let bytes = self.bytes.at(extent.at, extent.len as usize)?;
        let bytes = &bytes[..bytes.len().min(extent.len as usize)];
        let mut page = self.spare.pop().unwrap_or_default();
        let local = Extent { at: extent.at - log.start, ..extent };
        log.log.read(&local, bytes, &mut page);
        decoder.report.bytes.read += u64::from(extent.len);
        if page.len() < extent.events as usize {
            let events = extent.events - page.len() as u32;
            let range = extent.at..extent.at + u64::from(extent.len);
            decoder.report.bytes.read -= u64::from(extent.len);
            decoder.report.damage(Damage { range, cause: Cause::Changed, events });
        }
        let all = page.len() as u64;
        if !decoder.filter.selects_all() {
            let session = &decoder.state.sessions[queue.session as usize];
            let (filter, registries) = (&decoder.filter, &decoder.state.registries);
            let mut heads = std::mem::take(&mut page.heads);
            heads.retain(|head| {
                let registry = log.registries.get(usize::from(head.registry));
                let registry = registry.and_then(|registry| registries.get(*registry as usize));
                registry.is_some_and(|known| {
                    let registry = (&known.registry, &known.namings);
                    let candidate = Candidate::new(session, registry, head.event, head.ticks);
                    let candidate = candidate.with(&page.payload, page.raws(head));
                    known.wants(head.event as usize)
                        && (!filter.is_timed() || filter.wants_time(session.clock.ns(head.ticks)))
                        && known
                            .test()
                            .is_none_or(|test| test.matches(&candidate, test.lane(session, queue.thread)))
                })
            });
            page.heads = heads;
        }
        let account = &mut decoder.lanes[queue.account as usize];
        account.read += page.len() as u64;
        account.filtered += all - page.len() as u64;
        if is_sorted {
            page.sort();
        }
        queue.page = Some(page);
        Ok(())
    }

    /// Ends the page of a lane.
    fn release(&mut self, lane: u32) {
        if let Some(mut page) = self.lanes[lane as usize].page.take() {
            page.clear();
            self.spare.push(page);
        }
    }
}

impl Queue {
    /// Moves to the next event of the page. Returns false after the last.
    #[inline]
    fn step(&mut self) -> bool {
        self.current += 1;
        self.has_event()
    }

    #[inline]
    fn has_event(&self) -> bool {
        self.head().is_some()
    }

    #[inline]
    fn head(&self) -> Option<&Head> {
        self.page.as_ref()?.heads.get(self.current)
    }
}

/// Returns true if the filter selects any event of a thread.
fn wants_lane(decoder: &Decoder, session: u32, thread: u32) -> bool {
    let Filter { threads, sessions, .. } = &decoder.filter;
    let session = &decoder.state.sessions[session as usize];
    matches_any(threads, thread.into(), session.thread_name(thread).unwrap_or_default())
        && matches_any(sessions, session.id, session.facts.text("program").unwrap_or_default())
}
