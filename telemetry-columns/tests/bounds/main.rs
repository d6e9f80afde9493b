//! Memory is bounded for a forged registry. This is a process of its own, whose allocations are
//! counted.

use std::fmt::Write;

use telemetry_columns::{Batches, Builder, Tables};
use telemetry_decode::writer::{Lane, Writer};
use telemetry_decode::{EnumValue, Facts, Reader, Value};
use telemetry_testing::counting::{Counting, alone, peak};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Event types of the registry, and parameters of each.
const TYPES: u16 = 2_000;
const PARAMS: usize = 20;

/// Returns a stream in which each of many event types occurs once a turn.
fn many_types(turns: u64) -> Vec<u8> {
    let mut text = "[registry]\nname = \"many\"\nversion = \"1.0.0\"\ndoc = \"d\"\n\
                    [kinds]\nCell = { bit = 0, doc = \"d\" }\n\
                    [types.Why]\nrepr = \"u8\"\nvalues = { Asked = 1 }\n"
        .to_string();
    let param = |number| format!("{{ name = \"x{number}\", sort = \"Why\", doc = \"d\" }}");
    let params = (0..PARAMS).map(param).collect::<Vec<_>>().join(", ");
    for code in 1..=TYPES {
        write!(
            text,
            "[[event]]\nname = \"E{code}\"\ncode = {code}\nkind = \"Cell\"\ndoc = \"d\"\n\
             params = [{params}]\n"
        )
        .unwrap();
    }
    let registry = telemetry_schema::parse(&text).unwrap();
    let mut writer = Writer::new(Vec::new());
    writer.session(1, &Facts::default(), 0, 0).unwrap();
    let lane = Lane { session: 1, thread: 1, registry: writer.registry(1, &registry).unwrap() };
    let events = u64::from(TYPES) * turns;
    for number in 0..events {
        let code = 1 + (number % u64::from(TYPES)) as u16;
        writer.event(lane, code, number, &[Value::Named(EnumValue::new(1)); PARAMS]).unwrap();
    }
    writer.end(1, events).unwrap();
    writer.finish().unwrap()
}

/// Beside the description of its tables, each event type takes little.
#[test]
fn many_event_types() {
    let _alone = alone();
    let stream = many_types(3);
    let open = || {
        let events = Reader::from_slice(&stream).events().unwrap();
        let builder = Builder::new(Tables::of(events.registries()));
        Batches::with(events, builder)
    };
    let tables = peak(|| drop(open()));
    let mut rows = 0;
    let all = peak(|| rows = open().map(|batch| batch.unwrap().rows()).sum::<usize>());
    assert_eq!(rows, 3 * usize::from(TYPES));
    assert!(all < tables + (48 << 20), "{all} bytes, of which tables take {tables}");
}
