//! The canonical form and the fingerprint.

use proptest::prelude::*;
use telemetry_schema::{Limit, Registry, Tracing, TracingAt, parse, parse_embedded};

use crate::registries::registries;
use crate::{GC, SMALL, registry};

#[test]
fn the_canonical_form_is_as_reviewed() {
    insta::assert_snapshot!("canonical_gc", registry(GC).to_toml());
    insta::assert_snapshot!("wire_form_gc", registry(GC).wire_form());
}

#[test]
fn rare_keys_have_one_form() {
    let check = |from: &str, to: &str, canonical: &str| {
        let registry = registry(&SMALL.replacen(from, to, 1));
        assert!(registry.to_toml().contains(canonical), "{to}: {}", registry.to_toml());
        assert_eq!(parse(&registry.to_toml()).expect("the canonical form"), registry);
        registry
    };
    let aligned = check("unit = \"bytes\"", "align = 16", "sort = \"word\", align = 16 }");
    assert!(aligned.wire_form().contains("param condemned word align 16\n"), "{}", aligned.wire_form());
    // The most bytes that the values may take.
    check("sort = \"Access\"", "sort = \"u16\", usual = 3", "sort = \"u16\", usual = 3 }");
    check("A pool was made", "A\\tpool", "doc = \"A\\tpool\"");
    check("per pool\" }", "per pool\", network = \"allow\" }", "network = \"allow\" }");
    let counter = "[[counter]]\nname = \"Load\"\ncode = 9\nused = false\nkind = \"Pool\"\ndoc = \"d\"\n";
    let retired = check("[[span]]", &format!("{counter}[[span]]"), "name = \"Load\"");
    assert!(!retired.event(9).expect("the counter").used);
}

#[test]
fn limits_have_one_form() {
    let check = |given: &str, limit, canonical: &str| {
        let text = SMALL.replacen("code = 0x0011", &format!("code = 0x0011\n{given}"), 1);
        let registry = registry(&text);
        assert_eq!(registry.events[1].limit, Some(limit), "{given}");
        assert!(registry.to_toml().contains(&format!("\n{canonical}\n")), "{given}");
        assert_eq!(parse(&registry.to_toml()).expect("the canonical form"), registry);
    };
    let rate = |per_second, burst| Limit::Rate { per_second, burst };
    let both = "limit = { per_second = 1000, burst = 100 }";
    check(both, rate(1000, 100), both);
    check("limit.per_second = 7", rate(7, 7), "limit = { per_second = 7, burst = 7 }");
    let sample = |one_in, by| Limit::Sample { one_in, by };
    check("sample = { one_in = 10 }", sample(10, None), "sample = { one_in = 10 }");
    let by = "sample = { one_in = 2, by = \"trace\" }";
    check(by, sample(2, Some(0)), by);
}

/// A reader is not kept from the events by a limit that it does not understand.
#[test]
fn a_strange_limit_in_a_stream_is_left_out() {
    for limit in [
        "limit = 7",
        "limit = { per_minute = 7 }",
        "sample = { one_in = 0 }",
        "sample = { one_in = 2, by = \"x\" }",
    ] {
        let text = SMALL.replacen("code = 0x0011", &format!("code = 0x0011\n{limit}"), 1);
        assert!(parse(&text).is_err(), "{limit}");
        let registry = parse_embedded(&text).expect("a registry");
        assert_eq!(registry.events[1].limit, None, "{limit}");
    }
}

#[test]
fn a_counter_is_an_event_of_samples() {
    let counters = r#"
[[counter]]
name = "CacheHits"
code = 0x90
kind = "Arena"
doc = "Hits of the cache"

[[counter]]
name = "Used"
code = 0x91
kind = "Arena"
form = "gauge"
per = "thread"
unit = "bytes"
doc = "Memory in use"
"#;
    let with = registry(&format!("{GC}{counters}"));
    let text = with.to_toml();
    let canonical = r#"
[[event]]
name = "CacheHits"
code = 0x0090
kind = "Arena"
doc = "Hits of the cache"
counter = { form = "monotonic", per = "process" }
params = [
{ name = "value", sort = "u64", counter = true, doc = "the sum so far" },
]

[[event]]
name = "Used"
code = 0x0091
kind = "Arena"
doc = "Memory in use"
counter = { form = "gauge", per = "thread" }
params = [
{ name = "thread", sort = "u64", doc = "the system's number of the thread" },
{ name = "value", sort = "i64", unit = "bytes", doc = "the value" },
]
"#;
    assert!(text.contains(canonical), "{text}");
    assert_eq!(registry(&text), with);
    // A tool that does not know the mark reads the samples all the same. So does this one if a
    // later version gives the mark another meaning.
    let later = text.replace("per = \"thread\"", "per = \"processor\"");
    let read = parse_embedded(&later).expect("a mark of another version does no harm");
    assert_eq!(read.wire_form(), with.wire_form());
    assert_eq!(read.events.iter().filter(|event| event.counter.is_some()).count(), 1);
}

/// A reader skips a rule that it does not understand, and no other.
#[test]
fn a_rule_of_a_later_version_is_skipped() {
    let text = registry(GC).to_toml();
    let names = |text: &str| -> Vec<String> {
        let read = parse_embedded(text).expect("a rule of another version does no harm");
        assert_eq!(read.wire_form(), registry(GC).wire_form());
        read.rules.into_iter().map(|rule| rule.name).collect()
    };
    assert_eq!(names(&text), ["NoMapInTrace", "OneTrace", "TraceEnds"]);
    let with = |from: &str, to: &str| {
        assert!(text.contains(from), "{text}");
        text.replace(from, to)
    };
    assert_eq!(names(&with("at_most = 1\n", "at_least = 1\n")), ["NoMapInTrace", "TraceEnds"]);
    // The new key may limit the rule.
    assert_eq!(
        names(&with("at_most = 1\n", "at_most = 1\nin = \"startup\"\n")),
        ["NoMapInTrace", "TraceEnds"]
    );
    assert_eq!(names(&with("within = \"1500 us\"", "within = \"1 tick\"")), ["NoMapInTrace", "OneTrace"]);
}

#[test]
fn layout_and_order_of_the_file_do_not_matter() {
    let windows = GC.replace('\n', "\r\n");
    let marked = format!("\u{feff}{GC}");
    for other in [windows, marked, registry(GC).to_toml()] {
        assert_eq!(registry(&other), registry(GC));
    }
}

/// Fingerprints differ only if `same` is false.
#[track_caller]
fn compare(change: &str, same: bool, edit: impl Fn(&mut Registry)) {
    let before = registry(GC);
    let mut after = before.clone();
    edit(&mut after);
    assert_ne!(before, after, "{change} changes something");
    assert_eq!(before.fingerprint() == after.fingerprint(), same, "{change}");
}

#[test]
fn the_fingerprint_is_of_what_decides_how_bytes_are_read() {
    assert_eq!(registry(GC).fingerprint(), 0x87cf_e5a0_e263_1b83, "streams in the world carry this");
    compare("the name", false, |r| r.name.push('x'));
    compare("the version", false, |r| r.version.minor += 1);
    compare("a kind's name", false, |r| r.kinds[0].name.push('x'));
    compare("a kind's bit", false, |r| r.kinds[0].bit = 1);
    compare("a kind's clock", false, |r| r.kinds[0].clock = r.kinds[2].clock);
    compare("a type's name", false, |r| r.types[0].name.push('x'));
    compare("a type's repr", false, |r| r.types[0].repr = r.types[3].repr);
    compare("a type's form", false, |r| r.types[0].form = r.types[3].form);
    compare("a value's name", false, |r| r.types[0].values[0].name.push('x'));
    compare("a value's number", false, |r| r.types[0].values[0].number = 77);
    compare("an event's name", false, |r| r.events[1].name.push('x'));
    compare("an event's code", false, |r| r.events[1].code += 1);
    compare("an event's kind", false, |r| r.events[1].kind = 1);
    compare("a parameter's name", false, |r| r.events[1].params[0].name.push('x'));
    compare("a parameter's sort", false, |r| r.events[1].params[0].sort = r.events[2].params[0].sort);
    compare("a parameter's count", false, |r| {
        r.events[1].params[0].count = telemetry_schema::Count::Fixed(2)
    });
    compare("a string's max", false, |r| r.events[6].params[14].max_len += 1);
    compare("a parameter's place", false, |r| r.events[1].params.swap(0, 1));
    compare("a rule", true, |r| r.rules.clear());
    compare("a kind's priority", true, |r| r.kinds[0].priority = 9);
    compare("a kind's network", true, |r| r.kinds[0].network = telemetry_schema::Network::Allow);
    compare("a doc", true, |r| r.events[1].doc.push('x'));
    compare("a unit", true, |r| r.events[2].params[2].unit.clear());
    compare("a counter", true, |r| r.events[2].params[2].is_counter ^= true);
    compare("names", true, |r| r.events[6].params[14].names = Some(0));
    compare("numbers", true, |r| r.events[2].params[2].numbers = "thing".to_string());
    compare("a role", true, |r| r.events[2].params[2].role = Some(telemetry_schema::Role::Stack));
    compare("a sensitive parameter", true, |r| {
        r.events[2].params[2].sensitive = Some(telemetry_schema::Sensitive::Secret);
    });
    compare("time", true, |r| r.events[2].time = Some(2));
    compare("since", true, |r| r.events[2].params[2].since = Some(r.version));
    compare("always", true, |r| r.events[1].always = false);
    compare("used", true, |r| r.events[1].used = false);
    let range = telemetry_schema::Range {
        action: telemetry_schema::RangeAction::End,
        what: "block".to_string(),
        roles: vec![(telemetry_schema::RangeRole::Key, 0)],
    };
    compare("a range", true, |r| r.events[1].range = Some(range.clone()));
    let (step, what) = (telemetry_schema::CensusStep::End, "heap".to_string());
    let census = telemetry_schema::Census { step, what, roles: Vec::new() };
    compare("a census", true, |r| r.events[1].census = Some(census.clone()));
    let rate = Limit::Rate { per_second: 1000, burst: 100 };
    compare("a limit", true, |r| r.events[1].limit = Some(rate));
    let sample = Limit::Sample { one_in: 10, by: Some(0) };
    compare("a sample", true, |r| r.events[1].limit = Some(sample));
    compare("a replay", true, |r| r.events[0].replay = None);
    let (target, name) = ("gc".to_string(), "collect".to_string());
    let mark = Tracing { target, name, at: TracingAt::Close };
    compare("a mark of tracing", true, |r| r.events[0].tracing = Some(mark.clone()));
    compare("what names a span", true, |r| r.spans[1].named_by = Some("why".to_string()));
    compare("a pause", true, |r| r.spans[1].is_pause ^= true);
    compare("a span", true, |r| r.spans.clear());
    compare("a preset", true, |r| r.presets.clear());
    compare("a message", true, |r| r.messages.clear());
}

/// So a stream with a later key is readable by tools of before.
#[test]
fn a_key_of_a_later_version_is_skipped_in_a_stream() {
    let text = registry(GC).to_toml().replace("pause = true", "certainty = 0.9");
    let mut expected = registry(GC);
    expected.spans.iter_mut().for_each(|span| span.is_pause = false);
    assert_eq!(parse_embedded(&text), Ok(expected));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn what_is_written_is_read_again(registry in registries()) {
        let text = registry.to_toml();
        let read = parse(&text);
        prop_assert!(read.is_ok(), "{}\n{}", read.unwrap_err().render("events.toml", &text), text);
        let read = read.unwrap();
        prop_assert_eq!(&read, &registry);
        prop_assert_eq!(read.to_toml(), text);
        prop_assert_eq!(read.fingerprint(), registry.fingerprint());
    }

    #[test]
    fn slots_number_every_delta_once(registry in registries()) {
        let slots = registry.slots();
        let mut seen = vec![false; slots.len() as usize];
        for (index, event) in registry.events.iter().enumerate() {
            for (place, param) in event.params.iter().enumerate() {
                let slot = slots.number(index, place);
                prop_assert_eq!(slot.is_some(), param.sort.is_delta());
                if let Some(slot) = slot {
                    prop_assert!(slots.of_kind(event.kind).contains(&slot));
                    prop_assert!(!std::mem::replace(&mut seen[slot as usize], true));
                }
            }
        }
        prop_assert!(seen.iter().all(|&seen| seen));
    }
}

#[test]
fn small_is_what_it_looks_like() {
    // The other fixture goes the same way, so that every accepted file does.
    assert_eq!(parse(&registry(SMALL).to_toml()), Ok(registry(SMALL)));
}
