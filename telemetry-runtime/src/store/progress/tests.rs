//! What a sink is given of a lane, and what is counted instead.

use telemetry_format::BlockType;

use super::*;
use crate::memory::tests::{ACCESS, record, registry};
use crate::sys::atomic::Ordering;

/// Returns a sealed block of a lane. Each of its events has four bytes.
fn block(record: &'static LaneRecord, seq: u32, before: u64, events: u32) -> Source {
    let header = Header {
        kind: ACCESS,
        registry: 0xca,
        thread: 7,
        seq,
        before,
        base_ticks: 1000 + u64::from(seq),
        base_wall: 2000 + u64::from(seq),
        lost: record.lost(),
        ..Header::new(BlockType::Events, 1)
    };
    let bytes: Vec<u8> = (0..4 * events).map(|at| at as u8).collect();
    Source::made(record, header, events, &bytes)
}

/// Returns the events of a block that is open.
fn open(record: &'static LaneRecord, seq: u32, before: u64, events: u32) -> Source {
    let mut source = block(record, seq, before, events);
    (source.sealed, source.is_last) = (false, false);
    source
}

/// Returns those of a block that is open and whose lane is stopped.
fn stopped(record: &'static LaneRecord, seq: u32, before: u64, events: u32) -> Source {
    let mut source = block(record, seq, before, events);
    source.sealed = false;
    source
}

fn lane() -> (Progress, &'static LaneRecord) {
    (Progress::default(), record(registry(), ACCESS))
}

fn decoded(part: &Part<'_>) -> Header {
    Header::decode(&part.head, crc32c::crc32c).expect("a header")
}

/// Gives the sink a source. `expected` is how many events it has already, and how many of the
/// others no earlier reader has.
#[track_caller]
fn check(lane: &mut Progress, source: &Source, expected: Option<(u32, u32)>) {
    let part = lane.plan(source);
    let Some((skipped, new)) = expected else { return assert!(part.is_none()) };
    let part = part.expect("a part");
    let (at, payload) = (4 * skipped, &source.payload(0)[4 * skipped as usize..]);
    let header = Header {
        flags: if source.is_last { flags::LAST } else { 0 },
        payload_len: source.len - at,
        unpacked_len: source.len - at,
        events: source.events - skipped,
        offset: at,
        end_ticks: source.end_ticks,
        before: source.header.before + u64::from(skipped),
        lost: Loss { sink: lane.lost, ..source.header.lost },
        excluded: lane.excluded,
        payload_crc: crc32c::crc32c(payload),
        ..source.header.clone()
    };
    assert_eq!((decoded(&part), part.payload), (header, payload));
    assert_eq!((part.new, part.is_withheld), (new, false));
}

#[test]
fn what_is_missing_was_overwritten_or_excluded() {
    let check = |steps: &[(u64, u64)], expected: (u64, u64, u64)| {
        let mut lane = Progress::default();
        steps.iter().for_each(|&(overwritten, before)| lane.pass_over(overwritten, before));
        assert_eq!((lane.next, lane.lost, lane.excluded), expected, "{steps:?}");
    };
    check(&[(0, 0)], (0, 0, 0));
    check(&[(0, 5)], (5, 0, 5));
    check(&[(3, 5)], (5, 3, 2));
    check(&[(9, 5)], (5, 5, 0));
    // Each counts once.
    check(&[(3, 5), (3, 9)], (9, 3, 6));
    check(&[(3, 5), (5, 9)], (9, 5, 4));
    check(&[(9, 5), (9, 7), (9, 12)], (12, 9, 3));
    check(&[(0, 5), (4, 5), (4, 3)], (5, 0, 5));
}

#[test]
fn a_sink_gets_each_event_once() {
    let (mut lane, record) = lane();
    check(&mut lane, &open(record, 0, 0, 0), None);
    check(&mut lane, &open(record, 0, 0, 2), Some((0, 2)));
    check(&mut lane, &open(record, 0, 0, 2), None);
    check(&mut lane, &open(record, 0, 0, 5), Some((2, 3)));
    check(&mut lane, &block(record, 0, 0, 6), Some((5, 1)));
    check(&mut lane, &block(record, 1, 6, 4), Some((0, 4)));
    // The lane is stopped, and its block is sealed later.
    check(&mut lane, &open(record, 2, 10, 1), Some((0, 1)));
    check(&mut lane, &stopped(record, 2, 10, 3), Some((1, 2)));
    check(&mut lane, &stopped(record, 2, 10, 3), None);
    check(&mut lane, &block(record, 2, 10, 3), None);
    // Two events are not for this sink, and block 4 was overwritten.
    check(&mut lane, &block(record, 3, 15, 1), Some((0, 1)));
    record.overwritten.store(6, Ordering::Relaxed);
    check(&mut lane, &open(record, 5, 22, 1), Some((0, 1)));
    assert_eq!((lane.lost, lane.excluded, lane.next), (6, 2, 23));
    // The next reader gets the open block again, but its first event is not new.
    lane.rewind();
    check(&mut lane, &open(record, 5, 22, 3), Some((0, 2)));
    // The block is gone.
    lane.leave();
    assert_eq!((lane.seq, lane.len), (6, 0));
    lane.leave();
    assert_eq!(lane.seq, 6);
    check(&mut lane, &block(record, 6, 25, 1), Some((0, 1)));
}

#[test]
fn a_sink_that_fails_loses_what_it_does_not_have() {
    let (mut lane, record) = lane();
    check(&mut lane, &open(record, 0, 0, 2), Some((0, 2)));
    assert_eq!(lane.lose(&block(record, 0, 0, 5)), 0);
    assert_eq!((lane.lost, lane.next, lane.seq), (3, 5, 1));
    assert_eq!(lane.lose(&block(record, 1, 7, 1)), 0);
    assert_eq!((lane.lost, lane.excluded, lane.next), (4, 2, 8));
    check(&mut lane, &block(record, 2, 8, 1), Some((0, 1)));
    // An earlier reader has the events of the open block.
    check(&mut lane, &open(record, 3, 9, 4), Some((0, 4)));
    lane.rewind();
    assert_eq!(lane.lose(&block(record, 3, 9, 5)), 0);
    assert_eq!((lane.lost, lane.next), (5, 14));
}

#[test]
fn what_a_sink_forgets_is_given_again_or_lost() {
    let held = |lane: &mut Progress, source: &Source, is_sole: bool| {
        Held::of(&lane.plan(source).expect("a part"), is_sole)
    };
    for is_sole in [true, false] {
        let written = |events: u32| if is_sole { events } else { 0 };
        // The block is in memory.
        let (mut lane, record) = lane();
        let first = held(&mut lane, &open(record, 0, 0, 2), is_sole);
        let second = held(&mut lane, &open(record, 0, 0, 5), is_sole);
        assert_eq!((second.new, lane.forget(&second)), (3, 0));
        assert_eq!(lane.forget(&first), 0);
        assert_eq!((lane.lost, lane.next, lane.seq, lane.len), (0, 0, 0, 0));
        assert_eq!(lane.clone().lose(&block(record, 0, 0, 6)), written(5));
        check(&mut lane, &block(record, 0, 0, 6), Some((0, 6)));
        assert_eq!(lane.lose(&block(record, 1, 6, 1)), 0, "once");

        // The lane was stopped, and its block is not sealed yet.
        let (mut lane, record) = self::lane();
        let all = held(&mut lane, &stopped(record, 0, 0, 3), is_sole);
        assert_eq!((lane.seq, lane.forget(&all)), (1, 0));
        assert_eq!((lane.lost, lane.next, lane.seq), (0, 0, 0));
        check(&mut lane, &stopped(record, 0, 0, 3), Some((0, 3)));
        check(&mut lane, &block(record, 0, 0, 3), None);
        // Now it is gone.
        assert_eq!(lane.forget(&all), written(3));
        assert_eq!((lane.lost, lane.next, lane.seq), (3, 3, 1));
        let next = held(&mut lane, &block(record, 1, 3, 2), is_sole);
        assert_eq!((lane.forget(&next), lane.lost), (written(2), 5));
        // A block that only states losses has no events.
        let losses = Held::of_losses(record, &lane);
        assert_eq!((losses.new, lane.forget(&losses), lane.lost), (0, 0, 5));
    }
}

#[test]
fn losses_are_stated_until_the_reader_knows_them() {
    let (mut lane, record) = lane();
    assert!(lane.has_stated(record));
    record.account().pool.store(3, Ordering::Relaxed);
    assert!(!lane.has_stated(record));
    check(&mut lane, &open(record, 0, 0, 1), Some((0, 1)));
    assert!(lane.has_stated(record), "the part has said it");
    record.account().truncated.store(1, Ordering::Relaxed);
    assert!(!lane.has_stated(record));
    lane.state(lane.lost(record));
    assert!(lane.has_stated(record));
    let lost = lane.lose(&block(record, 0, 0, 2));
    assert_eq!((lost, lane.lost(record).sink, lane.has_stated(record)), (0, 1, false));
    // A block that was opened before the latest loss does not take back what was said.
    lane.state(Loss { pool: 9, ..Loss::default() });
    check(&mut lane, &block(record, 1, 2, 1), Some((0, 1)));
    assert_eq!(lane.stated.pool, 9);
    // The block that stated them may be gone.
    let losses = Held::of_losses(record, &lane);
    lane.forget(&losses);
    assert_eq!(lane.stated, Loss::default());
    assert_eq!(sum(&Loss { pool: 1, reentrant: 2, sink: 4, truncated: 8 }), 15);
}

#[test]
fn withheld_events_are_only_counted() {
    let (mut lane, record) = lane();
    // A tick is two nanoseconds, and a block ends 90 ticks after it was opened.
    let now = |source: &Source| Moment {
        ticks: source.header.base_ticks + 200,
        wall: source.header.base_wall + 400,
    };
    let check = |lane: &mut Progress, source: &Source, place: (u32, u32), excluded: u64| {
        let part = lane.plan_withheld(source, now(source)).expect("a part");
        let header = Header {
            seq: place.0,
            offset: place.1,
            base_ticks: source.end_ticks,
            // Of that moment, not of the one when the block was opened.
            base_wall: source.header.base_wall + 180,
            end_ticks: source.end_ticks,
            before: source.end(),
            excluded,
            ..source.header.clone()
        };
        assert_eq!((decoded(&part), part.payload), (header, &[][..]));
        assert_eq!((part.new, part.is_withheld, lane.has_stated(record)), (0, true, true));
    };
    check(&mut lane, &open(record, 0, 0, 3), (0, 12), 3);
    let again = open(record, 0, 0, 3);
    assert!(lane.plan_withheld(&again, now(&again)).is_none());
    check(&mut lane, &block(record, 0, 0, 5), (1, 0), 5);
    // What the sink does not take is due.
    lane.exclude(&block(record, 1, 5, 2));
    assert_eq!((lane.excluded, lane.next, lane.lost, lane.has_stated(record)), (7, 7, 0, false));
    check(&mut lane, &block(record, 2, 7, 1), (3, 0), 8);
    // So it is for the next reader.
    lane.rewind();
    assert!(!lane.has_stated(record));
    lane.state(Loss::default());
    assert!(lane.has_stated(record));
    lane.forget(&Held::of_losses(record, &lane.clone()));
    assert!(!lane.has_stated(record));
}
