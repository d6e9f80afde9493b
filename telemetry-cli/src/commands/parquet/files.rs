//! The files of a run.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, VecDeque};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use telemetry_columns::{Batch, EncodedRowGroup, Error, ParquetWriter, RowGroup, Table, Tables};
use telemetry_decode::KnownRegistry;

use crate::input::events::Opened;
use crate::input::tables::TableBatches;
use crate::input::turns::in_turns;
use crate::term::ended::{Context, Ended, Failure};
use crate::term::output::{Directory, Output, cannot_write};

/// The memory of all rows that wait for their row groups.
const MAX_HELD: usize = 32 << 20;

/// A row group that can be written.
type Encoded = (Arc<Table>, Result<EncodedRowGroup, Error>);

/// Writes all files. The row groups are jobs of this many threads.
pub(super) fn write_all(
    mut opened: Opened,
    directory: &Path,
    threads: NonZeroUsize,
    context: &mut Context,
) -> Ended {
    let _made = Directory::make(directory)?;
    let files = Files { directory, inputs: opened.inputs.paths(), files: Mutex::default() };
    let encode = |group: RowGroup| (group.table().clone(), group.encode());
    let mut batches = TableBatches::new(&mut opened);
    let (mut groups, mut is_at_end) = (VecDeque::new(), false);
    let next = || {
        while groups.is_empty() && !is_at_end {
            groups.extend(match batches.next()? {
                Some(batch) => files.push(batch, batches.registries())?,
                None => {
                    is_at_end = true;
                    files.rest(batches.registries())?
                }
            });
        }
        Ok(groups.pop_front())
    };
    in_turns(threads, next, encode, |encoded| files.append(encoded))?;
    drop(batches);
    files.finish()?;
    opened.end(context)
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

    /// Adds rows. Returns the row groups that are complete.
    fn push(&self, batch: Batch, registries: &[KnownRegistry]) -> Result<Vec<RowGroup>, Failure> {
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
        Ok(full.into_iter().chain(largest).collect())
    }

    /// Returns the rest of all rows.
    fn rest(&self, registries: &[KnownRegistry]) -> Result<Vec<RowGroup>, Failure> {
        let mut files = self.lock();
        for table in Tables::sides() {
            // A table without rows says that there is nothing to say.
            self.begin(&mut files, &table, registries)?;
        }
        let mut rest = Vec::new();
        for File { path, writer } in files.values_mut() {
            rest.extend(writer.take().map_err(|error| failed(path, &error))?);
        }
        Ok(rest)
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
