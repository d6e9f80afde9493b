//! Events in batches are the events one by one, in every detail. The ways `Batches` of all other
//! tests compare their values.

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
