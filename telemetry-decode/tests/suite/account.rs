//! Completeness: in each lane, read, lost and missing events add up to the emitted ones.

use std::collections::BTreeMap;

use proptest::prelude::*;
use telemetry_decode::completeness::{LaneGap, LaneReport};
use telemetry_decode::writer::{Lane, Writer};
use telemetry_decode::{Completeness, Facts, Filter, Order, Reader};
use telemetry_format::{BlockType, Loss};

use crate::made::{
    Plan, Random, START, blocks, edit, exclude, header, late_loss, make, of_two_sinks, registry, withheld,
    withheld_parts,
};
use crate::read::{LaneKey, Way, assert_same_lanes, by_lane, collect, read, read_filtered};

/// Returns the counts in the remaining headers by lane: recorded, lost, excluded.
fn stated(stream: &[u8]) -> BTreeMap<LaneKey, (u64, Loss, u64)> {
    let mut lanes = BTreeMap::<_, (u64, Loss, u64)>::new();
    for block in blocks(stream) {
        let header = header(&stream[block]);
        if header.block_type == BlockType::Events {
            let lane =
                lanes.entry((header.session, header.thread, header.registry, header.kind)).or_default();
            lane.0 = lane.0.max(header.before + u64::from(header.events));
            lane.1.pool = lane.1.pool.max(header.lost.pool);
            lane.1.reentrant = lane.1.reentrant.max(header.lost.reentrant);
            lane.1.sink = lane.1.sink.max(header.lost.sink);
            lane.1.truncated = lane.1.truncated.max(header.lost.truncated);
            lane.2 = lane.2.max(header.excluded);
        }
    }
    lanes
}

fn check(stream: &[u8], way: Way, context: &str) -> Completeness {
    let stated = stated(stream);
    let (events, completeness) = read(way, stream);
    let read = by_lane(&events);
    for lane in &completeness.lanes {
        let key = (lane.session, lane.thread, lane.registry, lane.kind);
        let context = format!("{context}, {way:?}: {lane:#?}");
        assert_eq!(lane.read, read.get(&key).map_or(0, |events| events.len() as u64), "{context}");
        let (recorded, lost, excluded) = stated[&key];
        assert_eq!((lane.lost, lane.excluded), (lost, excluded), "{context}");
        let emitted = recorded + lost.pool + lost.reentrant;
        let known = lane.read + lane.filtered + lane.missing + lane.excluded + lane.lost.events();
        assert_eq!(known, emitted, "{context}");
        assert!(lane.unread <= lane.missing, "{context}");
        let sum = |of: fn(&LaneGap) -> u64| lane.gaps.iter().map(of).sum::<u64>();
        assert_eq!(sum(|gap| gap.absent), lane.missing + lost.sink, "{context}");
        assert_eq!(sum(|gap| gap.lost.events()), lost.events(), "{context}");
        assert!(lane.gaps.iter().all(|gap| gap.from_ticks <= gap.until_ticks), "{context}");
    }
    assert_eq!(completeness.lanes.len(), stated.len(), "{context}");
    completeness
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
    /// Some blocks are removed, and there are losses everywhere.
    #[test]
    fn emitted_is_read_and_lost_and_missing(seed in any::<u64>(), lose in 0..9_u64, keep in 1..9_u64) {
        let made = make(&registry(), &Plan { seed, lose, threads: 3, events: 150, ..Plan::default() });
        for way in Way::ALL {
            let whole = check(&made.stream, way, "whole");
            assert_eq!(whole.missing(), 0);
            // The stream states what happened.
            let events = by_lane(&made.events);
            for lane in &whole.lanes {
                let key = (lane.session, lane.thread, lane.registry, lane.kind);
                assert_eq!(lane.read, events.get(&key).map_or(0, |events| events.len() as u64));
                let stated = made.lost.get(&key).copied().unwrap_or_default();
                assert_eq!((lane.lost, lane.excluded), stated);
            }
        }
        let mut random = Random(seed);
        let mut stream = Vec::new();
        for block in blocks(&made.stream) {
            let block = &made.stream[block];
            if header(block).block_type != BlockType::Events || random.below(9) < keep {
                stream.extend_from_slice(block);
            }
        }
        for way in Way::ALL {
            let taken_out = check(&stream, way, "blocks taken out");
            // The session's end has the number of events, even if the last blocks of a lane are
            // absent.
            prop_assert_eq!(taken_out.events + taken_out.missing(), made.events.len() as u64);
        }
    }
}

/// Excluded events are neither lost nor missing, and are not mixed with those that are.
#[test]
fn withheld_events_are_not_missing() {
    let mut writer = Writer::new(Vec::new());
    writer.session(1, &Facts::default(), 0, START).unwrap();
    let lane = Lane { session: 1, thread: 4, registry: writer.registry(1, &registry()).unwrap() };
    for (ticks, excluded) in [(10, 5), (20, 7), (30, 0), (40, 0)] {
        writer.exclude(lane, 0, excluded).unwrap();
        writer.event(lane, 1, ticks, &[]).unwrap();
        writer.flush().unwrap();
    }
    writer.exclude(lane, 0, 9).unwrap();
    writer.end(1, 50).unwrap();
    let mut stream = writer.finish().unwrap();
    let whole = check(&stream, Way::MemoryByTime, "whole");
    assert!(whole.is_complete(), "{whole}");
    assert_eq!((whole.events, whole.excluded(), &whole.lanes[0].gaps[..]), (4, 21, &[][..]));
    assert!(whole.to_string().ends_with("\n  excluded: 21 events of kinds that were not output"), "{whole}");

    // Each part is a separate block, and the third part is removed.
    let parts: Vec<_> =
        blocks(&stream).into_iter().filter(|block| header(&stream[block.clone()]).thread == 4).collect();
    for (seq, part) in parts.iter().enumerate() {
        let base_ticks = 10 * seq.max(1) as u64;
        edit(&mut stream[part.clone()], |header| {
            (header.seq, header.offset, header.base_ticks) = (seq as u32, 0, base_ticks);
        });
    }
    let without = [&stream[..parts[2].start], &stream[parts[2].end..]].concat();
    let lane = check(&without, Way::MemoryByTime, "a block taken out").lanes.remove(0);
    assert_eq!((lane.read, lane.missing, lane.excluded), (3, 1, 21));
    assert_eq!(gaps(&lane), [(20, 30, 1, Loss::default())]);
}

/// A block may state more as excluded than there can be since the block before it. That hides no
/// missing events, also for a reader that continues another one.
#[test]
fn excluded_events_do_not_hide_missing_ones() {
    let stream = withheld(".x.ex.");
    let check = |completeness: &Completeness, read: u64, context: &str| {
        let lane = &completeness.lanes[0];
        assert_eq!((lane.read, lane.missing, lane.excluded), (read, 4, 2), "{context}");
        let absent: Vec<_> = gaps(lane).into_iter().map(|(_, _, absent, _)| absent).collect();
        assert_eq!((&absent[..], &completeness.unaccounted[..]), (&[2, 2][..], &[][..]), "{context}");
    };
    for way in Way::ALL {
        check(&read(way, &stream).1, 6, &format!("{way:?}"));
    }
    let mut events = Reader::from_slice(&stream).events().unwrap();
    while events.next().unwrap().is_some() {}
    let resumed = Reader::from_slice(&stream).resume(events.positions()).events().unwrap();
    check(&collect(resumed).1, 0, "continued");
    // The lane is not in the rest of the stream.
    let end = &stream[blocks(&stream).pop().unwrap()];
    let rest = Reader::from_slice(end).resume(events.positions()).events().unwrap();
    assert_eq!(collect(rest).1.unaccounted, []);
}

/// What a shipper withheld is excluded, exactly. Other events beside it are missing. In another
/// stream, all events may be there.
#[test]
fn what_a_shipper_withheld_is_excluded() {
    for letters in ["......", ".x.wx.", "www...", "xxwwww", "wxwxwx", ".w.x.w", "wwwwww", ".....x"] {
        let [read_events, missing, excluded] =
            ['.', 'x', 'w'].map(|of| 2 * letters.matches(of).count() as u64);
        let (stream, whole) = (withheld(letters), withheld("......"));
        let check = |completeness: &Completeness, wanted: (u64, u64, u64), context: &str| {
            let read: u64 = completeness.lanes.iter().map(|lane| lane.read).sum();
            let found = (read, completeness.missing(), completeness.excluded());
            assert_eq!(found, wanted, "{letters}, {context}: {completeness}");
        };
        for way in Way::ALL {
            check(&read(way, &stream).1, (read_events, missing, excluded), &format!("{way:?}"));
            let mut nothing = Filter::default();
            nothing.kinds.push("Nothing".into());
            check(&read_filtered(way, &stream, nothing).1, (0, missing, excluded), &format!("{way:?}"));
            for both in [[&stream[..], &whole], [&whole, &stream]] {
                check(&read(way, &both.concat()).1, (12, 0, 0), &format!("{way:?}, both"));
            }
        }
        let mut events = Reader::from_slice(&stream).events().unwrap();
        while events.next().unwrap().is_some() {}
        let again = Reader::from_slice(&stream).resume(events.positions()).events().unwrap();
        check(&collect(again).1, (0, missing, excluded), "continued");
        let rest = Reader::from_slice(&whole).resume(events.positions()).events().unwrap();
        check(&collect(rest).1, (12 - read_events, 0, 0), "continued with all");
    }
}

/// A stream may have the parts of a block, and another one may have them withheld. Those that are
/// there are read, and come in any order.
#[test]
fn withheld_parts_of_a_block_hide_no_others() {
    let whole = withheld_parts("......");
    for letters in ["wwwwww", ".w....", "..wwww", "w.w.w."] {
        let stream = withheld_parts(letters);
        for both in [[&stream[..], &whole], [&whole, &stream]] {
            for way in Way::ALL {
                let (events, completeness) = read(way, &both.concat());
                let found = (events.len(), completeness.missing(), completeness.excluded());
                assert_eq!(found, (12, 0, 0), "{letters}, {way:?}: {completeness}");
            }
            // Nothing is uncertain.
            let both = both.concat();
            let mut events = Reader::from_slice(&both).order(Order::Time).events().unwrap();
            while events.next().unwrap().is_some() {}
            assert_eq!(events.gaps(), [], "{letters}");
        }
    }
}

/// Events that are not there are in a gap, also at the end of a lane, unless another stream has
/// them.
#[test]
fn events_that_are_not_there_are_in_gaps() {
    let gaps_of = |stream: &[u8]| {
        let mut events = Reader::from_slice(stream).order(Order::Time).events().unwrap();
        while events.next().unwrap().is_some() {}
        events.gaps().iter().map(|gap| (gap.from_ticks, gap.until_ticks)).collect::<Vec<_>>()
    };
    let whole = withheld("......");
    let excluded = exclude(&whole, |header| header.before == 10);
    // Nothing tells why they are missing.
    let mut missing = excluded.clone();
    for block in blocks(&excluded) {
        edit(&mut missing[block], |header| header.excluded = 0);
    }
    let all = [(0, 15), (15, 25), (25, 35), (35, 45), (45, 55), (55, 65)];
    let both = exclude(&withheld(".....w"), |header| header.before == 8);
    let check = |context: &str, stream: &[u8], expected: &[(u64, u64)]| {
        assert_eq!(gaps_of(stream), expected, "{context}");
        for both in [[stream, &whole], [&whole, stream]] {
            assert_eq!(gaps_of(&both.concat()), [], "{context}, beside the whole stream");
        }
    };
    check("whole", &whole, &[]);
    check("a block between others", &withheld("....e."), &[(45, 55)]);
    check("the last block", &withheld(".....e"), &[(55, 65)]);
    check("the last block, counted exactly", &excluded, &[(55, 65)]);
    check("the last block, not counted", &missing, &[(55, 65)]);
    check("all blocks", &exclude(&whole, |_| true), &all);
    check("a withheld block between others", &withheld("..w..."), &[(25, 35), (25, 35)]);
    check("a withheld last block", &withheld(".....w"), &[(55, 65)]);
    check("an excluded and a withheld one", &both, &[(45, 55), (55, 65)]);
}

/// Streams of one session state sums of their own. Missing events at the ends of lanes are found if
/// another stream has the events that were excluded from one.
#[test]
fn streams_of_one_session() {
    for (lost, missing) in [([0, 0], 0), ([5, 0], 5), ([0, 7], 7)] {
        let [stream, snapshot] = of_two_sinks(lost);
        let expect = |completeness: &Completeness, excluded: u64, context: &str| {
            let found = (completeness.missing(), completeness.excluded());
            assert_eq!(found, (missing, excluded), "{lost:?}, {context}");
        };
        let [both, turned] = [[&stream[..], &snapshot].concat(), [&snapshot[..], &stream].concat()];
        for way in Way::ALL {
            expect(&read(way, &stream).1, 10, &format!("alone, {way:?}"));
            expect(&read(way, &both).1, 0, &format!("both, {way:?}"));
            expect(&read(way, &turned).1, 0, &format!("turned, {way:?}"));
        }
        let mut events = Reader::from_slice(&snapshot).events().unwrap();
        while events.next().unwrap().is_some() {}
        let resumed = Reader::from_slice(&stream).resume(events.positions()).events().unwrap();
        expect(&collect(resumed).1, 0, "continued");
    }
}

/// A loss of the sink may be stated later than by the next block. It does not take the place of
/// excluded events.
#[test]
fn a_loss_that_is_stated_late() {
    for way in Way::ALL {
        let completeness = check(&late_loss(), way, "late");
        let lane = &completeness.lanes[0];
        assert_eq!((lane.lost.sink, lane.excluded, completeness.missing()), (10, 10, 0), "{way:?}");
    }
}

/// Returns the gaps of a lane: the readings around each, its absent events and its losses.
fn gaps(lane: &LaneReport) -> Vec<(u64, u64, u64, Loss)> {
    lane.gaps.iter().map(|gap| (gap.from_ticks, gap.until_ticks, gap.absent, gap.lost)).collect()
}

/// A sync block counts the events before it, so absent last blocks of a lane are found, and absent
/// lanes.
#[test]
fn last_blocks_that_are_gone() {
    let (stream, lane) = three_blocks();
    let all = blocks(&stream);
    let of_lane = |block: &std::ops::Range<usize>| header(&stream[block.clone()]).thread == lane.thread;
    let parts: Vec<_> = all.iter().filter(|block| of_lane(block)).cloned().collect();
    for (keep, unaccounted) in [(3, 0), (2, 2), (1, 4), (0, 6)] {
        let rest = all.iter().filter(|block| parts.iter().skip(keep).all(|part| part != *block));
        let cut: Vec<u8> = rest.flat_map(|block| stream[block.clone()].to_vec()).collect();
        for way in Way::ALL {
            let completeness = check(&cut, way, "cut");
            let expected = if unaccounted == 0 { vec![] } else { vec![(1, unaccounted)] };
            assert_eq!(completeness.unaccounted, expected, "{way:?}, {keep} kept");
            assert_eq!(completeness.missing(), unaccounted, "{way:?}, {keep} kept");
            assert_eq!(completeness.events, 6 - unaccounted, "{way:?}, {keep} kept");
        }
        // A writer that does not count states nothing.
        let mut silent = cut.clone();
        let sync = blocks(&cut).pop().unwrap();
        edit(&mut silent[sync], |header| header.before = 0);
        assert_eq!(check(&silent, Way::MemoryByTime, "not said").unaccounted, []);
    }
}

fn three_blocks() -> (Vec<u8>, Lane) {
    let mut facts = Facts::default();
    facts.set("clock", "os");
    let mut writer = Writer::new(Vec::new());
    writer.session(1, &facts, 0, START).unwrap();
    let lane = Lane { session: 1, thread: 4, registry: writer.registry(1, &registry()).unwrap() };
    for ticks in [10, 20, 30] {
        writer.event(lane, 1, ticks, &[]).unwrap();
        writer.event(lane, 1, ticks + 5, &[]).unwrap();
        writer.flush().unwrap();
        if ticks == 20 {
            writer.lose(lane, 0, Loss { pool: 7, reentrant: 2, sink: 0, truncated: 1 }).unwrap();
        }
    }
    writer.end(1, 40).unwrap();
    (writer.finish().unwrap(), lane)
}

/// A loss is between the block before it and the end of the first block that states it.
#[test]
fn losses_and_gaps_are_placed_in_time() {
    let (stream, lane) = three_blocks();
    let lost = Loss { pool: 7, reentrant: 2, sink: 0, truncated: 1 };
    let completeness = check(&stream, Way::MemoryByTime, "whole");
    assert_eq!(gaps(&completeness.lanes[0]), [(25, 35, 0, lost)]);
    assert!(!completeness.is_complete());

    // Without the middle block, its two events are missing, and the third block does not continue
    // it.
    let blocks = blocks(&stream);
    let of_lane: Vec<_> = blocks
        .iter()
        .filter(|block| header(&stream[(*block).clone()]).thread == lane.thread)
        .cloned()
        .collect();
    let without = [&stream[..of_lane[1].start], &stream[of_lane[1].end..]].concat();
    let completeness = check(&without, Way::MemoryByTime, "a part taken out");
    let report = &completeness.lanes[0];
    assert_eq!((report.read, report.missing, report.unread), (2, 4, 2));
    assert_eq!(completeness.undecodable_parts, 1);
}

/// A part is written again after it grew. Its events are read once.
#[test]
fn a_part_and_a_longer_copy_of_it() {
    let (stream, lane) = three_blocks();
    let blocks = blocks(&stream);
    let parts: Vec<_> = blocks
        .iter()
        .filter(|block| header(&stream[(*block).clone()]).thread == lane.thread)
        .cloned()
        .collect();
    // The first two parts, joined to one.
    let (first, second) = (header(&stream[parts[0].clone()]), header(&stream[parts[1].clone()]));
    let payloads =
        [&stream[parts[0].start + 144..parts[0].end], &stream[parts[1].start + 144..parts[1].end]].concat();
    let mut grown = [&stream[parts[0].start..parts[0].start + 144], &payloads].concat();
    edit(&mut grown, |header| {
        header.payload_len = payloads.len() as u32;
        header.events = first.events + second.events;
        header.end_ticks = second.end_ticks;
    });
    let snapshots = [&stream[..parts[0].end], &grown, &stream[parts[2].start..]].concat();
    for way in Way::ALL {
        let completeness = check(&snapshots, way, "");
        assert_eq!((completeness.events, completeness.missing()), (6, 0), "{way:?}");
    }
}

/// A block that only states losses changes nothing for the parts around it.
#[test]
fn a_statement_between_parts() {
    let (stream, lane) = three_blocks();
    let is_part = |block: &std::ops::Range<usize>| header(&stream[block.clone()]).thread == lane.thread;
    let first = blocks(&stream).into_iter().find(is_part).unwrap();
    let mut statement = stream[first.clone()][..144].to_vec();
    edit(&mut statement, |header| {
        (header.seq, header.before, header.events) = (header.seq + 1, 2, 0);
        (header.payload_len, header.unpacked_len) = (0, 0);
    });
    let stated = [&stream[..first.end], &statement, &stream[first.end..]].concat();
    for way in Way::ALL {
        let (events, completeness) = read(way, &stated);
        assert_eq!((events.len(), completeness.undecodable_parts), (6, 0), "{way:?}");
    }
}

/// A registry from the caller is used if the stream has none.
#[test]
fn a_registry_that_the_caller_adds() {
    let made = make(&registry(), &Plan::default());
    let kept = blocks(&made.stream)
        .into_iter()
        .filter(|block| header(&made.stream[block.clone()]).block_type != BlockType::Registry);
    let stream: Vec<u8> = kept.flat_map(|block| made.stream[block].to_vec()).collect();
    let (events, completeness) = read(Way::MemoryByTime, &stream);
    assert_eq!((events.len(), completeness.missing()), (0, made.events.len() as u64));
    assert_eq!(completeness.missing(), completeness.lanes.iter().map(|lane| lane.unread).sum());
    let (events, completeness) = collect(Reader::from_slice(&stream).registry(registry()).events().unwrap());
    assert_same_lanes(&events, &made.events, "with the registry added");
    assert!(completeness.is_complete());
}

/// Headers alone give the same counts as reading everything.
#[test]
fn the_index_tells_the_same() {
    for seed in 0..10 {
        let made = make(&registry(), &Plan { seed, lose: 5, sessions: 2, ..Plan::default() });
        let most = if seed % 2 == 0 { usize::MAX } else { 5 };
        let index = Reader::from_slice(&made.stream).max_in_memory(most).index().unwrap();
        let (_, completeness) = read(Way::MemoryByTime, &made.stream);
        assert_eq!(format!("{:#?}", index.completeness), format!("{completeness:#?}"));
        assert_eq!(index.sessions.len(), 2);
        assert_eq!(index.sessions[0].facts.text("program"), Some("program1"));
        assert_eq!(index.sessions[1].thread_name(2), Some("worker-2"));
        assert_eq!(index.registries[0].registry.name, "all_sorts");
        let blocks: Vec<_> = index.blocks().collect::<Result<_, _>>().unwrap();
        let events: u64 = blocks.iter().map(|block| u64::from(block.events)).sum();
        assert_eq!(events, made.events.len() as u64);
        assert_eq!(events, index.lanes.iter().map(|lane| lane.events).sum::<u64>());
        for block in &blocks {
            let header = header(&made.stream[block.at as usize..]);
            let lane = &index.lanes[block.lane as usize];
            assert_eq!((header.thread, header.kind, header.seq), (lane.thread, lane.kind, block.seq));
        }
    }
}

#[test]
fn verdicts() {
    let made = make(&registry(), &Plan::default());
    let (stream, _) = three_blocks();
    let parts = blocks(&stream);
    let mut flipped = stream.clone();
    flipped[parts[3].start + 145] ^= 1;
    let mut unknown = stream.clone();
    edit(&mut unknown[parts[0].clone()], |header| header.block_type = BlockType::Unknown(9));
    let kinds = Filter::default().kinds(["Cell", "Sell"]);
    let cases = [
        ("whole", read(Way::MemoryByTime, &made.stream)),
        ("filtered", read_filtered(Way::MemoryByTime, &made.stream, kinds)),
        ("losses", read(Way::MemoryByTime, &stream)),
        (
            "a part taken out",
            read(Way::MemoryByTime, &[&stream[..parts[3].start], &stream[parts[3].end..]].concat()),
        ),
        ("a bit flipped", read(Way::MemoryByTime, &flipped)),
        ("no session block", read(Way::MemoryByTime, &unknown)),
        ("cut", read(Way::MemoryByTime, &stream[..parts[2].end + 3])),
        ("empty", read(Way::MemoryByTime, b"")),
        ("text", read(Way::MemoryByTime, b"some text")),
    ];
    let text: String = cases.iter().map(|(name, (_, verdict))| format!("# {name}\n{verdict}\n\n")).collect();
    insta::assert_snapshot!(text);
}
