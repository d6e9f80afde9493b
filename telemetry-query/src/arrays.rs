//! The arrays of a batch, with the engine's version of Arrow. They take the memory of its columns.

use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayRef, BinaryArray, BooleanArray, DictionaryArray, ListArray, PrimitiveArray, RecordBatch,
    RecordBatchOptions, StringArray,
};
use datafusion::arrow::buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use datafusion::arrow::datatypes::{
    ArrowPrimitiveType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, SchemaRef,
    TimestampNanosecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use datafusion::arrow::error::ArrowError;
use telemetry_columns::{Batch, Bits, ColumnData, ColumnType, Data, Runs};

use crate::schema::item_field;

/// Returns some columns of a batch, by their indices, as a record batch of a schema.
pub(crate) fn record_batch(
    batch: Batch,
    columns: &[usize],
    schema: &SchemaRef,
) -> Result<RecordBatch, ArrowError> {
    let (table, rows) = (Arc::clone(batch.table()), batch.rows());
    let mut data: Vec<_> = batch.into_columns().into_iter().map(Some).collect();
    let arrays = columns.iter().map(|index| {
        let column = table.columns.get(*index).zip(data.get_mut(*index).and_then(Option::take));
        let (column, data) = column.ok_or_else(|| {
            ArrowError::SchemaError(format!("found no column {index} in table {}, expected one", table.name))
        })?;
        array(&column.ty, data)
    });
    let arrays = arrays.collect::<Result<_, _>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(Arc::clone(schema), arrays, &options)
}

fn array(ty: &ColumnType, column: ColumnData) -> Result<ArrayRef, ArrowError> {
    let (data, validity) = column.into_parts();
    values(ty, data, validity.map(|bits| NullBuffer::new(bits_of(bits))))
}

fn values(ty: &ColumnType, data: Data, nulls: Option<NullBuffer>) -> Result<ArrayRef, ArrowError> {
    Ok(match data {
        Data::Bool(bits) => Arc::new(BooleanArray::new(bits_of(bits), nulls)),
        Data::I8(all) => numbers::<Int8Type>(all, nulls)?,
        Data::I16(all) => numbers::<Int16Type>(all, nulls)?,
        Data::I32(all) => numbers::<Int32Type>(all, nulls)?,
        Data::I64(all) if *ty == ColumnType::Timestamp => {
            let times = PrimitiveArray::<TimestampNanosecondType>::try_new(ScalarBuffer::from(all), nulls)?;
            Arc::new(times.with_timezone("UTC"))
        }
        Data::I64(all) => numbers::<Int64Type>(all, nulls)?,
        Data::U8(all) => numbers::<UInt8Type>(all, nulls)?,
        Data::U16(all) => numbers::<UInt16Type>(all, nulls)?,
        Data::U32(all) => numbers::<UInt32Type>(all, nulls)?,
        Data::U64(all) => numbers::<UInt64Type>(all, nulls)?,
        Data::F32(all) => numbers::<Float32Type>(all, nulls)?,
        Data::F64(all) => numbers::<Float64Type>(all, nulls)?,
        Data::Runs(runs) if *ty == ColumnType::Utf8 => Arc::new(texts(runs, nulls)?),
        Data::Runs(runs) => {
            let (offsets, bytes) = runs_of(runs);
            Arc::new(BinaryArray::try_new(offsets, bytes, nulls)?)
        }
        Data::Dictionary { keys, values } => {
            let keys = PrimitiveArray::<UInt32Type>::try_new(ScalarBuffer::from(keys), nulls)?;
            let values = texts(Arc::unwrap_or_clone(values), None)?;
            Arc::new(DictionaryArray::try_new(keys, Arc::new(values))?)
        }
        Data::List { offsets, items } => {
            let ColumnType::List(of) = ty else { return Err(unknown(ty)) };
            let validity = items.validity.map(|bits| NullBuffer::new(bits_of(bits)));
            let items = values(of, items.data, validity)?;
            let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
            Arc::new(ListArray::try_new(item_field(of), offsets, items, nulls)?)
        }
        _ => return Err(unknown(ty)),
    })
}

fn unknown(ty: &ColumnType) -> ArrowError {
    ArrowError::SchemaError(format!("found a column of type {}, expected values of that type", ty.word()))
}

fn numbers<T: ArrowPrimitiveType>(
    all: Vec<T::Native>,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef, ArrowError> {
    Ok(Arc::new(PrimitiveArray::<T>::try_new(ScalarBuffer::from(all), nulls)?))
}

fn texts(runs: Runs, nulls: Option<NullBuffer>) -> Result<StringArray, ArrowError> {
    let (offsets, bytes) = runs_of(runs);
    StringArray::try_new(offsets, bytes, nulls)
}

fn runs_of(runs: Runs) -> (OffsetBuffer<i32>, Buffer) {
    (OffsetBuffer::new(ScalarBuffer::from(runs.offsets)), Buffer::from_vec(runs.bytes))
}

fn bits_of(bits: Bits) -> BooleanBuffer {
    let len = bits.len();
    BooleanBuffer::new(Buffer::from_vec(bits.into_bytes()), 0, len)
}
