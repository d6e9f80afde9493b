//! Values at the limits of their types.

use telemetry_columns::{Batches, Builder, ColumnData};
use telemetry_decode::{Order, RawStr, Reader, Value};
use telemetry_testing::made;

use crate::text::{NONE, check, row};
use crate::written::{event, registry, stream, stream_of_blocks};

/// Checks the cells of a parameter of a type: its column, and those that follow it.
fn check_cells(sort: &str, table: &[(Value<'_>, &[&str])]) {
    let param = format!("{{ name = \"x\", doc = \"d\", {sort} }}");
    let registry = registry("r", "1.0.0", &event("Sent", 1, &param));
    let values: Vec<_> = table.iter().map(|(value, _)| [*value]).collect();
    let events: Vec<_> = values.iter().map(|values| (0, 1, &values[..])).collect();
    let rows = check(&stream(&[registry], &events), Builder::new);
    for (row, (value, expected)) in rows["Sent"].iter().zip(table) {
        assert_eq!(&row[5..], *expected, "{value:?} of {sort}");
    }
}

#[test]
fn numbers() {
    let (max, half) = ("18446744073709551615", "9223372036854775808");
    let word = |n| Value::Word(n);
    check_cells("sort = \"word\"", &[(word(0), &["0"]), (word(1 << 63), &[half]), (word(u64::MAX), &[max])]);
    let unsigned = |n| Value::Unsigned(n);
    check_cells("sort = \"u64\"", &[(unsigned(1 << 63), &[half]), (unsigned(u64::MAX), &[max])]);
    check_cells("sort = \"u8\"", &[(unsigned(0), &["0"]), (unsigned(255), &["255"])]);
    let signed = |n| Value::Signed(n);
    check_cells("sort = \"i64\"", &[(signed(i64::MIN), &["-9223372036854775808"]), (signed(-1), &["-1"])]);
    check_cells("sort = \"i8\"", &[(signed(-128), &["-128"]), (signed(127), &["127"])]);
    check_cells("sort = \"bool\"", &[(Value::Bool(true), &["true"]), (Value::Bool(false), &["false"])]);
}

#[test]
fn floats_keep_their_bits() {
    let nan = f64::from_bits(0x7ff8_0000_0000_1234);
    check_cells(
        "sort = \"f64\"",
        &[
            (Value::F64(nan), &["7ff8000000001234"]),
            (Value::F64(-0.0), &["8000000000000000"]),
            (Value::F64(f64::NEG_INFINITY), &["fff0000000000000"]),
        ],
    );
    check_cells("sort = \"f32\"", &[(Value::F32(f32::from_bits(0x7fc0_0042)), &["7fc00042"])]);
}

#[test]
fn texts_of_any_length_and_of_any_bytes() {
    let long = "x".repeat(16_384);
    let quoted = format!("'{long}'");
    check_cells(
        "sort = \"string\", max = 16384",
        &[
            (Value::String(RawStr(b"")), &["''", NONE]),
            (Value::String(RawStr(b"plain")), &["'plain'", NONE]),
            (Value::String(RawStr(b"a\xffb")), &["'a\\xef\\xbf\\xbdb'", "'a\\xffb'"]),
            (Value::String(RawStr(b"\\xff")), &["'\\\\xff'", NONE]),
            (Value::String(RawStr(long.as_bytes())), &[&quoted, NONE]),
        ],
    );
    check_cells(
        "sort = \"bytes\", max = 16384",
        &[(Value::Bytes(b""), &["''"]), (Value::Bytes(b"\0\xff"), &["'\\x00\\xff'"])],
    );
}

#[test]
fn enums_flags_and_labels_have_names() {
    let types = "[types.Why]\nrepr = \"i8\"\nvalues = { Back = -1, Full = 2 }\n\
                 [types.Mode]\nrepr = \"u16\"\nflags = true\nvalues = { Read = 1, Write = 2 }\n";
    let params = "{ name = \"why\", sort = \"Why\", doc = \"d\" }, { name = \"mode\", sort = \"Mode\", doc = \"d\" }, \
                  { name = \"modes\", sort = \"[Mode]\", max = 9, doc = \"d\" }";
    let registry = registry("r", "1.0.0", &(types.to_string() + &event("Sent", 1, params)));
    let named = |n| Value::Named(telemetry_decode::EnumValue::new(n));
    let modes = [named(1), named(0)];
    let events = [
        [named(-1), named(1), Value::Array(modes[..0].into())],
        [named(3), named(3), Value::Array(modes[..].into())],
        [named(2), named(0), Value::Array(modes[1..].into())],
        [named(2), named(65), Value::Array(modes[..1].into())],
    ];
    let events: Vec<_> = events.iter().map(|values| (0, 1, &values[..])).collect();
    let rows = check(&stream(&[registry], &events), Builder::new);
    let found: Vec<_> = rows["Sent"].iter().map(|row| row[5..].join(" ")).collect();
    assert_eq!(
        found,
        [
            "-1 Back 1 Read [] []",
            "3 - 3 Read|Write [\"1\", \"0\"] [\"Read\", \"-\"]",
            "2 Full 0 - [\"0\"] [\"-\"]",
            "2 Full 65 Read|0x40 [\"1\"] [\"Read\"]",
        ]
    );
}

#[test]
fn numbers_with_strings_have_names() {
    let of = |sort: &str| {
        event(
            "Defined",
            1,
            &format!(
                "{{ name = \"id\", {sort}, doc = \"d\" }}, {{ name = \"text\", sort = \"string\", names = \"id\", doc = \"d\" }}"
            ),
        ) + &event("Used", 2, &format!("{{ name = \"x\", {sort}, doc = \"d\" }}"))
            + &event(
                "Stacked",
                3,
                &format!(
                    "{{ name = \"x\", {}, max = 4, doc = \"d\" }}",
                    sort.replacen("sort = \"u32\"", "sort = \"[u32]\"", 1).replacen(
                        "sort = \"label\"",
                        "sort = \"[label]\"",
                        1
                    )
                ),
            )
    };
    for (sort, value) in [
        ("sort = \"label\"", (|n| Value::Label(n)) as fn(u64) -> Value<'static>),
        ("sort = \"u32\", numbers = \"cost\"", |n| Value::Unsigned(n)),
    ] {
        let registry = registry("r", "1.0.0", &of(sort));
        let (ten, stack) = ([value(10), Value::String(RawStr(b"ten"))], [value(10), value(11)]);
        let (same, none) = ([value(12), Value::String(RawStr(b"ten"))], [value(11)]);
        let stack = [Value::Array(stack[..].into())];
        let events: [(usize, u16, &[Value<'_>]); 7] = [
            (0, 1, &ten),
            (0, 1, &same),
            (0, 2, &ten[..1]),
            (0, 2, &none),
            (0, 2, &same[..1]),
            (0, 2, &ten[..1]),
            (0, 3, &stack),
        ];
        let rows = check(&stream(&[registry], &events), |tables| Builder::new(tables).rows(3));
        let found: Vec<_> = rows["Used"].iter().map(|row| row[5..].join(" ")).collect();
        assert_eq!(found, ["10 ten", "11 -", "12 ten", "10 ten"]);
        assert_eq!(rows["Stacked"][0][5..].join(" "), "[\"10\", \"11\"] [\"ten\", \"-\"]");
    }
}

/// Versions of a registry share a column of names, but one number has a name in each.
#[test]
fn numbers_have_the_names_of_their_version() {
    let version = |number: &str, space: &str| {
        let id = format!("{{ name = \"id\", sort = \"u32\", numbers = \"{space}\", doc = \"d\" }}");
        let text = "{ name = \"text\", sort = \"string\", names = \"id\", doc = \"d\" }";
        let used = id.replace("\"id\"", "\"x\"");
        registry("r", number, &(event("Defined", 1, &format!("{id}, {text}")) + &event("Used", 2, &used)))
    };
    let registries = [version("1.0.0", "old"), version("2.0.0", "new")];
    let [old, new] = [b"old", b"new"].map(|text| [Value::Unsigned(10), Value::String(RawStr(text))]);
    let events: [(usize, u16, &[Value<'_>]); 5] =
        [(0, 1, &old), (1, 1, &new), (0, 2, &old[..1]), (1, 2, &new[..1]), (0, 2, &old[..1])];
    let rows = check(&stream(&registries, &events), Builder::new);
    let mut found: Vec<_> = rows["Used"].iter().map(|row| row[5..].join(" ")).collect();
    found.sort();
    assert_eq!(found, ["10 new", "10 old", "10 old"]);
}

/// A pipe tells the string of a label when its event comes.
#[test]
fn labels_may_get_their_strings_later() {
    let params = "{ name = \"id\", sort = \"label\", doc = \"d\" }, \
                  { name = \"text\", sort = \"string\", names = \"id\", doc = \"d\" }";
    let used = "{ name = \"x\", sort = \"label\", doc = \"d\" }";
    let registry = registry("r", "1.0.0", &(event("Defined", 1, params) + &event("Used", 2, used)));
    let label = [Value::Label(10), Value::String(RawStr(b"ten"))];
    let bytes = stream_of_blocks(&[registry], &[(0, 2, &label[..1]), (0, 1, &label), (0, 2, &label[..1])]);
    let events = Reader::from_reader(&bytes[..]).order(Order::Stream).events().unwrap();
    let batches: Vec<_> = Batches::new(events).map(|batch| batch.unwrap()).collect();
    let used = batches.iter().find(|batch| batch.table().name == "Used").unwrap();
    assert_eq!([0, 1].map(|index| row(used, index)[5..].join(" ")), ["10 -", "10 ten"]);
}

#[test]
fn an_event_without_parameters_has_the_common_columns() {
    let registry = registry("r", "1.0.0", &event("Nothing", 1, ""));
    let rows = check(&stream(&[registry], &[(0, 1, &[]), (0, 1, &[])]), Builder::new);
    assert_eq!(rows["Nothing"], [["7", "1", "0", "0", "1000"], ["7", "1", "1", "1", "1001"]]);
}

#[test]
fn a_column_without_values_has_as_many_rows() {
    let stream = made::make(&made::registry(), &made::Plan { events: 200, ..made::Plan::default() }).stream;
    let mut events = Reader::from_slice(&stream).order(Order::Time).events().unwrap();
    let mut builder = Builder::new(telemetry_columns::Tables::of(events.registries()));
    while let Some(event) = events.next().unwrap() {
        assert!(builder.push(&event).is_none());
    }
    let mut batches = 0;
    while let Some(batch) = builder.finish() {
        batches += 1;
        for column in batch.into_columns() {
            let of = |column: &ColumnData| (column.data().len(), std::mem::discriminant(column.data()));
            let (before, rows) = (of(&column), column.data().len());
            let empty = column.without_values();
            assert_eq!(of(&empty), before);
            assert!((0..rows).all(|row| !empty.has_value(row)));
            assert!(!format!("{empty:?}").contains("240, 159, 166, 128"), "no bytes of a text");
        }
    }
    assert!(batches > 1);
}
