//! Row groups of Parquet files, copied as they are, so that nothing is decoded.
//!
//! All rows of a group are of one session.

use std::sync::Arc;

use bytes::Bytes;
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::record::Field;
use parquet::schema::types::Type;

/// A file of copied groups.
pub(crate) struct Copied {
    pub(crate) bytes: Vec<u8>,
    /// The number of its rows.
    pub(crate) rows: u64,
    /// The number of rows that were left out.
    pub(crate) left_out: u64,
}

/// Host and session of the rows of a group.
pub(crate) type Owner = (String, u64);

/// Copies all groups of files with the same columns, in their order.
pub(crate) fn copy(files: &[Bytes]) -> Result<Copied, ParquetError> {
    let mut groups = Vec::new();
    for (file, bytes) in files.iter().enumerate() {
        let count = SerializedFileReader::new(bytes.clone())?.num_row_groups();
        groups.extend((0..count).map(|group| (file, group)));
    }
    write(files, &groups)
}

/// Copies the groups that stay, in the order of hosts and sessions. The hosts must be in the rows.
pub(crate) fn copy_sorted(
    files: &[Bytes],
    mut stays: impl FnMut(&Owner) -> bool,
) -> Result<Copied, ParquetError> {
    let (mut groups, mut left_out) = (Vec::new(), 0);
    for (file, bytes) in files.iter().enumerate() {
        let reader = SerializedFileReader::new(bytes.clone())?;
        for group in 0..reader.num_row_groups() {
            let owner = owner(&reader, group)?;
            match stays(&owner) {
                true => groups.push((owner, file, group)),
                false => left_out += reader.metadata().row_group(group).num_rows() as u64,
            }
        }
    }
    groups.sort();
    let groups: Vec<_> = groups.into_iter().map(|(_, file, group)| (file, group)).collect();
    Ok(Copied { left_out, ..write(files, &groups)? })
}

/// Returns the columns of a file in their order, with types.
pub(crate) fn columns(file: &Bytes) -> Result<String, ParquetError> {
    let reader = SerializedFileReader::new(file.clone())?;
    Ok(format!("{:?}", reader.metadata().file_metadata().schema()))
}

fn owner(reader: &SerializedFileReader<Bytes>, group: usize) -> Result<Owner, ParquetError> {
    let all = reader.metadata().file_metadata().schema();
    let wanted = all.get_fields().iter().filter(|field| ["host", "session"].contains(&field.name())).cloned();
    let columns = Type::group_type_builder(all.name()).with_fields(wanted.collect()).build()?;
    let group = reader.get_row_group(group)?;
    let (mut host, mut session) = (None, None);
    for row in group.get_row_iter(Some(columns))?.take(1) {
        for (name, field) in row?.get_column_iter() {
            match (name.as_str(), field) {
                ("host", Field::Str(text)) => host = Some(text.clone()),
                ("session", Field::Long(number)) => session = Some(*number as u64),
                _ => {}
            }
        }
    }
    host.zip(session).ok_or_else(|| ParquetError::General("its rows have no host and session".to_owned()))
}

/// Writes groups, each given by the index of its file and its own.
fn write(files: &[Bytes], groups: &[(usize, usize)]) -> Result<Copied, ParquetError> {
    let readers = files.iter().map(|bytes| SerializedFileReader::new(bytes.clone()));
    let readers = readers.collect::<Result<Vec<_>, _>>()?;
    let first = readers.first().ok_or_else(|| ParquetError::General("there are no files".to_owned()))?;
    let schema = first.metadata().file_metadata().schema_descr().root_schema_ptr();
    let properties = Arc::new(
        WriterProperties::builder()
            .set_created_by(format!("telemetry-lake version {}", env!("CARGO_PKG_VERSION")))
            .build(),
    );
    let mut out = SerializedFileWriter::new(Vec::new(), schema, properties)?;
    let mut rows = 0;
    for (file, group) in groups {
        let group = readers[*file].metadata().row_group(*group);
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
            copied.append_column(&files[*file], close)?;
        }
        copied.close()?;
    }
    Ok(Copied { bytes: out.into_inner()?, rows, left_out: 0 })
}
