//! When triggers are met, by made-up events and times.

use telemetry_format::{BlockType, Header, put};

use super::*;
use crate::memory::tests::{ACCESS, TRACE, record, registry};

const SECOND: Duration = Duration::from_secs(1);

fn armed(text: &str) -> Armed {
    Armed::new(1, parse::trigger(text).expect("a trigger"))
}

#[test]
fn a_period_is_over_again_and_again() {
    let check = |text: &str, first: Duration, then: Duration| {
        let before = Instant::now();
        let mut armed = armed(text);
        let begun = armed.until.expect("a time") - first;
        assert!((before..=Instant::now()).contains(&begun), "{text}");
        assert_eq!(armed.due(begun + first - Duration::from_nanos(1)), None, "{text}");
        assert_eq!(armed.due(begun + first), Some(Action::Flush), "{text}");
        assert_eq!(armed.until, Some(begun + first + then), "{text}");
        assert_eq!(armed.due(begun + first), None, "{text}");
        // The next one is counted from when it was done.
        let late = begun + 100 * SECOND;
        assert_eq!((armed.due(late), armed.until), (Some(Action::Flush), Some(late + then)), "{text}");
    };
    check("every 10s: flush", 10 * SECOND, 10 * SECOND);
    check("every 2s at most every 5s: flush", 2 * SECOND, 5 * SECOND);
    check("every 5s at most every 2s: flush", 5 * SECOND, 5 * SECOND);
}

#[test]
fn a_trigger_that_was_met_rests() {
    let mut armed = armed("Hit at most every 5s: flush");
    let now = Instant::now();
    assert_eq!((armed.until, armed.from), (None, 0));
    assert_eq!(armed.due(now), None);
    armed.is_met = true;
    assert_eq!(armed.due(now), Some(Action::Flush));
    assert_eq!((armed.until, armed.is_met), (Some(now + 5 * SECOND), false));
    assert_eq!(armed.due(now + 4 * SECOND), None);
    assert_eq!((armed.until, armed.from), (Some(now + 5 * SECOND), 0));
    // What occurred before now does not meet it any more.
    assert_eq!(armed.due(now + 5 * SECOND), None);
    assert_eq!((armed.until, armed.from > 0), (None, true));
    armed.is_met = true;
    assert_eq!(armed.due(now + 6 * SECOND), Some(Action::Flush));
    assert_eq!(armed.until, Some(now + 11 * SECOND));
}

/// The trigger is made to believe that signals came which the process has never had.
#[test]
fn a_signal_that_comes_while_a_trigger_rests_is_passed_over() {
    let mut armed = armed("signal HUP at most every 5s: flush");
    let now = Instant::now();
    let so_far = armed.signals;
    assert_eq!((armed.due(now), armed.until), (None, None));
    armed.signals = so_far.wrapping_sub(2);
    assert_eq!((armed.due(now), armed.signals), (Some(Action::Flush), so_far));
    armed.signals = so_far.wrapping_sub(1);
    assert_eq!((armed.due(now + SECOND), armed.signals), (None, so_far));
    assert_eq!((armed.due(now + 5 * SECOND), armed.due(now + 6 * SECOND)), (None, None));
    assert!(armed.word().is_none() && armed.test().is_none(), "it is about no event");
    let event = self::armed("Hit.size > 1: flush");
    assert_eq!(event.word().as_deref(), Some("Hit"));
    assert_eq!(event.test().map(|test| test.param.as_str()), Some("size"));
}

/// Appends an event `Hit`, five ticks after the one before it.
fn hit(out: &mut Vec<u8>, size_step: i64, level: u8, ratio: f64) {
    let to = put::unsigned(put::unsigned(out, 1), 5);
    let to = put::byte(put::byte(put::signed(to, size_step), level), 1);
    let to = put::unsigned(put::bytes(put::f64(to, ratio), b"name"), 2);
    put::byte(put::byte(to, 120), 120);
}

/// Appends an event `Miss`.
fn miss(out: &mut Vec<u8>) {
    put::unsigned(put::unsigned(out, 2), 5);
}

fn source(kind: u8, seq: u32, events: u32, bytes: &[u8]) -> Source {
    let registry = registry();
    let header = Header { kind, seq, registry: 0xca, ..Header::new(BlockType::Events, 1) };
    Source::made(record(registry, kind), header, events, bytes)
}

/// Shows triggers the events of a block from a number on. Returns which of them are met.
fn met(armed: &mut [Armed], source: &Source, from: u32) -> String {
    let registry = source.owner.registry;
    let all = armed.iter().enumerate();
    let bound: Vec<Bound> = all
        .filter_map(|(index, armed)| bind(index, &armed.trigger, registry))
        .map(|bound| bound.expect("a condition that fits"))
        .collect();
    let mut walk = Walk::of(registry, 0);
    meet(armed, &bound, source, &mut walk, &mut [0], from);
    armed.iter_mut().map(|armed| if core::mem::take(&mut armed.is_met) { 'x' } else { '.' }).collect()
}

#[test]
fn events_meet_the_conditions_on_their_values() {
    let mut bytes = Vec::new();
    hit(&mut bytes, 50, 0, 0.25);
    miss(&mut bytes);
    hit(&mut bytes, 60, 1, 0.5);
    let conditions =
        ["Hit", "Miss", "Hit.size > 100", "Hit.level == High", "Hit.ratio < 0.5", "Hit.is_hot != 1", "Step"];
    let mut armed: Vec<_> = conditions.iter().map(|when| armed(&format!("{when}: flush"))).collect();
    let mut check = |events: u32, from: u32, expected: &str| {
        let source = source(ACCESS, 0, events, &bytes);
        assert_eq!(met(&mut armed, &source, from), expected, "{from} to {events}");
    };
    check(0, 0, ".......");
    check(1, 0, "x...x..");
    check(2, 0, "xx..x..");
    check(3, 0, "xxxxx..");
    // A size follows from those before it, which were seen already.
    check(3, 1, "xxxx...");
    check(3, 2, "x.xx...");
    check(3, 3, ".......");
    // Bytes that are no event end the block.
    bytes.truncate(bytes.len() - 1);
    let damaged = source(ACCESS, 0, 3, &bytes);
    assert_eq!(met(&mut armed, &damaged, 0), "xx..x..");
}

/// The events are at 105, 110 and 115 ticks.
#[test]
fn triggers_that_rest_or_are_later_are_not_met() {
    let mut bytes = Vec::new();
    (0..3).for_each(|_| miss(&mut bytes));
    let source = source(ACCESS, 0, 3, &bytes);
    let check = |from: u64, rests: bool, expected: &str| {
        let mut armed = [armed("Miss: flush")];
        armed[0].from = from;
        armed[0].until = rests.then(Instant::now);
        assert_eq!(met(&mut armed, &source, 0), expected, "{from}");
    };
    check(0, false, "x");
    check(0, true, ".");
    check(115, false, "x");
    check(116, false, ".");
}

#[test]
fn a_block_is_looked_at_if_its_kind_has_a_condition() {
    let mut list = List { armed: vec![armed("Hit: flush"), armed("every 1s: flush")], ..List::default() };
    let mut seen = |source: &Source| {
        let is_watched = list.look(source);
        let key = core::ptr::from_ref(source.record).addr();
        (is_watched, list.lanes.get(&key).copied())
    };
    let mut block = source(ACCESS, 4, 2, &[]);
    assert_eq!(seen(&block), (true, Some((4, 2))));
    block.events = 5;
    assert_eq!(seen(&block), (true, Some((4, 5))));
    // A part of it that was read earlier.
    block.events = 3;
    assert_eq!(seen(&block), (true, Some((4, 5))));
    block.header.seq = 5;
    assert_eq!(seen(&block), (true, Some((5, 3))));
    assert_eq!(seen(&source(TRACE, 0, 2, &[])), (false, None));
    let own = record(own::registry(), 0);
    assert_eq!(seen(&Source::made(own, Header::new(BlockType::Events, 1), 1, &[])), (false, None));
}
