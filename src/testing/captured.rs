//! The events of a capture, and what a test expects of them.

use std::fmt;
use std::marker::PhantomData;

use telemetry_decode::rules::Checker;
use telemetry_decode::{OwnedEvent, TypedEvent};

use super::failure::Failure;

/// The events of a capture by time, and the result of its closure.
///
/// Types of events are the structs that `#[telemetry_event("events.toml", decode)]` generates.
#[must_use = "nothing is checked yet"]
pub struct Captured<R = ()> {
    /// What the closure returned.
    pub result: R,
    events: Vec<OwnedEvent>,
}

/// Formats the events, a line for each.
impl<R> fmt::Debug for Captured<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&Failure::all(&self.events), f)
    }
}

impl<R> Captured<R> {
    pub(super) fn new(result: R, events: Vec<OwnedEvent>) -> Self {
        Captured { result, events }
    }

    /// Returns all events, of any registry, by time.
    pub fn events(&self) -> &[OwnedEvent] {
        &self.events
    }

    /// Returns the events of a type, by time.
    pub fn of<E: TypedEvent>(&self) -> impl Iterator<Item = E::Of<'_>> {
        self.events.iter().filter_map(OwnedEvent::typed::<E>)
    }

    /// Returns the number of events of a type.
    pub fn count<E: TypedEvent>(&self) -> usize {
        self.events.iter().filter(|event| event.is::<E>()).count()
    }

    /// Expects an event of a type, and finds the first.
    ///
    /// # Panics
    /// If there is none. The message shows what there is.
    #[track_caller]
    pub fn expect<E: TypedEvent>(&self) -> Expected<'_, E> {
        Expected::find(&self.events, Vec::new(), 0)
    }

    /// Expects that there is no event of a type.
    ///
    /// # Panics
    /// If there is one.
    #[track_caller]
    pub fn expect_none<E: TypedEvent>(&self) {
        none::<E>(&self.events, &[], 0);
    }

    /// Expects that the events break no `[[rule]]` of their registries. What must come must come
    /// before the end of the capture. Rules about events that are not compiled in are not checked.
    ///
    /// # Panics
    /// If a rule is broken. The message says which, and shows all events.
    #[track_caller]
    pub fn expect_rules(&self) {
        let (mut checker, mut broken) = (Checker::new(usize::MAX), Vec::new());
        checker.ignore_limits();
        checker.check_only(|registry, event| telemetry_runtime::VARIETY.has(registry.events[event].always));
        self.events.iter().for_each(|event| checker.take_owned(event, &mut broken));
        checker.finish(|_| true, &mut broken);
        if !broken.is_empty() {
            panic!("{}", Failure::broken(&self.events, checker.rules(), &broken));
        }
    }
}

/// A condition on an event of a type.
type Condition<'c, E> = Box<dyn Fn(&<E as TypedEvent>::Of<'_>) -> bool + 'c>;

/// An event that was expected, and found. What comes after it may be expected, too.
pub struct Expected<'c, E: TypedEvent> {
    events: &'c [OwnedEvent],
    /// The events before it in the sequence, by index.
    before: Vec<usize>,
    /// The index of the first event that it could be.
    from: usize,
    at: usize,
    conditions: Vec<Condition<'c, E>>,
    event_type: PhantomData<fn() -> E>,
}

impl<E: TypedEvent> fmt::Debug for Expected<'_, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Expected").field("event", &self.events[self.at]).finish_non_exhaustive()
    }
}

impl<'c, E: TypedEvent> Expected<'c, E> {
    #[track_caller]
    fn find(events: &'c [OwnedEvent], before: Vec<usize>, from: usize) -> Self {
        let found = events[from..].iter().position(|event| event.is::<E>());
        let Some(at) = found.map(|at| from + at) else {
            let failure = Failure::absent(events, &before, from, E::NAME);
            panic!("{failure}");
        };
        Expected { events, before, from, at, conditions: Vec::new(), event_type: PhantomData }
    }

    /// Expects that the event passes a test. Finds the first that passes this one and all earlier
    /// ones.
    ///
    /// # Panics
    /// If there is none.
    #[track_caller]
    pub fn with(mut self, condition: impl Fn(&E::Of<'_>) -> bool + 'c) -> Self {
        self.conditions.push(Box::new(condition));
        let passes = |event: &OwnedEvent| {
            let event = event.typed::<E>();
            event.is_some_and(|event| self.conditions.iter().all(|condition| condition(&event)))
        };
        match self.events[self.from..].iter().position(passes) {
            Some(at) => self.at = self.from + at,
            None => {
                let is_close = |event: &OwnedEvent| event.is::<E>();
                let failure = Failure::failing(self.events, &self.before, self.from, E::NAME, is_close);
                panic!("{failure}");
            }
        }
        self
    }

    /// Expects an event of another or the same type after this one, and finds the first. Other
    /// events may be between them.
    ///
    /// # Panics
    /// If there is none.
    #[track_caller]
    pub fn then<N: TypedEvent>(mut self) -> Expected<'c, N> {
        self.before.push(self.at);
        Expected::find(self.events, self.before, self.at + 1)
    }

    /// Expects that there is no event of a type after this one.
    ///
    /// # Panics
    /// If there is one.
    #[track_caller]
    pub fn then_none<N: TypedEvent>(mut self) {
        self.before.push(self.at);
        none::<N>(self.events, &self.before, self.at + 1);
    }

    /// Returns the event.
    #[must_use]
    pub fn event(&self) -> E::Of<'c> {
        match self.events[self.at].typed::<E>() {
            Some(event) => event,
            // Its type was tested.
            None => panic!("event `{}` has a string that is not UTF-8", E::NAME),
        }
    }
}

#[track_caller]
fn none<E: TypedEvent>(events: &[OwnedEvent], before: &[usize], from: usize) {
    let is_wrong = |event: &OwnedEvent| event.is::<E>();
    if events[from..].iter().any(is_wrong) {
        panic!("{}", Failure::unexpected(events, before, from, E::NAME, is_wrong));
    }
}
