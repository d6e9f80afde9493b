//! Rules about events that were off: by the words of the start, by later ones, by the build, or by
//! the words of the sink.

use telemetry_decode::rules::Checker;
use telemetry_decode::{Order, Reader, completeness::Gaps};

use crate::rules::Happens::{self, End, Event, Fact, Recorder, Switch};
use crate::rules::{self, COMES};

/// A request at 2 us without a response.
const REQUEST: Happens = Event(2, 1, 1, 7);
/// A response to another request. It is of the kind `Serving`, as `WorkBegin` is.
const RESPONSE: Happens = Event(1, 1, 2, 0);

/// Whether the response is missing for certain.
enum Verdict {
    Broken,
    Undecided,
}

use Verdict::{Broken, Undecided};

/// Checks the rule that a response comes, on events that break it once.
#[track_caller]
fn check(happens: &[Happens], verdict: Verdict) {
    check_rule(&format!("{COMES}\nby = \"id\""), "Response", happens, verdict);
}

#[track_caller]
fn check_rule(rule: &str, name: &str, happens: &[Happens], verdict: Verdict) {
    let mark = match verdict {
        Broken => "",
        Undecided => "undecided ",
    };
    let expected = format!("{mark}2 `{name}` did not come after `Request`");
    rules::check(rule, &[happens, &[End]].concat(), &[&expected]);
}

/// A runtime states the words of the environment or the configuration as a fact.
#[test]
fn by_the_words_of_the_start() {
    let check = |words, verdict| check(&[Fact("control_at_start", words), REQUEST], verdict);
    check("all", Broken);
    check("Request", Undecided);
    check("Request 0x2", Broken);
    check("server:all -Serving", Undecided);
    check("-Serving all", Broken);
    check("other:all Arrival", Undecided);
    check("Request *:response", Broken);
}

/// The program and its users switch events while it runs. The runtime tells that by events.
#[test]
fn by_later_words() {
    let all = Fact("control_at_start", "all");
    check(&[all, REQUEST, Switch(5, "Response", false)], Undecided);
    check(&[all, REQUEST, Switch(5, "Request", false)], Broken);
    check(&[all, Switch(1, "-Serving", true), REQUEST], Undecided);
    check(&[all, Switch(1, "Serving", false), Switch(1, "all", true), REQUEST], Broken);
    check(&[all, REQUEST, Switch(5, "-Response all", true)], Broken);
    let one = Fact("control_at_start", "Request");
    check(&[one, Switch(1, "Response", true), REQUEST], Broken);
    check(&[one, REQUEST, Switch(5, "Response", true)], Undecided);
    // It came later, when it was on.
    check(&[one, REQUEST, Switch(5, "Response", true), Event(6, 1, 2, 0)], Undecided);
}

/// A begin replaces the open span with its key. The end of that one may have been off.
#[test]
fn the_end_of_a_span_that_is_replaced() {
    let begin = |time| Event(time, 1, 3, 7);
    let happens = |word| [Fact("control_at_start", "all"), begin(2), Switch(3, word, false), begin(4), End];
    let too_many = "2-4 2 spans `Work` were open at once, expected at most 1";
    let rule = "at_most = 1\nopen = \"Work\"\nby = \"id\"";
    rules::check(rule, &happens("WorkEnd"), &[&format!("undecided {too_many}")]);
    rules::check(rule, &happens("Request"), &[too_many]);
}

/// Without words at the start, nothing is on until the first change. A stream without any change
/// may be one with words of its own.
#[test]
fn without_words_at_the_start() {
    check(&[REQUEST], Broken);
    check(&[Switch(1, "all", true), REQUEST], Broken);
    check(&[Switch(1, "Request", true), REQUEST], Undecided);
    check(&[Switch(1, "Request", true), REQUEST, Switch(5, "all", true), Event(6, 1, 2, 0)], Undecided);
    // It came, so it was on, although the stream does not have that change.
    check(&[RESPONSE, Switch(1, "Request", true), REQUEST], Broken);
    check(&[RESPONSE, REQUEST, Switch(5, "Response", false)], Undecided);
}

/// An event that is recorded comes if another event of its kind is output, or if the stream is a
/// snapshot. That has kinds which are not output.
#[test]
fn what_the_flight_recorder_records() {
    let all = Fact("record_at_start", "all");
    check(&[all, RESPONSE, REQUEST], Broken);
    check(&[all, REQUEST], Undecided);
    check(&[Fact("control_at_start", "Request"), all, REQUEST], Undecided);
    check(&[Fact("control_at_start", "Request WorkBegin"), all, REQUEST], Broken);
    check(
        &[Fact("control_at_start", "Request WorkBegin"), Fact("record_at_start", "WorkEnd"), REQUEST],
        Undecided,
    );
    check(
        &[Fact("control_at_start", "Request"), all, REQUEST, Switch(5, "Serving", true), Event(6, 1, 2, 0)],
        Undecided,
    );
    check(&[all, RESPONSE, REQUEST, Recorder(5, "Response", false)], Undecided);
    check(&[all, RESPONSE, REQUEST, Recorder(5, "Request", false)], Broken);
    let one = Fact("record_at_start", "Request");
    check(&[one, RESPONSE, Recorder(1, "Serving", true), REQUEST], Broken);
    check(&[one, RESPONSE, REQUEST, Recorder(5, "Serving", true)], Undecided);
}

/// Events that are not `always` are compiled out of the variety `hot`.
#[test]
fn by_the_build() {
    // The check ends the text by the doc of the event.
    let rule = "after = \"Request\"\ncomes = \"Traced\"\nby = \"id\"\ndoc = \"a rule\"\n\
                [[event]]\nname = \"Traced\"\ncode = 99\nkind = \"Serving\"\nalways = false\n\
                params = [{ name = \"id\", sort = \"u32\" }]";
    let check_traced = |happens: &[Happens], verdict| check_rule(rule, "Traced", happens, verdict);
    let [cool, hot, rash] = ["cool", "hot", "rash"].map(|variety| Fact("variety", variety));
    check_traced(&[cool, REQUEST], Broken);
    check_traced(&[hot, REQUEST], Undecided);
    check_traced(&[rash, REQUEST], Undecided);
    check_traced(&[hot, Fact("control_at_start", "all"), REQUEST], Undecided);
    // A part of the program has it.
    check_traced(&[hot, Event(1, 1, 99, 0), REQUEST], Broken);
    check(&[hot, REQUEST], Broken);
    check(&[rash, REQUEST], Undecided);
}

/// A sink with words of its own gets for certain what they name. Further events of its kinds may be
/// recorded for other sinks, or be switched before the sink is added.
#[test]
fn by_the_words_of_the_sink() {
    let all = Fact("control_at_start", "all");
    let sink = |words| Fact("sink_words", words);
    for control in [None, Some(all)] {
        let check = |words, verdict| {
            let facts: Vec<Happens> = control.into_iter().chain([sink(words)]).collect();
            check(&[&facts[..], &[REQUEST]].concat(), verdict);
        };
        check("all", Broken);
        check("Request Response", Broken);
        check("Request Serving", Broken);
        check("Request -*:0x4 *:2", Broken);
        check("Request", Undecided);
        check("Request WorkBegin", Undecided);
        check("Request Serving -response", Undecided);
        check("Request -*:2", Undecided);
        check("other:all Arrival", Undecided);
        check("", Undecided);
    }
    // It came for the sake of another sink, or of the control.
    check(&[sink("Request WorkBegin"), RESPONSE, REQUEST], Undecided);
    check(&[sink("Request"), Switch(1, "Response", true), REQUEST], Undecided);
    // Words of the sink do not make up for those of the control.
    check(&[all, sink("all"), REQUEST, Switch(5, "Response", false)], Undecided);
    check(&[Fact("variety", "rash"), sink("all"), REQUEST], Undecided);
    let many: &str = "Response ".repeat(2_000).leak();
    check(&[sink(many), REQUEST], Undecided);
}

/// Streams of several sinks of a session may be read as one, in any order. The words of a sink say
/// nothing of what the others get.
#[test]
fn by_the_words_of_several_sinks() {
    let stream = |words: Option<&'static str>, happens: &[Happens]| {
        let facts: Vec<Happens> = words.map(|words| Fact("sink_words", words)).into_iter().collect();
        rules::stream(&rules::registry(COMES), &[&facts[..], happens].concat())
    };
    let check = |one, other, expected| {
        for (first, second) in [(one, other), (other, one)] {
            let stream = [stream(first, &[]), stream(second, &[REQUEST, End])].concat();
            assert_eq!(is_certain(&stream, |_| ()), expected, "{first:?}, {second:?}");
        }
    };
    let [request, both] = [Some("Request"), Some("Request Response")];
    check(request, request, false);
    check(both, both, true);
    check(both, request, false);
    check(None, request, true);
    // Words that are too long are not compared.
    let long = Some(&*format!("Request Response -{}", "x".repeat(1 << 16)).leak());
    check(long, long, false);
}

/// A caller that knows the words of a stream does not depend on switches, but on the build.
#[test]
fn switches_can_be_ignored() {
    for (fact, expected) in [
        (Fact("control_at_start", "Request"), true),
        (Fact("sink_words", "Request"), true),
        (Fact("variety", "rash"), false),
    ] {
        let happens = [fact, REQUEST, Switch(5, "Response", false), End];
        let stream = rules::stream(&rules::registry(COMES), &happens);
        assert_eq!(is_certain(&stream, Checker::ignore_switches), expected, "{happens:?}");
    }
}

/// Returns true if the rule of a stream is broken for certain. It is broken once, or seems to be.
fn is_certain(stream: &[u8], prepare: impl FnOnce(&mut Checker)) -> bool {
    let mut events = Reader::from_slice(stream).order(Order::Time).events().unwrap();
    let (mut checker, mut found) = (Checker::new(10), Vec::new());
    prepare(&mut checker);
    while let Some(batch) = events.next_batch().unwrap() {
        checker.take_batch(&batch, &mut found);
    }
    checker.finish(|_| true, &mut found);
    let [broken] = &found[..] else { panic!("{found:?}") };
    broken.is_certain(&checker.rules()[0], &Gaps::new(&events.gaps()))
}
