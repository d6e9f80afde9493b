//! The tables of all registries.

use std::collections::HashMap;
use std::sync::Arc;

use telemetry_decode::KnownRegistry;
use telemetry_decode::names::RUNTIME_REGISTRY;
use telemetry_schema::{Event, Registry};

use crate::model::layout::table_name;
use crate::model::place::Place;
use crate::model::sides::{SIDES, Side};
use crate::model::table::Table;

/// The tables of registries: one for each event type. More registries only add tables and columns.
///
/// Versions of a registry share a table by the names of event types, and a column by the names and
/// types of parameters. A column that a version lacks has no values in the rows of that version.
#[derive(Debug, Clone, Default)]
pub struct Tables {
    list: Vec<Arc<Table>>,
    /// By the names of a registry and an event type.
    of_events: HashMap<(String, String), usize>,
    /// By fingerprint: the places of a registry's events, by index.
    places: HashMap<u64, Arc<[Place]>>,
    /// The names of the programs' registries.
    programs: Vec<String>,
}

impl Tables {
    /// Returns the tables of these registries, in their order.
    ///
    /// A table has the name of its event type. With several registries of programs, and for the
    /// runtime's own, the name of the registry comes first: `app.RequestBegin`. So it does for an
    /// event type with the name of a side table, such as `Message`.
    pub fn of(registries: &[KnownRegistry]) -> Tables {
        let mut tables = Tables::default();
        registries.iter().for_each(|known| tables.note(&known.registry));
        registries.iter().for_each(|known| tables.add(known));
        tables
    }

    /// Adds the tables and columns of a further registry, unless it is known. Existing tables keep
    /// their names.
    pub fn add(&mut self, known: &KnownRegistry) {
        if self.places.contains_key(&known.fingerprint) {
            return;
        }
        let registry = &known.registry;
        self.note(registry);
        let places: Vec<_> = registry.events.iter().map(|event| self.place(registry, event)).collect();
        self.places.insert(known.fingerprint, places.into());
    }

    /// Returns the tables in the order in which registries needed them.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Arc<Table>> {
        self.list.iter()
    }

    /// Returns a table by its name.
    pub fn table(&self, name: &str) -> Option<&Arc<Table>> {
        self.list.iter().find(|table| table.name == name)
    }

    /// Returns the table of an event type: the fingerprint of its registry, and its index there.
    pub fn table_of(&self, fingerprint: u64, event: usize) -> Option<&Arc<Table>> {
        self.list.get(self.places.get(&fingerprint)?.get(event)?.table)
    }

    /// Returns the side tables, which are the same for all registries.
    pub fn sides() -> Vec<Arc<Table>> {
        SIDES.iter().map(Side::table).collect()
    }

    /// Returns the number of tables.
    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    /// Returns a table by its index.
    pub(crate) fn get(&self, index: usize) -> &Arc<Table> {
        &self.list[index]
    }

    /// Returns the places of a registry's events.
    pub(crate) fn places(&self, fingerprint: u64) -> Option<&Arc<[Place]>> {
        self.places.get(&fingerprint)
    }

    /// Notes the name of a program's registry.
    fn note(&mut self, registry: &Registry) {
        if registry.name != RUNTIME_REGISTRY && !self.programs.contains(&registry.name) {
            self.programs.push(registry.name.clone());
        }
    }

    fn place(&mut self, registry: &Registry, event: &Event) -> Place {
        let owner = (registry.name.clone(), event.name.clone());
        let table = match self.of_events.get(&owner) {
            Some(table) => *table,
            None => {
                // Databases and some file systems ignore the case of letters.
                let is_taken = SIDES.iter().any(|side| side.name.eq_ignore_ascii_case(&event.name));
                let is_one_of_several = is_taken || self.programs.len() > 1;
                let name = table_name(&registry.name, &event.name, is_one_of_several);
                self.of_events.insert(owner, self.list.len());
                self.list.push(Arc::new(Table::new(name, registry, event)));
                self.list.len() - 1
            }
        };
        let params = Arc::make_mut(&mut self.list[table]).add(registry, event);
        Place { table, params }
    }
}
