//! Reads arbitrary bytes as a stream by the generated decoders of a registry, of which it may have
//! another version. Events are given one by one, and at once: both are the same, and none is
//! unaccounted for.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use telemetry::telemetry_event;
use telemetry_decode::{Error, Order, Reader, Registry, Skipped, Typed};
use telemetry_fuzz::stream;

#[telemetry_event("../tests/golden/registries/heap-1.1.1.toml", decode)]
pub mod heap {}

/// What a decoder gives.
#[derive(Debug, PartialEq)]
struct Given {
    /// Times, threads, places and the events, as text.
    events: Vec<String>,
    skipped: Skipped,
}

fuzz_target!(|data: &[u8]| {
    let Some((mode, bytes)) = stream(data) else { return };
    let order = if mode & 2 != 0 { Order::Stream } else { Order::Time };
    if mode & 4 != 0
        && let Err(error) = reader(&bytes, order).typed::<heap::Decoder>().unwrap().strict()
    {
        assert!(matches!(error, Error::Version(_)), "{error}");
    }
    let count = read_generic(&bytes, order);
    let [one_by_one, at_once] = [usize::MAX, usize::from(mode >> 3)].map(|most| read(&bytes, order, most));
    // Another major version is refused, by one way perhaps earlier than by the other.
    let (Some(one_by_one), Some(at_once)) = (one_by_one, at_once) else { return };
    assert_eq!(one_by_one, at_once);
    assert_eq!(at_once.events.len() as u64 + at_once.skipped.total(), count);
});

fn reader(bytes: &[u8], order: Order) -> Reader<'_> {
    Reader::from_slice(bytes).order(order)
}

/// Reads up to `most` events one by one, and then the others at once. `None` if the stream is
/// refused.
fn read(bytes: &[u8], order: Order, most: usize) -> Option<Given> {
    let mut reader = reader(bytes, order).typed::<heap::Decoder>().unwrap();
    let mut events = Vec::new();
    while events.len() < most {
        let at = match reader.next() {
            Ok(Some(at)) => at,
            Ok(None) => break,
            Err(Error::Version(_)) => return None,
            Err(error) => panic!("{error}"),
        };
        assert!(!at.event.name().is_empty());
        events.push(format!("{} {} {} {:?}", at.time_ns(), at.thread(), at.offset(), at.event));
    }
    let ended = reader.for_each(|at| {
        events.push(format!("{} {} {} {:?}", at.time_ns(), at.thread(), at.offset(), at.event));
    });
    match ended {
        Ok(()) => {}
        Err(Error::Version(_)) => return None,
        Err(error) => panic!("{error}"),
    }
    assert!(reader.next().unwrap().is_none(), "an event behind the last");
    let skipped = reader.skipped();
    assert_eq!(reader.other_forms().iter().map(|form| form.events).sum::<u64>(), skipped.other_form);
    let completeness = reader.completeness();
    assert_eq!(completeness.bytes.total(), bytes.len() as u64);
    assert_eq!(completeness.events, events.len() as u64 + skipped.total());
    Some(Given { events, skipped })
}

/// Reads the events without generated code, and returns their number. Each of this version can be a
/// struct.
fn read_generic(bytes: &[u8], order: Order) -> u64 {
    static OWN: LazyLock<Registry> =
        LazyLock::new(|| telemetry_schema::parse_embedded(heap::Decoder::REGISTRY).unwrap());
    let reader = reader(bytes, order).registry(OWN.clone()).show_sensitive(true);
    let (mut events, mut count) = (reader.events().unwrap(), 0);
    while let Some(event) = events.next().unwrap() {
        count += 1;
        let owned = event.into_owned();
        if let Some(start) = owned.typed::<heap::TraceStart>() {
            assert!(owned.is::<heap::TraceStart>());
            let _ = format!("{start:?}");
        } else {
            // It has no string that may not be UTF-8.
            assert!(!owned.is::<heap::TraceStart>());
        }
        let _ = owned.typed::<heap::Note>().map(|note| format!("{note:?}"));
    }
    count
}
