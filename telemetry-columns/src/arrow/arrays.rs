//! The arrays of a batch. They take the memory of its columns; only texts that batches share are
//! copied.

use std::sync::Arc;

use arrow_array::types::{
    ArrowPrimitiveType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    TimestampNanosecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, DictionaryArray, ListArray, PrimitiveArray, RecordBatch, StringArray,
};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, SchemaRef};

use crate::arrow::schema::item_field;
use crate::batch::column::ColumnData;
use crate::batch::data::{Bits, Data, Runs};
use crate::batch::table_batch::Batch;
use crate::model::column::ColumnType;

/// Returns a batch as a record batch of the schema of its table.
///
/// # Errors
/// If the batch does not have the columns of the schema. That of the latest table has further ones,
/// if registries were added since the batch.
pub fn record_batch(batch: Batch, schema: &SchemaRef) -> Result<RecordBatch, ArrowError> {
    let table = Arc::clone(batch.table());
    let columns = table.columns.iter().zip(batch.into_columns());
    let arrays = columns.map(|(column, data)| array(&column.ty, data));
    RecordBatch::try_new(Arc::clone(schema), arrays.collect::<Result<_, _>>()?)
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
        Data::Runs(runs) if *ty == ColumnType::Binary => {
            let (offsets, bytes) = runs_of(runs);
            Arc::new(BinaryArray::try_new(offsets, bytes, nulls)?)
        }
        Data::Runs(runs) => Arc::new(texts(runs, nulls)?),
        Data::Dictionary { keys, values } => {
            let keys = PrimitiveArray::<UInt32Type>::try_new(ScalarBuffer::from(keys), nulls)?;
            let values = texts(Arc::unwrap_or_clone(values), None)?;
            Arc::new(DictionaryArray::try_new(keys, Arc::new(values))?)
        }
        Data::List { offsets, items } => {
            let ColumnType::List(of) = ty else {
                return Err(ArrowError::SchemaError(format!("found a list, expected {ty:?}")));
            };
            let validity = items.validity.map(|bits| NullBuffer::new(bits_of(bits)));
            let items = values(of, items.data, validity)?;
            let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
            Arc::new(ListArray::try_new(item_field(of), offsets, items, nulls)?)
        }
    })
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
