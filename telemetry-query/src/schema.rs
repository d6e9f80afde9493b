//! The schema of a table, with the engine's types.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use telemetry_columns::{Column, ColumnType, Table};

/// The key that marks pointers and addresses in the metadata of fields. The value is `true`.
const ADDRESS: &str = "telemetry.address";

/// Returns the schema of a table.
pub(crate) fn schema(table: &Table) -> SchemaRef {
    Arc::new(Schema::new(table.columns.iter().map(field).collect::<Vec<_>>()))
}

/// Returns true if a field has pointers or addresses.
pub fn is_address(field: &Field) -> bool {
    field.metadata().contains_key(ADDRESS)
}

fn field(column: &Column) -> Field {
    let field = Field::new(&column.name, data_type(&column.ty), column.is_nullable);
    match column.is_address {
        true => field.with_metadata(HashMap::from([(ADDRESS.to_string(), "true".to_string())])),
        false => field,
    }
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
        ColumnType::Dictionary => DataType::Dictionary(Box::new(DataType::UInt32), Box::new(DataType::Utf8)),
        ColumnType::Timestamp => timestamp(),
        ColumnType::List(items) => DataType::List(item_field(items)),
        // The other types are bytes.
        _ => DataType::Binary,
    }
}

/// Returns the type of timestamps.
pub(crate) fn timestamp() -> DataType {
    DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into()))
}

/// Returns the field of a list's items.
pub(crate) fn item_field(items: &ColumnType) -> Arc<Field> {
    // Names of items may be unknown.
    Arc::new(Field::new_list_field(data_type(items), *items == ColumnType::Dictionary))
}
