//! The registries as rows: the MPS's glue tables, and the values of enums.

use rusqlite::{Connection, params};
use telemetry_schema::{Count, Param, Registry};

use super::schema::Schema;
use crate::text::param;

/// Fills the tables again. If versions of a registry differ, the latest one counts.
pub(super) fn fill(connection: &Connection, schema: &Schema) -> rusqlite::Result<()> {
    for table in ["event_param", "event_type", "event_kind", "enum_value"] {
        connection.execute_batch(&format!("DELETE FROM {table}"))?;
    }
    let mut kinds = connection.prepare(
        "INSERT OR IGNORE INTO event_kind (name, description, enum, registry, bit) VALUES (?, ?, ?, ?, ?)",
    )?;
    let mut types = connection.prepare(
        "INSERT OR IGNORE INTO event_type (name, code, used, kind, registry, number, always, doc, table_name)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )?;
    let mut event_params = connection.prepare(
        "INSERT INTO event_param (type, param_index, sort, ident, doc, unit, column_name, counter)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
    )?;
    let mut values = connection.prepare(
        "INSERT INTO enum_value (registry, type, number, name, doc)
         SELECT ?1, ?2, ?3, ?4, ?5 WHERE NOT EXISTS
         (SELECT 1 FROM enum_value WHERE registry = ?1 AND type = ?2 AND number = ?3)",
    )?;
    for known in schema.latest_first() {
        let registry = &known.registry;
        for kind in &registry.kinds {
            kinds.execute(params![kind.name, kind.doc, known.kind(kind.bit), registry.name, kind.bit])?;
        }
        for (event, place) in registry.events.iter().zip(&known.places) {
            let (code, table) = (known.code(event.code), &schema.tables.list[place.table]);
            let kind = known.kind(registry.kind_of(event).bit);
            let described = types.execute(params![
                event.name,
                code,
                event.used,
                kind,
                registry.name,
                event.code,
                event.always,
                event.doc,
                table.name
            ])?;
            if described == 0 {
                continue;
            }
            for (index, (param, column)) in (0_i64..).zip(event.params.iter().zip(&place.columns)) {
                let (sort, column) = (sort(registry, param), &table.columns()[*column].name);
                let name = param::name(registry, &param.name);
                event_params.execute(params![
                    code,
                    index,
                    sort,
                    name,
                    param.doc,
                    param.unit,
                    column,
                    param.is_counter
                ])?;
            }
        }
        for ty in &registry.types {
            for value in &ty.values {
                values.execute(params![
                    registry.name,
                    ty.name,
                    value.number as i64,
                    value.name,
                    value.doc
                ])?;
            }
        }
    }
    Ok(())
}

/// Returns the MPS's letter for a sort, else the name of the sort.
fn sort(registry: &Registry, param: &Param) -> String {
    let letter = param.sort.letter().filter(|_| param.count == Count::One);
    letter.map_or_else(|| registry.sort_text(param), String::from)
}
