//! Batches as Arrow's record batches, files and streams. Every test of `check` comes here, too.

use std::collections::BTreeMap;
use std::io::Cursor;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, TimestampNanosecondType, UInt8Type,
    UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_ipc::reader::{FileReader, StreamReader};
use telemetry_columns::{
    ArrowWriter, Batch, Batches, Column, ColumnType, Error, Table, Tables, record_batch, schema,
};
use telemetry_decode::{KnownRegistry, Order, RawStr, Reader, Value};
use telemetry_testing::made::{Plan, make, registry};

use crate::text::{NONE, Rows, shown};
use crate::written::{Full, event, stream};

#[test]
fn record_batches_have_the_rows_of_batches() {
    let stream = make(&registry(), &Plan { events: 3000, threads: 3, ..Plan::default() }).stream;
    let mut batches = Batches::new(Reader::from_slice(&stream).events().unwrap());
    let (mut rows, mut checked) = (0, 0);
    while let Some(batch) = batches.next_batch().unwrap() {
        let (table, expected) = (batch.table().clone(), batch.clone());
        let schema = schema(&table);
        let found = record_batch(batch, &schema).unwrap();
        assert_eq!(found.num_rows(), expected.rows());
        assert_eq!(schema.metadata["telemetry.event"], table.event);
        for (index, column) in table.columns.iter().enumerate() {
            let (array, data) = (found.column(index), &expected.columns()[index]);
            assert_eq!(schema.field(index).name(), &column.name);
            for row in 0..expected.rows() {
                assert_eq!(array.is_valid(row), data.has_value(row), "{} {}", table.name, column.name);
            }
            checked += usize::from(column.ty == ColumnType::Dictionary);
        }
        rows += found.num_rows() as u64;
    }
    assert_eq!(rows, batches.events().completeness().events);
    assert!(checked > 0);
}

#[test]
fn a_schema_of_another_table_is_an_error() {
    let stream = make(&registry(), &Plan::default()).stream;
    let mut batches = Batches::new(Reader::from_slice(&stream).events().unwrap());
    let batch = batches.next_batch().unwrap().unwrap();
    let other = batches.tables().iter().find(|table| table.columns.len() != batch.columns().len()).unwrap();
    assert!(record_batch(batch, &schema(other)).is_err());
}

/// The files and streams of events in memory, by the names of their tables.
#[derive(Default)]
pub(crate) struct Arrows(BTreeMap<String, Written>);

/// A table as a file and as a stream.
struct Written {
    table: Table,
    file: ArrowWriter<Vec<u8>>,
    stream: ArrowWriter<Vec<u8>>,
}

impl Arrows {
    /// Adds a batch.
    pub(crate) fn push(&mut self, batch: Batch, registries: &[KnownRegistry]) {
        let table = batch.table().clone();
        let new = || Written {
            table: Table::clone(&table),
            file: ArrowWriter::file(Vec::new(), &table, registries).unwrap(),
            stream: ArrowWriter::stream(Vec::new(), &table, registries).unwrap(),
        };
        let written = self.0.entry(table.name.clone()).or_insert_with(new);
        written.file.push(batch.clone()).unwrap();
        written.stream.push(batch).unwrap();
    }

    /// Returns the rows that readers find, which are the same in files and streams.
    pub(crate) fn rows(self) -> Rows {
        let rows_of = |Written { table, file, stream }| {
            let file = FileReader::try_new(Cursor::new(file.finish().unwrap()), None).unwrap();
            let stream = StreamReader::try_new(Cursor::new(stream.finish().unwrap()), None).unwrap();
            assert_eq!(file.schema(), stream.schema());
            let of_file: Vec<_> = file.flat_map(|batch| rows(&table, &batch.unwrap())).collect();
            let of_stream: Vec<_> = stream.flat_map(|batch| rows(&table, &batch.unwrap())).collect();
            assert_eq!(of_file, of_stream);
            of_file
        };
        self.0.into_iter().map(|(name, of)| (name, rows_of(of))).collect()
    }
}

fn rows(table: &Table, batch: &RecordBatch) -> Vec<Vec<String>> {
    assert_eq!(batch.num_columns(), table.columns.len());
    let cell = |(column, array): (&Column, &ArrayRef), row| cell(&column.ty, array, row);
    let row =
        |row| table.columns.iter().zip(batch.columns()).map(|column| cell(column, row)).collect::<Vec<_>>();
    (0..batch.num_rows()).map(row).collect()
}

fn cell(ty: &ColumnType, array: &ArrayRef, row: usize) -> String {
    if array.is_null(row) {
        return NONE.to_string();
    }
    macro_rules! number {
        ($ty:ty) => {
            array.as_primitive::<$ty>().value(row).to_string()
        };
    }
    match ty {
        ColumnType::Bool => array.as_boolean().value(row).to_string(),
        ColumnType::I8 => number!(Int8Type),
        ColumnType::I16 => number!(Int16Type),
        ColumnType::I32 => number!(Int32Type),
        ColumnType::I64 => number!(Int64Type),
        ColumnType::U8 => number!(UInt8Type),
        ColumnType::U16 => number!(UInt16Type),
        ColumnType::U32 => number!(UInt32Type),
        ColumnType::U64 => number!(UInt64Type),
        ColumnType::Timestamp => number!(TimestampNanosecondType),
        ColumnType::F32 => format!("{:08x}", array.as_primitive::<Float32Type>().value(row).to_bits()),
        ColumnType::F64 => format!("{:016x}", array.as_primitive::<Float64Type>().value(row).to_bits()),
        ColumnType::Utf8 => shown(array.as_string::<i32>().value(row).as_bytes()),
        ColumnType::Dictionary => array.as_string::<i32>().value(row).to_string(),
        ColumnType::Binary => shown(array.as_binary::<i32>().value(row)),
        ColumnType::List(items) => {
            let list = array.as_list::<i32>().value(row);
            format!("{:?}", (0..list.len()).map(|item| cell(items, &list, item)).collect::<Vec<_>>())
        }
        ty => panic!("a column of {ty:?}"),
    }
}

#[test]
fn a_table_without_rows_has_its_columns() {
    for table in Tables::sides() {
        let file = ArrowWriter::file(Vec::new(), &table, &[]).unwrap().finish().unwrap();
        let stream = ArrowWriter::stream(Vec::new(), &table, &[]).unwrap().finish().unwrap();
        let file = FileReader::try_new(Cursor::new(file), None).unwrap();
        let stream = StreamReader::try_new(Cursor::new(stream), None).unwrap();
        assert_eq!(file.schema().fields().len(), table.columns.len());
        assert_eq!((file.count(), stream.count()), (0, 0));
    }
}

#[test]
fn the_schema_says_what_columns_mean() {
    let param = "{ name = \"why\", sort = \"Why\", doc = \"the reason\" }, \
                 { name = \"at\", sort = \"addr\", doc = \"the place\" }, \
                 { name = \"age\", sort = \"word\", unit = \"bytes\", doc = \"the age\" }";
    let types = "[types.Why]\nrepr = \"u8\"\nvalues = { Asked = 1, Full = 2 }\n";
    let registry = crate::written::registry("r", "1.0.0", &(types.to_string() + &event("Sent", 1, param)));
    let bytes = stream(std::slice::from_ref(&registry), &[]);
    let events = Reader::from_slice(&bytes).events().unwrap();
    let tables = Tables::of(events.registries());
    let file = ArrowWriter::file(Vec::new(), tables.table("Sent").unwrap(), events.registries()).unwrap();
    let schema = FileReader::try_new(Cursor::new(file.finish().unwrap()), None).unwrap().schema();
    let of = |key: &str| schema.metadata().get(key).map(String::as_str);
    assert_eq!((of("telemetry.event"), of("telemetry.codes")), (Some("Sent"), Some("1")));
    let key = format!("telemetry.registry.{:016x}", registry.fingerprint());
    assert_eq!(telemetry_schema::parse(of(&key).unwrap()).unwrap(), registry);
    let table = [
        ("why", "doc", Some("the reason")),
        ("why", "type", Some("Why")),
        ("why", "values", Some("Asked = 1, Full = 2")),
        ("why", "unit", None),
        ("at", "address", Some("true")),
        ("age", "unit", Some("bytes")),
        ("age", "address", None),
        ("time_ns", "unit", Some("ns")),
    ];
    for (column, key, expected) in table {
        let field = schema.field_with_name(column).unwrap();
        let found = field.metadata().get(&format!("telemetry.{key}")).map(String::as_str);
        assert_eq!(found, expected, "{key} of {column}");
    }
}

/// A name may be long, and many rows may have it.
#[test]
fn long_names_end_batches() {
    let params = "{ name = \"id\", sort = \"label\", doc = \"d\" }, \
                  { name = \"text\", sort = \"string\", max = 16384, names = \"id\", doc = \"d\" }";
    let used = "{ name = \"x\", sort = \"label\", doc = \"d\" }, { name = \"all\", sort = \"[label]\", max = 4, doc = \"d\" }";
    let registry =
        crate::written::registry("r", "1.0.0", &(event("Defined", 1, params) + &event("Used", 2, used)));
    let text = "y".repeat(16_384);
    let defined = [Value::Label(10), Value::String(RawStr(text.as_bytes()))];
    let all = [Value::Label(10), Value::Label(11)];
    let values = [Value::Label(10), Value::Array(all[..].into())];
    let mut events: Vec<(usize, u16, &[Value<'_>])> = vec![(0, 2, &values); 1000];
    events.insert(0, (0, 1, &defined));
    let bytes = stream(&[registry], &events);
    let mut batches = Batches::new(Reader::from_slice(&bytes).order(Order::Time).events().unwrap());
    let mut arrows = Arrows::default();
    while let Some(batch) = batches.next_batch().unwrap() {
        arrows.push(batch, batches.events().registries());
    }
    let Written { file, .. } = arrows.0.remove("Used").unwrap();
    let file = FileReader::try_new(Cursor::new(file.finish().unwrap()), None).unwrap();
    let rows: Vec<_> = file.map(|batch| batch.unwrap().num_rows()).collect();
    // 8 MiB are 256 rows of twice 16 KiB.
    assert_eq!(rows, [256, 256, 256, 232]);
}

#[test]
fn columns_of_another_table_are_refused() {
    let with = |param: &str| {
        let registry = crate::written::registry("r", "1.0.0", &event("Sent", 1, param));
        let bytes = stream(&[registry], &[(0, 1, &[Value::Word(1)])]);
        Batches::new(Reader::from_slice(&bytes).events().unwrap()).next_batch().unwrap().unwrap()
    };
    let [one, other] =
        ["x", "y"].map(|name| with(&format!("{{ name = \"{name}\", sort = \"word\", doc = \"d\" }}")));
    let mut file = ArrowWriter::file(Vec::new(), one.table(), &[]).unwrap();
    file.push(one.clone()).unwrap();
    let error = file.push(other).unwrap_err();
    assert!(error.to_string().contains("the columns of `Sent` changed"), "{error}");
    assert!(file.finish().is_ok());
}

#[test]
fn a_full_disk_is_an_error_at_any_byte() {
    let registry = crate::written::registry(
        "r",
        "1.0.0",
        &event("Sent", 1, "{ name = \"x\", sort = \"word\", doc = \"d\" }"),
    );
    let bytes = stream(&[registry], &[(0, 1, &[Value::Word(1)])]);
    let batch = Batches::new(Reader::from_slice(&bytes).events().unwrap()).next_batch().unwrap().unwrap();
    for new in [ArrowWriter::file, ArrowWriter::stream] {
        let write = |space| {
            let mut file = new(Full(space), batch.table(), &[])?;
            file.push(batch.clone())?;
            file.finish()
        };
        let len = 1_000_000 - write(1_000_000).unwrap().0;
        for space in (0..len).step_by(7) {
            let Err(Error::Write(error)) = write(space) else { panic!("{space} of {len} bytes are enough") };
            assert_eq!(error.kind(), std::io::ErrorKind::StorageFull, "{space}: {error}");
        }
        assert!(write(len).is_ok());
    }
}
