//! The names of tables in SQL.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::{CatalogProvider, SchemaProvider, TableProvider};
use datafusion::common::Result;

/// The schema of tables without a registry in front.
pub(crate) const MAIN: &str = "main";

/// All tables by name. A name like `telemetry.Intern` is also found as the table `Intern` of the
/// schema `telemetry`, which is how SQL reads it without quotes.
#[derive(Debug, Default)]
pub struct Catalog {
    schemas: BTreeMap<String, Arc<Folder>>,
}

/// The tables of a schema by name.
#[derive(Debug, Default, Clone)]
struct Folder(Vec<(String, Arc<dyn TableProvider>)>);

impl Catalog {
    /// Adds a table.
    pub fn add(&mut self, name: &str, table: &Arc<dyn TableProvider>) {
        if let Some((registry, event)) = name.split_once('.') {
            self.add_to(registry, event, table);
        }
        self.add_to(MAIN, name, table);
    }

    fn add_to(&mut self, schema: &str, name: &str, table: &Arc<dyn TableProvider>) {
        let folder = self.schemas.entry(schema.to_string()).or_default();
        Arc::make_mut(folder).0.push((name.to_string(), table.clone()));
    }
}

impl CatalogProvider for Catalog {
    fn schema_names(&self) -> Vec<String> {
        self.schemas.keys().cloned().collect()
    }

    fn schema(&self, name: &str) -> Option<Arc<dyn SchemaProvider>> {
        let mut found = self.schemas.iter().filter(|(schema, _)| schema.eq_ignore_ascii_case(name));
        found.next().map(|(_, folder)| folder.clone() as _)
    }
}

impl Folder {
    /// Finds a table. The case of letters matters only where names differ by nothing else.
    fn find(&self, name: &str) -> Option<&Arc<dyn TableProvider>> {
        let exact = self.0.iter().find(|(table, _)| table == name);
        let found = exact.or_else(|| self.0.iter().find(|(table, _)| table.eq_ignore_ascii_case(name)));
        found.map(|(_, table)| table)
    }
}

#[async_trait]
impl SchemaProvider for Folder {
    fn table_names(&self) -> Vec<String> {
        self.0.iter().map(|(name, _)| name.clone()).collect()
    }

    async fn table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        Ok(self.find(name).cloned())
    }

    fn table_exist(&self, name: &str) -> bool {
        self.find(name).is_some()
    }
}
