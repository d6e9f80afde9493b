//! Reads arbitrary bytes as a stream in every way: no panic, no hang, every byte accounted for.
#![no_main]

use libfuzzer_sys::fuzz_target;
use telemetry_decode::completeness::Gaps;
use telemetry_decode::rules::Checker;
use telemetry_decode::{Completeness, Events, Filter, Order, Reader};
use telemetry_fuzz::stream;

fuzz_target!(|data: &[u8]| {
    let Some((mode, bytes)) = stream(data) else { return };
    let filter = Filter::default()
        .kinds(if mode & 2 != 0 { &["Cell", "7"][..] } else { &[] }.iter().copied())
        .from_ns((mode & 4 != 0).then_some(1_000))
        .until_ns((mode & 8 != 0).then_some(1_000_000));
    for order in [Order::Stream, Order::Time] {
        let reader = Reader::from_slice(&bytes).order(order).filter(filter.clone());
        check(&read(reader.events().unwrap()), &bytes);
    }
    let reader = Reader::from_reader(&bytes[..]).order(Order::Stream).filter(filter);
    check(&read(reader.events().unwrap()), &bytes);
    check(&Reader::from_slice(&bytes).index().unwrap().completeness, &bytes);
});

fn read(mut events: Events) -> Completeness {
    let (mut rules, mut broken) = (Checker::new(100), Vec::new());
    while let Some(event) = events.next().unwrap() {
        rules.take(&event, &mut broken);
        let _ = (event.kind(), event.thread_name(), event.wall_ns());
        for param in event.params() {
            let _ = param.value.to_string();
        }
    }
    rules.finish(|_| true, &mut broken);
    let gaps = Gaps::new(&events.gaps());
    for found in broken {
        let rule = &rules.rules()[found.rule];
        let _ = (found.is_certain(rule, &gaps), found.text(rule));
    }
    events.completeness()
}

fn check(completeness: &Completeness, bytes: &[u8]) {
    assert_eq!(completeness.bytes.total(), bytes.len() as u64);
    let _ = completeness.to_string();
}
