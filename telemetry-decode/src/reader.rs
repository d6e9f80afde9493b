//! The way in: what to read, in which order, which events.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use std::rc::Rc;

use telemetry_schema::{Registry, parse_embedded};

use crate::blocks::Blocks;
use crate::decoder::Decoder;
use crate::events::Events;
use crate::filter::Filter;
use crate::index::{Index, IndexedBlock, scan};
use crate::known::Known;
use crate::load::Loader;
use crate::log::{Log, LogFile, LogInput, Placed};
use crate::marks::{self, Relations};
use crate::read_lane::ReadLane;
use crate::recover::{Recovered, recover};
use crate::source::{Files, Source};
use crate::typed::Typed;
use crate::typed_events::TypedEvents;

/// A stream to be read.
pub struct Reader<'s> {
    input: Origin<'s>,
    order: Order,
    filter: Filter,
    registries: Vec<Registry>,
    relations: Relations,
    earlier: Vec<ReadLane>,
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

enum Origin<'s> {
    Source(Source<'s>),
    Once(Box<dyn Read + 's>),
    Logs(LogInput<'s>),
}

impl Reader<'static> {
    /// A file, or a pipe by its name; `-` is standard input.
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
        let opened = paths.into_iter().map(|path| Input::open(path.as_ref()));
        Reader::of_inputs(opened.collect::<io::Result<_>>()?)
    }

    /// Streams that are open already, read as if they were one behind the other.
    ///
    /// # Errors
    /// If the length of a file is not to be had.
    pub fn of_inputs(opened: Vec<Input>) -> io::Result<Self> {
        if opened.iter().all(|one| matches!(one, Input::File(_))) {
            let files = opened.into_iter().filter_map(|one| match one {
                Input::File(file) => Some(file),
                Input::Pipe(_) => None,
            });
            return Ok(Reader::new(Origin::Source(Source::Files(Rc::new(Files::new(files)?)))));
        }
        let all = opened.into_iter().map(|one| match one {
            Input::File(file) => Box::new(file) as Box<dyn Read>,
            Input::Pipe(pipe) => pipe,
        });
        Ok(Reader::new(Origin::Once(all.fold(Box::new(io::empty()), |one, next| Box::new(one.chain(next))))))
    }
}

impl<'s> Reader<'s> {
    /// Logs of other systems. They are read as if they were one behind the
    /// other.
    ///
    /// # Errors
    /// If the length of one is not to be had.
    pub fn of_logs(files: impl IntoIterator<Item = LogFile<'s>>) -> io::Result<Self> {
        let (files, logs): (Vec<File>, Vec<_>) =
            files.into_iter().map(|LogFile { file, log, cut }| (file, (log, cut))).unzip();
        let files = Files::new(files)?;
        let ranges = files.ranges().collect::<Vec<_>>();
        let logs = logs.into_iter().zip(ranges);
        let logs = logs.map(|((log, cut), range)| Placed { log, range, cut }).collect();
        Ok(Reader::new(Origin::Logs(LogInput { source: Source::Files(Rc::new(files)), logs })))
    }

    /// A log of another system in memory, and who understands it.
    pub fn of_log(bytes: &'s [u8], log: impl Log + 's) -> Self {
        let log = Placed { log: Box::new(log), range: 0..bytes.len() as u64, cut: None };
        Reader::new(Origin::Logs(LogInput { source: Source::Slice(bytes), logs: vec![log] }))
    }

    /// A stream in memory.
    pub fn from_slice(bytes: &'s [u8]) -> Self {
        Reader::new(Origin::Source(Source::Slice(bytes)))
    }

    /// Anything that can be read once.
    pub fn from_read(input: impl Read + 's) -> Self {
        Reader::new(Origin::Once(Box::new(input)))
    }

    fn new(input: Origin<'s>) -> Self {
        Reader {
            input,
            order: Order::default(),
            filter: Filter::default(),
            registries: Vec::new(),
            relations: marks::none,
            earlier: Vec::new(),
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

    /// Adds a registry for events whose own is not in the stream. If it has marks `names`, older versions of it in
    /// the stream that have none take them over.
    pub fn registry(mut self, registry: Registry) -> Self {
        self.registries.push(registry);
        self
    }

    /// Tells who knows the newest versions of relations by name, whose marks `names` older versions in the stream
    /// take over. The runtime's own is always known.
    pub fn relations(self, relations: Relations) -> Self {
        Reader { relations, ..self }
    }

    /// Goes on from earlier readers, of this stream when it was shorter, of its other segments, of a snapshot: events
    /// that they had are passed over as repetitions, and are not missing.
    pub fn after(mut self, read: impl IntoIterator<Item = ReadLane>) -> Self {
        self.earlier.extend(read);
        self
    }

    /// Starts reading.
    ///
    /// Of a file or of memory, all block headers are read first, so that sessions and registries are
    /// known before the first event, wherever they stand. A pipe in stream order is read in one pass.
    ///
    /// # Errors
    /// Those of the input.
    pub fn events(self) -> io::Result<Events<'s>> {
        let Reader { input, order, filter, registries, relations, earlier } = self;
        let looks_ahead = !matches!((&input, order), (Origin::Once(_), Order::Stream));
        let mut decoder = decoder(looks_ahead, filter, registries, relations);
        earlier.into_iter().for_each(|lane| decoder.earlier.add(lane));
        let source = match (input, order) {
            (Origin::Logs(logs), _) => return Events::of_logs(decoder, logs, order == Order::Time),
            (Origin::Once(pipe), Order::Stream) => return Ok(Events::once(decoder, Blocks::new(pipe))),
            (input, _) => input.into_source()?,
        };
        let blocks = scan(&source, &mut decoder)?;
        read_names(&source, &blocks, &mut decoder)?;
        Ok(match order {
            Order::Stream => Events::listed(decoder, source, blocks),
            Order::Time => Events::merged(decoder, source, blocks),
        })
    }

    /// The events of one relation, as the structs that `#[telemetry_event(..., decode)]` made. A stream
    /// of the program's own version need not have a registry.
    ///
    /// # Errors
    /// As [`Reader::events`].
    pub fn typed<D: Typed>(self) -> io::Result<TypedEvents<'s, D>> {
        let own = parse_embedded(D::REGISTRY).map_err(|invalid| {
            io::Error::new(io::ErrorKind::InvalidInput, invalid.render("the decoder's registry", D::REGISTRY))
        })?;
        Ok(TypedEvents::new(self.registry(own.clone()).events()?, own))
    }

    /// Takes the input for a memory image: a ring file, a core dump, a stream, or several of them. Finds blocks by
    /// their magic number, puts the copies of each together, and writes what they hold as a stream. Order and
    /// filter do not matter.
    ///
    /// # Errors
    /// Those of the input and of the output.
    pub fn recover(self, out: &mut dyn Write) -> io::Result<Recovered> {
        let source = self.input.into_source()?;
        recover(&source, decoder(true, Filter::default(), self.registries, self.relations), out)
    }

    /// True if it is one of logs of other systems.
    pub fn is_of_logs(&self) -> bool {
        matches!(self.input, Origin::Logs(_))
    }

    /// Reads block headers only. Order and filter do not matter.
    ///
    /// # Errors
    /// Those of the input.
    pub fn index(self) -> io::Result<Index> {
        let source = self.input.into_source()?;
        Index::of(&source, decoder(true, Filter::default(), self.registries, self.relations))
    }
}

impl<'s> Origin<'s> {
    fn into_source(self) -> io::Result<Source<'s>> {
        match self {
            Origin::Source(source) => Ok(source),
            Origin::Logs(logs) => Ok(logs.source),
            Origin::Once(mut pipe) => {
                let files = Files::spool(&mut pipe).map_err(|error| {
                    let text = format!("cannot copy the stream to a temporary file: {error}");
                    io::Error::new(error.kind(), text)
                })?;
                Ok(Source::Files(Rc::new(files)))
            }
        }
    }
}

/// Reads the names of a stream before its events: what tells an event's may stand behind it.
fn read_names(source: &Source<'_>, blocks: &[IndexedBlock], decoder: &mut Decoder) -> io::Result<()> {
    let has_names = |block: &&IndexedBlock| {
        let key = &decoder.lanes[block.lane as usize].key;
        decoder.known.has_names(key.registry, key.kind)
    };
    let mut of_names: Vec<_> = blocks.iter().filter(has_names).collect();
    of_names.sort_by_key(|block| (block.lane, block.seq, block.offset, block.at));
    let mut loader = Loader::default();
    for block in of_names {
        // Damage is told when the events are read.
        if let Ok(header) = loader.load(source, block)? {
            decoder.known.names_block(block.lane, &header, loader.payload());
        }
    }
    Ok(())
}

fn decoder(looks_ahead: bool, filter: Filter, registries: Vec<Registry>, relations: Relations) -> Decoder {
    let mut known = Known::new(looks_ahead, relations);
    for registry in registries {
        known.add_registry(registry, &filter);
    }
    Decoder::new(known, filter)
}

/// Something that is open for reading.
pub enum Input {
    /// A regular file, of which all is read.
    File(File),
    /// Anything else, which is read once.
    Pipe(Box<dyn Read>),
}

impl Input {
    /// A file, or a pipe by its name; `-` is standard input.
    ///
    /// # Errors
    /// If it cannot be opened, or is a directory; the message names it.
    pub fn open(path: &Path) -> io::Result<Input> {
        if path.as_os_str() == "-" {
            return Ok(open_stdin().map_or_else(|| Input::Pipe(Box::new(io::stdin())), Input::File));
        }
        let named = |error: io::Error| {
            io::Error::new(error.kind(), format!("cannot read `{}`: {error}", path.display()))
        };
        let file = File::open(path).map_err(named)?;
        let metadata = file.metadata().map_err(named)?;
        if metadata.is_dir() {
            let text = "is a directory, expected a file; help: name the files in it";
            return Err(named(io::Error::new(io::ErrorKind::IsADirectory, text)));
        }
        Ok(if metadata.is_file() { Input::File(file) } else { Input::Pipe(Box::new(file)) })
    }
}

/// Standard input, if it is a file that nobody has read from: then it need not be copied.
#[cfg(unix)]
fn open_stdin() -> Option<File> {
    use std::io::Seek;
    use std::os::fd::AsFd;
    let mut file = File::from(io::stdin().as_fd().try_clone_to_owned().ok()?);
    let is_whole = file.metadata().ok()?.is_file() && file.stream_position().ok()? == 0;
    is_whole.then_some(file)
}

#[cfg(not(unix))]
fn open_stdin() -> Option<File> {
    None
}
