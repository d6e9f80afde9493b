//! Events with the mark `time`, whose parameter has another time than that of their emission.

use telemetry_decode::writer::{Lane, Writer};
use telemetry_decode::{Facts, Filter, Order, RawStr, Reader, Value};
use telemetry_schema::parse;

use crate::made::START;

const REGISTRY: &str = r#"
[registry]
name = "late"
version = { major = 1, median = 0, minor = 0 }
doc = "Events that are told late"
[kinds]
Now = { bit = 0, doc = "what is told at once" }
Late = { bit = 1, doc = "what is told later" }
[[event]]
name = "Step"
code = 1
kind = "Now"
doc = "Something happens"
params = []
[[event]]
name = "Sample"
code = 2
kind = "Late"
time = "moment"
doc = "Something happened"
params = [{ name = "moment", sort = "u64" }, { name = "what", sort = "string" }]
[[event]]
name = "Sampled"
code = 3
kind = "Late"
doc = "All samples were told"
params = []
"#;

/// Makes steps at 10, 20 and so on to 100, and at 200 samples of these times.
fn stream(moments: &[u64]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new()).block_size(100);
    writer.session(1, &Facts::default(), 0, START).unwrap();
    let registry = writer.registry(1, &parse(REGISTRY).unwrap()).unwrap();
    let lane = |thread| Lane { session: 1, thread, registry };
    (1..=10).for_each(|step| writer.event(lane(1), 1, step * 10, &[]).unwrap());
    for (index, moment) in moments.iter().enumerate() {
        let what = format!("sample {index}");
        let values = [Value::Unsigned(*moment), Value::String(RawStr(what.as_bytes()))];
        writer.event(lane(2), 2, 200 + index as u64, &values).unwrap();
    }
    writer.event(lane(2), 3, 300, &[]).unwrap();
    writer.end(1, 1_000).unwrap();
    writer.finish().unwrap()
}

/// Returns the times of events, with the values of samples.
fn times(reader: Reader<'_>) -> Vec<(i64, String)> {
    let mut events = reader.events().unwrap();
    let mut times = Vec::new();
    while let Some(event) = events.next().unwrap() {
        assert_eq!(event.ticks() as i64, event.time_ns());
        let text = event.get("what").map_or(event.name().to_string(), |what| what.to_string());
        times.push((event.time_ns(), text));
    }
    let completeness = events.completeness();
    assert!(completeness.is_complete(), "{completeness}");
    assert_eq!(completeness.events, times.len() as u64);
    times
}

#[test]
fn events_come_at_the_moment_that_they_tell_of() {
    let stream = stream(&[55, 5, 30, 250, 55]);
    let found = times(Reader::from_slice(&stream));
    assert!(found.is_sorted_by_key(|(time, _)| *time), "{found:?}");
    assert_eq!(found.len(), 16);
    let samples: Vec<_> = found.iter().filter(|(_, what)| what.starts_with("sample")).cloned().collect();
    let expected = [(5, "sample 1"), (30, "sample 2"), (55, "sample 0"), (55, "sample 4"), (250, "sample 3")];
    assert_eq!(samples, expected.map(|(time, what)| (time, what.to_string())));
    // A pipe is copied first. In stream order, events come as they were written.
    assert_eq!(times(Reader::from_reader(&stream[..])), found);
    let as_written = times(Reader::from_slice(&stream).order(Order::Stream));
    assert_eq!(as_written.len(), 16);
    assert!(as_written.contains(&(200, "sample 0".to_string())));
}

#[test]
fn filters_are_of_the_moment() {
    let stream = stream(&[55, 5, 30]);
    let of = |filter: Filter| times(Reader::from_slice(&stream).filter(filter)).len();
    assert_eq!(of(Filter::default().from_ns(25).until_ns(60)), 5);
    assert_eq!(of(Filter::default().until_ns(10)), 1);
    assert_eq!(of(Filter::default().kinds(["Late"])), 4);
    assert_eq!(of(Filter::default().events(["Sample"])), 3);
    assert_eq!(of(Filter::default().events(["Step"])), 10);
    assert_eq!(of(Filter::default().threads([1_u64])), 10);
}
