//! Rules of registries: what breaks them, what missing events may explain, and what is kept.

use telemetry_decode::completeness::{Gaps, Loss};
use telemetry_decode::names::runtime_registry;
use telemetry_decode::rules::{Broken, Checker};
use telemetry_decode::writer::{Lane, Writer};
use telemetry_decode::{EnumValue, Facts, Order, RawStr, Reader, Registry, Value};
use telemetry_format::Header;

use crate::made::exclude;

const REGISTRY: &str = r#"
[registry]
name = "server"
version = "1.0.0"
doc = "A server"
[kinds]
Arrival = { bit = 0, doc = "per request" }
Serving = { bit = 1, doc = "per work" }
[[event]]
name = "Request"
code = 1
kind = "Arrival"
doc = "A request came"
params = [{ name = "id", sort = "u32" }]
[[event]]
name = "Response"
code = 2
kind = "Serving"
doc = "A response went"
params = [{ name = "id", sort = "u32" }]
[[event]]
name = "WorkBegin"
code = 3
kind = "Serving"
doc = "Work began"
params = [{ name = "id", sort = "u32" }]
[[event]]
name = "WorkEnd"
code = 4
kind = "Serving"
doc = "Work ended"
params = [{ name = "id", sort = "u32" }]
[[event]]
name = "JobBegin"
code = 5
kind = "Serving"
doc = "A job of a queue began"
params = [{ name = "id", sort = "u32" }, { name = "queue", sort = "u32" }]
[[event]]
name = "JobEnd"
code = 6
kind = "Serving"
doc = "A job ended"
params = [{ name = "id", sort = "u32" }]
[[span]]
name = "Work"
begin = "WorkBegin"
end = "WorkEnd"
key = "id"
doc = "Work"
[[span]]
name = "Job"
begin = "JobBegin"
end = "JobEnd"
key = "id"
doc = "A job"
"#;

pub(crate) fn registry(rule: &str) -> Registry {
    let text = format!("{REGISTRY}[[rule]]\nname = \"Checked\"\n{rule}\ndoc = \"a rule\"\n");
    telemetry_schema::parse(&text).unwrap_or_else(|invalid| panic!("{}", invalid.render("rule", &text)))
}

/// What a stream has, one after the other.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Happens {
    /// An event: its time in microseconds, thread, code, and id.
    Event(u64, u32, u16, u64),
    /// A job begins on thread 1: the time in microseconds, id, and queue.
    Job(u64, u64, u64),
    /// The blocks so far end.
    Block,
    /// An event of a kind is lost on a thread.
    Lost(u32, u8),
    /// At this time a word is switched on or off.
    Switch(u64, &'static str, bool),
    /// At this time the flight recorder begins to record what a word names, or stops.
    Recorder(u64, &'static str, bool),
    /// The session has a fact with this text.
    Fact(&'static str, &'static str),
    /// The session ends in good order.
    End,
}

use Happens::{Block, End, Event, Job, Lost, Switch};

/// Returns a stream.
pub(crate) fn stream(registry: &Registry, happens: &[Happens]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new());
    let mut facts = Facts::default();
    facts.set("clock", "os");
    for one in happens {
        if let Happens::Fact(key, text) = *one {
            facts.set(key, text);
        }
    }
    writer.session(7, &facts, 0, 1_000).unwrap();
    let fingerprint = writer.registry(7, registry).unwrap();
    let own = writer.registry(7, &runtime_registry().unwrap()).unwrap();
    let lane = |thread, registry| Lane { session: 7, thread, registry };
    for one in happens {
        match *one {
            Event(us, thread, code, id) => {
                writer.event(lane(thread, fingerprint), code, us * 1_000, &[Value::Unsigned(id)]).unwrap();
            }
            Job(us, id, queue) => {
                let values = [Value::Unsigned(id), Value::Unsigned(queue)];
                writer.event(lane(1, fingerprint), 5, us * 1_000, &values).unwrap();
            }
            Lost(thread, kind) => {
                let loss = Loss { pool: 1, ..Loss::default() };
                writer.lose(lane(thread, fingerprint), kind, loss).unwrap();
            }
            Switch(us, words, is_on) | Happens::Recorder(us, words, is_on) => {
                let mask = Value::Named(EnumValue::new(if matches!(one, Switch(..)) { 0 } else { 1 }));
                let action = Value::Named(EnumValue::new(if is_on { 1 } else { 2 }));
                let values = [mask, action, Value::String(RawStr(words.as_bytes()))];
                writer.event(lane(9, own), 1, us * 1_000, &values).unwrap();
            }
            Happens::Fact(..) => {}
            Block => writer.flush().unwrap(),
            End => writer.end(7, 1_000_000_000).unwrap(),
        }
    }
    writer.finish().unwrap()
}

/// Checks a stream. Returns the checker, and what breaks rules, each with whether it is certain.
fn checked(stream: &[u8], most: usize) -> (Checker, Vec<(Broken, bool)>) {
    let mut events = Reader::from_slice(stream).order(Order::Time).events().unwrap();
    let (mut checker, mut found) = (Checker::new(most), Vec::new());
    while let Some(batch) = events.next_batch().unwrap() {
        checker.take_batch(&batch, &mut found);
    }
    let sessions = events.sessions();
    checker.finish(|id| sessions.iter().any(|session| session.id == id && session.ended), &mut found);
    let gaps = Gaps::new(&events.gaps());
    let decided = |broken: Broken| {
        let is_certain = broken.is_certain(&checker.rules()[broken.rule], &gaps);
        (broken, is_certain)
    };
    let found = found.into_iter().map(decided).collect();
    (checker, found)
}

/// Findings as text: what is certain, with the times of both events, and what is not.
#[track_caller]
pub(crate) fn check(rule: &str, happens: &[Happens], expected: &[&str]) {
    let stream = stream(&registry(rule), happens);
    let (checker, found) = checked(&stream, 1_000);
    let text = |(broken, is_certain): &(Broken, bool)| {
        let rule = &checker.rules()[broken.rule];
        let us = |ns: i64| ns / 1_000;
        let second = broken.second.map_or(String::new(), |second| format!("-{}", us(second.ns)));
        let mark = if *is_certain { "" } else { "undecided " };
        format!("{mark}{}{second} {}", us(broken.first.ns), broken.text(rule))
    };
    let found: Vec<String> = found.iter().map(text).collect();
    assert_eq!(found, expected, "{rule}");
    // Copies of the events say the same.
    let owned = Reader::from_slice(&stream).order(Order::Time).events().unwrap().into_owned();
    let (mut again, mut found) = (Checker::new(1_000), Vec::new());
    owned.for_each(|event| again.take_owned(&event.unwrap(), &mut found));
    again.finish(|_| happens.iter().any(|one| matches!(one, End)), &mut found);
    assert_eq!(found.len(), expected.len(), "{rule}");
}

pub(crate) const COMES: &str = "after = \"Request\"\ncomes = \"Response\"";

#[test]
fn what_must_come() {
    let by_id = &format!("{COMES}\nby = \"id\"");
    let within = &format!("{by_id}\nwithin = \"10 us\"");
    check(by_id, &[Event(1, 1, 1, 7), Event(2, 2, 2, 7), End], &[]);
    check(
        by_id,
        &[Event(1, 1, 1, 7), Event(2, 2, 2, 8), End],
        &["1 `Response` did not come after `Request`"],
    );
    // What comes before is not after.
    check(
        by_id,
        &[Event(1, 1, 2, 7), Event(2, 1, 1, 7), End],
        &["2 `Response` did not come after `Request`"],
    );
    // A session that did not end may go on.
    check(by_id, &[Event(1, 1, 1, 7)], &[]);
    check(within, &[Event(1, 1, 1, 7), Event(11, 1, 2, 7), End], &[]);
    let late = "1-12 `Response` came 11 us after `Request`, expected within 10 us";
    check(within, &[Event(1, 1, 1, 7), Event(12, 1, 2, 7), End], &[late]);
    let missing = "1 `Response` did not come after `Request`, expected within 10 us";
    check(within, &[Event(1, 1, 1, 7), End], &[missing]);
    check(within, &[Event(1, 1, 1, 7), Event(12, 1, 2, 8)], &[missing]);
    check(within, &[Event(1, 1, 1, 7), Event(11, 1, 2, 8)], &[]);
}

#[test]
fn one_that_comes_is_for_all_that_wait() {
    let rule = &format!("{COMES}\nwithin = \"10 us\"");
    check(rule, &[Event(1, 1, 1, 7), Event(2, 1, 1, 8), Event(9, 1, 2, 0), End], &[]);
    let late = "1-12 `Response` came 11 us after `Request`, expected within 10 us";
    check(rule, &[Event(1, 1, 1, 7), Event(2, 1, 1, 8), Event(12, 1, 2, 0), End], &[late]);
}

#[test]
fn a_rule_may_hold_for_each_thread() {
    let events = [Event(1, 1, 1, 7), Event(2, 2, 2, 7), End];
    check(COMES, &events, &[]);
    let per_thread = &format!("{COMES}\nper = \"thread\"");
    check(per_thread, &events, &["1 `Response` did not come after `Request`"]);
    let never = "never = \"Response\"\nopen = \"Work\"";
    let events = [Event(1, 1, 3, 7), Event(2, 2, 2, 7), Event(3, 1, 4, 7), End];
    check(never, &events, &["1-2 `Response` came while span `Work` was open"]);
    check(&format!("{never}\nper = \"thread\""), &events, &[]);
}

#[test]
fn what_must_not_come() {
    let never = "never = \"Response\"\nopen = \"Work\"";
    let by_id = &format!("{never}\nby = \"id\"");
    let broken = "1-3 `Response` came while span `Work` was open";
    let one = [Event(1, 1, 3, 7), Event(3, 1, 2, 8), Event(4, 1, 4, 7), Event(5, 1, 2, 7), End];
    check(never, &one, &[broken]);
    check(by_id, &one, &[]);
    // The oldest open span is named, and each event is told.
    let two = [Event(1, 1, 3, 7), Event(2, 1, 3, 8), Event(3, 1, 2, 7), Event(4, 1, 2, 7), End];
    check(never, &two, &[broken, "1-4 `Response` came while span `Work` was open"]);
    // The begin itself is not inside of its span.
    let nested = "never = \"WorkBegin\"\nopen = \"Work\"";
    let inside = "1-2 `WorkBegin` came while span `Work` was open";
    check(nested, &[Event(1, 1, 3, 7), Event(2, 1, 3, 8), Event(3, 1, 4, 7), Event(4, 1, 4, 8)], &[inside]);
}

#[test]
fn how_many_may_be_open() {
    let rule = "at_most = 2\nopen = \"Work\"";
    let begin = |us, id| Event(us, 1, 3, id);
    check(rule, &[begin(1, 1), begin(2, 2), Event(3, 1, 4, 1), begin(4, 3), End], &[]);
    let broken = "1-3 3 spans `Work` were open at once, expected at most 2";
    // It is told once, until fewer are open.
    let more = [begin(1, 1), begin(2, 2), begin(3, 3), begin(4, 4), Event(5, 1, 4, 1), Event(6, 1, 4, 2)];
    check(rule, &more, &[broken]);
    let again = [&more[..], &[begin(7, 5), End]].concat();
    check(rule, &again, &[broken, "3-7 3 spans `Work` were open at once, expected at most 2"]);
}

#[test]
fn a_begin_counts_beside_the_open_span_that_it_replaces() {
    let (one, two) = ("at_most = 1\nopen = \"Work\"", "at_most = 2\nopen = \"Work\"");
    let begin = |us, id| Event(us, 1, 3, id);
    let end = |us, id| Event(us, 1, 4, id);
    // Only one of three is open afterwards.
    check(two, &[begin(1, 1), begin(2, 1), begin(3, 1), begin(4, 2), End], &[]);
    let of_two = "1-3 3 spans `Work` were open at once, expected at most 2";
    check(two, &[begin(1, 1), begin(2, 2), begin(3, 2), end(4, 2), begin(5, 3), End], &[of_two]);
    let again = &[
        "1-2 2 spans `Work` were open at once, expected at most 1",
        "2-3 2 spans `Work` were open at once, expected at most 1",
    ];
    check(one, &[begin(1, 1), begin(2, 1), begin(3, 1), end(4, 1), begin(5, 1), End], again);
    // A span may begin on one thread and end on another.
    check(one, &[begin(1, 1), Event(2, 2, 4, 1), Event(3, 2, 3, 1), End], &[]);
    check(one, &[begin(1, 1), Event(2, 2, 3, 1), End], &again[..1]);
}

#[test]
fn how_many_may_be_open_with_one_key() {
    let rule = |most| format!("at_most = {most}\nopen = \"Work\"\nby = \"id\"");
    let begin = |us, id| Event(us, 1, 3, id);
    let end = |us, id| Event(us, 1, 4, id);
    let ended = [begin(1, 1), begin(2, 2), end(3, 1), begin(4, 1), end(5, 2), End];
    check(&rule(1), &ended, &[]);
    let broken = "1-3 2 spans `Work` were open at once, expected at most 1";
    check(&rule(1), &[begin(1, 1), begin(2, 2), begin(3, 1), end(4, 1), begin(5, 1), End], &[broken]);
    // The rule says how many spans of a key there may be, so these do not replace each other.
    let three = [begin(1, 1), begin(2, 1), begin(3, 1)];
    check(&rule(3), &three, &[]);
    let of_three = "1-3 3 spans `Work` were open at once, expected at most 2";
    check(&rule(2), &three, &[of_three]);
    check(&rule(2), &[begin(1, 1), begin(2, 1), end(3, 1), begin(4, 1), begin(5, 2), End], &[]);
    // The third one replaced the first.
    let fourth = "2-4 3 spans `Work` were open at once, expected at most 2";
    check(&rule(2), &[&three[..], &[begin(4, 1), End]].concat(), &[of_three, fourth]);
    check(&rule(2), &[&three[..], &[end(4, 1), begin(5, 1), End]].concat(), &[of_three]);
}

#[test]
fn how_many_may_be_open_with_one_value() {
    let rule = "at_most = 1\nopen = \"Job\"\nby = \"queue\"";
    let broken = "1-3 2 spans `Job` were open at once, expected at most 1";
    check(rule, &[Job(1, 1, 8), Job(2, 2, 9), Job(3, 3, 8), End], &[broken]);
    check(rule, &[Job(1, 1, 8), Job(2, 2, 9), Event(3, 1, 6, 1), Job(4, 3, 8), End], &[]);
    // The same job in the same queue, and in another.
    check(rule, &[Job(1, 1, 8), Job(3, 1, 8), End], &[broken]);
    check(rule, &[Job(1, 1, 8), Job(3, 1, 9), Job(4, 2, 8), End], &[]);
}

#[test]
fn how_many_may_be_open_on_one_thread() {
    let rule = "at_most = 1\nopen = \"Work\"\nper = \"thread\"";
    let broken = "1-3 2 spans `Work` were open at once, expected at most 1";
    check(rule, &[Event(1, 1, 3, 1), Event(2, 2, 3, 2), Event(3, 1, 3, 3), End], &[broken]);
    check(rule, &[Event(1, 1, 3, 1), Event(3, 1, 3, 1), End], &[broken]);
    check(rule, &[Event(1, 1, 3, 1), Event(2, 2, 3, 2), Event(3, 2, 4, 1), Event(4, 1, 3, 3), End], &[]);
    let by_id = &format!("{rule}\nby = \"id\"");
    check(by_id, &[Event(1, 1, 3, 1), Event(3, 1, 3, 1), End], &[broken]);
    check(by_id, &[Event(1, 1, 3, 1), Event(2, 2, 3, 1), Event(3, 1, 3, 3), End], &[]);
}

#[test]
fn what_missing_events_may_explain_is_not_decided() {
    // The kind of the response has the number 1.
    let before = [Event(1, 1, 2, 0), Event(2, 1, 1, 7)];
    let lost = |thread, kind| [&before[..], &[Lost(thread, kind), Event(9, thread, 2, 0), End]].concat();
    let by_id = &format!("{COMES}\nby = \"id\"");
    check(by_id, &lost(1, 1), &["undecided 2 `Response` did not come after `Request`"]);
    check(by_id, &lost(2, 1), &["undecided 2 `Response` did not come after `Request`"]);
    check(by_id, &lost(1, 0), &["2 `Response` did not come after `Request`"]);
    let per_thread = &format!("{by_id}\nper = \"thread\"");
    check(per_thread, &lost(2, 1), &["2 `Response` did not come after `Request`"]);
    // The end may be among the missing ones.
    let never = "never = \"Request\"\nopen = \"Work\"";
    let open = [Event(1, 1, 3, 7), Lost(1, 1), Event(3, 1, 2, 0), Event(4, 1, 1, 7), End];
    check(never, &open, &["undecided 1-4 `Request` came while span `Work` was open"]);
    let later =
        [Event(1, 1, 3, 7), Event(2, 1, 1, 7), Event(3, 1, 2, 0), Block, Lost(1, 1), Event(5, 1, 2, 0)];
    check(never, &later, &["1-2 `Request` came while span `Work` was open"]);
    // Any thread may end a span with a key.
    let per_thread = &format!("{never}\nper = \"thread\"");
    let other = [Event(1, 1, 3, 7), Lost(2, 1), Event(3, 2, 2, 0), Event(4, 1, 1, 7), End];
    check(per_thread, &other, &["undecided 1-4 `Request` came while span `Work` was open"]);
    let by_id = "at_most = 1\nopen = \"Work\"\nby = \"id\"";
    let again = |kind| [Event(1, 1, 3, 7), Lost(1, kind), Event(2, 1, 1, 7), Event(4, 1, 3, 7), End];
    check(by_id, &again(1), &["undecided 1-4 2 spans `Work` were open at once, expected at most 1"]);
    check(by_id, &again(0), &["1-4 2 spans `Work` were open at once, expected at most 1"]);
}

/// A sink may not get a kind, on all threads or one, or from some time on.
#[test]
fn what_was_excluded_is_not_decided() {
    let by_id = registry(&format!("{COMES}\nby = \"id\""));
    let check = |happens: &[Happens], is_excluded: fn(&Header) -> bool, expected: &[(i64, bool)]| {
        let (_, found) = checked(&exclude(&stream(&by_id, happens), is_excluded), 10);
        let us_of = |(broken, is_certain): &(Broken, bool)| (broken.first.ns / 1_000, *is_certain);
        let mut found: Vec<_> = found.iter().map(us_of).collect();
        found.sort_unstable();
        assert_eq!(found, expected);
    };
    let same = [Event(1, 1, 1, 7), Event(2, 1, 2, 7), Block, Event(3, 1, 1, 8), Event(4, 1, 2, 8), End];
    check(&same, |_| false, &[]);
    check(&same, |header| header.kind == 1, &[(1, false), (3, false)]);
    check(&same, |header| header.kind == 1 && header.before == 1, &[(3, false)]);
    // The second request came after all that was excluded.
    let other = [Event(1, 1, 1, 7), Event(2, 2, 2, 7), Event(5, 1, 1, 8), Event(6, 1, 2, 9), End];
    check(&other, |header| header.kind == 1 && header.thread == 2, &[(1, false), (5, true)]);
}

/// A rule of which not all events are followed is not checked.
#[test]
fn a_rule_needs_all_of_its_events() {
    let rule = &format!("{COMES}\nby = \"id\"");
    let stream = stream(&registry(rule), &[Event(1, 1, 1, 7), Event(2, 1, 3, 8), End]);
    for (missing, expected) in [("WorkEnd", 1), ("Response", 0), ("Request", 0)] {
        let mut events = Reader::from_slice(&stream).order(Order::Time).events().unwrap();
        let (mut checker, mut found) = (Checker::new(10), Vec::new());
        checker.check_only(move |registry, event| registry.events[event].name != missing);
        while let Some(batch) = events.next_batch().unwrap() {
            checker.take_batch(&batch, &mut found);
        }
        checker.finish(|_| true, &mut found);
        assert_eq!(found.len(), expected, "{missing}");
    }
}

#[test]
fn what_is_kept_has_a_limit() {
    let by_id = &format!("{COMES}\nby = \"id\"");
    let requests: Vec<Happens> = (1..=10).map(|id| Event(id, 1, 1, id)).chain([End]).collect();
    let (checker, found) = checked(&stream(&registry(by_id), &requests), 4);
    let rule = &checker.rules()[0];
    assert_eq!((rule.checked, rule.given_up, found.len()), (10, 6, 4));
    assert_eq!(
        found.iter().map(|(broken, _)| broken.first.ns).collect::<Vec<_>>(),
        [7_000, 8_000, 9_000, 10_000]
    );
    let begins: Vec<Happens> = (1..=10).map(|id| Event(id, 1, 3, id)).chain([End]).collect();
    let (checker, found) = checked(&stream(&registry("at_most = 5\nopen = \"Work\""), &begins), 4);
    let rule = &checker.rules()[0];
    assert_eq!((rule.checked, rule.given_up, found.len()), (10, 6, 0));
    // A request that waits already takes no room again.
    let within = &format!("{by_id}\nwithin = \"10 us\"");
    let again = [Event(1, 1, 1, 1), Event(9, 1, 1, 1), Event(15, 1, 2, 1), End];
    let (checker, found) = checked(&stream(&registry(within), &again), 1);
    assert_eq!((checker.rules()[0].given_up, found.len()), (0, 1));
    assert_eq!(found[0].0.first.ns, 1_000);
}

#[test]
fn what_is_overdue_is_told_once_and_again_when_it_comes() {
    let rule = &format!("{COMES}\nby = \"id\"\nwithin = \"10 us\"");
    let stream = stream(&registry(rule), &[Event(1, 1, 1, 7), Event(5, 1, 1, 8), Event(30, 1, 2, 7)]);
    let mut events = Reader::from_slice(&stream).order(Order::Time).events().unwrap();
    let (mut checker, mut found, mut steps) = (Checker::new(10), Vec::new(), Vec::new());
    while let Some(batch) = events.next_batch().unwrap() {
        checker.steps(&batch, |step| steps.push(step));
    }
    let mut told = Vec::new();
    let mut late = steps.split_off(2).into_iter();
    steps.into_iter().for_each(|step| checker.apply(step, &mut found));
    for ns in [11_000, 11_001, 12_000, 16_000] {
        checker.overdue(7, ns, &mut found);
        told.extend(found.drain(..).map(|broken| (ns, broken.first.ns, broken.how.name())));
    }
    checker.apply(late.next().unwrap(), &mut found);
    checker.overdue(7, 40_000, &mut found);
    told.extend(found.drain(..).map(|broken| (40_000, broken.first.ns, broken.how.name())));
    let expected = [(11_001, 1_000, "overdue"), (16_000, 5_000, "overdue"), (40_000, 1_000, "late")];
    assert_eq!(told, expected);
}
