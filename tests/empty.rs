//! A registry that has no events yet: its module compiles, without warnings.

#![allow(missing_docs)]
#![deny(warnings)]

use telemetry::decode::Reader;
use telemetry::telemetry_event;

#[telemetry_event("tests/registries/empty.toml", decode)]
pub mod events {}

/// No event can be given to this function.
#[allow(dead_code)]
fn described(event: &events::Event<'_>) -> (&'static str, u16) {
    (event.name(), event.code())
}

#[test]
fn a_decoder_without_events_reads_none() {
    assert_eq!(events::REGISTRY.name(), "empty");
    let mut events = Reader::from_slice(&[]).typed::<events::Decoder>().unwrap();
    events.for_each(|_| panic!("there is no event")).unwrap();
}
