//! The tables and columns of registries.

use telemetry_columns::{Batches, Builder, Tables};
use telemetry_decode::{Order, RawStr, Reader, Value};
use telemetry_schema::Registry;

use crate::text::{NONE, check, row};
use crate::written::{event, registry, stream, stream_of_blocks};

/// Returns the tables, each with the columns after the common ones and their types.
fn described(registries: &[Registry]) -> Vec<String> {
    let bytes = stream(registries, &[]);
    let events = Reader::from_slice(&bytes).events().unwrap();
    let tables = Tables::of(events.registries());
    let table = |table: &std::sync::Arc<telemetry_columns::Table>| {
        let columns = table.columns[5..].iter().map(|column| {
            let mark = if column.is_nullable { "?" } else { "" };
            format!(" {}:{}{mark}", column.name, column.ty.word())
        });
        table.name.clone() + &columns.collect::<String>()
    };
    tables.iter().map(table).collect()
}

fn param(name: &str, sort: &str) -> String {
    format!("{{ name = \"{name}\", sort = \"{sort}\", doc = \"the {name}\" }}")
}

#[test]
fn columns_of_one_version() {
    let types = "[types.Why]\nrepr = \"u8\"\nvalues = { Full = 2 }\n";
    let all = [
        param("at", "addr"),
        param("why", "Why"),
        param("note", "string"),
        param("raw", "bytes"),
        param("label", "label"),
        "{ name = \"ages\", sort = \"[i16]\", max = 3, doc = \"d\" }".to_string(),
        param("ways", "[Why; 2]"),
    ];
    let registry = registry("r", "1.0.0", &(types.to_string() + &event("Sent", 1, &all.join(", "))));
    assert_eq!(
        described(&[registry]),
        ["Sent at:u64 why:u8 why__name:names? note:text note__bytes:binary? raw:binary label:u64 \
          label__name:names? ages:list_of_i16 ways:list_of_u8 ways__name:list_of_names?"]
    );
}

#[test]
fn a_parameter_with_the_name_of_a_common_column_has_an_underscore() {
    let all = ["session", "thread", "position", "time_ns", "time"].map(|name| param(name, "u8")).join(", ");
    let registry = registry("r", "1.0.0", &event("Sent", 1, &all));
    assert_eq!(described(&[registry]), ["Sent session_:u8 thread_:u8 position_:u8 time_ns_:u8 time_:u8"]);
}

#[test]
fn several_registries_are_in_the_names_of_tables() {
    let [a, b] = ["a", "b"].map(|name| registry(name, "1.0.0", &event("Sent", 1, "")));
    assert_eq!(described(&[a.clone(), b.clone()]), ["a.Sent", "b.Sent"]);
    let rows = check(&stream(&[a, b], &[(0, 1, &[]), (1, 1, &[]), (0, 1, &[])]), Builder::new);
    assert_eq!((rows["a.Sent"].len(), rows["b.Sent"].len()), (2, 1));
}

/// Two versions of a registry, with an event that lost, gained and changed a parameter.
fn versions() -> [Registry; 2] {
    let old = [param("gone", "u32"), param("size", "u32"), param("same", "word")].join(", ");
    let new = [param("size", "string"), param("same", "u64"), param("new", "f64")].join(", ");
    [
        registry("r", "1.0.0", &event("Sent", 1, &old)),
        registry("r", "2.0.0", &(event("Sent", 1, &new) + &event("Added", 2, ""))),
    ]
}

#[test]
fn versions_share_a_table() {
    let columns = "Sent gone:u32? size:u32? same:u64 size__text:text? size__bytes:binary? new:f64?";
    assert_eq!(described(&versions()), [columns, "Added"]);
    let old = [Value::Unsigned(1), Value::Unsigned(2), Value::Word(3)];
    let new = [Value::String(RawStr(b"4")), Value::Unsigned(5), Value::F64(1.0)];
    let events: [(usize, u16, &[Value<'_>]); 5] =
        [(0, 1, &old), (1, 1, &new), (1, 2, &[]), (1, 1, &new), (0, 1, &old)];
    let rows = check(&stream(&versions(), &events), |tables| Builder::new(tables).rows(3));
    let (old, new) = (["1", "2", "3", NONE, NONE, NONE], [NONE, NONE, "5", "'4'", NONE, "3ff0000000000000"]);
    let mut found: Vec<_> = rows["Sent"].iter().map(|row| row[5..].join(" ")).collect();
    found.sort();
    assert_eq!(found, [new.join(" "), new.join(" "), old.join(" "), old.join(" ")]);
}

#[test]
fn docs_and_values_are_those_of_the_latest_version() {
    let version = |version: &str, doc: &str| {
        registry(
            "r",
            version,
            &event("Sent", 1, &format!("{{ name = \"x\", sort = \"u8\", doc = \"{doc}\" }}")),
        )
    };
    for order in [["1.0.0", "2.0.0"], ["2.0.0", "1.0.0"]] {
        let bytes = stream(&order.map(|number| version(number, &format!("of {number}"))), &[]);
        let events = Reader::from_slice(&bytes).events().unwrap();
        let tables = Tables::of(events.registries());
        let table = tables.table("Sent").unwrap();
        assert_eq!(table.column("x").unwrap().doc, "of 2.0.0");
        assert_eq!((table.kind.as_str(), &table.codes[..]), ("K", &[1][..]));
    }
}

/// Each change of the version moves rows to the columns.
#[test]
fn versions_in_turn_keep_the_limits() {
    let old = [Value::Unsigned(1), Value::Unsigned(2), Value::Word(3)];
    let new = [Value::String(RawStr(b"4")), Value::Unsigned(5), Value::F64(1.0)];
    let of = |index: usize| -> (usize, u16, &[Value<'_>]) {
        if index.is_multiple_of(2) { (0, 1, &old) } else { (1, 1, &new) }
    };
    let bytes = stream_of_blocks(&versions(), &(0..1000).map(of).collect::<Vec<_>>());
    check(&bytes, |tables| Builder::new(tables).rows(300));
    let events = Reader::from_slice(&bytes).order(Order::Time).events().unwrap();
    let builder = Builder::new(Tables::of(events.registries())).rows(300);
    let rows: Vec<_> = Batches::with(events, builder).map(|batch| batch.unwrap().rows()).collect();
    assert_eq!(rows, [300, 300, 300, 100]);
}

/// A pipe in stream order tells of a registry when its events come.
#[test]
fn registries_may_come_later() {
    let (old, new) =
        ([Value::Unsigned(1); 3], [Value::String(RawStr(b"4")), Value::Unsigned(5), Value::F64(1.0)]);
    let old: [Value<'_>; 3] = [old[0], old[1], Value::Word(3)];
    let bytes = stream(&versions(), &[(0, 1, &old), (1, 1, &new)]);
    let mut events = Reader::from_slice(&bytes).events().unwrap();
    let mut builder = Builder::default();
    while let Some(event) = events.next().unwrap() {
        assert!(builder.push(&event).is_none());
    }
    let batch = builder.finish().unwrap();
    assert!(builder.finish().is_none());
    assert_eq!((batch.rows(), batch.table().columns.len()), (2, 11));
    assert_eq!(row(&batch, 0)[5..], ["1", "1", "3", NONE, NONE, NONE]);
    assert_eq!(row(&batch, 1)[5..], [NONE, NONE, "5", "'4'", NONE, "3ff0000000000000"]);
    assert_eq!(Batches::new(Reader::from_slice(&bytes).events().unwrap()).count(), 1);
}

#[test]
fn an_event_with_the_name_of_a_side_table_has_its_registry() {
    let registry = registry("r", "1.0.0", &(event("Message", 1, "") + &event("Sent", 2, "")));
    assert_eq!(described(&[registry]), ["r.Message", "Sent"]);
}
