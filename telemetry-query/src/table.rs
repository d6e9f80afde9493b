//! Tables of a recording for the engine.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::Result;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::streaming::StreamingTableExec;
use telemetry_columns::{Table, Tables};
use telemetry_decode::{Filter, Selector};

use crate::filter::Wanted;
use crate::out::Scan;
use crate::recording::Recording;
use crate::schema::schema;

/// A table of events, or a side table. It is read when a query needs it.
pub struct EventTable {
    recording: Arc<Recording>,
    table: Arc<Table>,
    schema: SchemaRef,
}

impl fmt::Debug for EventTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventTable").field("name", &self.table.name).finish_non_exhaustive()
    }
}

impl EventTable {
    /// Returns all tables of a recording: those of events, and then the side tables.
    pub fn all(recording: &Arc<Recording>) -> Vec<EventTable> {
        let tables = recording.tables().iter().cloned().chain(Tables::sides());
        let of =
            |table: Arc<Table>| EventTable { recording: recording.clone(), schema: schema(&table), table };
        tables.map(of).collect()
    }

    /// Returns what the table has: its name, its columns and their meaning.
    pub fn table(&self) -> &Arc<Table> {
        &self.table
    }

    /// Returns the selection of the table's events; `None` for a side table.
    fn events(&self) -> Option<Filter> {
        let Table { registry, event, .. } = &*self.table;
        let selector = || Selector::Text(format!("{registry}:{event}"));
        (!event.is_empty()).then(|| Filter::default().events([selector()]))
    }
}

#[async_trait]
impl TableProvider for EventTable {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        let starts = self.recording.starts();
        let is_of_events = self.events().is_some();
        let support = |filter: &&Expr| match is_of_events && Wanted::default().take(filter, &starts) {
            true => TableProviderFilterPushDown::Inexact,
            false => TableProviderFilterPushDown::Unsupported,
        };
        Ok(filters.iter().map(support).collect())
    }

    async fn scan(
        &self,
        _: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let columns = projection.map_or_else(|| (0..self.table.columns.len()).collect(), Vec::clone);
        let schema = Arc::new(self.schema.project(&columns)?);
        let (mut wanted, starts) = (Wanted::default(), self.recording.starts());
        for filter in filters {
            wanted.take(filter, &starts);
        }
        let filter = self.events().map(|filter| wanted.filter(filter));
        let (recording, table) = (self.recording.clone(), self.table.clone());
        let scan =
            Scan { recording, table, columns, schema: schema.clone(), filter, queues: Default::default() };
        let partitions = scan.partitions();
        Ok(Arc::new(StreamingTableExec::try_new(schema, partitions, None, [], false, limit)?))
    }
}
