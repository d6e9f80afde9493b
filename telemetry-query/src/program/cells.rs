//! The values of rows as text, comma-separated values and JSON. The forms are those of `print` and
//! `csv`.

use datafusion::arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{
    DataType, Float32Type, Float64Type, Int64Type, TimeUnit, TimestampNanosecondType, UInt64Type,
};
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use telemetry_query::is_address;

use crate::text::date::rfc_3339;
use crate::text::{csv, escaped_text};

/// The columns of a batch.
pub(crate) struct Cells {
    columns: Vec<(ArrayRef, bool)>,
}

/// A value.
enum Cell {
    Null,
    Bool(bool),
    /// A number, in digits.
    Number(String),
    /// A float that is not finite.
    Special(f64),
    /// Text that needs no quotes in any form: a time, an address, bytes.
    Plain(String),
    Text(String),
    List(Vec<Cell>),
}

impl Cells {
    pub(crate) fn of(batch: &RecordBatch) -> Cells {
        let schema = batch.schema();
        let columns = batch.columns().iter().zip(schema.fields()).map(|(array, field)| {
            // Names are in dictionaries, and some functions make texts of other types.
            let ty = match array.data_type() {
                DataType::Dictionary(_, of) => (**of).clone(),
                DataType::Utf8View | DataType::LargeUtf8 => DataType::Utf8,
                DataType::BinaryView | DataType::LargeBinary => DataType::Binary,
                ty => ty.clone(),
            };
            (cast(array, &ty).unwrap_or_else(|_| array.clone()), is_address(field))
        });
        Cells { columns: columns.collect() }
    }

    /// Returns a value as text for people. Nothing stands for null.
    pub(crate) fn text(&self, column: usize, row: usize) -> String {
        text(&self.cell(column, row))
    }

    /// Appends a value as a field. An empty field is null.
    pub(crate) fn csv(&self, out: &mut Vec<u8>, column: usize, row: usize) {
        match self.cell(column, row) {
            Cell::Null => {}
            Cell::Plain(text) | Cell::Text(text) if text.is_empty() => out.extend_from_slice(b"\"\""),
            Cell::Text(text) => csv::field(out, text.as_bytes()),
            cell @ Cell::List(_) => {
                let mut list = Vec::new();
                json(&mut list, &cell);
                csv::field(out, &list);
            }
            cell => out.extend_from_slice(text(&cell).as_bytes()),
        }
    }

    /// Appends a value as JSON.
    pub(crate) fn json(&self, out: &mut Vec<u8>, column: usize, row: usize) {
        json(out, &self.cell(column, row));
    }

    fn cell(&self, column: usize, row: usize) -> Cell {
        self.columns.get(column).map_or(Cell::Null, |(array, is_address)| cell(array, row, *is_address))
    }
}

fn cell(array: &ArrayRef, row: usize, is_address: bool) -> Cell {
    if array.is_null(row) {
        return Cell::Null;
    }
    match array.data_type() {
        DataType::Null => Cell::Null,
        DataType::Boolean => Cell::Bool(array.as_boolean().value(row)),
        DataType::UInt64 if is_address => {
            Cell::Plain(format!("{:#x}", array.as_primitive::<UInt64Type>().value(row)))
        }
        DataType::Int64 => Cell::Number(array.as_primitive::<Int64Type>().value(row).to_string()),
        DataType::UInt64 => Cell::Number(array.as_primitive::<UInt64Type>().value(row).to_string()),
        DataType::Float32 => {
            let value = array.as_primitive::<Float32Type>().value(row);
            float(value.into(), || format!("{value:?}"))
        }
        DataType::Float64 => {
            let value = array.as_primitive::<Float64Type>().value(row);
            float(value, || format!("{value:?}"))
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            let ns = array.as_primitive::<TimestampNanosecondType>().value(row);
            Cell::Plain(rfc_3339(u64::try_from(ns).unwrap_or(0)))
        }
        DataType::Utf8 => Cell::Text(array.as_string::<i32>().value(row).to_string()),
        DataType::Binary => {
            let bytes = array.as_binary::<i32>().value(row);
            Cell::Plain(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
        }
        DataType::List(_) => {
            let items = array.as_list::<i32>().value(row);
            Cell::List((0..items.len()).map(|item| cell(&items, item, is_address)).collect())
        }
        ty => {
            let options = FormatOptions::default();
            let shown = ArrayFormatter::try_new(array, &options).map(|shown| shown.value(row).to_string());
            let shown = shown.unwrap_or_default();
            if ty.is_numeric() { Cell::Number(shown) } else { Cell::Text(shown) }
        }
    }
}

fn float(value: f64, shown: impl FnOnce() -> String) -> Cell {
    if value.is_finite() { Cell::Number(shown()) } else { Cell::Special(value) }
}

fn text(cell: &Cell) -> String {
    match cell {
        Cell::Null => String::new(),
        Cell::Bool(is_true) => is_true.to_string(),
        Cell::Number(text) | Cell::Plain(text) => text.clone(),
        Cell::Special(value) if value.is_nan() => "nan".to_string(),
        Cell::Special(value) => value.to_string(),
        Cell::Text(text) => escaped_text(text),
        Cell::List(_) => {
            let mut list = Vec::new();
            json(&mut list, cell);
            String::from_utf8_lossy(&list).into_owned()
        }
    }
}

fn json(out: &mut Vec<u8>, cell: &Cell) {
    match cell {
        Cell::Null => out.extend_from_slice(b"null"),
        Cell::Bool(_) | Cell::Number(_) => out.extend_from_slice(text(cell).as_bytes()),
        Cell::Special(value) if value.is_nan() => out.extend_from_slice(b"\"NaN\""),
        Cell::Special(value) => json_text(out, if *value > 0.0 { "Infinity" } else { "-Infinity" }),
        Cell::Plain(text) | Cell::Text(text) => json_text(out, text),
        Cell::List(items) => {
            for (index, item) in items.iter().enumerate() {
                out.push(if index == 0 { b'[' } else { b',' });
                json(out, item);
            }
            out.extend_from_slice(if items.is_empty() { b"[]" } else { b"]" });
        }
    }
}

/// Appends a text as JSON.
pub(crate) fn json_text(out: &mut Vec<u8>, text: &str) {
    // A text serializes, and writing to memory cannot fail.
    let _ = serde_json::to_writer(out, text);
}
