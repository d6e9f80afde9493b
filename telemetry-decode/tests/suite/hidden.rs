//! What readers hide: conditions on hidden values are refused, and strings of labels are hidden.

use std::ops::RangeInclusive;
use std::sync::Arc;

use telemetry_decode::condition::{Candidate, Condition, Misfit, Test};
use telemetry_decode::names::Namings;
use telemetry_decode::writer::{Lane, Writer};
use telemetry_decode::{Error, Facts, Filter, Order, RawStr, Reader, Registry, Session, Value};
use telemetry_schema::Sort;

use crate::labels::runtime;
use crate::made::START;
use crate::scrub::logins;

/// A condition on the parameter `user` that selects all events, as `telemetry-filter` checks it.
#[derive(Debug)]
struct OnUser;

impl Condition for OnUser {
    fn test(&self, _: &Registry, _: &Namings) -> Arc<dyn Test> {
        Arc::new(OnUser)
    }

    fn check(&self, registries: &[&Registry]) -> Result<(), Misfit> {
        let events = registries.iter().flat_map(|registry| &registry.events);
        let users = events.flat_map(|event| &event.params).filter(|param| param.name == "user");
        let sorts: Vec<Sort> = users.map(|param| param.sort).collect();
        if sorts.contains(&Sort::String) {
            return Ok(());
        }
        let (what, text) = ("parameter `user`".to_string(), "`user` has no string".to_string());
        Err(Misfit { what, nearest: None, text, is_hidden: !sorts.is_empty() })
    }
}

impl Test for OnUser {
    fn lane(&self, _: &Session, _: u32) -> u64 {
        0
    }

    fn may_match(&self, _: usize) -> bool {
        true
    }

    fn may_match_in(&self, _: usize, _: u64, _: &RangeInclusive<i64>) -> bool {
        true
    }

    fn matches(&self, _: &Candidate<'_>, _: u64) -> bool {
        true
    }
}

/// Makes a stream with some registries, and an event of the first.
fn stream(registries: &[Registry]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new());
    writer.session(1, &Facts::default(), 0, START).unwrap();
    let known: Vec<u64> = registries.iter().map(|registry| writer.registry(1, registry).unwrap()).collect();
    let user = [Value::String(RawStr::from("Ada"))];
    writer.event(Lane { session: 1, thread: 1, registry: known[0] }, 1, 10, &user).unwrap();
    writer.end(1, 20).unwrap();
    writer.finish().unwrap()
}

/// Returns the number of events that the condition selects, and how often it is refused.
fn selected(reader: Reader) -> (usize, usize) {
    let condition: Arc<dyn Condition> = Arc::new(OnUser);
    let mut events = match reader.filter(Filter::default().condition(condition)).events() {
        Ok(events) => events,
        Err(Error::Filter(_)) => return (0, 1),
        Err(error) => panic!("{error}"),
    };
    let (mut number, mut refused) = (0, 0);
    loop {
        match events.next() {
            Ok(Some(_)) => number += 1,
            Ok(None) => return (number, refused),
            Err(Error::Filter(_)) => refused += 1,
            Err(error) => panic!("{error}"),
        }
    }
}

/// A pipe is read in one pass. There a condition is refused with each block that comes while all
/// registries so far hide the values. It may fit a later registry if none has the parameter.
#[test]
fn conditions_on_hidden_values_are_refused() {
    let hidden = logins(", sensitive = \"personal\"");
    let (mut shown, mut without) = (logins(""), logins(""));
    shown.name = "others".to_string();
    without.events[0].params[0].name = "guest".to_string();
    let cases = [
        (vec![shown.clone()], (1, 0), (1, 0)),
        (vec![hidden.clone(), shown], (1, 0), (1, 0)),
        // The block of the event and the end of the session.
        (vec![hidden.clone()], (0, 1), (0, 2)),
        (vec![without], (0, 1), (1, 0)),
    ];
    for (registries, whole, pipe) in cases {
        let stream = stream(&registries);
        let in_stream = || Reader::from_reader(&stream[..]).order(Order::Stream);
        assert_eq!(selected(Reader::from_slice(&stream)), whole);
        assert_eq!(selected(in_stream()), pipe);
        if registries[0] == hidden {
            assert_eq!(selected(in_stream().show_sensitive(true)), (1, 0));
        }
    }
}

/// A later registry may have a sensitive parameter that stands for strings of labels.
#[test]
fn strings_of_labels_are_hidden_in_advance() {
    let mut writer = Writer::new(Vec::new());
    writer.session(1, &Facts::default(), 0, START).unwrap();
    let lane = Lane { session: 1, thread: 0, registry: writer.registry(1, &runtime()).unwrap() };
    writer.event(lane, 2, 5, &[Value::Label(1), Value::String(RawStr::from("Ely"))]).unwrap();
    writer.end(1, 20).unwrap();
    let stream = writer.finish().unwrap();
    let text = |filter: Filter, shows: bool| {
        let mut events = Reader::from_slice(&stream).filter(filter).show_sensitive(shows).events().unwrap();
        let event = events.next().unwrap().unwrap();
        event.value(1).unwrap().to_string()
    };
    assert_eq!(text(Filter::default(), false), "Ely");
    assert_eq!(text(Filter::default().hide_labels(), false), "<secret>");
    assert_eq!(text(Filter::default().hide_labels(), true), "Ely");
}
