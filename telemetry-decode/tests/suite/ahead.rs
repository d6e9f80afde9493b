//! Blocks that other threads decode ahead: the same events in order, and the same accounts.

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::num::NonZeroUsize;

use telemetry_decode::rows::Giving;
use telemetry_decode::{Events, Filter, Input, Order, Reader};

use crate::made::{Plan, make, registry};
use crate::shards::{details, each_stream};

fn open(file: &File, order: Order, filter: &Filter) -> Events<'static> {
    let input = Input::File(file.try_clone().unwrap());
    Reader::from_inputs(vec![input]).unwrap().order(order).filter(filter.clone()).events().unwrap()
}

/// Returns a file with a stream.
fn file(stream: &[u8]) -> File {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(stream).unwrap();
    file.seek(SeekFrom::Start(0)).unwrap();
    file
}

/// Reads all events, one by one or in batches. Returns them, and the account.
fn read(mut events: Events<'_>, by_batch: bool) -> (Vec<String>, String) {
    let mut all = Vec::new();
    if by_batch {
        while let Some(batch) = events.next_batch().unwrap() {
            assert!((1..=64).contains(&batch.len()));
            all.extend(batch.iter().map(|event| details(&event)));
        }
    } else {
        while let Some(event) = events.next().unwrap() {
            all.push(details(&event));
        }
    }
    assert!(events.next().unwrap().is_none(), "an event after the end");
    (all, format!("{:?}", events.completeness()))
}

/// Compares some numbers of threads with one thread, in jobs of some sizes.
fn check(stream: &[u8], filter: &Filter, context: &str) {
    let file = file(stream);
    for order in [Order::Stream, Order::Time] {
        let expected = read(open(&file, order, filter), true);
        // The last one leaves nearly all blocks to the reader.
        for (threads, job_len, ahead, held) in
            [(2, 1, 1 << 20, 1 << 20), (3, 300, 20 << 10, 40 << 10), (7, 100, 1, 1)]
        {
            let mut events = open(&file, order, filter);
            let threads = NonZeroUsize::new(threads).unwrap();
            let is_ahead = events.decode_ahead_in(threads, Giving { job_len, ahead, held });
            assert!(is_ahead || context != "whole", "one thread reads");
            let found = read(events, threads.get() != 3);
            let context = format!("{context}, {order:?}, {threads} threads, {job_len}");
            assert!(found.0 == expected.0, "{context}");
            assert_eq!(found.1, expected.1, "{context}");
        }
    }
}

#[test]
fn any_number_of_threads_reads_the_same_in_order() {
    each_stream(check);
}

/// What is not needed is left out on any number of threads, and counted.
#[test]
fn events_that_are_not_needed_are_counted_on_all_threads() {
    for seed in 0..4 {
        let made = make(&registry(), &Plan { seed, sessions: 2, threads: 3, events: 500, ..Plan::default() });
        let file = file(&made.stream);
        let read = |threads: usize| {
            let mut events = open(&file, Order::Time, &Filter::default());
            events.need(|_, event| event < 3);
            let giving = Giving { job_len: 500, ahead: 4000, held: 1 << 20 };
            let is_ahead = events.decode_ahead_in(NonZeroUsize::new(threads).unwrap(), giving);
            assert_eq!(is_ahead, threads > 1);
            let mut needed = Vec::new();
            while let Some(batch) = events.next_batch().unwrap() {
                needed.extend(batch.iter().filter(|event| event.index() < 3).map(|event| details(&event)));
            }
            (needed, format!("{:?}", events.completeness()))
        };
        let one = read(1);
        assert!(one.0.len() > 100, "{}", one.0.len());
        assert!(read(2) == one && read(5) == one, "seed {seed}");
    }
}

/// A reader that stops early ends its threads.
#[test]
fn a_reader_may_stop() {
    let file = file(&make(&registry(), &Plan { threads: 3, events: 2000, ..Plan::default() }).stream);
    for order in [Order::Stream, Order::Time] {
        let mut events = open(&file, order, &Filter::default());
        let giving = Giving { job_len: 1, ahead: 1 << 20, held: 1 << 20 };
        assert!(events.decode_ahead_in(NonZeroUsize::new(4).unwrap(), giving));
        assert!(events.next().unwrap().is_some());
    }
}
