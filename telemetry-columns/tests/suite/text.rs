//! Rows as text: those of batches, and those that the events should give.

use std::collections::BTreeMap;

use telemetry_columns::{Batch, Batches, Builder, Common, Data, Source, Tables};
use telemetry_decode::{Event, Order, Reader, Value};

#[cfg(feature = "ipc")]
use crate::arrow::Arrows;
#[cfg(feature = "parquet")]
use crate::parquet::{Files, in_micros};

/// The rows of each table, by its name.
pub(crate) type Rows = BTreeMap<String, Vec<Vec<String>>>;

/// A cell without a value.
pub(crate) const NONE: &str = "-";

/// Returns the rows of side tables: the names of columns with their values.
pub(crate) fn described(batches: &[Batch]) -> BTreeMap<String, Vec<BTreeMap<String, String>>> {
    let mut rows = BTreeMap::<String, Vec<_>>::new();
    for batch in batches {
        let names = batch.table().columns.iter().map(|column| column.name.clone());
        let names: Vec<_> = names.collect();
        for index in 0..batch.rows() {
            let cells = names.iter().cloned().zip(row(batch, index)).collect();
            rows.entry(batch.table().name.clone()).or_default().push(cells);
        }
    }
    rows
}

/// Returns a row of a batch.
pub(crate) fn row(batch: &Batch, row: usize) -> Vec<String> {
    let cell = |column: &telemetry_columns::ColumnData| match column.has_value(row) {
        true => cell(column.data(), row),
        false => NONE.to_string(),
    };
    batch.columns().iter().map(cell).collect()
}

fn cell(data: &Data, row: usize) -> String {
    match data {
        Data::Bool(bits) => bits.get(row).unwrap().to_string(),
        Data::I8(all) => all[row].to_string(),
        Data::I16(all) => all[row].to_string(),
        Data::I32(all) => all[row].to_string(),
        Data::I64(all) => all[row].to_string(),
        Data::U8(all) => all[row].to_string(),
        Data::U16(all) => all[row].to_string(),
        Data::U32(all) => all[row].to_string(),
        Data::U64(all) => all[row].to_string(),
        Data::F32(all) => format!("{:08x}", all[row].to_bits()),
        Data::F64(all) => format!("{:016x}", all[row].to_bits()),
        Data::Runs(runs) => shown(runs.get(row).unwrap()),
        Data::Dictionary { keys, values } => {
            let text = values.get(keys[row] as usize).unwrap();
            std::str::from_utf8(text).unwrap().to_string()
        }
        Data::List { offsets, items } => {
            let item = |index| match items.validity.as_ref().is_none_or(|bits| bits.get(index) == Some(true))
            {
                true => cell(&items.data, index),
                false => NONE.to_string(),
            };
            format!("{:?}", (offsets[row] as usize..offsets[row + 1] as usize).map(item).collect::<Vec<_>>())
        }
        _ => panic!("unknown data"),
    }
}

pub(crate) fn shown(bytes: &[u8]) -> String {
    format!("'{}'", bytes.escape_ascii())
}

/// Returns the row that an event should give.
fn expected(event: &Event<'_>, tables: &Tables) -> Vec<String> {
    let table = tables.table_of(event.known_registry().fingerprint, event.index()).unwrap();
    let cell = |source: &Source, ty: &str| -> Option<String> {
        let of = |name: &str| event.schema().params.iter().position(|param| param.name == name);
        match source {
            Source::Common(Common::Session) => Some(event.session().id.to_string()),
            Source::Common(Common::Thread) => Some(event.thread().to_string()),
            Source::Common(Common::Position) => event.position().map(|position| position.to_string()),
            Source::Common(Common::TimeNs) => Some(event.time_ns().to_string()),
            Source::Common(Common::Time) => Some(event.wall_ns().to_string()),
            Source::Param(name) => {
                let index = of(name)?;
                let word = telemetry_columns::ColumnType::of(event.registry(), &event.schema().params[index]);
                (word.word() == ty).then(|| value(&event.value(index).unwrap()))
            }
            Source::Names(name) => {
                let index = of(name)?;
                match event.value(index)? {
                    Value::Array(array) => {
                        let is_list = ty.starts_with("list");
                        let names = array.iter().map(|value| name_of(event, index, &value));
                        let names: Vec<_> = names.map(|name| name.unwrap_or(NONE.to_string())).collect();
                        is_list.then(|| format!("{names:?}"))
                    }
                    value => name_of(event, index, &value),
                }
            }
            Source::Bytes(name) => match event.value(of(name)?)? {
                Value::String(text) if std::str::from_utf8(text.0).is_err() => Some(shown(text.0)),
                _ => None,
            },
            _ => panic!("unknown source"),
        }
    };
    let cells = table.columns.iter().map(|column| {
        let text = cell(&column.source, &column.ty.word());
        assert!(column.is_nullable || text.is_some(), "{}.{} has no value", table.name, column.name);
        text.unwrap_or(NONE.to_string())
    });
    cells.collect()
}

fn value(value: &Value<'_>) -> String {
    match value {
        Value::F32(x) => format!("{:08x}", x.to_bits()),
        Value::F64(x) => format!("{:016x}", x.to_bits()),
        Value::Bool(b) => b.to_string(),
        Value::String(text) => shown(text.to_string().as_bytes()),
        Value::Bytes(bytes) => shown(bytes),
        Value::Array(array) => {
            format!("{:?}", array.iter().map(|item| self::value(&item)).collect::<Vec<_>>())
        }
        number => number.as_i128().unwrap().to_string(),
    }
}

fn name_of(event: &Event<'_>, index: usize, value: &Value<'_>) -> Option<String> {
    match value {
        Value::Label(number) => event.label(*number).map(str::to_string),
        Value::Named(named) if named.name().is_some() => named.name().map(str::to_string),
        Value::Named(named) => {
            let is_flags = named.ty()?.form == telemetry_schema::TypeForm::Flags;
            (is_flags && named.number() != 0).then(|| named.to_string())
        }
        _ => event.string_of(event.numbers(index)?, value).map(str::to_string),
    }
}

/// Checks that the batches of a stream have the rows of its events, in both orders. Returns the
/// rows in stream order.
pub(crate) fn check(stream: &[u8], build: impl Fn(Tables) -> Builder) -> Rows {
    check_reader(|| Reader::from_slice(stream), build)
}

/// Checks the same of any reader.
pub(crate) fn check_reader<'s>(reader: impl Fn() -> Reader<'s>, build: impl Fn(Tables) -> Builder) -> Rows {
    let [rows, _] = [Order::Stream, Order::Time].map(|order| {
        let open = || reader().order(order).events().unwrap();
        let mut events = open();
        let tables = Tables::of(events.registries());
        let mut wanted = Rows::new();
        while let Some(event) = events.next().unwrap() {
            let table = tables.table_of(event.known_registry().fingerprint, event.index()).unwrap();
            wanted.entry(table.name.clone()).or_default().push(expected(&event, &tables));
        }
        let mut found = Rows::new();
        #[cfg(feature = "parquet")]
        let mut files = Files::default();
        #[cfg(feature = "ipc")]
        let mut arrows = Arrows::default();
        let mut batches = Batches::with(open(), build(tables));
        while let Some(batch) = batches.next_batch().unwrap() {
            assert!(batch.rows() > 0);
            for column in batch.columns() {
                assert_eq!(column.data().len(), batch.rows());
                assert!(column.validity().is_none_or(|bits| bits.len() == batch.rows()));
            }
            let rows = (0..batch.rows()).map(|index| row(&batch, index));
            found.entry(batch.table().name.clone()).or_default().extend(rows);
            #[cfg(feature = "parquet")]
            if order == Order::Time {
                files.push(batch.clone(), batches.events().registries());
            }
            #[cfg(feature = "ipc")]
            if order == Order::Time {
                arrows.push(batch.clone(), batches.events().registries());
            }
            batches.reuse(batch);
        }
        #[cfg(feature = "ipc")]
        if order == Order::Time {
            assert_eq!(arrows.rows(), found, "in Arrow's files");
        }
        #[cfg(feature = "parquet")]
        if order == Order::Time {
            assert_eq!(files.rows(), in_micros(batches.tables(), &found), "in Parquet files");
        }
        assert_eq!(batches.events().completeness().events, events.completeness().events);
        assert_eq!(found, wanted, "{order:?}");
        found
    });
    rows
}
