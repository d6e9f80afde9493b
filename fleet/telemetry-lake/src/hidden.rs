//! The columns that have no values, because their parameters are sensitive.

use std::collections::HashSet;

use telemetry_columns::{Source, Table};
use telemetry_decode::KnownRegistry;

use crate::catalog::Catalog;

/// The parameters of a session whose values the tables do not have.
///
/// A column has the same type with and without values. So a lake may have both rows with values,
/// by `--show-sensitive`, and rows without.
#[derive(Default)]
pub(crate) struct Hidden {
    /// By table of `telemetry-columns`: parameters.
    values: HashSet<(String, String)>,
    /// The same for the names of their numbers.
    names: HashSet<(String, String)>,
}

impl Hidden {
    /// Returns the parameters that are sensitive in one of a session's registries. Those are in the
    /// catalog, maybe with stricter marks from another program.
    ///
    /// If a parameter of any registry in the catalog stands for labels, nothing tells the strings
    /// of labels: the session may get this registry later.
    pub(crate) fn of(registries: &[KnownRegistry], catalog: &Catalog) -> Hidden {
        let mut hidden = Hidden::default();
        let has_labels = catalog.has_sensitive_labels();
        for KnownRegistry { fingerprint, registry, .. } in registries {
            let known = catalog.registry(*fingerprint).unwrap_or(registry);
            if !has_labels && !known.is_sensitive() {
                continue;
            }
            let mut marked = registry.clone();
            marked.take_sensitive(known);
            marked.mark_numbered();
            if has_labels {
                marked.mark_interned();
            }
            let params = || marked.events.iter().flat_map(|event| &event.params);
            let spaces: HashSet<&str> = params()
                .filter(|param| param.has_numbers() && param.sensitive.is_some())
                .map(|param| param.number_space())
                .collect();
            for event in &marked.events {
                let table = table_of(&marked.name, marked.version.major, &event.name);
                for param in &event.params {
                    let place = (table.clone(), param.name.clone());
                    let has_sensitive_names = param.has_numbers() && spaces.contains(param.number_space());
                    if param.sensitive.is_some() {
                        hidden.values.insert(place);
                    } else if has_sensitive_names {
                        hidden.names.insert(place);
                    }
                }
            }
        }
        hidden
    }

    /// Returns true for each column of a table of a registry's major version that is hidden;
    /// nothing if none is.
    pub(crate) fn columns(&self, table: &Table, major: u32) -> Vec<bool> {
        if self.values.is_empty() && self.names.is_empty() {
            return Vec::new();
        }
        let name = table_of(&table.registry, major, &table.event);
        table.columns.iter().map(|column| self.has(&name, &column.source)).collect()
    }

    fn has(&self, table: &str, source: &Source) -> bool {
        let has = |of: &HashSet<_>, param: &String| of.contains(&(table.to_owned(), param.clone()));
        match source {
            Source::Param(param) | Source::Bytes(param) => has(&self.values, param),
            Source::Names(param) => has(&self.values, param) || has(&self.names, param),
            _ => false,
        }
    }
}

/// Names an event type of all versions of a registry that share a table.
fn table_of(registry: &str, major: u32, event: &str) -> String {
    format!("{registry} {major} {event}")
}
