//! The files of a run.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use telemetry_columns::{Batch, EncodedRowGroup, Error, ParquetWriter, RowGroup, Table, Tables};
use telemetry_decode::KnownRegistry;

use crate::input::events::Opened;
use crate::input::jobs::{Jobs, in_order};
use crate::input::tables::each_batch;
use crate::term::ended::{Context, Ended, Failure};
use crate::term::output::{Directory, Output, cannot_write};

/// The memory of all rows that wait for their row groups.
const MAX_HELD: usize = 32 << 20;

/// The row groups are jobs.
type Groups<'j> = Jobs<'j, RowGroup, Encoded, Failure>;
type Encoded = (Arc<Table>, Result<EncodedRowGroup, Error>);

/// Writes all files. Row groups are encoded on this many threads.
pub(super) fn write_all(
    mut opened: Opened,
    directory: &Path,
    threads: NonZeroUsize,
    context: &mut Context,
) -> Ended {
    let _made = Directory::make(directory)?;
    let files = Files { directory, inputs: opened.inputs.paths(), files: Mutex::default() };
    let encode = |group: RowGroup| (group.table().clone(), group.encode());
    in_order(
        threads,
        encode,
        |encoded| files.append(encoded),
        |groups| {
            write_tables(&mut opened, &files, groups)?;
            groups.finish()
        },
    )?;
    files.finish()?;
    opened.end(context)
}

fn write_tables(opened: &mut Opened, files: &Files<'_>, groups: &mut Groups<'_>) -> Result<(), Failure> {
    each_batch(opened, |batch, registries| files.push(batch, registries, groups))?;
    for table in Tables::sides() {
        // A table without rows says that there is nothing to say.
        files.begin(&mut files.lock(), &table, opened.registries())?;
    }
    files.give_rest(groups)
}

/// The files of all tables. Each appears when it is complete.
struct Files<'d> {
    directory: &'d Path,
    /// The inputs, which no file replaces.
    inputs: Vec<PathBuf>,
    /// By the names of their tables. The lock is short: no thread encodes meanwhile.
    files: Mutex<BTreeMap<String, File>>,
}

struct File {
    path: PathBuf,
    writer: ParquetWriter<Output>,
}

impl Files<'_> {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, File>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the file of a table, which is made if there is none.
    fn begin<'f>(
        &self,
        files: &'f mut BTreeMap<String, File>,
        table: &Arc<Table>,
        registries: &[KnownRegistry],
    ) -> Result<&'f mut File, Failure> {
        match files.entry(table.name.clone()) {
            Entry::Occupied(file) => Ok(file.into_mut()),
            Entry::Vacant(place) => {
                let path = self.directory.join(format!("{}.parquet", table.name));
                let output = Output::beside(&path, &self.inputs)?;
                let writer = ParquetWriter::new(output, table, registries);
                Ok(place.insert(File { path, writer }))
            }
        }
    }

    /// Adds rows, and gives the row groups that are complete to the threads.
    fn push(
        &self,
        batch: Batch,
        registries: &[KnownRegistry],
        groups: &mut Groups<'_>,
    ) -> Result<(), Failure> {
        let mut files = self.lock();
        let file = self.begin(&mut files, &batch.table().clone(), registries)?;
        let full = file.writer.add(batch).map_err(|error| failed(&file.path, &error))?;
        let held: usize = files.values().map(|file| file.writer.held()).sum();
        let largest = match files.values_mut().max_by_key(|file| file.writer.held()) {
            Some(File { path, writer }) if held > MAX_HELD => {
                writer.take().map_err(|error| failed(path, &error))?
            }
            _ => None,
        };
        drop(files);
        full.into_iter().chain(largest).try_for_each(|group| groups.push(group))
    }

    /// Gives the rest of all rows to the threads.
    fn give_rest(&self, groups: &mut Groups<'_>) -> Result<(), Failure> {
        let mut rest = Vec::new();
        for File { path, writer } in self.lock().values_mut() {
            rest.extend(writer.take().map_err(|error| failed(path, &error))?);
        }
        rest.into_iter().try_for_each(|group| groups.push(group))
    }

    /// Writes a row group.
    fn append(&self, (table, group): Encoded) -> Result<(), Failure> {
        match self.lock().get_mut(&table.name) {
            Some(File { path, writer }) => {
                group.and_then(|group| writer.append(group)).map_err(|error| failed(path, &error))
            }
            None => Ok(()),
        }
    }

    /// Completes all files before the first one appears.
    fn finish(self) -> Result<(), Failure> {
        let files = self.files.into_inner().unwrap_or_else(PoisonError::into_inner);
        let finish = |file: File| file.writer.finish().map_err(|error| failed(&file.path, &error));
        let mut outputs: Vec<_> = files.into_values().map(finish).collect::<Result<_, _>>()?;
        outputs.iter_mut().try_for_each(Output::flush)?;
        outputs.into_iter().try_for_each(Output::finish)
    }
}

fn failed(path: &Path, error: &Error) -> Failure {
    cannot_write(path, error)
}
