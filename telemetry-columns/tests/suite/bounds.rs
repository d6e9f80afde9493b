//! Limits of batches and of memory.

use telemetry_columns::{Batch, Batches, Builder, Tables};
use telemetry_decode::foreign::{Extent, Log, LogBytes, LogLane, Page, Survey};
use telemetry_decode::{Clock, Facts, Order, RawStr, Reader, Result, Session, Value};

use crate::written::{event, registry, stream};

/// Batches can be made on one thread and used on another.
#[test]
fn batches_are_sent() {
    fn is_send<T: Send>() {}
    is_send::<Batch>();
    is_send::<Builder>();
    is_send::<Batches<'static>>();
}

/// Returns the rows of each batch.
fn rows(stream: &[u8], build: impl Fn(Tables) -> Builder) -> Vec<usize> {
    let events = Reader::from_slice(stream).order(Order::Stream).events().unwrap();
    let builder = build(Tables::of(events.registries()));
    Batches::with(events, builder).map(|batch| batch.unwrap().rows()).collect()
}

#[test]
fn batches_end_at_the_most_rows() {
    let registry = registry("r", "1.0.0", &event("Sent", 1, ""));
    let events: Vec<(usize, u16, &[Value<'_>])> = vec![(0, 1, &[]); 1000];
    let bytes = stream(&[registry], &events);
    for (most, expected) in [(300, &[300, 300, 300, 100][..]), (256, &[256, 256, 256, 232]), (1000, &[1000])]
    {
        assert_eq!(rows(&bytes, |tables| Builder::new(tables).rows(most)), expected);
    }
    assert_eq!(rows(&bytes, |tables| Builder::new(tables).rows(0)), [1; 1000]);
}

#[test]
fn batches_end_at_the_most_bytes() {
    let param = "{ name = \"x\", sort = \"string\", max = 1000, doc = \"d\" }";
    let registry = registry("r", "1.0.0", &event("Sent", 1, param));
    let text = [b'x'; 1000];
    let values = [Value::String(RawStr(&text))];
    let events: Vec<(usize, u16, &[Value<'_>])> = vec![(0, 1, &values); 10];
    let bytes = stream(&[registry], &events);
    assert_eq!(rows(&bytes, |tables| Builder::new(tables).bytes(3500)), [4, 4, 2]);
}

/// A log of another system: each byte is an event with a text of a megabyte.
struct Texts;

impl Log for Texts {
    fn survey(&mut self, bytes: &mut LogBytes<'_>) -> Result<Survey> {
        let param = "{ name = \"x\", sort = \"string\", doc = \"d\" }";
        let mut survey = Survey::default();
        survey.sessions.push(Session::new(1, Facts::default(), Clock::ticks(0, 0, 1)));
        survey.registries.push(registry("r", "1.0.0", &event("Sent", 1, param)));
        survey.lanes.push(LogLane::new(0, 1));
        let mut at = 0;
        while !bytes.at(at, 1)?.is_empty() {
            survey.extents.push(Extent::new(0, at..at + 1, 1, at));
            at += 1;
        }
        survey.counts.push(vec![at]);
        Ok(survey)
    }

    fn read(&self, extent: &Extent, bytes: &[u8], page: &mut Page) {
        page.event(0, 0, extent.at, 0, 1).run(&bytes[..1].repeat(1 << 20));
    }
}

#[test]
fn texts_of_a_megabyte_end_batches() {
    let mut batches = Batches::new(Reader::from_log(&b"abcdefghijkl"[..], Texts).events().unwrap());
    let mut found = Vec::new();
    while let Some(batch) = batches.next_batch().unwrap() {
        let Some(telemetry_columns::Data::Runs(texts)) = batch.column("x").map(|column| column.data()) else {
            panic!("no texts");
        };
        assert!((0..batch.rows()).all(|row| texts.get(row).unwrap().len() == 1 << 20));
        // Such a log does not number its events.
        assert!(!batch.column("position").unwrap().has_value(0));
        found.push(batch.rows());
    }
    assert_eq!(found, [8, 4]);
}

/// Many tables hold fewer rows each, so that all of them together stay small.
#[test]
fn the_largest_table_gives_a_batch_when_all_hold_much() {
    let all: String = (1..=40).map(|code| event(&format!("Sent{code}"), code, "")).collect();
    let registry = registry("r", "1.0.0", &all);
    let events: Vec<(usize, u16, &[Value<'_>])> =
        (0..2_400_000).map(|index| (0, 1 + (index % 40) as u16, &[][..])).collect();
    let rows = rows(&stream(&[registry], &events), Builder::new);
    assert_eq!(rows.iter().sum::<usize>(), 2_400_000);
    let full = rows.iter().filter(|rows| **rows == 64 << 10).count();
    assert!(rows.len() > 40 && full == 0, "{rows:?}");
}
