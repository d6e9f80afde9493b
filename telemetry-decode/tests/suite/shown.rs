//! Values as shown to people, and the methods of events.

use telemetry_decode::writer::{Lane, Writer};
use telemetry_decode::{EnumValue, Facts, RawStr, Reader, Value};

use crate::made::{START, registry};

fn event(code: u16, values: &[Value], check: impl FnOnce(&telemetry_decode::Event)) {
    let mut facts = Facts::default();
    facts.set("clock", "os");
    let mut name = Facts::default();
    name.set("name", "worker");
    let mut writer = Writer::new(Vec::new());
    writer.session(1, &facts, 100, START).unwrap();
    writer.thread(1, 2, &name).unwrap();
    let lane = Lane { session: 1, thread: 2, registry: writer.registry(1, &registry()).unwrap() };
    writer.event(lane, code, 350, values).unwrap();
    let stream = writer.finish().unwrap();
    let mut events = Reader::from_slice(&stream).events().unwrap();
    check(&events.next().unwrap().expect("there is one event"));
}

fn shown(code: u16, values: &[Value], expected: &[&str]) {
    event(code, values, |event| {
        let shown: Vec<String> = event.params().map(|p| format!("{}:{}", p.schema.name, p.value)).collect();
        assert_eq!(shown, expected);
    });
}

#[test]
fn values() {
    let made = |why: i128| {
        let (pool, at) = (Value::Pointer(0x7f00_beef), Value::Addr(0));
        [pool, at, Value::Word(4096), Value::Unsigned(3), Value::Named(EnumValue::new(why))]
    };
    shown(0x100, &made(2), &["pool:0x7f00beef", "at:0x0", "size:4096", "level:3", "why:Full"]);
    shown(0x100, &made(77), &["pool:0x7f00beef", "at:0x0", "size:4096", "level:3", "why:77"]);
    let named = |shift: i128, mode: i128| {
        let (text, bytes) = (Value::String(RawStr::from("a \"b\"\n")), Value::Bytes(&[0, 0xff, 0x10]));
        [text, Value::Named(EnumValue::new(shift)), Value::Named(EnumValue::new(mode)), bytes, Value::Addr(1)]
    };
    shown(0x101, &named(-1, 3), &["name:a \"b\"\n", "shift:Back", "mode:Both", "data:00ff10", "at:0x1"]);
    shown(
        0x101,
        &named(-9, 0x16),
        &["name:a \"b\"\n", "shift:-9", "mode:Write|Run|0x10", "data:00ff10", "at:0x1"],
    );
    shown(0x101, &named(1, 0), &["name:a \"b\"\n", "shift:Ahead", "mode:0", "data:00ff10", "at:0x1"]);
    assert_eq!(Value::String(RawStr(b"a\xffb\xc3")).to_string(), "a\u{fffd}b\u{fffd}");
    let words = [Value::Word(1), Value::Word(2)];
    assert_eq!(Value::Array((&words[..]).into()).to_string(), "[1 2]");
    assert_eq!(Value::F32(0.1).to_string(), "0.1");
}

#[test]
fn what_an_event_is_asked() {
    let values = [
        Value::Pointer(5),
        Value::Addr(6),
        Value::Word(u64::MAX),
        Value::Unsigned(7),
        Value::Named(EnumValue::new(1)),
    ];
    event(0x100, &values, |event| {
        assert_eq!((event.name(), event.kind().name.as_str()), ("Made", "Cell"));
        assert_eq!((event.thread(), event.thread_name()), (2, Some("worker")));
        assert_eq!((event.ticks(), event.time_ns(), event.wall_ns()), (350, 250, START as i64 + 250));
        assert_eq!(event.registry().name, "all_sorts");
        assert_eq!(event.get("size").and_then(|value| value.as_u64()), Some(u64::MAX));
        assert_eq!(event.get("level").and_then(|value| value.as_f64()), Some(7.0));
        assert_eq!(event.get("sizes"), None);
        assert_eq!(event.value(5), None);
        assert_eq!(event.values().len(), 5);
        let Some(Value::Named(why)) = event.get("why") else { panic!("an enum") };
        assert_eq!(
            (why.name(), why.number(), why.ty().map(|ty| ty.name.as_str())),
            (Some("Asked"), 1, Some("Why"))
        );
    });
}

/// A value equals only values of the same variant and bits.
#[test]
fn equality() {
    let nan = f64::from_bits(0x7ff8_0000_0000_0001);
    let (short, long) = ([Value::Word(1)], [Value::Word(1), Value::Word(2)]);
    let all = [
        Value::Pointer(1),
        Value::Addr(1),
        Value::Word(1),
        Value::Unsigned(1),
        Value::Signed(1),
        Value::Bool(true),
        Value::Label(1),
        Value::Named(EnumValue::new(1)),
        Value::F32(1.0),
        Value::F32(-1.0),
        Value::F64(nan),
        Value::F64(0.0),
        Value::F64(-0.0),
        Value::String(RawStr(b"1")),
        Value::Bytes(b"1"),
        Value::Bytes(b""),
        Value::Array((&short[..]).into()),
        Value::Array((&long[..]).into()),
    ];
    for (a, one) in all.iter().enumerate() {
        for (b, other) in all.iter().enumerate() {
            assert_eq!(one == other, a == b, "{one:?} {other:?}");
        }
    }
}
