//! The encoding of each column.

use std::collections::HashSet;
use std::sync::Arc;

use ::parquet::basic::{Compression, Encoding, ZstdLevel};
use ::parquet::errors::Result;
use ::parquet::file::metadata::KeyValue;
use ::parquet::file::properties::{WriterProperties, WriterPropertiesPtr};

use crate::batch::data::Data;
use crate::batch::table_batch::Batch;
use crate::model::column::{ColumnType, Common, Source};
use crate::model::table::Table;
use crate::parquet::schema;

/// Zstandard's own default.
const LEVEL: i32 = 3;

/// The values of a column that are looked at.
const SAMPLES: usize = 4096;

/// Returns how the file of a table is written. The first rows tell which numbers repeat.
pub(super) fn choose(table: &Table, first: &[Batch], metadata: Vec<KeyValue>) -> Result<WriterPropertiesPtr> {
    let mut properties = WriterProperties::builder()
        .set_created_by(format!("telemetry-columns version {}", env!("CARGO_PKG_VERSION")))
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(LEVEL)?))
        .set_key_value_metadata(Some(metadata));
    for (index, column) in table.columns.iter().enumerate() {
        let items = match &column.ty {
            ColumnType::List(items) => items,
            ty => ty,
        };
        let path = schema::path(column);
        if matches!(items, ColumnType::F32 | ColumnType::F64) {
            // Where a dictionary has -0 but not 0, Spark finds no row with `x = 0`.
            properties = properties.set_column_dictionary_enabled(path, false);
            continue;
        }
        if !is_integer(items) {
            continue;
        }
        let repeats = match column.source {
            Source::Common(Common::Session | Common::Thread) => true,
            Source::Common(_) => false,
            _ => repeats(first, index),
        };
        // A dictionary that becomes too large gives way to this encoding.
        properties = properties
            .set_column_encoding(path.clone(), Encoding::DELTA_BINARY_PACKED)
            .set_column_dictionary_enabled(path, repeats);
    }
    Ok(Arc::new(properties.build()))
}

fn is_integer(ty: &ColumnType) -> bool {
    !matches!(
        ty,
        ColumnType::Bool
            | ColumnType::F32
            | ColumnType::F64
            | ColumnType::Utf8
            | ColumnType::Binary
            | ColumnType::Dictionary
            | ColumnType::List(_)
    )
}

/// Returns true if most of the numbers in a column occur several times.
fn repeats(batches: &[Batch], column: usize) -> bool {
    let all = || batches.iter().filter_map(|batch| batch.columns.get(column)).map(|column| column.data());
    let len: usize = all().map(|data| numbers(data).len()).sum();
    let step = len / SAMPLES + 1;
    let (mut seen, mut samples) = (HashSet::new(), 0);
    for data in all() {
        let data = numbers(data);
        for at in (0..data.len()).step_by(step) {
            seen.insert(number(data, at));
            samples += 1;
        }
    }
    seen.len() <= samples / 4
}

/// Returns the items of lists, or the values themselves.
fn numbers(data: &Data) -> &Data {
    match data {
        Data::List { items, .. } => &items.data,
        data => data,
    }
}

fn number(data: &Data, at: usize) -> i64 {
    match data {
        Data::I8(all) => all[at].into(),
        Data::I16(all) => all[at].into(),
        Data::I32(all) => all[at].into(),
        Data::I64(all) => all[at],
        Data::U8(all) => all[at].into(),
        Data::U16(all) => all[at].into(),
        Data::U32(all) => all[at].into(),
        Data::U64(all) => all[at] as i64,
        _ => 0,
    }
}
