//! The order of events: by time over all lanes and sessions, and stable for equal times.

use std::collections::BTreeMap;

use telemetry_decode::writer::{Lane, Writer};
use telemetry_decode::{Facts, Filter, Order, Reader, Selector, Value};

use crate::made::{Made, Plan, START, make, registry};
use crate::read::{LaneKey, Read, Way, assert_same, read};

/// Returns the wall-clock time of an event of a made stream.
fn wall(event: &Read) -> u64 {
    let ticks = event.ticks - event.session * 1_000_000;
    START + event.session * 50 + if event.session.is_multiple_of(2) { ticks } else { ticks.div_ceil(2) }
}

/// Returns the events in the expected stable order.
fn expected(made: &Made) -> Vec<Read> {
    let mut events = made.events.clone();
    let inherits = |kind: u8| kind == 7;
    events.sort_by_key(|event| {
        let Read { session, thread, kind, ticks, .. } = *event;
        (wall(event), session, ticks, thread, inherits(kind), kind)
    });
    events
}

#[test]
fn by_time_over_lanes_and_sessions() {
    for seed in 0..20 {
        let plan = Plan { seed, sessions: 3, threads: 4, events: 400, ..Plan::default() };
        let made = make(&registry(), &plan);
        for way in Way::ALL.into_iter().filter(|way| way.by_time()) {
            assert_same(&read(way, &made.stream).0, &expected(&made), &format!("seed {seed}, {way:?}"));
        }
    }
}

/// Blocks in any order are the same stream.
#[test]
fn shuffled_blocks_come_back_in_order() {
    for seed in 0..20 {
        let plan = Plan { seed, sessions: 2, threads: 3, events: 300, ..Plan::default() };
        let made = make(&registry(), &plan);
        let shuffled = crate::made::shuffle(&made.stream, seed);
        for way in [Way::MemoryByTime, Way::FileByTime, Way::ListedByTime] {
            let (events, completeness) = read(way, &shuffled);
            assert_same(&events, &expected(&made), &format!("seed {seed}, {way:?}"));
            assert!(completeness.is_complete(), "{completeness}");
        }
        // In stream order, a part waits for the one that it continues, because datagrams may arrive
        // in the wrong order.
        for way in [Way::MemoryInStream, Way::FileInStream, Way::ListedInStream] {
            let (events, completeness) = read(way, &shuffled);
            assert_eq!(events.len(), expected(&made).len(), "seed {seed}, {way:?}");
            assert!(completeness.is_complete(), "{completeness}");
        }
    }
}

/// Two joined streams are one stream of two sessions. A stream joined with itself is still one
/// session, with each event once.
#[test]
fn joined_streams() {
    let one = make(&registry(), &Plan { seed: 1, sessions: 2, ..Plan::default() });
    let twice = [&one.stream[..], &one.stream].concat();
    for way in Way::ALL {
        let (mut events, completeness) = read(way, &twice);
        assert_eq!(events.len(), one.events.len(), "{way:?}");
        if !way.by_time() {
            events.sort_by_key(|event| {
                (wall(event), event.session, event.ticks, event.thread, event.kind == 7, event.kind)
            });
        }
        assert_same(&events, &expected(&one), &format!("{way:?}"));
        assert!(completeness.bytes.repeated > 0, "{way:?}");
        assert!(completeness.is_complete(), "{way:?}: {completeness}");
    }
}

/// Times are nanoseconds since the session's start, for any clock.
#[test]
fn time_counts_from_the_start_of_the_session() {
    let made = make(&registry(), &Plan { sessions: 2, ..Plan::default() });
    let mut events = Reader::from_slice(&made.stream).order(Order::Time).events().unwrap();
    let mut last = i64::MIN;
    while let Some(event) = events.next().unwrap() {
        let since = (event.ticks() - event.session().id * 1_000_000) as i64;
        let expected = if event.session().id.is_multiple_of(2) { since } else { (since + 1) / 2 };
        assert_eq!(event.time_ns(), expected);
        assert!(event.wall_ns() >= last);
        last = event.wall_ns();
    }
}

/// The farthest block shows the clock's actual rate.
#[test]
fn the_rate_is_refined_by_blocks() {
    let mut facts = Facts::default();
    facts.set("clock", "tsc");
    facts.set("ticks_per_second", 1_000_000_000_i64);
    let registry = registry();
    let mut writer = Writer::new(Vec::new());
    writer.session(1, &facts, 0, START).unwrap();
    let lane = Lane { session: 1, thread: 1, registry: writer.registry(1, &registry).unwrap() };
    writer.event(lane, 1, 1_000_000_000, &[]).unwrap();
    writer.end(1, 2_000_000_000).unwrap();
    let mut stream = writer.finish().unwrap();
    // The wall clock of the last block is a tenth later than by the estimate.
    let blocks = crate::made::blocks(&stream);
    let last = blocks.last().unwrap().clone();
    crate::made::edit(&mut stream[last], |header| header.base_wall = START + 2_200_000_000);
    let mut events = Reader::from_slice(&stream).events().unwrap();
    assert_eq!(events.next().unwrap().unwrap().time_ns(), 1_100_000_000);
    // A reader of a pipe does not know it yet.
    let mut events = Reader::from_reader(&stream[..]).order(Order::Stream).events().unwrap();
    assert_eq!(events.next().unwrap().unwrap().time_ns(), 1_000_000_000);
}

/// At equal times, a thread's events of precise kinds come before those of kinds that inherit the
/// reading.
#[test]
fn precise_kinds_before_those_that_inherit() {
    let registry = registry();
    let mut facts = Facts::default();
    facts.set("clock", "os");
    let mut writer = Writer::new(Vec::new());
    writer.session(1, &facts, 0, START).unwrap();
    let fingerprint = writer.registry(1, &registry).unwrap();
    let words = [Value::Word(1), Value::Word(2), Value::Word(3)];
    let bits = [Value::Unsigned(0); 4];
    let arrays = [
        Value::Array((&[][..]).into()),
        Value::Array((&words[..]).into()),
        Value::Array((&bits[..]).into()),
        Value::Array((&[][..]).into()),
        Value::Array((&[][..]).into()),
        Value::Array((&[][..]).into()),
        Value::Word(0),
    ];
    for thread in [2, 1] {
        let lane = Lane { session: 1, thread, registry: fingerprint };
        writer.event(lane, 0xffff, 5, &arrays).unwrap();
        writer.event(lane, 1, 5, &[]).unwrap();
    }
    let stream = writer.finish().unwrap();
    let (events, _) = read(Way::MemoryByTime, &stream);
    let order: Vec<_> = events.iter().map(|event| (event.thread, event.code)).collect();
    assert_eq!(order, [(1, 1), (1, 0xffff), (2, 1), (2, 0xffff)]);
}

/// Filters do not change the numbers of events in their lanes.
#[test]
fn positions_count_the_events_of_each_lane() {
    let plan = Plan { events: 3000, sessions: 2, threads: 3, compress: true, ..Plan::default() };
    let stream = make(&registry(), &plan).stream;
    for order in [Order::Stream, Order::Time] {
        let all = positions(&stream, order, Filter::default());
        for (lane, positions) in &all {
            assert!(positions.iter().copied().eq(0..positions.len() as u64), "{lane:?}: {positions:?}");
        }
        let mut filter = Filter::default();
        filter.events.push(Selector::Text("Made".to_string()));
        let some = positions(&stream, order, filter);
        assert!(!some.is_empty());
        for (lane, positions) in some {
            assert!(positions.iter().all(|position| all[&lane].contains(position)), "{lane:?}");
            assert!(positions.len() < all[&lane].len(), "{lane:?}");
        }
    }
}

/// Returns the positions of events by lane, in the order of arrival.
fn positions(stream: &[u8], order: Order, filter: Filter) -> BTreeMap<LaneKey, Vec<u64>> {
    let mut events = Reader::from_slice(stream).order(order).filter(filter).events().unwrap();
    let mut lanes = BTreeMap::<LaneKey, Vec<u64>>::new();
    while let Some(event) = events.next().unwrap() {
        let registry = event.known_registry().fingerprint;
        let lane = (event.session().id, event.thread(), registry, event.kind().bit);
        lanes.entry(lane).or_default().push(event.position().unwrap());
    }
    lanes
}
