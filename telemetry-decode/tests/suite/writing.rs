//! The calls that the writer refuses without any change.

use std::collections::BTreeMap;

use telemetry_decode::writer::{Lane, WriteError, Writer};
use telemetry_decode::{EnumValue, Fact, Facts, RawStr, Reader, Value};
use telemetry_format::Loss;

use crate::made::{START, registry};
use crate::read::{Way, read, show};

fn refused(result: Result<(), WriteError>) -> String {
    match result {
        Err(WriteError::Refused(why)) => why,
        other => panic!("expected a refusal, found {other:?}"),
    }
}

/// Strings longer than their `max`, up to the limit of a block, are read.
#[test]
fn long_strings_of_others() {
    let registry = registry();
    let mut writer = Writer::new(Vec::new()).block_size(100).long_runs();
    writer.session(1, &Facts::default(), 0, START).unwrap();
    let lane = Lane { session: 1, thread: 1, registry: writer.registry(1, &registry).unwrap() };
    let one = Value::Named(EnumValue::new(1));
    let mut write = |text: &[u8], bytes: &[u8]| {
        let values = [Value::String(RawStr(text)), one, one, Value::Bytes(bytes), Value::Addr(0)];
        writer.event(lane, 0x101, 5, &values)
    };
    let long = vec![b'x'; 70_000];
    write(b"short", b"").unwrap();
    write(&long, &long).unwrap();
    let huge = vec![b'x'; 9 << 20];
    insta::assert_snapshot!(refused(write(&huge, &huge)), @"event `Named` is longer than the 16777216 bytes of a block");
    write(b"again", b"").unwrap();
    let stream = writer.finish().unwrap();
    let mut events = Reader::from_slice(&stream).events().unwrap();
    let mut lengths = Vec::new();
    while let Some(event) = events.next().unwrap() {
        let len = |index: usize| event.value(index).and_then(|value| value.as_bytes()).map(<[u8]>::len);
        lengths.push((len(0), len(3)));
    }
    assert_eq!(lengths, [(Some(5), Some(0)), (Some(70_000), Some(70_000)), (Some(5), Some(0))]);
}

#[test]
fn refusals() {
    let registry = registry();
    let mut writer = Writer::new(Vec::new());
    writer.session(1, &Facts::default(), 0, START).unwrap();
    let fingerprint = writer.registry(1, &registry).unwrap();
    let lane = Lane { session: 1, thread: 1, registry: fingerprint };
    let numbers = |index: usize, value: Value<'static>| {
        let mut all = [Value::Unsigned(0); 12];
        all[4..8].fill(Value::Signed(0));
        all[8..].copy_from_slice(&[Value::F32(0.0), Value::F64(0.0), Value::Bool(false), Value::Label(0)]);
        all[index] = value;
        all
    };
    let named = |index: usize, value: Value<'static>| {
        let text = Value::String(RawStr::from(""));
        let mut all = [
            text,
            Value::Named(EnumValue::new(1)),
            Value::Named(EnumValue::new(1)),
            Value::Bytes(&[]),
            Value::Addr(0),
        ];
        all[index] = value;
        all
    };
    let words: &[Value] = &[Value::Word(0); 3];
    let arrays = |index: usize, value: Value<'static>| {
        let (bits, none): (&[Value], &[Value]) = (&[Value::Unsigned(0); 4], &[]);
        let none = Value::Array(none.into());
        let mut all =
            [none, Value::Array(words.into()), Value::Array(bits.into()), none, none, none, Value::Word(0)];
        all[index] = value;
        all
    };
    writer.event(lane, 2, 5, &numbers(0, Value::Unsigned(255))).unwrap();
    let mut event = |code, values: &[Value]| refused(writer.event(lane, code, 5, values));
    let mixed: &[Value] = &[Value::Word(1), Value::Addr(1), Value::Word(2)];
    let mut all = vec![
        event(9, &[]),
        event(1, &[Value::Word(1)]),
        event(2, &[]),
        event(2, &numbers(0, Value::Unsigned(256))),
        event(2, &numbers(1, Value::Signed(1))),
        event(2, &numbers(4, Value::Signed(-129))),
        event(2, &numbers(10, Value::Unsigned(1))),
        event(2, &numbers(8, Value::F64(0.5))),
        event(0x101, &named(0, Value::String(RawStr(&[b'x'; 41])))),
        event(0x101, &named(0, Value::Bytes(b"x"))),
        event(0x101, &named(1, Value::Named(EnumValue::new(1 << 31)))),
        event(0x101, &named(2, Value::Named(EnumValue::new(-1)))),
        event(0x101, &named(3, Value::Bytes(&[0; 21]))),
        event(0x101, &named(4, Value::Pointer(1))),
        event(0xffff, &arrays(0, Value::Addr(1))),
        event(0xffff, &arrays(0, Value::Array((&[Value::Addr(0); 6][..]).into()))),
        event(0xffff, &arrays(1, Value::Array((&words[..2]).into()))),
        event(0xffff, &arrays(1, Value::Array(mixed.into()))),
        event(0xffff, &arrays(6, Value::Array(words.into()))),
    ];
    let elsewhere = |session, registry| Lane { session, registry, ..lane };
    all.push(refused(writer.event(lane, 1, 4, &[])));
    all.push(refused(writer.event(elsewhere(2, fingerprint), 1, 5, &[])));
    all.push(refused(writer.event(elsewhere(1, 7), 1, 5, &[])));
    all.push(refused(writer.lose(elsewhere(1, 7), 0, Loss::default())));
    all.push(refused(writer.session(1, &Facts::default(), 0, START)));
    all.push(refused(writer.registry(2, &registry).map(drop)));
    all.push(refused(writer.thread(2, 1, &Facts::default())));
    all.push(refused(writer.end(2, 0)));
    writer.end(1, 9).unwrap();
    all.push(refused(writer.event(lane, 1, 9, &[])));
    insta::assert_snapshot!(all.join("\n"));
    let (events, completeness) = read(Way::MemoryByTime, &writer.finish().unwrap());
    assert_eq!(events.len(), 1);
    assert!(completeness.is_complete());
}

/// Facts of any type come back, in their order.
#[test]
fn facts() {
    let mut facts = Facts::default();
    facts.set("zeal", "a \"quoted\"\n\tline\\");
    facts.set("pid", 4711);
    facts.set("an odd = key", true);
    facts.set("args", vec!["-x", "ü"]);
    facts.set("nested", BTreeMap::from([("deep".to_string(), Fact::from(1.5))]));
    facts.set("pid", 4712);
    facts.set("since", Fact::Date("2026-01-31T10:00:00Z".to_string()));
    let mut writer = Writer::new(Vec::new());
    writer.session(1, &facts, 0, START).unwrap();
    writer.thread(1, 3, &facts).unwrap();
    let stream = writer.finish().unwrap();
    let index = telemetry_decode::Reader::from_slice(&stream).index().unwrap();
    assert_eq!(index.sessions[0].facts, facts);
    assert_eq!(index.sessions[0].threads()[&3], facts);
    assert_eq!(facts.number("pid"), Some(4712));
    let shown: Vec<_> =
        index.sessions[0].facts.iter().map(|(key, value)| format!("{key}: {value}\n")).collect();
    insta::assert_snapshot!(shown.concat());
}

#[test]
fn strings_of_another_system_stay_as_they_are() {
    let registry = registry();
    let mut writer = Writer::new(Vec::new());
    writer.session(1, &Facts::default(), 0, START).unwrap();
    let lane = Lane { session: 1, thread: 1, registry: writer.registry(1, &registry).unwrap() };
    let text = Value::String(RawStr(b"a\xff\xfe"));
    let rest =
        [Value::Named(EnumValue::new(1)), Value::Named(EnumValue::new(1)), Value::Bytes(&[]), Value::Addr(0)];
    writer.event(lane, 0x101, 1, &[&[text][..], &rest].concat()).unwrap();
    writer.end(1, 2).unwrap();
    let (events, completeness) = read(Way::PipeInStream, &writer.finish().unwrap());
    assert_eq!(events[0].values[0], show(&text));
    assert!(completeness.is_complete());
}
