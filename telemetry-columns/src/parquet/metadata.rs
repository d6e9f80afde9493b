//! The footer's keys and values: the meaning of a table and its columns, and the registries.

use ::parquet::file::metadata::KeyValue;
use telemetry_decode::KnownRegistry;

use crate::model::column::Column;
use crate::model::meaning;
use crate::model::table::Table;

/// Returns the keys and values of a table.
pub(super) fn of(table: &Table, registries: &[KnownRegistry]) -> Vec<KeyValue> {
    let of_column =
        |column: &Column| meaning::of_column(column, &format!("telemetry.column.{}", column.name));
    let mut pairs = meaning::of_table(table);
    pairs.extend(table.columns.iter().flat_map(of_column));
    pairs.extend(meaning::of_registries(table, registries));
    pairs.into_iter().map(|(key, value)| KeyValue::new(key, value)).collect()
}
