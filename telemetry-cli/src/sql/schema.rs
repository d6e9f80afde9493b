//! The registries of a database, and their tables, descriptions and views.

use std::collections::HashMap;

use rusqlite::{Connection, params};
use telemetry_decode::names::{RUNTIME_REGISTRY, take_names};
use telemetry_schema::{Registry, Version, parse_embedded};

use super::tables::{Place, Tables, declared, quoted};

/// The registries of a database, in the order in which they were added.
pub(crate) struct Schema {
    pub(super) registries: Vec<Known>,
    pub(super) tables: Tables,
    by_fingerprint: HashMap<u64, usize>,
    /// By name.
    numbers: HashMap<String, i64>,
    /// Something that follows from registries is not in the database yet.
    pub(super) is_behind: bool,
}

/// A registry of a database.
pub(super) struct Known {
    pub(super) registry: Registry,
    /// The same in all versions, to tell codes and kinds of different registries apart.
    pub(super) number: i64,
    /// The places of its events, by index.
    pub(super) places: Vec<Place>,
}

/// The number of the runtime's own registry. So the first registry of a program has 0, and its
/// codes and kinds in the database are those in the registry.
const RUNTIMES_NUMBER: i64 = 1;

impl Known {
    /// Returns `event_kind.enum` of a kind.
    pub(super) fn kind(&self, bit: u8) -> i64 {
        self.number * 64 + i64::from(bit)
    }

    /// Returns `event_type.code` of an event.
    pub(super) fn code(&self, code: u16) -> i64 {
        self.number * 0x1_0000 + i64::from(code)
    }
}

impl Schema {
    /// Reads the schema of a database.
    pub(crate) fn read(connection: &Connection) -> rusqlite::Result<Schema> {
        let mut schema = Schema {
            registries: Vec::new(),
            tables: Tables::new(),
            by_fingerprint: HashMap::new(),
            numbers: HashMap::new(),
            is_behind: false,
        };
        let mut rows = connection.prepare("SELECT text FROM registry ORDER BY serial")?;
        for text in rows.query_map([], |row| row.get::<_, String>(0))? {
            let text = text?;
            let mut registry = parse_embedded(&text).map_err(|invalid| {
                rusqlite::Error::ToSqlConversionFailure(invalid.render("table registry", &text).into())
            })?;
            take_names(&mut registry, telemetry_foreign::known_registry);
            schema.note(registry.fingerprint(), registry);
        }
        Ok(schema)
    }

    /// Returns the index of the registry with a fingerprint.
    pub(super) fn index(&self, fingerprint: u64) -> Option<usize> {
        self.by_fingerprint.get(&fingerprint).copied()
    }

    /// Adds a registry with the tables of its events, unless it is there.
    pub(super) fn add(
        &mut self,
        connection: &Connection,
        fingerprint: u64,
        registry: &Registry,
    ) -> rusqlite::Result<usize> {
        if let Some(index) = self.index(fingerprint) {
            return Ok(index);
        }
        let (tables, columns) = (self.tables.list.len(), self.columns());
        self.note(fingerprint, registry.clone());
        for (table, had) in self.tables.list[..tables].iter().zip(columns) {
            for column in &table.columns()[had..] {
                let (table, column) = (quoted(&table.name), declared(column));
                connection.execute_batch(&format!("ALTER TABLE {table} ADD COLUMN {column}"))?;
            }
        }
        for table in &self.tables.list[tables..] {
            connection.execute_batch(&table.create())?;
        }
        let Version { major, median, minor } = registry.version;
        connection.execute(
            "INSERT INTO registry (name, major, median, minor, fingerprint, text) VALUES (?, ?, ?, ?, ?, ?)",
            params![registry.name, major, median, minor, format!("{fingerprint:016x}"), registry.to_toml()],
        )?;
        self.is_behind = true;
        Ok(self.registries.len() - 1)
    }

    /// Updates the docs, units and spans of a known registry, which may change without a new
    /// fingerprint.
    pub(super) fn refresh(
        &mut self,
        connection: &Connection,
        fingerprint: u64,
        registry: &Registry,
    ) -> rusqlite::Result<()> {
        if let Some(index) = self.index(fingerprint) {
            let text = (registry.to_toml(), format!("{fingerprint:016x}"));
            connection.execute("UPDATE registry SET text = ? WHERE fingerprint = ?", text)?;
            self.registries[index].registry = registry.clone();
            self.is_behind = true;
        }
        Ok(())
    }

    /// Returns the versions of a registry in the database between which existing events changed, if
    /// there are several.
    pub(super) fn changed_versions(&self, name: &str) -> Vec<Version> {
        let versions = self.registries.iter().filter(|known| known.registry.name == name);
        let mut versions: Vec<_> = versions.map(|known| known.registry.version).collect();
        versions.sort();
        versions.dedup_by_key(|version| (version.major, version.median));
        if versions.len() > 1 { versions } else { Vec::new() }
    }

    /// Returns the registries, highest version first, so that the latest form counts.
    pub(super) fn latest_first(&self) -> Vec<&Known> {
        let mut all: Vec<_> = self.registries.iter().collect();
        all.sort_by_key(|known| (known.number, std::cmp::Reverse(known.registry.version)));
        all
    }

    fn note(&mut self, fingerprint: u64, registry: Registry) {
        let next = match self.numbers.values().filter(|number| **number != RUNTIMES_NUMBER).max() {
            None => 0,
            Some(0) => RUNTIMES_NUMBER + 1,
            Some(last) => last + 1,
        };
        let next = if registry.name == RUNTIME_REGISTRY { RUNTIMES_NUMBER } else { next };
        let number = *self.numbers.entry(registry.name.clone()).or_insert(next);
        let places = self.tables.add(&registry);
        self.by_fingerprint.insert(fingerprint, self.registries.len());
        self.registries.push(Known { registry, number, places });
    }

    fn columns(&self) -> Vec<usize> {
        self.tables.list.iter().map(|table| table.columns().len()).collect()
    }
}
