//! The files of a run.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use telemetry_columns::{
    Batch, Builder, EncodedRowGroup, Error, Messages, ParquetWriter, RowGroup, Spans, Table, Tables,
    block_table, side_tables,
};
use telemetry_decode::KnownRegistry;

use crate::input::events::Opened;
use crate::input::inputs::cannot_read;
use crate::input::jobs::{Jobs, in_order};
use crate::term::ended::{Context, Ended, Failure};
use crate::term::output::{Directory, Output, cannot_write};
use crate::term::progress::Progress;

/// The memory of all rows that wait for their row groups.
const MAX_HELD: usize = 64 << 20;

/// A row group is a job; its bytes are the result.
type Groups<'j> = Jobs<'j, RowGroup, Encoded>;
type Encoded = (Arc<Table>, Result<EncodedRowGroup, Error>);

/// Writes all files. Row groups are encoded on this many threads.
pub(super) fn write_all(
    mut opened: Opened,
    directory: &Path,
    threads: NonZeroUsize,
    context: &mut Context,
) -> Ended {
    let _made = Directory::make(directory)?;
    let encode = |group: RowGroup| (group.table().clone(), group.encode());
    in_order(threads, encode, |groups| {
        let files = Files { directory, inputs: opened.inputs.paths(), files: BTreeMap::new(), groups };
        write_tables(&mut opened, files)
    })?;
    opened.end(context)
}

fn write_tables(opened: &mut Opened, mut files: Files<'_, '_>) -> Result<(), Failure> {
    write_events(opened, &mut files)?;
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
    files.finish()
}

fn write_events(opened: &mut Opened, files: &mut Files<'_, '_>) -> Result<(), Failure> {
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
struct Files<'f, 'j> {
    directory: &'f Path,
    /// The inputs, which no file replaces.
    inputs: Vec<PathBuf>,
    files: BTreeMap<String, File>,
    groups: &'f mut Groups<'j>,
}

struct File {
    path: PathBuf,
    writer: ParquetWriter<Output>,
}

impl Files<'_, '_> {
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
        let group = file.writer.add(batch).map_err(|error| failed(&file.path, &error))?;
        self.encode(group)?;
        if self.files.values().map(|file| file.writer.held()).sum::<usize>() > MAX_HELD
            && let Some(largest) = self.files.values_mut().max_by_key(|file| file.writer.held())
        {
            let group = largest.writer.take().map_err(|error| failed(&largest.path, &error))?;
            self.encode(group)?;
        }
        Ok(())
    }

    /// Gives a row group to the threads, and writes one that they have encoded.
    fn encode(&mut self, group: Option<RowGroup>) -> Result<(), Failure> {
        let Some(encoded) = group.and_then(|group| self.groups.push(group)) else { return Ok(()) };
        self.append(encoded)
    }

    fn append(&mut self, (table, group): Encoded) -> Result<(), Failure> {
        let Some(File { path, writer }) = self.files.get_mut(&table.name) else { return Ok(()) };
        group.and_then(|group| writer.append(group)).map_err(|error| failed(path, &error))
    }

    /// Completes all files before the first one appears.
    fn finish(mut self) -> Result<(), Failure> {
        let mut rest = Vec::new();
        for File { path, writer } in self.files.values_mut() {
            rest.push(writer.take().map_err(|error| failed(path, &error))?);
        }
        rest.into_iter().try_for_each(|group| self.encode(group))?;
        while let Some(encoded) = self.groups.finish() {
            self.append(encoded)?;
        }
        let finish = |file: File| file.writer.finish().map_err(|error| failed(&file.path, &error));
        let mut outputs: Vec<_> = self.files.into_values().map(finish).collect::<Result<_, _>>()?;
        outputs.iter_mut().try_for_each(Output::flush)?;
        outputs.into_iter().try_for_each(Output::finish)
    }
}

fn failed(path: &Path, error: &Error) -> Failure {
    cannot_write(path, error)
}
