//! The engine with the tables of a query.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::TableProvider;
use datafusion::common::{DataFusionError, TableReference};
use datafusion::execution::SendableRecordBatchStream;
use datafusion::execution::memory_pool::FairSpillPool;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::prelude::{SQLOptions, SessionConfig, SessionContext};
use futures::StreamExt;

use crate::catalog::{Catalog, MAIN};
use crate::error::{message, no_table};
use crate::files::FileTables;
use crate::recording::Recording;
use crate::table::EventTable;

/// The engine, with the tables of recordings and of Parquet files.
pub struct Engine {
    context: SessionContext,
    names: Vec<String>,
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").field("tables", &self.names).finish_non_exhaustive()
    }
}

/// The rows of an answer.
pub struct Rows {
    stream: SendableRecordBatchStream,
}

impl std::fmt::Debug for Rows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rows").finish_non_exhaustive()
    }
}

impl Engine {
    /// Makes an engine that works on some threads. Sorting, joining and grouping take at most this
    /// many bytes of memory. Then they use temporary files, where they can.
    ///
    /// # Errors
    /// If a Parquet file cannot be read.
    pub async fn new(
        recording: Option<&Arc<Recording>>,
        files: &FileTables,
        threads: NonZeroUsize,
        memory: usize,
    ) -> Result<Engine, String> {
        let mut config = SessionConfig::new()
            .with_target_partitions(threads.get())
            .with_default_catalog_and_schema("recording", MAIN)
            .with_create_default_catalog_and_schema(false)
            .with_information_schema(true);
        let options = config.options_mut();
        // Names of events and parameters have capital letters.
        options.sql_parser.enable_ident_normalization = false;
        options.sql_parser.collect_spans = true;
        // Texts of streams and of files have the same type.
        options.execution.parquet.schema_force_view_types = false;
        let pool = Arc::new(FairSpillPool::new(memory));
        let runtime = RuntimeEnvBuilder::new().with_memory_pool(pool).build_arc();
        let runtime = runtime.map_err(|error| message(&error))?;
        let context = SessionContext::new_with_config_rt(config, runtime);
        let mut tables: BTreeMap<String, Arc<dyn TableProvider>> = BTreeMap::new();
        let mut names = Vec::new();
        for table in recording.map(EventTable::all).unwrap_or_default() {
            let name = table.table().name.clone();
            names.push(name.clone());
            tables.insert(name, Arc::new(table));
        }
        for (name, table) in files.tables(&context).await.map_err(|error| message(&error))? {
            let both = match tables.remove(&name) {
                None => {
                    names.push(name.clone());
                    Ok(table)
                }
                Some(of_streams) => union(&context, of_streams, table),
            };
            tables.insert(name, both.map_err(|error| message(&error))?);
        }
        let mut catalog = Catalog::default();
        for name in &names {
            tables.get(name).into_iter().for_each(|table| catalog.add(name, table));
        }
        context.register_catalog("recording", Arc::new(catalog));
        Ok(Engine { context, names })
    }

    /// Returns the names of all tables.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns the columns of a table.
    ///
    /// # Errors
    /// If there is no such table.
    pub async fn schema(&self, table: &str) -> Result<SchemaRef, String> {
        let provider = self.context.table_provider(TableReference::bare(table)).await;
        Ok(provider.map_err(|error| message(&error))?.schema())
    }

    /// Begins to answer a query.
    ///
    /// # Errors
    /// If the query is wrong.
    pub async fn query(&self, sql: &str) -> Result<Rows, String> {
        let of = |error: DataFusionError| message(&error);
        let state = self.context.state();
        let dialect = state.config().options().sql_parser.dialect;
        let statement = state.sql_to_statement(sql, &dialect).map_err(of)?;
        for name in state.resolve_table_references(&statement).map_err(of)? {
            // A schema that does not exist is an error of the engine.
            let is_known = self.context.table_exist(name.clone()).unwrap_or(false);
            if !is_known && name.schema() != Some("information_schema") {
                return Err(no_table(&name.to_string(), &self.names));
            }
        }
        let plan = state.statement_to_plan(statement).await.map_err(of)?;
        let reads_only =
            SQLOptions::new().with_allow_ddl(false).with_allow_dml(false).with_allow_statements(false);
        if reads_only.verify_plan(&plan).is_err() {
            return Err(
                "found a statement that changes something, expected a query; help: begin it with SELECT, \
                        WITH, EXPLAIN or DESCRIBE"
                    .to_string(),
            );
        }
        let frame = self.context.execute_logical_plan(plan).await.map_err(of)?;
        Ok(Rows { stream: frame.execute_stream().await.map_err(of)? })
    }
}

impl Rows {
    /// Returns the columns of the answer.
    pub fn schema(&self) -> SchemaRef {
        self.stream.schema()
    }

    /// Returns the next rows; `None` at the end.
    ///
    /// # Errors
    /// If the query cannot be answered to its end.
    pub async fn next(&mut self) -> Result<Option<RecordBatch>, String> {
        self.stream.next().await.transpose().map_err(|error| message(&error))
    }
}

/// Returns the rows of two tables as one.
fn union(
    context: &SessionContext,
    one: Arc<dyn TableProvider>,
    other: Arc<dyn TableProvider>,
) -> datafusion::common::Result<Arc<dyn TableProvider>> {
    let both = context.read_table(one)?.union_by_name(context.read_table(other)?)?;
    Ok(both.into_view())
}
