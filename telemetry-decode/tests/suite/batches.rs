//! Events in batches are the events one by one, in every detail. The ways `Batches` of all other
//! tests compare their values. Copies of batches are the same events.

use telemetry_decode::rows::Copies;
use telemetry_decode::{Event, Order, Reader};

use crate::made::{Plan, make, registry};

/// Returns the details of an event that no other test of batches compares.
fn details(event: &Event<'_>) -> (i64, i64, u32, u64, Option<u64>, usize) {
    let times = (event.time_ns(), event.wall_ns());
    (times.0, times.1, event.packed_len(), event.offset(), event.position(), event.index())
}

#[test]
fn batches_have_the_details_of_single_events() {
    for seed in 0..10 {
        let made = make(&registry(), &Plan { seed, sessions: 2, threads: 3, events: 500, ..Plan::default() });
        for order in [Order::Stream, Order::Time] {
            let open = || Reader::from_slice(&made.stream).order(order).events().unwrap();
            let (mut single, mut events) = (open(), open());
            while let Some(batch) = events.next_batch().unwrap() {
                for event in batch.iter() {
                    let expected = single.next().unwrap().expect("an event for each of a batch");
                    assert_eq!(details(&event), details(&expected), "seed {seed}, {order:?}");
                    assert_eq!(event.session().id, batch.session().id);
                    assert_eq!(event.thread(), batch.thread());
                }
            }
            assert!(single.next().unwrap().is_none(), "seed {seed}, {order:?}");
        }
    }
}

/// Copies of batches have the same events, with all values.
#[test]
fn copies_are_the_events() {
    let values = |event: &Event<'_>| (details(event), format!("{:?}", event.values().collect::<Vec<_>>()));
    for seed in 0..10 {
        let made = make(&registry(), &Plan { seed, sessions: 2, threads: 3, events: 500, ..Plan::default() });
        for order in [Order::Stream, Order::Time] {
            let mut events = Reader::from_slice(&made.stream).order(order).events().unwrap();
            let known = events.known().expect("all is known before the first event");
            let (mut copies, mut expected, mut found) = (Copies::default(), Vec::new(), Vec::new());
            for round in 0..2 {
                while copies.len() < 200 * (1 + round)
                    && let Some(batch) = events.next_batch().unwrap()
                {
                    // Of some batches, only the first events.
                    let batch = batch.first(1 + seed as usize % 7);
                    expected.extend(batch.iter().map(|event| values(&event)));
                    copies.add(&batch);
                }
                assert_eq!(copies.len(), expected.len() - found.len());
                copies.each(&known, |batch| found.extend(batch.iter().map(|event| values(&event))));
                copies.clear();
            }
            assert!(expected.len() > 100 && expected == found, "seed {seed}, {order:?}");
        }
    }
}

/// Events that are not needed are left out, and are counted as if they were returned.
#[test]
fn events_that_are_not_needed_are_counted() {
    for seed in 0..10 {
        let made = make(&registry(), &Plan { seed, sessions: 2, threads: 3, events: 500, ..Plan::default() });
        let read = |most: usize| {
            let mut events = Reader::from_slice(&made.stream).events().unwrap();
            events.need(|_, event| event < most);
            let (mut needed, mut others) = (Vec::new(), 0);
            while let Some(batch) = events.next_batch().unwrap() {
                let rows = batch.iter().filter(|event| event.index() < 3);
                needed.extend(rows.map(|event| details(&event)));
                others += batch.iter().filter(|event| event.index() >= 3).count();
            }
            (needed, format!("{:?}", events.completeness()), others)
        };
        let (some, all) = (read(3), read(usize::MAX));
        assert_eq!((&some.0, &some.1), (&all.0, &all.1), "seed {seed}");
        assert!(some.2 < all.2, "seed {seed}: {} of {} others are returned", some.2, all.2);
    }
}
