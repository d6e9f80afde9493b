//! The files of a run.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, VecDeque};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use telemetry_columns::{Data, EncodedRowGroup, Error, ParquetWriter, RowGroup, Table, Tables};
use telemetry_format::Calendar;

use crate::input::events::Opened;
use crate::input::tables::{Partition, Rows, TableBatches};
use crate::input::turns::in_turns;
use crate::term::ended::{Context, Ended, Failure};
use crate::term::output::{Directory, Output, cannot_write};

/// The memory of all rows that wait for their row groups.
const MAX_HELD: usize = 32 << 20;

/// What Hive and Spark read as null.
const NO_HOST: &str = "__HIVE_DEFAULT_PARTITION__";

/// A row group that can be written, and its file.
type Encoded = (Place, Result<EncodedRowGroup, Error>);

/// The table of a file and, of a table of events, the partition.
type Place = (String, Option<Partition>);

/// Writes all files. The row groups are jobs of this many threads.
pub(super) fn write_all(
    mut opened: Opened,
    directory: &Path,
    is_partitioned: bool,
    threads: NonZeroUsize,
    context: &mut Context,
) -> Ended {
    let made = Mutex::new(vec![Directory::make(directory)?]);
    let inputs = opened.inputs.paths();
    let files = Files { directory, is_partitioned, inputs, files: Mutex::default(), made };
    let encode = |(place, group): (Place, RowGroup)| (place, group.encode());
    let mut batches = TableBatches::new(&mut opened, is_partitioned);
    let (mut groups, mut is_at_end) = (VecDeque::new(), false);
    let next = || {
        while groups.is_empty() && !is_at_end {
            groups.extend(match batches.next()? {
                Some(rows) => files.push(rows, &batches)?,
                None => {
                    is_at_end = true;
                    files.rest(&batches)?
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
    is_partitioned: bool,
    /// The inputs, which no file replaces.
    inputs: Vec<PathBuf>,
    /// The lock is short: no thread encodes meanwhile.
    files: Mutex<BTreeMap<Place, File>>,
    /// Directories that are removed if they are empty. So they are dropped after their files.
    made: Mutex<Vec<Directory>>,
}

struct File {
    path: PathBuf,
    writer: ParquetWriter<Output>,
}

impl Files<'_> {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<Place, File>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the file of a place, which is made if there is none.
    fn begin<'f>(
        &self,
        files: &'f mut BTreeMap<Place, File>,
        place: Place,
        table: &Arc<Table>,
        first_ns: Option<i64>,
        batches: &TableBatches<'_>,
    ) -> Result<&'f mut File, Failure> {
        match files.entry(place) {
            Entry::Occupied(file) => Ok(file.into_mut()),
            Entry::Vacant(vacant) => {
                let path = self.path(vacant.key(), first_ns, batches)?;
                let output = Output::beside(&path, &self.inputs)?;
                let writer = ParquetWriter::new(output, table, batches.registries());
                Ok(vacant.insert(File { path, writer }))
            }
        }
    }

    /// Returns the path of a file, whose folder is made. The name has the time of the first row or,
    /// for a side table, of the first event. So files of other parts of a session stay.
    fn path(
        &self,
        (table, partition): &Place,
        first_ns: Option<i64>,
        batches: &TableBatches<'_>,
    ) -> Result<PathBuf, Failure> {
        if !self.is_partitioned {
            return Ok(self.directory.join(format!("{table}.parquet")));
        }
        let (folder, session, first_ns) = match partition {
            Some(Partition { session, day }) => {
                let host = batches.host(*session).map_or_else(|| NO_HOST.to_owned(), escape);
                (format!("day={}/host={host}", date(*day)), *session, first_ns.unwrap_or_default())
            }
            None => (String::new(), batches.first().0, batches.first().1),
        };
        let folder = self.directory.join(table).join(folder);
        let made = Directory::make(&folder)?;
        self.made.lock().unwrap_or_else(PoisonError::into_inner).push(made);
        Ok(folder.join(format!("{session:016x}-{first_ns:016x}.parquet")))
    }

    /// Adds rows. Returns the row groups that are complete.
    fn push(&self, rows: Rows, batches: &TableBatches<'_>) -> Result<Vec<(Place, RowGroup)>, Failure> {
        let mut files = self.lock();
        let table = rows.batch.table().clone();
        let place = (table.name.clone(), rows.partition);
        let first_ns = match rows.batch.column("time_ns").map(|column| column.data()) {
            Some(Data::I64(times)) => times.first().copied(),
            _ => None,
        };
        let file = self.begin(&mut files, place.clone(), &table, first_ns, batches)?;
        let full = file.writer.add(rows.batch).map_err(|error| failed(&file.path, &error))?;
        let held: usize = files.values().map(|file| file.writer.held()).sum();
        let largest = match files.iter_mut().max_by_key(|(_, file)| file.writer.held()) {
            Some((place, File { path, writer })) if held > MAX_HELD => {
                writer.take().map_err(|error| failed(path, &error))?.map(|group| (place.clone(), group))
            }
            _ => None,
        };
        Ok(full.map(|group| (place, group)).into_iter().chain(largest).collect())
    }

    /// Returns the rest of all rows.
    fn rest(&self, batches: &TableBatches<'_>) -> Result<Vec<(Place, RowGroup)>, Failure> {
        let mut files = self.lock();
        for table in Tables::sides() {
            // A table without rows says that there is nothing to say.
            self.begin(&mut files, (table.name.clone(), None), &table, None, batches)?;
        }
        let mut rest = Vec::new();
        for (place, File { path, writer }) in files.iter_mut() {
            let group = writer.take().map_err(|error| failed(path, &error))?;
            rest.extend(group.map(|group| (place.clone(), group)));
        }
        Ok(rest)
    }

    /// Writes a row group.
    fn append(&self, (place, group): Encoded) -> Result<(), Failure> {
        match self.lock().get_mut(&place) {
            Some(File { path, writer }) => {
                group.and_then(|group| writer.append(group)).map_err(|error| failed(path, &error))
            }
            None => Ok(()),
        }
    }

    /// Completes all files before the first one appears.
    fn finish(self) -> Result<(), Failure> {
        let Files { files, made: _made, .. } = self;
        let files = files.into_inner().unwrap_or_else(PoisonError::into_inner);
        let finish = |file: File| file.writer.finish().map_err(|error| failed(&file.path, &error));
        let mut outputs: Vec<_> = files.into_values().map(finish).collect::<Result<_, _>>()?;
        outputs.iter_mut().try_for_each(Output::flush)?;
        outputs.into_iter().try_for_each(Output::finish)
    }
}

/// Returns a day as `2026-11-28`.
fn date(day: i64) -> String {
    let Calendar { year, month, day, .. } =
        Calendar::from_seconds(u64::try_from(day).unwrap_or_default() * 86_400);
    format!("{year:04}-{month:02}-{day:02}")
}

/// Escapes a value in the name of a folder as Hive and Spark do.
fn escape(value: &str) -> String {
    let mut escaped = String::with_capacity(value.len());
    for byte in value.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => escaped.push(char::from(byte)),
            _ => escaped.push_str(&format!("%{byte:02X}")),
        }
    }
    escaped
}

fn failed(path: &Path, error: &Error) -> Failure {
    cannot_write(path, error)
}
