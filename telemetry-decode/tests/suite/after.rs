//! Readers that continue others.

use proptest::prelude::*;
use telemetry_decode::{Completeness, Order, Position, Reader};
use telemetry_format::BlockType;

use crate::made::{Plan, Random, blocks, header, make, registry};
use crate::read::{Read, collect};

/// Reads a stream after others. Replaces the positions of the lanes that it read.
fn go_on(lanes: &mut Vec<Position>, stream: &[u8], order: Order) -> (Vec<Read>, Completeness) {
    let reader = || Reader::from_slice(stream).order(order).resume(lanes.clone()).events().unwrap();
    let mut events = reader();
    while events.next().unwrap().is_some() {}
    let read = events.positions();
    let found = collect(reader());
    let key = |lane: &Position| (lane.session, lane.thread, lane.registry, lane.kind);
    lanes.retain(|old| read.iter().all(|new| key(new) != key(old)));
    lanes.extend(read);
    found
}

fn sorted(mut events: Vec<Read>) -> Vec<Read> {
    events
        .sort_by(|a, b| (a.lane(), a.ticks, a.code, &a.values).cmp(&(b.lane(), b.ticks, b.code, &b.values)));
    events
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
    /// Pieces of a stream, in any division and with copies: each event comes once, and in the end
    /// none is missing.
    #[test]
    fn pieces_are_read_as_the_whole(seed in any::<u64>(), pieces in 1..6_usize, lose in 0..9_u64, by_time: bool) {
        // Without parts: a divided block may lose its beginning.
        let plan = Plan { seed, lose, threads: 3, events: 150, flush: 0, sessions: 2, ..Plan::default() };
        let made = make(&registry(), &plan);
        let order = if by_time { Order::Time } else { Order::Stream };
        let mut random = Random(seed);
        let mut dealt = vec![Vec::new(); pieces];
        for block in blocks(&made.stream) {
            let bytes = &made.stream[block];
            let is_events = header(bytes).block_type == BlockType::Events;
            let mut takers: Vec<bool> = (0..pieces).map(|_| random.below(3) == 0).collect();
            takers[random.below(pieces as u64) as usize] = true;
            for (piece, takes) in dealt.iter_mut().zip(takers) {
                if takes || !is_events {
                    piece.extend_from_slice(bytes);
                }
            }
        }
        let mut lanes = Vec::new();
        let (mut events, mut last) = (Vec::new(), Completeness::default());
        for piece in &dealt {
            let (new, completeness) = go_on(&mut lanes, piece, order);
            prop_assert_eq!(completeness.events, new.len() as u64);
            events.extend(new);
            last = completeness;
        }
        prop_assert_eq!(sorted(events), sorted(made.events.clone()));
        prop_assert_eq!(last.unaccounted, vec![]);
        let read: u64 = lanes.iter().map(Position::events).sum();
        prop_assert_eq!(read, made.events.len() as u64);

        // The whole stream has nothing new, and its counts are those of one reader of everything.
        let (again, completeness) = go_on(&mut lanes, &made.stream, order);
        prop_assert_eq!(again, vec![]);
        prop_assert_eq!(completeness.missing(), 0);
        let (_, at_once) = collect_whole(&made.stream, order);
        for (lane, whole) in completeness.lanes.iter().zip(&at_once.lanes) {
            prop_assert_eq!((lane.read, lane.earlier, lane.lost, lane.excluded), (0, whole.read, whole.lost, whole.excluded));
            let absent = |gaps: &[telemetry_decode::completeness::LaneGap]| gaps.iter().map(|gap| gap.absent).sum::<u64>();
            prop_assert_eq!(absent(&lane.gaps), absent(&whole.gaps));
        }
        // Two readers of the same events have read no more than one of them.
        let (one, other) = (&lanes[0], &lanes[0].clone());
        prop_assert_eq!(one.join(other).events(), one.events());
    }
}

fn collect_whole(stream: &[u8], order: Order) -> (Vec<Read>, Completeness) {
    collect(Reader::from_slice(stream).order(order).events().unwrap())
}
