//! Filters: the result is that of filtering all events, and blocks without selected events are not
//! read.

use proptest::prelude::*;
use telemetry_decode::{Filter, Order, Reader, Selector};
use telemetry_format::BlockType;
use telemetry_schema::{Event, Preset};

use crate::made::{Made, Plan, blocks, header, make, registry};
use crate::read::{Read, Way, assert_same_lanes, read_filtered};

/// Applies the filter to one event of a made stream.
fn wants(filter: &Filter, event: &Read) -> bool {
    let registry = registry();
    let described = registry.event(event.code).unwrap();
    let kind = registry.kind_of(described);
    let since = (event.ticks - event.session * 1_000_000) as i64;
    let ns = if event.session.is_multiple_of(2) { since } else { (since + 1) / 2 };
    let any = |names: &[Selector], number: u64, text: &str| {
        names.is_empty()
            || names.contains(&Selector::Number(number))
            || [text.to_string(), format!("all_sorts:{text}"), format!("all_sorts:{number}")]
                .into_iter()
                .any(|text| names.contains(&Selector::Text(text)))
    };
    any(&filter.kinds, kind.bit.into(), &kind.name)
        && any(&filter.events, event.code.into(), &described.name)
        && any(&filter.threads, event.thread.into(), &format!("worker-{}", event.thread))
        && any(&filter.sessions, event.session, &format!("program{}", event.session))
        && any(&filter.registries, event.registry, "all_sorts")
        && filter.from_ns.is_none_or(|from| from <= ns)
        && filter.until_ns.is_none_or(|until| ns < until)
}

fn check(made: &Made, filter: &Filter) {
    let expected: Vec<Read> = made.events.iter().filter(|event| wants(filter, event)).cloned().collect();
    for way in Way::ALL {
        let (events, completeness) = read_filtered(way, &made.stream, filter.clone());
        let context = format!("{way:?}, {filter:?}");
        assert_same_lanes(&events, &expected, &context);
        assert_eq!(completeness.filtered(), (made.events.len() - expected.len()) as u64, "{context}");
        assert_eq!(completeness.bytes.total(), made.stream.len() as u64, "{context}");
        assert!(completeness.is_complete(), "{context}: {completeness}");
    }
}

fn names(all: &'static [&'static str]) -> impl Strategy<Value = Vec<Selector>> {
    prop_oneof![
        2 => Just(Vec::new()),
        1 => prop::sample::subsequence(all, 1..=all.len()).prop_map(|names| names.into_iter().map(Selector::from).collect()),
    ]
}

fn filters() -> impl Strategy<Value = Filter> {
    let window = || prop::option::of(-100..1500_i64);
    (
        names(&["Space", "7", "all_sorts:Cell", "other:7", "Nowhere"]),
        names(&["Nothing", "0x100", "Numbers", "all_sorts:65535", "other:Nothing"]),
        names(&["worker-1", "2", "absent"]),
        names(&["program1", "2"]),
        names(&["all_sorts", "other"]),
        window(),
        window(),
    )
        .prop_map(|(kinds, events, threads, sessions, registries, from_ns, until_ns)| {
            let filter = Filter::default().kinds(kinds).events(events).threads(threads).sessions(sessions);
            filter.registries(registries).from_ns(from_ns).until_ns(until_ns)
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]
    #[test]
    fn what_is_wanted_comes(filter in filters(), seed in 0..9_u64) {
        let made = make(&registry(), &Plan { seed, sessions: 2, threads: 3, events: 120, ..Plan::default() });
        check(&made, &filter);
    }
}

/// The payloads of blocks that are not selected may have any bytes, because they are not read.
#[test]
fn blocks_that_are_not_wanted_are_not_read() {
    let made = make(&registry(), &Plan { events: 200, flush: 0, ..Plan::default() });
    let mut broken = made.stream.clone();
    for block in blocks(&made.stream) {
        let header = header(&made.stream[block.clone()]);
        let is_last_of_its_kind = block.end + 1000 > made.stream.len();
        if header.block_type == BlockType::Events && header.kind != 3 && !is_last_of_its_kind {
            broken[block.end - 1] ^= 1;
        }
    }
    let filter = Filter::default().kinds(["Cell"]);
    for order in [Order::Stream, Order::Time] {
        let mut events = Reader::from_slice(&broken).order(order).filter(filter.clone()).events().unwrap();
        let mut count = 0;
        while let Some(event) = events.next().unwrap() {
            assert_eq!(event.kind().name, "Cell");
            count += 1;
        }
        let expected = made.events.iter().filter(|event| event.kind == 3).count();
        assert_eq!(count, expected, "{order:?}");
        let completeness = events.completeness();
        assert_eq!(completeness.damaged_ranges, 0, "{order:?}");
        assert!(completeness.bytes.filtered > completeness.bytes.total() / 5, "{order:?}");
    }
}

/// Case does not matter in names, as in the words of control.
#[test]
fn case_does_not_matter() {
    let made = make(&registry(), &Plan::default());
    let names = [
        ["Cell", "Made", "worker-1", "program1", "all_sorts"],
        ["cELL", "MADE", "Worker-1", "PROGRAM1", "All_Sorts"],
    ];
    let read = names.map(|[kind, event, thread, session, registry]| {
        let of_registry = format!("{registry}:{kind}");
        let filter = Filter::default().kinds([&*of_registry]).events([event]).threads([thread]);
        let filter = filter.sessions([session]).registries([registry]);
        let (events, completeness) = read_filtered(Way::ALL[0], &made.stream, filter);
        assert!(completeness.unmatched.is_empty(), "{:?}", completeness.unmatched);
        events
    });
    assert_eq!(read[0], read[1]);
}

/// The name of a preset selects its events, also beside others.
#[test]
fn presets_are_names_of_events() {
    let mut registry = registry();
    let made_kind = registry.kind_of(registry.event_named("Made").unwrap()).name.clone();
    registry.presets.push(Preset::new("others", format!("all -{made_kind}")));
    let made = make(&registry, &Plan::default());
    let check = |names: &[&str], expected: &dyn Fn(&str, &str) -> bool| {
        let filter = Filter::default().events(names.iter().copied());
        let mut events = Reader::from_slice(&made.stream).filter(filter).events().unwrap();
        let mut count = 0;
        while let Some(event) = events.next().unwrap() {
            assert!(expected(&event.kind().name, event.name()), "{names:?}: {}", event.name());
            count += 1;
        }
        let is_wanted = |event: &Event| expected(&registry.kind_of(event).name, &event.name);
        let all = made.events.iter().filter(|made| registry.event(made.code).is_some_and(is_wanted));
        assert_eq!(count, all.count(), "{names:?}");
        assert!(count > 0 && events.completeness().unmatched.is_empty(), "{names:?}");
    };
    check(&["others"], &|kind, _| kind != made_kind);
    check(&["ALL_SORTS:Others"], &|kind, _| kind != made_kind);
    check(&["others", "Made"], &|kind, name| kind != made_kind || name == "Made");
}

/// Names that exist, but not together, are reported too.
#[test]
fn names_that_exclude_each_other() {
    let made = make(&registry(), &Plan::default());
    let unmatched = |filter: Filter| {
        let (_, completeness) = read_filtered(Way::ALL[0], &made.stream, filter);
        completeness.unmatched.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let (cell, made_kind) = {
        let registry = registry();
        let event = registry.events.iter().find(|event| event.name == "Made").unwrap();
        let other = registry.kinds.iter().find(|kind| kind.bit != registry.kind_of(event).bit).unwrap();
        (other.name.clone(), registry.kind_of(event).name.clone())
    };
    let none: [String; 0] = [];
    assert_eq!(
        unmatched(Filter::default().kinds([&*cell]).events(["Made"])),
        [format!("event named `Made` of kind `{cell}`")]
    );
    assert_eq!(unmatched(Filter::default().kinds([&*cell, &*made_kind]).events(["Made"])), none);
    assert_eq!(unmatched(Filter::default().kinds([&*made_kind]).events(["Made"])), none);
}

/// Names that match nothing are reported, so that a typing error does not look like an empty
/// result.
#[test]
fn names_that_nothing_has() {
    let made = make(&registry(), &Plan::default());
    let filter = Filter::default()
        .kinds(["Cell", "3", "Sell", "63"])
        .events(["Made", "0x101", "Maid"])
        .threads(["worker-1", "2", "3"])
        .sessions(["program1", "absent"])
        .registries(["all_sorts", "mps"]);
    for way in Way::ALL {
        let (_, completeness) = read_filtered(way, &made.stream, filter.clone());
        let expected =
            ["kind `Sell`", "kind `63`", "event `Maid`", "thread `3`", "session `absent`", "registry `mps`"];
        let whats: Vec<_> = completeness.unmatched.iter().map(|unmatched| &*unmatched.what).collect();
        assert_eq!(whats, expected, "{way:?}");
        let nearest: Vec<_> =
            completeness.unmatched.iter().map(|unmatched| unmatched.nearest.as_deref()).collect();
        assert_eq!(nearest, [Some("Cell"), None, None, None, None, None], "{way:?}");
    }
}
