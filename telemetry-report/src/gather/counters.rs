//! Counters over time: parameters with the mark `counter`, and counters whose events carry changes.

use hashbrown::HashMap;
use telemetry_decode::Event;
use telemetry_decode::counters::DefinedCounters;
use telemetry_schema::CounterPer;

use super::cut::cut;

/// The maximum of counters, where each thread's value is one. Further ones are left out.
const MAX_TRACKS: usize = 1000;

/// The maximum of values of a counter.
const MAX_POINTS: usize = 1024;

/// The maximum of values of all counters, at 16 bytes. A counter keeps at least one.
const MAX_VALUES: usize = 250_000;

/// All counters.
#[derive(Default)]
pub(crate) struct Counters {
    defined: DefinedCounters,
    /// By number of the event type.
    types: Vec<Type>,
    numbers: HashMap<Key, usize>,
    /// By the first value of each.
    pub(crate) tracks: Vec<Track>,
    /// Values of all tracks.
    values: usize,
    /// Values of counters for which there is no room.
    pub(crate) beyond: u64,
}

/// What a type of event says of counters.
#[derive(Clone)]
enum Type {
    Unknown,
    Nothing,
    /// Its parameters that are counters, and the one that has the thread whose value it is.
    Values(Box<[usize]>, Option<usize>),
    /// It is about counters that an event defines.
    Defined,
}

/// Session, what it is in, and the thread that has the value.
#[derive(PartialEq, Eq, Hash)]
struct Key {
    session: u64,
    of: Of,
    thread: Option<u64>,
}

#[derive(PartialEq, Eq, Hash)]
enum Of {
    /// Number of the event type, and the parameter.
    Param(u32, usize),
    /// Number of one that an event defines.
    Defined(u64),
}

/// One of each `every` values of a counter.
#[derive(Debug)]
pub(crate) struct Track {
    /// `EVENT` of a counter of the registry, `EVENT.PARAMETER`, or `SECTION: NAME`.
    pub(crate) name: String,
    pub(crate) unit: String,
    pub(crate) doc: String,
    pub(crate) registry: u64,
    pub(crate) session: u64,
    /// The system's number of the thread whose value it is.
    pub(crate) thread: Option<u64>,
    pub(crate) every: u64,
    /// The number of all values.
    pub(crate) count: u64,
    pub(crate) first: f64,
    pub(crate) last: f64,
    pub(crate) min: f64,
    pub(crate) max: f64,
    /// Whether a value was less than the one before.
    pub(crate) falls: bool,
    last_at: u64,
    /// With the moment of each.
    pub(crate) points: Vec<(u64, f64)>,
}

impl Counters {
    /// Takes an event. `moment` returns that of a time since 1970.
    #[inline]
    pub(crate) fn take(&mut self, number: u32, event: &Event<'_>, moment: impl FnMut(i64) -> u64) {
        if !matches!(self.types.get(number as usize), Some(Type::Nothing)) {
            self.take_values(number, event, moment);
        }
    }

    #[cold]
    fn take_values(&mut self, number: u32, event: &Event<'_>, mut moment: impl FnMut(i64) -> u64) {
        if self.types.len() <= number as usize {
            self.types.resize(number as usize + 1, Type::Unknown);
        }
        if matches!(self.types[number as usize], Type::Unknown) {
            self.types[number as usize] = Type::of(event);
        }
        let (session, registry) = (event.session().id, event.known_registry().fingerprint);
        match std::mem::replace(&mut self.types[number as usize], Type::Nothing) {
            Type::Values(params, of_thread) => {
                let thread = of_thread.and_then(|param| event.value(param)?.as_u64());
                for param in &params {
                    let Some(value) = event.value(*param).and_then(|value| value.as_f64()) else { continue };
                    let key = Key { session, of: Of::Param(number, *param), thread };
                    let at = moment(event.wall_ns());
                    self.add(key, at, value, || {
                        let (schema, param) = (event.schema(), &event.schema().params[*param]);
                        let name = match schema.counter {
                            Some(_) => schema.name.clone(),
                            None => format!("{}.{}", schema.name, param.name),
                        };
                        let doc = if schema.counter.is_some() { &schema.doc } else { &param.doc };
                        Track::new(name, &param.unit, doc, registry, session, thread)
                    });
                }
                self.types[number as usize] = Type::Values(params, of_thread);
            }
            Type::Defined => {
                let mut defined = std::mem::take(&mut self.defined);
                if let Some(of) = defined.take(event) {
                    for (time, value) in &of.values {
                        let Some(value) = value.as_f64() else { continue };
                        let key = Key { session, of: Of::Defined(of.number), thread: None };
                        let new = || Track::new(of.name.to_string(), of.unit, "", registry, session, None);
                        self.add(key, moment(*time), value, new);
                    }
                }
                self.defined = defined;
                self.types[number as usize] = Type::Defined;
            }
            Type::Unknown | Type::Nothing => {}
        }
    }

    /// Adds a value. One that is not finite stands on no axis.
    fn add(&mut self, key: Key, at: u64, value: f64, new: impl FnOnce() -> Track) {
        if !value.is_finite() {
            return;
        }
        let known = self.numbers.get(&key).copied();
        let number = match known {
            Some(number) => number,
            None if self.tracks.len() >= MAX_TRACKS => {
                self.beyond += 1;
                return;
            }
            None => {
                self.tracks.push(new());
                self.numbers.insert(key, self.tracks.len() - 1);
                self.tracks.len() - 1
            }
        };
        let track = &mut self.tracks[number];
        let before = track.points.len();
        track.add(at, value);
        self.values = self.values + track.points.len() - before;
        while self.values > MAX_VALUES && self.tracks.iter().any(|track| track.points.len() > 1) {
            self.tracks.iter_mut().for_each(Track::thin);
            self.values = self.tracks.iter().map(|track| track.points.len()).sum();
        }
    }

    /// Ends all curves at their last values. Call it after the last event.
    pub(crate) fn finish(&mut self) {
        for track in &mut self.tracks {
            let last = (track.last_at, track.last);
            if track.points.last() != Some(&last) {
                track.points.push(last);
            }
        }
    }
}

impl Type {
    fn of(event: &Event<'_>) -> Type {
        if DefinedCounters::has(event) {
            return Type::Defined;
        }
        let schema = event.schema();
        // The value of a sample stands last, after the thread if each has one.
        let value = schema.counter.and(schema.params.len().checked_sub(1));
        let is_value = |index: usize| value.map_or(schema.params[index].is_counter, |value| index == value);
        let params: Box<[_]> = (0..schema.params.len()).filter(|index| is_value(*index)).collect();
        let is_of_thread = schema.counter.is_some_and(|counter| counter.per == CounterPer::Thread);
        let thread = (is_of_thread && schema.params.len() > 1).then_some(0);
        if params.is_empty() { Type::Nothing } else { Type::Values(params, thread) }
    }
}

impl Track {
    fn new(name: String, unit: &str, doc: &str, registry: u64, session: u64, thread: Option<u64>) -> Track {
        // There may be many tracks of one event, each with its doc.
        Track {
            name: cut(&name),
            unit: cut(unit),
            doc: cut(doc),
            registry,
            session,
            thread,
            every: 1,
            count: 0,
            first: 0.0,
            last: 0.0,
            min: 0.0,
            max: 0.0,
            falls: false,
            last_at: 0,
            points: Vec::new(),
        }
    }

    fn add(&mut self, at: u64, value: f64) {
        if self.count == 0 {
            [self.first, self.last, self.min, self.max] = [value; 4];
        }
        let index = self.count;
        self.count += 1;
        self.falls |= value < self.last;
        (self.last, self.last_at) = (value, at);
        (self.min, self.max) = (self.min.min(value), self.max.max(value));
        if index & (self.every - 1) == 0 {
            self.points.push((at, value));
            if self.points.len() > MAX_POINTS {
                self.thin();
            }
        }
    }

    /// Drops each second value.
    fn thin(&mut self) {
        if self.points.len() < 2 {
            return;
        }
        let mut is_kept = false;
        self.points.retain(|_| {
            is_kept = !is_kept;
            is_kept
        });
        self.every *= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(counter: u64) -> Key {
        Key { session: 1, of: Of::Defined(counter), thread: None }
    }

    /// However many values there are, those that are kept are spread evenly, and the last is one.
    #[test]
    fn kept_values_are_limited() {
        for (counters, values) in [(1, 1), (1, 100_000), (700, 1000), (1500, 3)] {
            let mut all = Counters::default();
            for at in 0..values {
                for counter in 0..counters {
                    let new = || Track::new(counter.to_string(), "", "", 7, 1, None);
                    all.add(key(counter), at, at as f64 - 1.0, new);
                }
                assert!(all.values <= MAX_VALUES, "{counters} of {values}");
            }
            let name = format!("{counters} of {values}");
            let kept = counters.min(MAX_TRACKS as u64);
            assert_eq!((all.tracks.len() as u64, all.beyond), (kept, (counters - kept) * values), "{name}");
            for track in &all.tracks {
                assert!(track.points.len() <= MAX_POINTS, "{name}");
                for (index, (at, value)) in track.points.iter().enumerate() {
                    assert_eq!((*at, *value), (index as u64 * track.every, *at as f64 - 1.0), "{name}");
                }
            }
            all.finish();
            for track in &all.tracks {
                let last = values as f64 - 2.0;
                assert_eq!(track.points.last(), Some(&(values - 1, last)), "{name}");
                assert_eq!(
                    [track.first, track.last, track.min, track.max],
                    [-1.0, last, -1.0, last],
                    "{name}"
                );
                assert_eq!((track.count, track.falls), (values, false), "{name}");
            }
        }
    }

    #[test]
    fn values_that_are_no_numbers_are_left_out() {
        let mut all = Counters::default();
        for value in [f64::NAN, 2.0, f64::INFINITY, 1.0] {
            all.add(key(1), 5, value, || Track::new(String::new(), "", "", 7, 1, None));
        }
        let [track] = &all.tracks[..] else { panic!("{:?}", all.tracks) };
        assert_eq!(track.points, [(5, 2.0), (5, 1.0)]);
        assert_eq!((track.count, track.min, track.max, track.falls), (2, 1.0, 2.0, true));
    }
}
