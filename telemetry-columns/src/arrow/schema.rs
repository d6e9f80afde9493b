//! The schema of a table.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};

use crate::model::column::{Column, ColumnType};
use crate::model::meaning;
use crate::model::table::Table;

/// Returns the schema of a table. The meaning of the table and of each column is in its metadata,
/// under keys that begin with `telemetry.`: `doc`, `unit`, `type` and so on.
pub fn schema(table: &Table) -> SchemaRef {
    let fields: Vec<Field> = table.columns.iter().map(field).collect();
    let metadata: HashMap<_, _> = meaning::of_table(table).into_iter().collect();
    Arc::new(Schema::new_with_metadata(fields, metadata))
}

fn field(column: &Column) -> Field {
    let metadata: HashMap<_, _> = meaning::of_column(column, "telemetry").into_iter().collect();
    Field::new(&column.name, data_type(&column.ty), column.is_nullable).with_metadata(metadata)
}

/// Returns the type of a column's array.
pub(crate) fn data_type(ty: &ColumnType) -> DataType {
    match ty {
        ColumnType::Bool => DataType::Boolean,
        ColumnType::I8 => DataType::Int8,
        ColumnType::I16 => DataType::Int16,
        ColumnType::I32 => DataType::Int32,
        ColumnType::I64 => DataType::Int64,
        ColumnType::U8 => DataType::UInt8,
        ColumnType::U16 => DataType::UInt16,
        ColumnType::U32 => DataType::UInt32,
        ColumnType::U64 => DataType::UInt64,
        ColumnType::F32 => DataType::Float32,
        ColumnType::F64 => DataType::Float64,
        ColumnType::Utf8 => DataType::Utf8,
        ColumnType::Binary => DataType::Binary,
        ColumnType::Dictionary => DataType::Dictionary(Box::new(DataType::UInt32), Box::new(DataType::Utf8)),
        ColumnType::Timestamp => DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into())),
        ColumnType::List(items) => DataType::List(item_field(items)),
    }
}

/// Returns the field of a list's items.
pub(crate) fn item_field(items: &ColumnType) -> Arc<Field> {
    // Names of items may be unknown.
    Arc::new(Field::new_list_field(data_type(items), *items == ColumnType::Dictionary))
}
