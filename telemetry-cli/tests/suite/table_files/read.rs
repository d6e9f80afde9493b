//! The rows of a file as text.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float32Type, Float64Type, Int8Type, Int32Type, Int64Type, TimestampNanosecondType, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_ipc::reader::FileReader as ArrowReader;
use arrow_schema::DataType;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;

use crate::run::{Folder, Run};

/// A row: the text of each column by its name. One without a value has [`NONE`].
pub(super) type Row = BTreeMap<String, String>;

pub(super) const NONE: &str = "-";

/// A format of files, with the words of its command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Parquet,
    Arrow,
}

pub(super) const FORMATS: [Format; 2] = [Format::Parquet, Format::Arrow];

impl Format {
    /// Returns the command that writes files to a directory.
    pub(super) fn command(self, rest: &str) -> String {
        match self {
            Format::Parquet => format!("parquet {rest}"),
            Format::Arrow => format!("convert --to arrow {rest}"),
        }
    }

    /// Returns the name of a table's file.
    pub(super) fn file(self, table: &str) -> String {
        match self {
            Format::Parquet => format!("{table}.parquet"),
            Format::Arrow => format!("{table}.arrow"),
        }
    }

    /// Writes the files of a stream to the directory `tables`.
    pub(super) fn write(self, folder: &Folder, input: &str) -> Run {
        folder.run(&self.command(&format!("-d tables {input}")))
    }

    /// Returns the rows of a file in that directory.
    pub(super) fn rows(self, folder: &Folder, table: &str) -> Vec<Row> {
        let path = folder.path("tables").join(self.file(table));
        match self {
            Format::Parquet => rows_of_parquet(&path),
            Format::Arrow => rows_of_arrow(&path),
        }
    }
}

fn rows_of_parquet(path: &Path) -> Vec<Row> {
    let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
    let of_row = |row: Result<parquet::record::Row, _>| {
        let cells = row.unwrap().into_columns().into_iter();
        cells.map(|(name, field)| (name, of_field(&field))).collect()
    };
    reader.get_row_iter(None).unwrap().map(of_row).collect()
}

fn of_field(field: &Field) -> String {
    match field {
        Field::Null => NONE.to_string(),
        Field::Str(text) => shown(text.as_bytes()),
        Field::Bytes(bytes) => shown(bytes.data()),
        Field::Float(number) => format!("{:08x}", number.to_bits()),
        Field::Double(number) => format!("{:016x}", number.to_bits()),
        Field::Long(number) | Field::TimestampMicros(number) => number.to_string(),
        field => field.to_string(),
    }
}

fn rows_of_arrow(path: &Path) -> Vec<Row> {
    let reader = ArrowReader::try_new(File::open(path).unwrap(), None).unwrap();
    let schema = reader.schema();
    let mut rows = Vec::new();
    for batch in reader.map(Result::unwrap) {
        for row in 0..batch.num_rows() {
            let cell = |column: usize| of_array(batch.column(column), row);
            let fields = schema.fields().iter().enumerate();
            rows.push(fields.map(|(index, field)| (field.name().clone(), cell(index))).collect());
        }
    }
    rows
}

fn of_array(array: &ArrayRef, row: usize) -> String {
    if array.is_null(row) {
        return NONE.to_string();
    }
    macro_rules! number {
        ($ty:ty) => {
            array.as_primitive::<$ty>().value(row).to_string()
        };
    }
    match array.data_type() {
        DataType::Boolean => array.as_boolean().value(row).to_string(),
        DataType::Int8 => number!(Int8Type),
        DataType::Int32 => number!(Int32Type),
        DataType::Int64 => number!(Int64Type),
        DataType::UInt8 => number!(UInt8Type),
        DataType::UInt16 => number!(UInt16Type),
        DataType::UInt32 => number!(UInt32Type),
        DataType::UInt64 => number!(UInt64Type),
        DataType::Timestamp(..) => number!(TimestampNanosecondType),
        DataType::Float32 => format!("{:08x}", array.as_primitive::<Float32Type>().value(row).to_bits()),
        DataType::Float64 => format!("{:016x}", array.as_primitive::<Float64Type>().value(row).to_bits()),
        DataType::Utf8 => shown(array.as_string::<i32>().value(row).as_bytes()),
        DataType::Binary => shown(array.as_binary::<i32>().value(row)),
        ty => panic!("a column of {ty}"),
    }
}

pub(super) fn shown(bytes: &[u8]) -> String {
    format!("'{}'", bytes.escape_ascii())
}
