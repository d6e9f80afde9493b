//! Reads arbitrary bytes as a stream in every way: no panic, no hang, every byte accounted for.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::num::NonZeroUsize;

use telemetry_decode::completeness::Gaps;
use telemetry_decode::rules::Checker;
use telemetry_decode::{Completeness, Event, Events, Filter, Order, Reader};
use telemetry_fuzz::stream;

fuzz_target!(|data: &[u8]| {
    let Some((mode, bytes)) = stream(data) else { return };
    let filter = Filter::default()
        .kinds(if mode & 2 != 0 { &["Cell", "7"][..] } else { &[] }.iter().copied())
        .from_ns((mode & 4 != 0).then_some(1_000))
        .until_ns((mode & 8 != 0).then_some(1_000_000));
    let events = |order| {
        let reader = Reader::from_slice(&bytes).order(order).filter(filter.clone());
        reader.show_sensitive(mode & 16 != 0).events().unwrap()
    };
    let read = [read, read_batches, read_shards][usize::from(mode >> 5) % 3];
    for order in [Order::Stream, Order::Time] {
        check(&read(events(order)), &bytes);
    }
    let reader = Reader::from_reader(&bytes[..]).order(Order::Stream).filter(filter.clone());
    check(&read(reader.events().unwrap()), &bytes);
    check(&Reader::from_slice(&bytes).index().unwrap().completeness, &bytes);
    check_resumed(&bytes);
});

fn read(mut events: Events) -> Completeness {
    let (mut rules, mut broken) = (Checker::new(100), Vec::new());
    while let Some(event) = events.next().unwrap() {
        rules.take(&event, &mut broken);
        show(&event);
    }
    rules.finish(|_| true, &mut broken);
    let gaps = Gaps::new(&events.gaps());
    for found in broken {
        let rule = &rules.rules()[found.rule];
        let _ = (found.is_certain(rule, &gaps), found.text(rule));
    }
    events.completeness()
}

fn show(event: &Event<'_>) {
    let _ = (event.kind(), event.thread_name(), event.wall_ns());
    for param in event.params() {
        let _ = param.value.to_string();
    }
}

/// Reads batches and single events in turn.
fn read_batches(mut events: Events) -> Completeness {
    while let Some(batch) = events.next_batch().unwrap() {
        batch.iter().for_each(|event| show(&event));
        let Some(event) = events.next().unwrap() else { break };
        show(&event);
    }
    events.completeness()
}

/// Reads shards of a few blocks, in two threads.
fn read_shards(mut events: Events) -> Completeness {
    let shown = |shard: &mut Events| {
        while let Some(event) = shard.next()? {
            show(&event);
        }
        Ok(())
    };
    events.read_shards_of(300, NonZeroUsize::MIN.saturating_add(1), shown, |(), _| {}).unwrap();
    events.completeness()
}

/// Reads the first event, and then all others with a reader that continues.
fn check_resumed(bytes: &[u8]) {
    let mut events = Reader::from_slice(bytes).events().unwrap();
    events.next().unwrap();
    let again = Reader::from_slice(bytes).resume(events.positions());
    check(&read(again.events().unwrap()), bytes);
}

fn check(completeness: &Completeness, bytes: &[u8]) {
    assert_eq!(completeness.bytes.total(), bytes.len() as u64);
    let _ = completeness.to_string();
}
