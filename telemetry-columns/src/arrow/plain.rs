//! Record batches without dictionaries.
//!
//! A file has one dictionary for each column, but ours change from batch to batch. Arrow can add to
//! a dictionary, which not all readers know. So names are texts.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt32Type;
use arrow_array::{Array, ArrayRef, ListArray, RecordBatch, StringArray};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};

/// The bytes of names in a batch. A row with more is a batch of its own.
const MAX_BYTES: usize = 8 << 20;

/// Returns a schema with texts in place of dictionaries.
pub(super) fn schema(schema: &Schema) -> Schema {
    let fields = schema.fields.iter().map(|field| {
        let ty = match field.data_type() {
            DataType::List(items) if is_dictionary(items.data_type()) => DataType::List(text_items()),
            ty if is_dictionary(ty) => DataType::Utf8,
            ty => ty.clone(),
        };
        Field::clone(field).with_data_type(ty)
    });
    Schema::new_with_metadata(fields.collect::<Vec<_>>(), schema.metadata.clone())
}

/// Returns the rows of a batch with such a schema. Long names make several batches of them.
pub(super) fn batches(batch: &RecordBatch, schema: &SchemaRef) -> Result<Vec<RecordBatch>, ArrowError> {
    let mut batches = Vec::new();
    let mut start = 0;
    for end in ends(batch) {
        let part = batch.slice(start, end - start);
        let columns = part.columns().iter().map(plain).collect::<Result<Vec<_>, _>>()?;
        batches.push(RecordBatch::try_new(Arc::clone(schema), columns)?);
        start = end;
    }
    Ok(batches)
}

/// Returns the rows before which parts end, so that the names of a part are not too long.
fn ends(batch: &RecordBatch) -> Vec<usize> {
    let mut lengths = vec![0; batch.num_rows()];
    for column in batch.columns() {
        match column.data_type() {
            ty if is_dictionary(ty) => {
                lengths.iter_mut().zip(lengths_of(column)).for_each(|(sum, length)| *sum += length);
            }
            DataType::List(items) if is_dictionary(items.data_type()) => {
                let list = column.as_list::<i32>();
                let of_items: Vec<_> = lengths_of(list.values()).collect();
                for (sum, ends) in lengths.iter_mut().zip(list.offsets().windows(2)) {
                    *sum += of_items[ends[0] as usize..ends[1] as usize].iter().sum::<usize>();
                }
            }
            _ => {}
        }
    }
    let (mut ends, mut bytes) = (Vec::new(), 0);
    for (row, length) in lengths.iter().enumerate() {
        if bytes + length > MAX_BYTES && bytes > 0 {
            ends.push(row);
            bytes = 0;
        }
        bytes += length;
    }
    ends.push(batch.num_rows());
    ends
}

/// Returns the lengths of names in a column with a dictionary.
fn lengths_of(column: &ArrayRef) -> impl Iterator<Item = usize> {
    let column = column.as_dictionary::<UInt32Type>();
    let texts = column.values().as_string::<i32>();
    let length = |key: u32| texts.value_length(key as usize) as usize;
    column.keys().iter().map(move |key| key.map_or(0, length))
}

fn plain(column: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    Ok(match column.data_type() {
        ty if is_dictionary(ty) => Arc::new(texts(column)),
        DataType::List(items) if is_dictionary(items.data_type()) => {
            let list = column.as_list::<i32>();
            let (first, last) = (list.value_offsets()[0], list.value_offsets()[list.len()]);
            let items = list.values().slice(first as usize, (last - first) as usize);
            let offsets = OffsetBuffer::from_lengths(list.offsets().lengths());
            let items = Arc::new(texts(&items));
            Arc::new(ListArray::try_new(text_items(), offsets, items, list.nulls().cloned())?)
        }
        _ => Arc::clone(column),
    })
}

fn texts(column: &ArrayRef) -> StringArray {
    let column = column.as_dictionary::<UInt32Type>();
    let texts = column.values().as_string::<i32>();
    column.keys().iter().map(|key| key.map(|key| texts.value(key as usize))).collect()
}

fn is_dictionary(ty: &DataType) -> bool {
    matches!(ty, DataType::Dictionary(..))
}

/// Returns the field of a list's items. Names may be unknown.
fn text_items() -> Arc<Field> {
    Arc::new(Field::new_list_field(DataType::Utf8, true))
}
