//! The ranges that contained an address, in order of time. Only those are kept.

use std::collections::VecDeque;

use telemetry_decode::{Event, Value};
use telemetry_schema::RangeRole;

use super::owners::{Owner, Owners, name};
use super::step::{self, Step};

/// A moment of a session.
#[derive(Clone, Copy)]
pub(super) struct Moment {
    pub(super) time_ns: i64,
    pub(super) ticks: u64,
    pub(super) thread: u32,
}

/// How a range began or ended.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum How {
    /// By its own event.
    Told,
    /// It moved from or to this address.
    Moved(u64),
    /// Another range of its name took its memory, and no event ended it.
    Replaced,
}

/// A range that contained the address.
pub(super) struct Found {
    pub(super) session: u64,
    /// Fingerprint of the registry.
    pub(super) registry: u64,
    pub(super) what: String,
    pub(super) key: Option<u64>,
    /// False for a key that is a number, which is shown in decimal.
    pub(super) is_key_place: bool,
    /// The name of the key, or else of the base.
    pub(super) name: Option<String>,
    pub(super) base: u64,
    /// Unknown of a range that moved here from elsewhere.
    pub(super) size: Option<u64>,
    /// Outermost last.
    pub(super) owners: Vec<Owner>,
    /// `None` if it began before the first event.
    pub(super) begin: Option<(Moment, How)>,
    /// `None` while nothing ends it.
    pub(super) end: Option<(Moment, How)>,
}

/// An event with the address.
pub(super) struct Mention {
    pub(super) session: u64,
    pub(super) at: Moment,
    pub(super) event: String,
    /// The parameters that have it.
    pub(super) params: Vec<String>,
}

/// All that was found.
#[derive(Default)]
pub(super) struct All {
    pub(super) ranges: VecDeque<Found>,
    pub(super) dropped: u64,
    pub(super) events: VecDeque<Mention>,
    pub(super) events_dropped: u64,
    pub(super) owners_dropped: u64,
}

/// Finds the ranges.
pub(super) struct Lives {
    address: u64,
    /// Only ranges at this time are kept.
    at: Option<i64>,
    most: usize,
    wants_events: bool,
    all: All,
    owners: Owners,
}

impl Found {
    /// Returns true if it was there at a time.
    fn is_at(&self, time_ns: i64) -> bool {
        let is_before = self.begin.is_none_or(|(at, _)| at.time_ns <= time_ns);
        is_before && self.end.is_none_or(|(at, _)| at.time_ns > time_ns)
    }
}

impl Lives {
    pub(super) fn new(address: u64, at: Option<i64>, most: usize, wants_events: bool) -> Lives {
        Lives { address, at, most, wants_events, all: All::default(), owners: Owners::default() }
    }

    pub(super) fn finish(self) -> All {
        let Lives { at, mut all, owners, .. } = self;
        if let Some(at) = at {
            all.ranges.retain(|found| found.is_at(at));
            // The outermost first. Those without a size moved here, and nothing is inside them.
            all.ranges.make_contiguous().sort_by_key(|found| std::cmp::Reverse(found.size.unwrap_or(0)));
        }
        all.owners_dropped = owners.dropped;
        all
    }

    /// Takes the next event.
    pub(super) fn take(&mut self, event: &Event<'_>) {
        if self.wants_events {
            self.mention(event);
        }
        let Some((what, step)) = step::of(event) else { return };
        match step {
            Step::Begin { key, place, owner } => {
                let owner = owner.and_then(|param| Owner::of(event, param));
                let session = event.session().id;
                if let Some((base, size)) = place.filter(|place| self.contains(*place)) {
                    self.replace(event, what);
                    let owners = self.owners.chain(session, key, owner.clone());
                    self.begin(event, what, Place { key, base, size, owners, how: How::Told });
                }
                if let (Some(key), Some(owner)) = (key, owner) {
                    self.owners.add(session, key, what, owner);
                }
            }
            Step::End { key, place } => {
                self.end(event, what, key, place);
                if let Some(key) = key {
                    self.owners.remove(event.session().id, key, what);
                }
            }
            Step::Move { moves, size } => self.moved(event, what, &moves, size),
        }
    }

    fn contains(&self, (base, size): (u64, Option<u64>)) -> bool {
        base != 0 && base <= self.address && self.address - base < size.unwrap_or(1)
    }

    /// Returns the ranges of a name that no event has ended yet.
    fn open<'l>(&'l mut self, event: &Event<'_>, what: &'l str) -> impl Iterator<Item = &'l mut Found> {
        let (session, registry) = (event.session().id, event.known_registry().fingerprint);
        self.all.ranges.iter_mut().filter(move |found| {
            found.end.is_none()
                && found.session == session
                && found.registry == registry
                && found.what == what
        })
    }

    /// Ends the ranges of a name whose memory another one takes.
    fn replace(&mut self, event: &Event<'_>, what: &str) {
        let at = Moment::of(event);
        self.open(event, what).for_each(|found| found.end = Some((at, How::Replaced)));
    }

    fn begin(&mut self, event: &Event<'_>, what: &str, place: Place) {
        let at = Moment::of(event);
        let found = place.found(event, what, Some(at));
        self.push(found);
    }

    fn push(&mut self, found: Found) {
        // What has ended before the time is not shown.
        if let Some(time_ns) = self.at {
            self.all.ranges.retain(|other| other.end.is_none() || other.is_at(time_ns));
        }
        if self.all.ranges.len() == self.most {
            self.all.ranges.pop_front();
            self.all.dropped += 1;
        }
        self.all.ranges.push_back(found);
    }

    fn end(&mut self, event: &Event<'_>, what: &str, key: Option<u64>, place: Option<(u64, Option<u64>)>) {
        let at = Moment::of(event);
        let holds = place.filter(|(_, size)| size.is_some()).is_some_and(|place| self.contains(place));
        let mut is_known = false;
        for found in self.open(event, what) {
            let is_it = match (key, place) {
                (Some(key), _) => found.key == Some(key),
                // An end may be of a part, or of several at once.
                (None, Some((_, Some(_)))) => holds,
                (None, Some((base, None))) => found.base == base,
                (None, None) => false,
            };
            if is_it {
                found.end = Some((at, How::Told));
                is_known = true;
            }
        }
        // It began before the first event.
        if let Some((base, size)) = place.filter(|place| !is_known && self.contains(*place)) {
            let owners = self.owners.chain(event.session().id, key, None);
            let mut found = Place { key, base, size, owners, how: How::Told }.found(event, what, None);
            found.end = Some((at, How::Told));
            self.push(found);
        }
    }

    /// All moves of an event are at once: what leaves does so before anything arrives.
    fn moved(&mut self, event: &Event<'_>, what: &str, moves: &[(u64, u64)], size: Option<u64>) {
        let mut arrivals = Vec::new();
        for &(from, to) in moves {
            let left = self.leave(event, what, from, to);
            // It was here before the first event.
            if left.is_none() && from == self.address {
                let place = Place { key: None, base: from, size: None, owners: Vec::new(), how: How::Told };
                let mut found = place.found(event, what, None);
                found.end = Some((Moment::of(event), How::Moved(to)));
                self.push(found);
            }
            let (old, owners, key) = left.unwrap_or_default();
            let size = size.or(old);
            if self.contains((to, size)) {
                arrivals.push(Place { key, base: to, size, owners, how: How::Moved(from) });
            }
        }
        for place in arrivals {
            self.replace(event, what);
            self.begin(event, what, place);
        }
    }

    /// Ends the range that a move takes away. Returns its size, owners and key.
    fn leave(&mut self, event: &Event<'_>, what: &str, from: u64, to: u64) -> Option<Left> {
        let at = Moment::of(event);
        let (session, registry) = (event.session().id, event.known_registry().fingerprint);
        let is_it = |found: &Found| {
            (found.session, found.registry, found.base) == (session, registry, from) && found.what == what
        };
        let ranges = &mut self.all.ranges;
        // The event of a reallocation comes after it. By then another thread may have got the
        // memory, and its event may have come before.
        let is_late = |found: &Found| {
            let end = found.end.filter(|(end, how)| *how == How::Replaced && end.thread != at.thread);
            event.schema().range.is_none() && end.is_some()
        };
        let late = ranges.iter().position(|found| is_it(found) && is_late(found));
        let open = || ranges.iter().position(|found| is_it(found) && found.end.is_none());
        let found = late.or_else(open)?;
        let found = ranges.get_mut(found)?;
        found.end = Some((at, How::Moved(to)));
        Some((found.size, found.owners.clone(), found.key))
    }

    /// Notes an event that has the address.
    fn mention(&mut self, event: &Event<'_>) {
        if !step::has_places(event.schema()) {
            return;
        }
        let address = self.address;
        let is_it = |value: &Value<'_>| matches!(value, Value::Pointer(place) | Value::Addr(place) if *place == address);
        let has = |value: &Value<'_>| match value {
            Value::Array(array) => array.iter().any(|value| is_it(&value)),
            value => is_it(value),
        };
        let params = event.params().filter(|param| has(&param.value));
        let params: Vec<String> = params.map(|param| param.schema.name.clone()).collect();
        if params.is_empty() || self.at.is_some_and(|at| event.time_ns() > at) {
            return;
        }
        if self.all.events.len() == self.most {
            self.all.events.pop_front();
            self.all.events_dropped += 1;
        }
        let (session, at, event) = (event.session().id, Moment::of(event), event.name().to_string());
        self.all.events.push_back(Mention { session, at, event, params });
    }
}

/// The size, the owners and the key of a range that moved away.
type Left = (Option<u64>, Vec<Owner>, Option<u64>);

/// Where a range is, and what it belongs to.
struct Place {
    key: Option<u64>,
    base: u64,
    size: Option<u64>,
    owners: Vec<Owner>,
    how: How,
}

impl Place {
    fn found(self, event: &Event<'_>, what: &str, begin: Option<Moment>) -> Found {
        let Place { key, base, size, owners, how } = self;
        let named = |role| {
            let param = event.schema().range.as_ref()?.param(role)?;
            name(event, &event.value(param)?)
        };
        Found {
            session: event.session().id,
            registry: event.known_registry().fingerprint,
            what: what.to_string(),
            key,
            is_key_place: is_place(event, RangeRole::Key),
            name: named(RangeRole::Key).or_else(|| named(RangeRole::Base)),
            base,
            size,
            owners,
            begin: begin.map(|at| (at, how)),
            end: None,
        }
    }
}

/// Returns true if the parameter of a role is a pointer or an address.
fn is_place(event: &Event<'_>, role: RangeRole) -> bool {
    let param = event.schema().range.as_ref().and_then(|range| range.param(role));
    let value = param.and_then(|param| event.value(param));
    matches!(value, Some(Value::Pointer(_) | Value::Addr(_)))
}

impl Moment {
    fn of(event: &Event<'_>) -> Moment {
        Moment { time_ns: event.time_ns(), ticks: event.ticks(), thread: event.thread() }
    }
}
