//! Tables in Parquet files, as `telemetry parquet` writes them.
//!
//! Parquet's numbers of 64 bits are signed there, and its times are microseconds. The footer has
//! the registry, so the columns get their types back.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, ListArray};
use datafusion::arrow::datatypes::{DataType, Field, Int64Type, UInt64Type};
use datafusion::catalog::TableProvider;
use datafusion::common::{Column, DataFusionError, Result, exec_err};
use datafusion::datasource::file_format::parquet::ParquetFormat;
use datafusion::datasource::listing::{ListingOptions, ListingTable, ListingTableConfig, ListingTableUrl};
use datafusion::logical_expr::{ColumnarValue, Expr, ScalarUDF, Volatility, cast, create_udf};
use datafusion::prelude::SessionContext;
use parquet::file::reader::{FileReader, SerializedFileReader};
use telemetry_columns::{ColumnType, Table, Tables};
use telemetry_decode::Reader;
use telemetry_schema::parse_embedded;
use url::Url;

use crate::schema::{data_type, timestamp};

/// The tables of Parquet files, by name.
#[derive(Debug, Default)]
pub struct FileTables {
    tables: BTreeMap<String, Files>,
}

#[derive(Debug, Default)]
struct Files {
    paths: Vec<PathBuf>,
    /// The columns whose types are not those of the files.
    types: BTreeMap<String, ColumnType>,
}

impl FileTables {
    /// Returns the Parquet files of a path: the file itself, or those in a directory. Returns
    /// `None` for another file.
    ///
    /// # Errors
    /// If the path cannot be read, or is a directory without such files.
    pub fn at(path: &Path) -> std::result::Result<Option<Vec<PathBuf>>, String> {
        use std::io::Read;
        let failed = |error: std::io::Error| format!("cannot read `{}`: {error}", path.display());
        if path.is_dir() {
            let entries = std::fs::read_dir(path).map_err(failed)?;
            let entries = entries.map(|entry| entry.map(|entry| entry.path()));
            let mut files = entries.collect::<std::io::Result<Vec<_>>>().map_err(failed)?;
            files.retain(|file| file.extension().is_some_and(|extension| extension == "parquet"));
            files.sort_unstable();
            if files.is_empty() {
                return Err(format!(
                    "`{}` is a directory without Parquet files, expected streams or such a directory; help: \
                     `telemetry parquet -d DIR` writes one",
                    path.display()
                ));
            }
            return Ok(Some(files));
        }
        if !path.is_file() {
            return Ok(None);
        }
        let mut first = [0; 4];
        let is_parquet = File::open(path).and_then(|mut file| file.read_exact(&mut first)).is_ok();
        Ok((is_parquet && first == *b"PAR1").then(|| vec![path.to_path_buf()]))
    }

    /// Adds a file. Reads its footer only.
    ///
    /// # Errors
    /// If it is not a Parquet file.
    pub fn add(&mut self, path: &Path) -> std::result::Result<(), String> {
        let failed = |error: &dyn std::fmt::Display| format!("cannot read `{}`: {error}", path.display());
        let file = File::open(path).map_err(|error| failed(&error))?;
        let reader = SerializedFileReader::new(file).map_err(|error| failed(&error))?;
        let pairs = reader.metadata().file_metadata().key_value_metadata().cloned().unwrap_or_default();
        let pairs: BTreeMap<_, _> =
            pairs.into_iter().filter_map(|pair| Some((pair.key, pair.value?))).collect();
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let name = pairs.get("telemetry.table").map_or(&*stem, String::as_str);
        let files = self.tables.entry(name.to_string()).or_default();
        files.paths.push(path.to_path_buf());
        let table = table(name, &pairs);
        for column in table.iter().flat_map(|table| &table.columns) {
            let has_other = match &column.ty {
                ColumnType::U64 | ColumnType::Timestamp => true,
                ColumnType::List(items) => **items == ColumnType::U64,
                _ => false,
            };
            if has_other {
                files.types.insert(column.name.clone(), column.ty.clone());
            }
        }
        Ok(())
    }

    /// Returns true if there are no tables.
    pub fn is_empty(&self) -> bool {
        self.tables.is_empty()
    }

    /// Returns the tables by name. Reads footers only.
    pub(crate) async fn tables(
        &self,
        context: &SessionContext,
    ) -> Result<Vec<(String, Arc<dyn TableProvider>)>> {
        let mut tables = Vec::new();
        for (name, files) in &self.tables {
            tables.push((name.clone(), files.table(context).await?));
        }
        Ok(tables)
    }
}

impl Files {
    async fn table(&self, context: &SessionContext) -> Result<Arc<dyn TableProvider>> {
        let urls = self.paths.iter().map(|path| {
            let url = std::path::absolute(path).ok().and_then(|path| Url::from_file_path(path).ok());
            let url = url.ok_or_else(|| DataFusionError::Plan(format!("cannot name `{}`", path.display())));
            ListingTableUrl::try_new(url?, None)
        });
        let urls = urls.collect::<Result<Vec<_>>>()?;
        let options = ListingOptions::new(Arc::new(ParquetFormat::default())).with_file_extension("");
        let config = ListingTableConfig::new_with_multi_paths(urls).with_listing_options(options);
        let config = config.infer_schema(&context.state()).await?;
        let table = Arc::new(ListingTable::try_new(config)?);
        let columns: Vec<Expr> = table.schema().fields().iter().map(|field| self.column(field)).collect();
        Ok(context.read_table(table)?.select(columns)?.into_view())
    }

    /// Returns a column with its own type.
    fn column(&self, field: &Field) -> Expr {
        let name = field.name();
        let column = || Expr::Column(Column::new_unqualified(name));
        match (self.types.get(name), field.data_type()) {
            (Some(ColumnType::Timestamp), _) => cast(column(), timestamp()).alias(name),
            (Some(ty), found @ (DataType::Int64 | DataType::List(_))) => {
                unsigned(found.clone(), data_type(ty)).call(vec![column()]).alias(name)
            }
            _ => column(),
        }
    }
}

/// Returns the function that takes the bits of signed numbers as unsigned ones.
fn unsigned(from: DataType, to: DataType) -> ScalarUDF {
    let result = to.clone();
    let convert = move |values: &[ColumnarValue]| {
        let Some(array) = ColumnarValue::values_to_arrays(values)?.into_iter().next() else {
            return exec_err!("found no values, expected some");
        };
        Ok(ColumnarValue::Array(bits(&array, &result)?))
    };
    create_udf("unsigned", vec![from], to, Volatility::Immutable, Arc::new(convert))
}

fn bits(array: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    if let (Some(lists), DataType::List(field)) = (array.as_list_opt::<i32>(), to) {
        let items = bits(lists.values(), field.data_type())?;
        let (offsets, nulls) = (lists.offsets().clone(), lists.nulls().cloned());
        return Ok(Arc::new(ListArray::try_new(field.clone(), offsets, items, nulls)?));
    }
    match array.as_primitive_opt::<Int64Type>() {
        Some(numbers) => Ok(Arc::new(numbers.unary::<_, UInt64Type>(|number| number as u64))),
        None => exec_err!("found values of type {}, expected signed numbers of 64 bits", array.data_type()),
    }
}

/// Returns the table that a file has, from the registries in its footer.
fn table(name: &str, pairs: &BTreeMap<String, String>) -> Option<Arc<Table>> {
    let Some((registry, event)) = pairs.get("telemetry.registry").zip(pairs.get("telemetry.event")) else {
        return Tables::sides().into_iter().find(|side| side.name == name);
    };
    let texts = pairs.iter().filter(|(key, _)| key.starts_with("telemetry.registry."));
    let registries = texts.filter_map(|(_, text)| parse_embedded(text).ok());
    // A file with hidden values has the registry that hides them.
    let reader = registries.fold(Reader::from_slice(&[]), Reader::registry).show_sensitive(true);
    let tables = Tables::of(reader.events().ok()?.registries());
    tables.iter().find(|table| table.registry == *registry && table.event == *event).cloned()
}
