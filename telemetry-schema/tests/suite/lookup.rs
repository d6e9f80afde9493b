//! Sizes, slots and finding things.

use telemetry_format::put;
use telemetry_schema::{MessagePart, Param, Range, RangeAction, RangeRole, ReplayRole, Sort};

use crate::{GC, registry};

#[test]
fn sizes_are_those_of_the_wire() {
    let registry = registry(GC);
    let all = registry.event_named("AllSorts").expect("the event is there");
    let sizes = all.params.iter().map(|param| {
        let (min, max) = param.wire_len(&registry).into_inner();
        format!("{} {}: {min} to {max}\n", param.name, registry.sort_text(param))
    });
    insta::assert_snapshot!(sizes.collect::<String>(), @r"
    p pointer: 1 to 9
    a addr: 1 to 9
    w word: 1 to 9
    u8 u8: 1 to 1
    u16 u16: 1 to 3
    u32 u32: 1 to 5
    u64 u64: 1 to 9
    i8 i8: 1 to 1
    i16 i16: 1 to 3
    i32 i32: 1 to 5
    i64 i64: 1 to 9
    f32 f32: 4 to 4
    f64 f64: 8 to 8
    b bool: 1 to 1
    s string: 1 to 1026
    short string: 1 to 17
    bytes bytes: 1 to 4098
    label label: 1 to 9
    why TraceWhy: 1 to 1
    balance Balance: 1 to 9
    frames [pointer]: 1 to 73
    quad [u32; 4]: 4 to 20
    whys [TraceWhy]: 1 to 65
    labels [label; 3]: 3 to 27
    last string: 1 to 1026
    ");
    assert_eq!((all.min_len(&registry), all.max_len(&registry)), (40, 6447));
    let nothing = registry.event(0).expect("the event is there");
    assert_eq!((nothing.min_len(&registry), nothing.max_len(&registry)), (0, 0));
}

/// A value of an enum takes the bytes of the type that carries it.
#[test]
fn many_values_of_an_enum_fit() {
    let whys = "sort = \"[TraceWhy]\"";
    assert!(GC.contains(whys));
    let registry = registry(&GC.replace(whys, "sort = \"[TraceWhy]\", max = 20_000"));
    let all = registry.event_named("AllSorts").expect("the event is there");
    assert_eq!(all.max_len(&registry), 6447 - 65 + 20_003);
}

/// A parameter of one value.
fn param(sort: Sort, max_len: u32) -> Param {
    let mut param = Param::new("", sort);
    param.max_len = max_len;
    param
}

/// A later version may know more, and its streams are read.
#[test]
fn a_usual_length_of_a_stream_is_a_hint() {
    let text = include_str!("../valid/gc.toml");
    for (number, read) in [("3", Some(3)), ("9", None), ("\"short\"", None)] {
        let text = text.replace("usual = 3", &format!("usual = {number}"));
        let registry = telemetry_schema::parse_embedded(&text).expect("a sound registry");
        let mut params = registry.events.iter().flat_map(|event| &event.params);
        let usual = params.find(|param| param.name == "limit").map(|param| param.usual);
        assert_eq!(usual, Some(read), "usual = {number}");
    }
}

/// A registry may be put together by hand.
#[test]
fn rotations_are_those_of_the_alignment() {
    for (align, rotation) in [(0, 0), (1, 0), (2, 1), (4096, 12), (1 << 30, 30)] {
        let mut param = param(Sort::Addr, 0);
        param.align = align;
        assert_eq!(param.rotation(), rotation, "{align}");
    }
}

#[test]
fn sizes_are_those_that_the_writer_takes() {
    let registry = registry(GC);
    let largest = |write: fn(&mut Vec<u8>) -> &mut Vec<u8>| {
        let mut out = Vec::new();
        write(&mut out);
        out.len()
    };
    for (sort, len) in [
        (Sort::U8, largest(|out| put::byte(out, u8::MAX))),
        (Sort::Bool, largest(|out| put::byte(out, 1))),
        (Sort::U16, largest(|out| put::unsigned(out, u16::MAX.into()))),
        (Sort::I16, largest(|out| put::signed(out, i16::MIN.into()))),
        (Sort::U32, largest(|out| put::unsigned(out, u32::MAX.into()))),
        (Sort::I32, largest(|out| put::signed(out, i32::MIN.into()))),
        (Sort::U64, largest(|out| put::unsigned(out, u64::MAX))),
        (Sort::I64, largest(|out| put::signed(out, i64::MIN))),
        (Sort::Label, largest(|out| put::unsigned(out, u64::MAX))),
        (Sort::Word, largest(|out| put::delta(out, 0, 1 << 63))),
        (Sort::F32, largest(|out| put::f32(out, 0.0))),
        (Sort::F64, largest(|out| put::f64(out, 0.0))),
    ] {
        assert_eq!(*param(sort, 0).value_len(&registry).end(), len, "{sort:?}");
    }
    for len in [1, 127, 128, 16_383, 16_384] {
        let mut out = Vec::new();
        put::bytes(&mut out, &vec![0; len]);
        assert_eq!(param(Sort::Bytes, len as u32).value_len(&registry), 1..=out.len());
    }
}

#[test]
fn slots_of_a_kind_are_contiguous() {
    let registry = registry(GC);
    let slots = registry.slots();
    let mut drawn = String::new();
    for (index, kind) in registry.kinds.iter().enumerate() {
        drawn += &format!("{} {:?}\n", kind.name, slots.of_kind(index));
        for (event, row) in registry.events.iter().enumerate().filter(|(_, event)| event.kind == index) {
            for (param, column) in row.params.iter().enumerate() {
                if let Some(slot) = slots.number(event, param) {
                    drawn +=
                        &format!("  {slot} {}.{} {}\n", row.name, column.name, registry.sort_text(column));
                }
            }
        }
    }
    insta::assert_snapshot!(drawn, @r"
    Arena 0..3
      0 VMMap.base addr
      1 VMMap.limit addr
      2 PoolInitMVFF.pool pointer
    Trace 3..7
      3 TraceStart.trace pointer
      4 TraceStart.condemned word
      5 TraceEnd.trace pointer
      6 TraceEnd.live word
    Ref 7..8
      7 RefFix.at addr
    User 8..12
      8 AllSorts.p pointer
      9 AllSorts.a addr
      10 AllSorts.w word
      11 AllSorts.frames [pointer]
    ");
    assert_eq!(slots.number(999, 0), None);
    assert_eq!(slots.of_kind(999), 0..0);
    assert!(!slots.is_empty());
}

#[test]
fn things_are_found() {
    let registry = registry(GC);
    let event = registry.event(0x0011).expect("the event is there");
    assert_eq!(event.name, "TraceStart");
    assert_eq!(registry.kind_of(event).name, "Trace");
    assert_eq!(registry.event(0x0013), None);
    assert_eq!(registry.event_named("Trace"), None);
    let why = registry.ty(event.params[1].sort).expect("the type is there");
    assert_eq!(why.value(2).map(|value| value.name.as_str()), Some("NurseryFull"));
    assert_eq!(why.value(3), None);
    assert_eq!(registry.repr(event.params[1].sort), Sort::U8);
    assert_eq!(registry.ty(Sort::U8), None);
    assert_eq!(registry.sort_name(event.params[1].sort), "TraceWhy");
    assert_eq!(registry.version.to_string(), "1.2.3");
}

#[test]
fn words_name_events() {
    let registry = registry(GC);
    let event = registry.event(0x0011).expect("the event is there");
    for (word, expected) in [
        ("TraceStart", true),
        ("trace", true),
        ("Arena", false),
        ("work", true),
        ("Everything", true),
        ("none_such", false),
    ] {
        assert_eq!(registry.is_named(word, event), expected, "{word}");
    }
}

#[test]
fn messages_have_parts() {
    let registry = registry(GC);
    let part_of = |name: &str| {
        let event = registry.events.iter().position(|event| event.name == name)?;
        registry.message_of(event).map(|(message, part)| (&*message.name, part))
    };
    assert_eq!(part_of("TraceStart"), Some(("Gc", MessagePart::Begin)));
    assert_eq!(part_of("TraceEnd"), Some(("Gc", MessagePart::End)));
    assert_eq!(part_of("AllSorts"), Some(("Alone", MessagePart::Whole)));
}

#[test]
fn roles_lead_to_parameters() {
    let registry = registry(GC);
    let all = registry.event_named("AllSorts").expect("the event is there");
    let replay = all.replay.as_ref().expect("the mark is there");
    let name_of = |param: Option<usize>| param.map(|param| &*all.params[param].name);
    assert_eq!(name_of(replay.param(ReplayRole::Old)), Some("p"));
    assert_eq!(name_of(replay.param(ReplayRole::Size)), Some("w"));
    let roles = vec![(RangeRole::Base, 3), (RangeRole::Size, 2)];
    let range = Range { action: RangeAction::Begin, what: "run".to_owned(), roles };
    let roles = [RangeRole::Base, RangeRole::Size, RangeRole::Owner];
    assert_eq!(roles.map(|role| range.param(role)), [Some(3), Some(2), None]);
}

#[test]
fn a_sample_by_value_keeps_some_values() {
    use telemetry_schema::Limit;
    assert!((0..100).all(|value| Limit::keeps(1, value)));
    let kept = (0..10_000).filter(|&value| Limit::keeps(10, value)).count();
    assert!((900..1_100).contains(&kept), "{kept}");
}
