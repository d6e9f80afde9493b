//! Parquet files, read by the reader of the crate `parquet`. Every test of `check` comes here, too.

use std::collections::BTreeMap;

use bytes::Bytes;
use parquet::basic::ColumnOrder;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use telemetry_columns::{
    Batch, Batches, Builder, Column, ColumnType, Error, ParquetWriter, Table, Tables, side_tables,
};
use telemetry_decode::{KnownRegistry, Order, RawStr, Reader, Value};

use crate::text::{NONE, Rows, row, shown};
use crate::written::{Full, event, registry, stream};

/// The files of a stream in memory, by the names of their tables.
#[derive(Default)]
pub(crate) struct Files(BTreeMap<String, File>);

struct File {
    table: Table,
    writer: ParquetWriter<Vec<u8>>,
    batches: usize,
}

impl Files {
    /// Adds a batch. The first batch of a table is a row group of its own.
    pub(crate) fn push(&mut self, batch: Batch, registries: &[KnownRegistry]) {
        let table = batch.table().clone();
        let new = || File {
            table: Table::clone(&table),
            writer: ParquetWriter::new(Vec::new(), &table, registries),
            batches: 0,
        };
        let file = self.0.entry(table.name.clone()).or_insert_with(new);
        file.writer.push(batch).unwrap();
        file.batches += 1;
        // A row group takes some time, so there are two.
        if file.batches == 1 {
            file.writer.flush().unwrap();
        }
    }

    /// Returns the rows that a reader finds.
    pub(crate) fn rows(self) -> Rows {
        let rows_of = |file: File| rows(&file.table, file.writer.finish().unwrap());
        self.0.into_iter().map(|(name, file)| (name, rows_of(file))).collect()
    }
}

fn reader(file: Vec<u8>) -> SerializedFileReader<Bytes> {
    SerializedFileReader::new(Bytes::from(file)).unwrap()
}

fn rows(table: &Table, file: Vec<u8>) -> Vec<Vec<String>> {
    let reader = reader(file);
    let of_row = |row: Result<parquet::record::Row, _>| {
        let cells = row.unwrap().into_columns();
        assert_eq!(cells.len(), table.columns.len());
        table.columns.iter().zip(cells).map(|(column, (name, field))| cell(column, &name, &field)).collect()
    };
    reader.get_row_iter(None).unwrap().map(of_row).collect()
}

fn cell(column: &Column, name: &str, field: &Field) -> String {
    assert_eq!(column.name, name);
    assert!(column.is_nullable || *field != Field::Null, "{name} has no value");
    value(&column.ty, field)
}

fn value(ty: &ColumnType, field: &Field) -> String {
    match (ty, field) {
        (_, Field::Null) => NONE.to_string(),
        (ColumnType::Utf8, Field::Str(text)) => shown(text.as_bytes()),
        (ColumnType::Dictionary, Field::Str(text)) => text.clone(),
        (ColumnType::Binary, Field::Bytes(bytes)) => shown(bytes.data()),
        (ColumnType::Bool, Field::Bool(truth)) => truth.to_string(),
        (ColumnType::I8, Field::Byte(number)) => number.to_string(),
        (ColumnType::I16, Field::Short(number)) => number.to_string(),
        (ColumnType::I32, Field::Int(number)) => number.to_string(),
        (ColumnType::I64, Field::Long(number)) => number.to_string(),
        (ColumnType::U8, Field::UByte(number)) => number.to_string(),
        (ColumnType::U16, Field::UShort(number)) => number.to_string(),
        (ColumnType::U32, Field::UInt(number)) => number.to_string(),
        (ColumnType::U64, Field::Long(number)) => (*number as u64).to_string(),
        (ColumnType::F32, Field::Float(number)) => format!("{:08x}", number.to_bits()),
        (ColumnType::F64, Field::Double(number)) => format!("{:016x}", number.to_bits()),
        (ColumnType::Timestamp, Field::TimestampMicros(number)) => number.to_string(),
        (ColumnType::List(items), Field::ListInternal(list)) => {
            format!("{:?}", list.elements().iter().map(|item| value(items, item)).collect::<Vec<_>>())
        }
        _ => panic!("{field:?} in a column of {ty:?}"),
    }
}

/// Returns rows as a file has them: with times in microseconds.
pub(crate) fn in_micros(tables: &Tables, rows: &Rows) -> Rows {
    let mut rows = rows.clone();
    for (name, rows) in &mut rows {
        let columns = &tables.table(name).unwrap().columns;
        for row in rows {
            for (column, cell) in columns.iter().zip(row) {
                if column.ty == ColumnType::Timestamp {
                    *cell = cell.parse::<i64>().unwrap().div_euclid(1000).to_string();
                }
            }
        }
    }
    rows
}

fn batches_of(stream: &[u8]) -> (Vec<Batch>, Vec<Batch>) {
    let mut batches = Batches::new(Reader::from_slice(stream).order(Order::Time).events().unwrap());
    let mut all = Vec::new();
    while let Some(batch) = batches.next_batch().unwrap() {
        all.push(batch);
    }
    (all, side_tables(batches.events()))
}

#[test]
fn side_tables_are_files_too() {
    let registry = registry("r", "1.0.0", &event("Nothing", 1, ""));
    let (_, sides) = batches_of(&stream(&[registry], &[(0, 1, &[]), (0, 1, &[])]));
    let mut files = Files::default();
    sides.iter().for_each(|batch| files.push(batch.clone(), &[]));
    let rows = files.rows();
    let session = &rows["session"][0];
    let columns = &Tables::sides()[0].columns;
    let of = |name: &str| &session[columns.iter().position(|column| column.name == name).unwrap()];
    assert_eq!(
        (of("session").as_str(), of("started").as_str(), of("started_ns").as_str()),
        ("7", "1", "1000")
    );
    for batch in sides.iter().filter(|batch| batch.table().name != "session") {
        let expected: Vec<_> = (0..batch.rows()).map(|index| row(batch, index)).collect();
        assert_eq!(rows[&batch.table().name], expected);
    }
}

#[test]
fn a_table_without_rows_is_a_file_with_its_columns() {
    for table in Tables::sides() {
        let file = ParquetWriter::new(Vec::new(), &table, &[]).finish().unwrap();
        let reader = reader(file);
        assert_eq!(reader.metadata().file_metadata().num_rows(), 0);
        let fields = reader.metadata().file_metadata().schema().get_fields().len();
        assert_eq!(fields, table.columns.len());
    }
}

#[test]
fn the_footer_says_what_columns_mean() {
    let param = "{ name = \"size\", sort = \"Why\", doc = \"the size\" }, \
                 { name = \"age\", sort = \"word\", unit = \"bytes\", counter = true, doc = \"the age\" }";
    let types = "[types.Why]\nrepr = \"u8\"\nvalues = { Asked = 1, Full = 2 }\n";
    let registry = registry("r", "1.0.0", &(types.to_string() + &event("Sent", 1, param)));
    let why = Value::Named(telemetry_decode::EnumValue::new(1));
    let bytes = stream(std::slice::from_ref(&registry), &[(0, 1, &[why, Value::Word(7)])]);
    let mut batches = Batches::new(Reader::from_slice(&bytes).events().unwrap());
    let batch = batches.next_batch().unwrap().unwrap();
    let mut file = ParquetWriter::new(Vec::new(), &batch.table().clone(), batches.events().registries());
    file.push(batch).unwrap();
    let reader = reader(file.finish().unwrap());
    let pairs = reader.metadata().file_metadata().key_value_metadata().unwrap();
    let of = |key: &str| pairs.iter().find(|pair| pair.key == key).and_then(|pair| pair.value.as_deref());
    assert_eq!(of("telemetry.event"), Some("Sent"));
    assert_eq!(of("telemetry.codes"), Some("1"));
    assert_eq!(of("telemetry.column.size.doc"), Some("the size"));
    assert_eq!(of("telemetry.column.size.values"), Some("Asked = 1, Full = 2"));
    assert_eq!(of("telemetry.column.age.unit"), Some("bytes"));
    assert_eq!(of("telemetry.column.age.counter"), Some("true"));
    assert_eq!(of("telemetry.column.size.counter"), None);
    assert_eq!(of("telemetry.column.age.values"), None);
    let key = format!("telemetry.registry.{:016x}", registry.fingerprint());
    assert_eq!(telemetry_schema::parse(of(&key).unwrap()).unwrap(), registry);
}

/// The least and greatest values tell readers which row groups they need.
#[test]
fn row_groups_have_statistics() {
    let registry = registry("r", "1.0.0", &event("Sent", 1, "{ name = \"x\", sort = \"i64\", doc = \"d\" }"));
    let values: Vec<_> = (0..100).map(|number| [Value::Signed(number - 50)]).collect();
    let events: Vec<_> = values.iter().map(|values| (0, 1, &values[..])).collect();
    let bytes = stream(&[registry], &events);
    let events = Reader::from_slice(&bytes).events().unwrap();
    let tables = Tables::of(events.registries());
    let mut files = ParquetWriter::new(Vec::new(), tables.table("Sent").unwrap(), events.registries());
    for batch in Batches::with(events, Builder::new(tables).rows(25)) {
        files.push(batch.unwrap()).unwrap();
        assert!(files.held() > 0);
        files.flush().unwrap();
        assert_eq!(files.held(), 0);
    }
    let reader = reader(files.finish().unwrap());
    assert_eq!(reader.num_row_groups(), 4);
    for (index, group) in reader.metadata().row_groups().iter().enumerate() {
        let least =
            |column: usize| group.column(column).statistics().unwrap().min_bytes_opt().unwrap().to_vec();
        let first = index as i64 * 25;
        assert_eq!(least(3), first.to_le_bytes());
        assert_eq!(least(5), (first - 50).to_le_bytes());
    }
}

/// The format has an order of floats: -0 is less than 0, and NaN is counted apart. NaN is a least
/// or greatest value only where there is nothing else.
#[test]
fn statistics_of_floats() {
    let names = ["Mixed", "Zeros", "NoNumbers"];
    let params =
        "{ name = \"x\", sort = \"f64\", doc = \"d\" }, { name = \"y\", sort = \"f32\", doc = \"d\" }";
    let events: String = (1..).zip(names).map(|(code, name)| event(name, code, params)).collect();
    let registry = registry("r", "1.0.0", &events);
    let table = [
        (1, f64::NAN),
        (1, 1.5),
        (1, -2.5),
        (1, -f64::NAN),
        (2, 0.0),
        (2, -0.0),
        (2, 0.0),
        (3, f64::NAN),
        (3, f64::NAN),
    ];
    let values = table.map(|(code, x)| (code, [Value::F64(x), Value::F32(x as f32)]));
    let events: Vec<_> = values.iter().map(|(code, values)| (0, *code, &values[..])).collect();
    let (batches, _) = batches_of(&stream(&[registry], &events));
    let expected = [(-2.5, 1.5, 2), (-0.0, 0.0, 0), (f64::NAN, f64::NAN, 2)];
    for (batch, (least, greatest, nans)) in batches.into_iter().zip(expected) {
        let name = batch.table().name.clone();
        let mut file = ParquetWriter::new(Vec::new(), &batch.table().clone(), &[]);
        file.push(batch).unwrap();
        let reader = reader(file.finish().unwrap());
        let metadata = reader.metadata();
        for (column, is_double) in [(5, true), (6, false)] {
            let bits = |x: f64| match is_double {
                true => x.to_le_bytes().to_vec(),
                false => (x as f32).to_le_bytes().to_vec(),
            };
            assert_eq!(metadata.file_metadata().column_order(column), ColumnOrder::IEEE_754_TOTAL_ORDER);
            // In Spark, a dictionary with -0 alone would hide it from `x = 0`.
            assert_eq!(metadata.row_group(0).column(column).dictionary_page_offset(), None);
            let found = metadata.row_group(0).column(column).statistics().unwrap();
            let ends = (found.min_bytes_opt().unwrap().to_vec(), found.max_bytes_opt().unwrap().to_vec());
            assert_eq!(ends, (bits(least), bits(greatest)), "{name}");
            assert_eq!(found.nan_count_opt(), Some(nans), "{name}");
        }
    }
}

#[test]
fn many_texts_of_the_greatest_length() {
    let param = "{ name = \"x\", sort = \"string\", max = 16384, doc = \"d\" }";
    let registry = registry("r", "1.0.0", &event("Sent", 1, param));
    let text = "y".repeat(16_384);
    let values = [Value::String(RawStr(text.as_bytes()))];
    let events: Vec<(usize, u16, &[Value<'_>])> = vec![(0, 1, &values); 600];
    let (batches, _) = batches_of(&stream(&[registry], &events));
    let mut files = Files::default();
    batches.into_iter().for_each(|batch| files.push(batch, &[]));
    let rows = files.rows();
    assert_eq!(rows["Sent"].len(), 600);
    assert!(rows["Sent"].iter().all(|row| row[5].len() == 16_386));
}

#[test]
fn a_full_disk_is_an_error_at_any_byte() {
    let registry =
        registry("r", "1.0.0", &event("Sent", 1, "{ name = \"x\", sort = \"word\", doc = \"d\" }"));
    let (batches, _) = batches_of(&stream(&[registry], &[(0, 1, &[Value::Word(1)])]));
    let write = |space| {
        let mut file = ParquetWriter::new(Full(space), batches[0].table(), &[]);
        file.push(batches[0].clone())?;
        file.flush()?;
        file.finish()
    };
    let len = 1_000_000 - write(1_000_000).unwrap().0;
    for space in (0..len).step_by(7) {
        let Err(Error::Write(error)) = write(space) else { panic!("{space} of {len} bytes are enough") };
        assert_eq!(error.kind(), std::io::ErrorKind::StorageFull, "{space}: {error}");
    }
    assert!(write(len).is_ok());
}

#[test]
fn columns_of_another_table_are_refused() {
    let with = |param: &str| {
        let registry = registry("r", "1.0.0", &event("Sent", 1, param));
        batches_of(&stream(&[registry], &[(0, 1, &[Value::Word(1)])])).0.remove(0)
    };
    let [one, other] =
        ["x", "y"].map(|name| with(&format!("{{ name = \"{name}\", sort = \"word\", doc = \"d\" }}")));
    let mut file = ParquetWriter::new(Vec::new(), one.table(), &[]);
    file.push(one.clone()).unwrap();
    let error = file.push(other).unwrap_err();
    assert!(error.to_string().contains("the columns of `Sent` changed"), "{error}");
    assert!(file.finish().is_ok());
}

#[test]
fn row_groups_may_be_encoded_on_other_threads() {
    let registry =
        registry("r", "1.0.0", &event("Sent", 1, "{ name = \"x\", sort = \"word\", doc = \"d\" }"));
    let values: Vec<_> = (0..90).map(|number| [Value::Word(number % 7)]).collect();
    let events: Vec<(usize, u16, &[Value<'_>])> = values.iter().map(|values| (0, 1, &values[..])).collect();
    let bytes = stream(&[registry], &events);
    let reader = Reader::from_slice(&bytes).events().unwrap();
    let builder = Builder::new(Tables::of(reader.registries())).rows(20);
    let batches: Vec<_> = Batches::with(reader, builder).map(Result::unwrap).collect();

    let new = || ParquetWriter::new(Vec::new(), batches[0].table(), &[]);
    let mut whole = new();
    for batch in &batches {
        whole.push(batch.clone()).unwrap();
        whole.flush().unwrap();
    }
    let mut parts = new();
    let mut group = |batch: &Batch| {
        assert!(parts.add(batch.clone()).unwrap().is_none(), "few rows are no group yet");
        let group = parts.take().unwrap().unwrap();
        assert_eq!(group.table().name, "Sent");
        group
    };
    let groups: Vec<_> = batches.iter().map(&mut group).collect();
    let threads = groups.into_iter().map(|group| std::thread::spawn(|| group.encode().unwrap()));
    let threads: Vec<_> = threads.collect();
    assert_eq!(threads.len(), 5);
    threads.into_iter().for_each(|thread| parts.append(thread.join().unwrap()).unwrap());
    assert!(parts.take().unwrap().is_none());
    assert_eq!(parts.finish().unwrap(), whole.finish().unwrap());
}

#[test]
fn a_row_group_of_another_file_is_refused() {
    let registry = registry("r", "1.0.0", &event("Sent", 1, ""));
    let (batches, _) = batches_of(&stream(&[registry], &[(0, 1, &[])]));
    let [mut one, mut other] = [(); 2].map(|()| ParquetWriter::new(Vec::new(), batches[0].table(), &[]));
    assert!(one.add(batches[0].clone()).unwrap().is_none());
    let group = one.take().unwrap().unwrap().encode().unwrap();
    let error = other.append(group).unwrap_err();
    assert_eq!(error.to_string(), "the row group is of another file, of `Sent`; help: append it to its own");
}
