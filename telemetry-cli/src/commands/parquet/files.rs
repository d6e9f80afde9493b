//! The files of a run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use telemetry_columns::{
    Batch, Builder, Error, Messages, ParquetWriter, Spans, Table, Tables, block_table, side_tables,
};
use telemetry_decode::KnownRegistry;

use crate::input::events::Opened;
use crate::input::inputs::cannot_read;
use crate::term::ended::{Context, Ended, Failure};
use crate::term::output::{Directory, Output, cannot_write};
use crate::term::progress::Progress;

/// The memory of all rows that wait for their row groups.
const MAX_HELD: usize = 64 << 20;

/// Writes all files.
pub(super) fn write_all(mut opened: Opened, directory: &Path, context: &mut Context) -> Ended {
    let _made = Directory::make(directory)?;
    let mut files = Files::new(directory, opened.inputs.paths());
    write_events(&mut opened, &mut files)?;
    for batch in side_tables(&opened.events) {
        files.push(batch, opened.registries())?;
    }
    if let Some(index) = opened.inputs.index_again()? {
        for batch in block_table(&index) {
            let batch = batch.map_err(|error| Failure::new(error.to_string()))?;
            files.push(batch, opened.registries())?;
        }
    }
    for table in Tables::sides() {
        // A table without rows says that there is nothing to say.
        files.file(&table, opened.registries())?;
    }
    files.finish()?;
    opened.end(context)
}

fn write_events(opened: &mut Opened, files: &mut Files) -> Result<(), Failure> {
    let progress = Progress::of_bytes(opened.inputs.len());
    let mut builder = Builder::new(Tables::of(opened.registries()));
    let mut messages = Messages::default();
    let (mut spans, mut damages) = (Spans::new(&opened.events.gaps()), opened.events.damages());
    while let Some(event) = opened.events.next().map_err(cannot_read)? {
        let batches = [builder.push(&event), messages.push(&event), spans.push(&event)];
        progress.event(|| opened.events.bytes_done());
        // Damage is found before the first event after it.
        if opened.events.damages() != damages {
            damages = opened.events.damages();
            spans.set_gaps(&opened.events.gaps());
        }
        for batch in batches.into_iter().flatten() {
            files.push(batch, opened.registries())?;
        }
    }
    spans.set_gaps(&opened.events.gaps());
    let rest = std::iter::from_fn(|| builder.finish());
    let rest =
        rest.chain(std::iter::from_fn(|| messages.finish())).chain(std::iter::from_fn(|| spans.finish()));
    for batch in rest {
        files.push(batch, opened.registries())?;
    }
    Ok(())
}

/// The files by the names of their tables. Each appears when it is complete.
struct Files<'d> {
    directory: &'d Path,
    /// The inputs, which no file replaces.
    inputs: Vec<PathBuf>,
    files: BTreeMap<String, File>,
}

struct File {
    path: PathBuf,
    writer: ParquetWriter<Output>,
}

impl Files<'_> {
    fn new(directory: &Path, inputs: Vec<PathBuf>) -> Files<'_> {
        Files { directory, inputs, files: BTreeMap::new() }
    }

    /// Returns the file of a table, which is made if there is none.
    fn file(&mut self, table: &Arc<Table>, registries: &[KnownRegistry]) -> Result<&mut File, Failure> {
        if !self.files.contains_key(&table.name) {
            let path = self.directory.join(format!("{}.parquet", table.name));
            let output = Output::beside(&path, &self.inputs)?;
            let writer = ParquetWriter::new(output, table, registries);
            self.files.insert(table.name.clone(), File { path, writer });
        }
        self.files.get_mut(&table.name).ok_or_else(|| Failure::new("a file is missing"))
    }

    fn push(&mut self, batch: Batch, registries: &[KnownRegistry]) -> Result<(), Failure> {
        let table = batch.table().clone();
        let file = self.file(&table, registries)?;
        file.writer.push(batch).map_err(|error| failed(&file.path, &error))?;
        if self.files.values().map(|file| file.writer.held()).sum::<usize>() > MAX_HELD
            && let Some(largest) = self.files.values_mut().max_by_key(|file| file.writer.held())
        {
            largest.writer.flush().map_err(|error| failed(&largest.path, &error))?;
        }
        Ok(())
    }

    /// Completes all files before the first one appears.
    fn finish(self) -> Result<(), Failure> {
        let finish = |file: File| file.writer.finish().map_err(|error| failed(&file.path, &error));
        let mut outputs: Vec<_> = self.files.into_values().map(finish).collect::<Result<_, _>>()?;
        outputs.iter_mut().try_for_each(Output::flush)?;
        outputs.into_iter().try_for_each(Output::finish)
    }
}

fn failed(path: &Path, error: &Error) -> Failure {
    cannot_write(path, error)
}
