//! Writes events as Arrow: a file per table, or one table as a file or stream.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use telemetry_columns::{ArrowWriter, Batch, Error, Table, Tables};
use telemetry_decode::KnownRegistry;

use crate::input::events::Opened;
use crate::input::tables::{TableBatches, each_batch_of_events};
use crate::term::ended::{Context, Ended, Failure};
use crate::term::output::{Directory, Output, cannot_write};
use crate::text::count;

/// Writes all tables as files.
pub(super) fn write_each(mut opened: Opened, directory: &Path, context: &mut Context) -> Ended {
    let _made = Directory::make(directory)?;
    let mut files = Files { directory, inputs: opened.inputs.paths(), files: BTreeMap::new() };
    let mut batches = TableBatches::new(&mut opened, false);
    while let Some(rows) = batches.next()? {
        files.push(rows.batch, batches.registries())?;
    }
    for table in Tables::sides() {
        // A table without rows says that there is nothing to say.
        files.file(&table, batches.registries())?;
    }
    drop(batches);
    files.finish()?;
    opened.end(context)
}

/// The files by the names of their tables. Each appears when it is complete.
struct Files<'d> {
    directory: &'d Path,
    /// The inputs, which no file replaces.
    inputs: Vec<PathBuf>,
    files: BTreeMap<String, (PathBuf, ArrowWriter<Output>)>,
}

impl Files<'_> {
    /// Returns the file of a table, which is made if there is none.
    fn file(
        &mut self,
        table: &Arc<Table>,
        registries: &[KnownRegistry],
    ) -> Result<&mut (PathBuf, ArrowWriter<Output>), Failure> {
        if !self.files.contains_key(&table.name) {
            let path = self.directory.join(format!("{}.arrow", table.name));
            let output = Output::beside(&path, &self.inputs)?;
            let writer =
                ArrowWriter::file(output, table, registries).map_err(|error| failed(&path, &error))?;
            self.files.insert(table.name.clone(), (path, writer));
        }
        self.files.get_mut(&table.name).ok_or_else(|| Failure::new("a file is missing"))
    }

    fn push(&mut self, batch: Batch, registries: &[KnownRegistry]) -> Ended {
        let (path, writer) = self.file(&Arc::clone(batch.table()), registries)?;
        writer.push(batch).map_err(|error| failed(path, &error))
    }

    /// Completes all files before the first one appears.
    fn finish(self) -> Ended {
        let finish = |(path, writer): (PathBuf, ArrowWriter<_>)| {
            writer.finish().map_err(|error| failed(&path, &error))
        };
        let mut outputs: Vec<_> = self.files.into_values().map(finish).collect::<Result<_, _>>()?;
        outputs.iter_mut().try_for_each(Output::flush)?;
        outputs.into_iter().try_for_each(Output::finish)
    }
}

fn failed(path: &Path, error: &Error) -> Failure {
    cannot_write(path, error)
}

/// Writes the table of the only event type that passes the filter: a file, or a stream to a pipe.
pub(super) fn write_one(mut opened: Opened, mut output: Output, context: &mut Context) -> Ended {
    let table = only_table(&opened)?;
    let is_pipe = output.is_pipe();
    output.write_with(|out| {
        let writer = match is_pipe {
            true => ArrowWriter::stream(out, &table, opened.registries()),
            false => ArrowWriter::file(out, &table, opened.registries()),
        };
        let mut writer = writer.map_err(failed_output)?;
        each_batch_of_events(&mut opened, |batch| writer.push(batch).map_err(failed_output))?;
        writer.finish().map(drop).map_err(failed_output)
    })??;
    output.finish()?;
    opened.end(context)
}

/// Explains an error that is not one of the output itself.
fn failed_output(error: Error) -> Failure {
    Failure::new(format!("cannot write the table: {error}"))
}

/// Returns the table of the events that the filter accepts.
fn only_table(opened: &Opened) -> Result<Arc<Table>, Failure> {
    let all = Tables::of(opened.registries());
    let mut tables = BTreeMap::new();
    for known in opened.registries() {
        let wanted = (0..known.registry.events.len()).filter(|index| known.wants(*index));
        for table in wanted.filter_map(|index| all.table_of(known.fingerprint, index)) {
            tables.insert(table.name.clone(), Arc::clone(table));
        }
    }
    let found = match tables.len() {
        1 => return tables.into_values().next().ok_or_else(|| Failure::new("a table is missing")),
        number => count(number as u64, "event type"),
    };
    Err(Failure::new(format!(
        "found {found}, expected one: an Arrow file or stream has one list of columns; help: choose the event \
         with --event NAME, or write a file for each with -d DIR"
    )))
}
