//! The rows of a column as Parquet's values and levels.
//!
//! A level of definition says how much of a value is there: the row, the item, its value. A level
//! of repetition is 0 for the first item of a row.

use ::parquet::column::writer::ColumnWriter;
use ::parquet::data_type::ByteArray;
use ::parquet::errors::{ParquetError, Result};
use bytes::Bytes;

use crate::batch::column::ColumnData;
use crate::batch::data::{Bits, Data, Runs};
use crate::model::column::{Column, ColumnType};
use crate::parquet::schema::has_missing_items;

/// Writes the rows of a column.
pub(super) fn write(column: &Column, data: &ColumnData, out: &mut ColumnWriter<'_>) -> Result<()> {
    match (&column.ty, data.data()) {
        (ColumnType::List(ty), Data::List { offsets, items }) => {
            let row = i16::from(column.is_nullable);
            let item = row + 1 + i16::from(has_missing_items(ty));
            let (mut defined, mut repeated) = (Vec::new(), Vec::new());
            for (index, ends) in offsets.windows(2).enumerate() {
                if ends[0] == ends[1] {
                    defined.push(if data.has_value(index) { row } else { 0 });
                    repeated.push(0);
                }
                for at in ends[0]..ends[1] {
                    let has_value = has(items.validity.as_ref(), at as usize);
                    defined.push(if has_value { item } else { item - 1 });
                    repeated.push(i16::from(at != ends[0]));
                }
            }
            values(ty, &items.data, items.validity.as_ref(), (Some(&defined), Some(&repeated)), out)
        }
        (ty, all) => {
            let validity = data.validity();
            let level = |row| i16::from(has(validity, row));
            let defined = column.is_nullable.then(|| (0..all.len()).map(level).collect::<Vec<_>>());
            values(ty, all, validity, (defined.as_deref(), None), out)
        }
    }
}

type Levels<'l> = (Option<&'l [i16]>, Option<&'l [i16]>);

fn values(
    ty: &ColumnType,
    data: &Data,
    validity: Option<&Bits>,
    levels: Levels<'_>,
    out: &mut ColumnWriter<'_>,
) -> Result<()> {
    let is_time = *ty == ColumnType::Timestamp;
    let (defined, repeated) = levels;
    macro_rules! write {
        ($out:ident, $values:expr) => {
            $out.write_batch(&$values, defined, repeated).map(drop)
        };
    }
    macro_rules! cast {
        ($out:ident, $all:ident, $to:ty) => {
            write!($out, chosen($all.iter().map(|value| *value as $to), validity))
        };
    }
    match (out, data) {
        (ColumnWriter::BoolColumnWriter(out), Data::Bool(bits)) => {
            write!(out, chosen((0..bits.len()).map(|at| bits.get(at) == Some(true)), validity))
        }
        (ColumnWriter::Int32ColumnWriter(out), Data::I8(all)) => cast!(out, all, i32),
        (ColumnWriter::Int32ColumnWriter(out), Data::I16(all)) => cast!(out, all, i32),
        (ColumnWriter::Int32ColumnWriter(out), Data::I32(all)) => cast!(out, all, i32),
        (ColumnWriter::Int32ColumnWriter(out), Data::U8(all)) => cast!(out, all, i32),
        (ColumnWriter::Int32ColumnWriter(out), Data::U16(all)) => cast!(out, all, i32),
        (ColumnWriter::Int32ColumnWriter(out), Data::U32(all)) => cast!(out, all, i32),
        (ColumnWriter::Int64ColumnWriter(out), Data::I64(all)) if is_time => {
            write!(out, chosen(all.iter().map(|ns| ns.div_euclid(1000)), validity))
        }
        (ColumnWriter::Int64ColumnWriter(out), Data::I64(all)) => cast!(out, all, i64),
        (ColumnWriter::Int64ColumnWriter(out), Data::U64(all)) => cast!(out, all, i64),
        (ColumnWriter::FloatColumnWriter(out), Data::F32(all)) => cast!(out, all, f32),
        (ColumnWriter::DoubleColumnWriter(out), Data::F64(all)) => cast!(out, all, f64),
        (ColumnWriter::ByteArrayColumnWriter(out), Data::Runs(runs)) => {
            write!(out, chosen(texts(runs).into_iter(), validity))
        }
        (ColumnWriter::ByteArrayColumnWriter(out), Data::Dictionary { keys, values }) => {
            let texts = texts(values);
            // A row without a value may have a key without a text.
            let text = |key: &u32| texts.get(*key as usize).cloned().unwrap_or_default();
            write!(out, chosen(keys.iter().map(text), validity))
        }
        _ => Err(ParquetError::General("the data is not of the column's type".to_string())),
    }
}

/// Returns the values that are there.
fn chosen<T>(values: impl ExactSizeIterator<Item = T>, validity: Option<&Bits>) -> Vec<T> {
    match validity {
        None => values.collect(),
        Some(bits) => {
            values.enumerate().filter(|(at, _)| has(Some(bits), *at)).map(|(_, value)| value).collect()
        }
    }
}

fn has(validity: Option<&Bits>, at: usize) -> bool {
    validity.is_none_or(|bits| bits.get(at) == Some(true))
}

/// Returns strings that share their memory.
fn texts(runs: &Runs) -> Vec<ByteArray> {
    let bytes = Bytes::copy_from_slice(&runs.bytes);
    let text = |ends: &[i32]| ByteArray::from(bytes.slice(ends[0] as usize..ends[1] as usize));
    runs.offsets.windows(2).map(text).collect()
}
