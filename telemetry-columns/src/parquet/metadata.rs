//! The footer's keys and values: the meaning of a table and its columns, and the registries.

use ::parquet::file::metadata::KeyValue;
use telemetry_decode::KnownRegistry;

use crate::model::table::Table;

/// Returns the keys and values of a table. A value that would be empty has no key.
pub(super) fn of(table: &Table, registries: &[KnownRegistry]) -> Vec<KeyValue> {
    let mut pairs = Pairs(Vec::new());
    pairs.add("telemetry.table", &table.name);
    pairs.add("telemetry.registry", &table.registry);
    pairs.add("telemetry.event", &table.event);
    pairs.add("telemetry.kind", &table.kind);
    pairs.add("telemetry.doc", &table.doc);
    let codes: Vec<_> = table.codes.iter().map(ToString::to_string).collect();
    pairs.add("telemetry.codes", &codes.join(", "));
    for column in &table.columns {
        let name = &column.name;
        pairs.add(&format!("telemetry.column.{name}.doc"), &column.doc);
        pairs.add(&format!("telemetry.column.{name}.unit"), &column.unit);
        pairs.add(&format!("telemetry.column.{name}.type"), &column.sort);
        let values: Vec<_> =
            column.values.iter().map(|value| format!("{} = {}", value.name, value.number)).collect();
        pairs.add(&format!("telemetry.column.{name}.values"), &values.join(", "));
    }
    // A side table is of no registry, and speaks of all.
    let own =
        registries.iter().filter(|known| table.registry.is_empty() || known.registry.name == table.registry);
    for known in own {
        let key = format!("telemetry.registry.{:016x}", known.fingerprint);
        pairs.add(&key, &known.registry.to_toml());
    }
    pairs.0
}

struct Pairs(Vec<KeyValue>);

impl Pairs {
    fn add(&mut self, key: &str, value: &str) {
        if !value.is_empty() {
            self.0.push(KeyValue::new(key.to_string(), value.to_string()));
        }
    }
}
