//! The columns of a table as Parquet's types.

use std::sync::Arc;

use ::parquet::basic::{LogicalType, Repetition, TimeUnit, Type as Physical};
use ::parquet::errors::Result;
use ::parquet::schema::types::{ColumnPath, Type, TypePtr};

use crate::model::column::{Column, ColumnType};
use crate::model::table::Table;

/// Returns the schema of a table's file.
pub(super) fn of(table: &Table) -> Result<TypePtr> {
    let fields = table.columns.iter().map(field).collect::<Result<_>>()?;
    Type::group_type_builder("table").with_fields(fields).build().map(Arc::new)
}

/// Returns the path of the values of a column.
pub(super) fn path(column: &Column) -> ColumnPath {
    let parts: &[&str] = match column.ty {
        ColumnType::List(_) => &[&column.name, "list", "element"],
        _ => &[&column.name],
    };
    ColumnPath::new(parts.iter().map(ToString::to_string).collect())
}

/// Returns true if items of this type may have no value: those of names, which may be unknown.
pub(super) fn has_missing_items(items: &ColumnType) -> bool {
    *items == ColumnType::Dictionary
}

fn field(column: &Column) -> Result<TypePtr> {
    let ColumnType::List(items) = &column.ty else {
        return value(&column.name, &column.ty, column.is_nullable);
    };
    let element = value("element", items, has_missing_items(items))?;
    let list = Type::group_type_builder("list")
        .with_repetition(Repetition::REPEATED)
        .with_fields(vec![element])
        .build()?;
    Type::group_type_builder(&column.name)
        .with_repetition(repetition(column.is_nullable))
        .with_logical_type(Some(LogicalType::List))
        .with_fields(vec![Arc::new(list)])
        .build()
        .map(Arc::new)
}

fn value(name: &str, ty: &ColumnType, is_nullable: bool) -> Result<TypePtr> {
    let (physical, logical) = types(ty);
    Type::primitive_type_builder(name, physical)
        .with_repetition(repetition(is_nullable))
        .with_logical_type(logical)
        .build()
        .map(Arc::new)
}

fn repetition(is_nullable: bool) -> Repetition {
    if is_nullable { Repetition::OPTIONAL } else { Repetition::REQUIRED }
}

/// Returns the types of values. Those of list items are asked for by themselves.
fn types(ty: &ColumnType) -> (Physical, Option<LogicalType>) {
    let integer = |bits, is_signed| (Physical::INT32, Some(LogicalType::integer(bits, is_signed)));
    match ty {
        ColumnType::Bool => (Physical::BOOLEAN, None),
        ColumnType::I8 => integer(8, true),
        ColumnType::I16 => integer(16, true),
        ColumnType::I32 => (Physical::INT32, None),
        ColumnType::U8 => integer(8, false),
        ColumnType::U16 => integer(16, false),
        ColumnType::U32 => integer(32, false),
        // Spark makes decimals of unsigned integers of 64 bits, and other systems have none. So
        // they have the same bits as signed ones, as in SQLite.
        ColumnType::I64 | ColumnType::U64 => (Physical::INT64, None),
        ColumnType::F32 => (Physical::FLOAT, None),
        ColumnType::F64 => (Physical::DOUBLE, None),
        // Spark refuses files with times in nanoseconds.
        ColumnType::Timestamp => (Physical::INT64, Some(LogicalType::timestamp(true, TimeUnit::MICROS))),
        ColumnType::Utf8 | ColumnType::Dictionary => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        ColumnType::Binary | ColumnType::List(_) => (Physical::BYTE_ARRAY, None),
    }
}
