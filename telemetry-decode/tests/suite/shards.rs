//! Shards on any number of threads are the stream: the same events and the same accounts.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use telemetry_decode::{Completeness, Event, Events, Filter, Order, Reader};

use crate::made::{Plan, Random, blocks, make, registry, shuffle};

/// Returns the details of an event.
pub(crate) fn details(event: &Event<'_>) -> String {
    let place = (event.session().id, event.thread(), event.name(), event.time_ns(), event.offset());
    format!("{place:?} {:?} {:?}", event.position(), event.values().collect::<Vec<_>>())
}

fn read(events: &mut Events<'_>) -> telemetry_decode::Result<Vec<String>> {
    let mut all = Vec::new();
    while let Some(batch) = events.next_batch()? {
        all.extend(batch.iter().map(|event| details(&event)));
    }
    Ok(all)
}

fn open<'s>(stream: &'s [u8], filter: &Filter) -> Events<'s> {
    Reader::from_slice(stream).order(Order::Stream).filter(filter.clone()).events().unwrap()
}

/// Reads a stream in shards. Returns the events, the verdict, and the number of shards.
fn read_shards(
    stream: &[u8],
    filter: &Filter,
    shard_len: u64,
    threads: usize,
) -> (Vec<String>, Completeness, usize) {
    let (mut events, mut all, mut shards) = (open(stream, filter), Vec::new(), 0);
    let merge = |of_shard: Vec<String>, _: &Events<'_>| {
        all.extend(of_shard);
        shards += 1;
    };
    events.read_shards_of(shard_len, NonZeroUsize::new(threads).unwrap(), read, merge).unwrap();
    assert!(events.next().unwrap().is_none(), "an event after the end");
    (all, events.completeness(), shards)
}

/// Returns the verdict with its list of parts in the order of the stream. Parts of one block are
/// read together in shards.
fn in_order(mut completeness: Completeness) -> String {
    completeness.undecodable.sort_by_key(|part| part.range.start);
    format!("{completeness:?}")
}

/// Compares shards on some numbers of threads with each other, and with a reader of the whole.
/// Returns the number of shards.
fn check(stream: &[u8], filter: &Filter, context: &str) -> usize {
    let mut whole = open(stream, filter);
    let mut expected = read(&mut whole).unwrap();
    let completeness = in_order(whole.completeness());
    expected.sort();
    let one = read_shards(stream, filter, 700, 1);
    for threads in [2, 3, 7] {
        let (events, verdict, shards) = read_shards(stream, filter, 700, threads);
        assert!(events == one.0 && shards == one.2, "{context}, {threads} threads");
        assert_eq!(format!("{verdict:?}"), format!("{:?}", one.1), "{context}, {threads} threads");
    }
    let mut found = one.0;
    found.sort();
    assert!(found == expected, "{context}");
    assert_eq!(in_order(one.1), completeness, "{context}");
    one.2
}

/// Passes streams of all kinds to a function, whole ones and others: with a filter, and what they
/// are.
pub(crate) fn each_stream(mut visit: impl FnMut(&[u8], &Filter, &str)) {
    for seed in 0..4 {
        let plan = Plan { seed, sessions: 2, threads: 3, events: 200, ..Plan::default() };
        let plans = [Plan { lose: 2, end: false, ..plan.clone() }, Plan { flush: 5, ..plan }];
        for plan in plans {
            let stream = make(&registry(), &plan).stream;
            let all = Filter::default();
            visit(&stream, &all, "whole");
            visit(&shuffle(&stream, seed), &all, "shuffled");
            visit(&[&stream[..], &stream].concat(), &all, "twice");
            visit(&stream, &Filter::default().from_ns(300), "filtered");
            let mut random = Random(seed + 1);
            for _ in 0..4 {
                let mut damaged = stream.clone();
                for _ in 0..1 + random.below(4) {
                    let at = random.below(damaged.len() as u64) as usize;
                    damaged[at] ^= 1 << random.below(8);
                }
                visit(&damaged, &all, "damaged");
                visit(&damaged[..random.below(damaged.len() as u64) as usize], &all, "truncated");
            }
            let some = blocks(&stream).into_iter().filter(|_| random.below(5) > 0);
            let some: Vec<u8> = some.flat_map(|block| stream[block].to_vec()).collect();
            visit(&some, &all, "without some blocks");
        }
    }
}

#[test]
fn any_number_of_threads_reads_the_same() {
    each_stream(|stream, filter, context| {
        let shards = check(stream, filter, context);
        assert!(context != "whole" || shards > 2, "several shards");
    });
}

/// An error of one shard ends the reading. Earlier shards are merged, later ones are not.
#[test]
fn the_first_error_counts() {
    let stream = make(&registry(), &Plan { events: 400, ..Plan::default() }).stream;
    for threads in [1, 4] {
        let (mut events, calls, mut merged) = (open(&stream, &Filter::default()), AtomicUsize::new(0), 0);
        let fail = |shard: &mut Events<'_>| {
            calls.fetch_add(1, Relaxed);
            read(shard)?;
            Err::<(), _>(std::io::Error::other("no more").into())
        };
        let threads = NonZeroUsize::new(threads).unwrap();
        let error = events.read_shards_of(500, threads, fail, |(), _| merged += 1).unwrap_err();
        assert_eq!((error.to_string(), merged), ("no more".to_string(), 0));
        assert!(calls.load(Relaxed) >= 1);
    }
}

/// A panic on a thread reaches the caller, and no other thread waits forever.
#[test]
fn a_panic_is_passed_on() {
    let stream = make(&registry(), &Plan { events: 400, ..Plan::default() }).stream;
    let panics = std::panic::catch_unwind(|| {
        let mut events = open(&stream, &Filter::default());
        let calls = AtomicUsize::new(0);
        let read = |shard: &mut Events<'_>| {
            assert!(calls.fetch_add(1, Relaxed) != 2, "the third shard");
            read(shard)
        };
        let _ = events.read_shards_of(500, NonZeroUsize::new(3).unwrap(), read, |_, _| {});
    });
    assert!(panics.is_err());
}
