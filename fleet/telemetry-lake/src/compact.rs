//! Small files of a table joined to larger ones.
//!
//! Row groups are copied as they are, so nothing is decoded.

use std::collections::BTreeMap;

use bytes::Bytes;
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use std::sync::Arc;
use telemetry_fleet::failpoint::failpoint;
use telemetry_fleet::store::Store;

use crate::delta::Added;
use crate::lake::{LakeError, Result};

/// Files of this length are not joined any more.
const LARGE: u64 = 512 << 20;

/// Joins the small files of each session and day. Returns the names of files that go, and the files
/// that come.
pub(crate) async fn join_all(
    store: &Store,
    folder: &str,
    batch: u64,
    files: &BTreeMap<String, u64>,
) -> Result<(Vec<String>, Vec<Added>)> {
    let (mut removed, mut added) = (Vec::new(), Vec::new());
    let mut sessions = BTreeMap::<_, Vec<_>>::new();
    for (path, bytes) in files.iter().filter(|(_, bytes)| **bytes < LARGE) {
        if let Some((partition, session)) = place(path) {
            sessions.entry((partition, session)).or_default().push((path, *bytes));
        }
    }
    for ((partition, session), paths) in sessions {
        let (mut number, mut at) = (0, 0);
        while at < paths.len() {
            let (mut together, mut bytes) = (Vec::new(), 0);
            while let Some((path, len)) = paths.get(at).filter(|(_, len)| bytes == 0 || bytes + len <= LARGE)
            {
                together.push((*path).clone());
                bytes += len;
                at += 1;
            }
            for joined in join(store, folder, &together).await? {
                let path = format!("{partition}/{batch:010}-{session}-{number:04}.parquet");
                let (day, host) = partition.split_once("/host=").unwrap_or_default();
                let day = day.trim_start_matches("day=").to_owned();
                let (bytes, rows) = (joined.bytes.len() as u64, joined.rows);
                store.create(&format!("{folder}/{path}"), joined.bytes).await?;
                failpoint("file");
                removed.extend(joined.of);
                added.push(Added { path, partition: Some((day, host.to_owned())), bytes, rows, time: None });
                number += 1;
            }
        }
    }
    Ok((removed, added))
}

/// Returns partition and session of a file.
fn place(path: &str) -> Option<(&str, &str)> {
    let (partition, file) = path.rsplit_once('/')?;
    Some((partition, file.split('-').nth(1)?))
}

/// A file, and the names of those that it is made of.
struct Joined {
    of: Vec<String>,
    bytes: Vec<u8>,
    rows: u64,
}

/// Joins files of the same columns. One that has no others stays as it is.
async fn join(store: &Store, folder: &str, paths: &[String]) -> Result<Vec<Joined>> {
    let mut same = BTreeMap::<String, Vec<(String, Bytes)>>::new();
    for path in paths.iter().filter(|_| paths.len() > 1) {
        let name = format!("{folder}/{path}");
        let missing = || LakeError::Other(format!("`{name}` is missing, but the table has it"));
        let bytes = Bytes::from(store.get(&name).await?.ok_or_else(missing)?);
        let reader = SerializedFileReader::new(bytes.clone()).map_err(|error| damaged(&name, &error))?;
        // The columns in their order, with types.
        let columns = format!("{:?}", reader.metadata().file_metadata().schema());
        same.entry(columns).or_default().push((path.clone(), bytes));
    }
    let several = same.into_values().filter(|files| files.len() > 1);
    several.map(|files| copy(&files).map_err(|error| damaged(folder, &error))).collect()
}

fn copy(files: &[(String, Bytes)]) -> std::result::Result<Joined, ParquetError> {
    let schema = SerializedFileReader::new(files[0].1.clone())?
        .metadata()
        .file_metadata()
        .schema_descr()
        .root_schema_ptr();
    let properties = Arc::new(
        WriterProperties::builder()
            .set_created_by(format!("telemetry-lake version {}", env!("CARGO_PKG_VERSION")))
            .build(),
    );
    let mut out = SerializedFileWriter::new(Vec::new(), schema, properties)?;
    let mut rows = 0;
    for (_, bytes) in files {
        let reader = SerializedFileReader::new(bytes.clone())?;
        for group in reader.metadata().row_groups() {
            let mut copied = out.next_row_group()?;
            rows += group.num_rows() as u64;
            for column in group.columns() {
                let close = ColumnCloseResult {
                    bytes_written: column.compressed_size() as u64,
                    rows_written: group.num_rows() as u64,
                    metadata: column.clone(),
                    bloom_filter: None,
                    column_index: None,
                    offset_index: None,
                };
                copied.append_column(bytes, close)?;
            }
            copied.close()?;
        }
    }
    let of = files.iter().map(|(path, _)| path.clone()).collect();
    Ok(Joined { of, bytes: out.into_inner()?, rows })
}

fn damaged(name: &str, error: &ParquetError) -> LakeError {
    LakeError::Other(format!("`{name}` cannot be joined: {error}"))
}
