//! The meaning of tables and columns as keys and values, for files and schemas.

#[cfg(any(feature = "ipc", feature = "parquet"))]
use telemetry_decode::KnownRegistry;

use crate::model::column::Column;
use crate::model::table::Table;

/// Keys with their values. A value that would be empty has no key.
pub(crate) type Pairs = Vec<(String, String)>;

/// Returns the keys and values of a table: `telemetry.doc` and so on.
pub(crate) fn of_table(table: &Table) -> Pairs {
    let codes: Vec<_> = table.codes.iter().map(ToString::to_string).collect();
    pairs(
        "telemetry",
        [
            ("table", &table.name),
            ("registry", &table.registry),
            ("event", &table.event),
            ("kind", &table.kind),
            ("doc", &table.doc),
            ("codes", &codes.join(", ")),
        ],
    )
}

/// Returns the keys and values of a column. Each key begins with `before` and a point.
pub(crate) fn of_column(column: &Column, before: &str) -> Pairs {
    let values = column.values.iter().map(|value| format!("{} = {}", value.name, value.number));
    let flag = |is_set: bool| if is_set { "true".to_string() } else { String::new() };
    pairs(
        before,
        [
            ("doc", &column.doc),
            ("unit", &column.unit),
            ("counter", &flag(column.is_counter)),
            ("type", &column.sort),
            ("values", &values.collect::<Vec<_>>().join(", ")),
            ("address", &flag(column.is_address)),
        ],
    )
}

/// Returns the registries of a table in canonical form: `telemetry.registry.FINGERPRINT`.
#[cfg(any(feature = "ipc", feature = "parquet"))]
pub(crate) fn of_registries(table: &Table, registries: &[KnownRegistry]) -> Pairs {
    // A side table is of no registry, and speaks of all.
    let own =
        registries.iter().filter(|known| table.registry.is_empty() || known.registry.name == table.registry);
    let pair = |known: &KnownRegistry| {
        (format!("telemetry.registry.{:016x}", known.fingerprint), known.registry.to_toml())
    };
    own.map(pair).collect()
}

fn pairs<const N: usize>(before: &str, entries: [(&str, &str); N]) -> Pairs {
    let given = entries.into_iter().filter(|(_, value)| !value.is_empty());
    given.map(|(key, value)| (format!("{before}.{key}"), value.to_string())).collect()
}
