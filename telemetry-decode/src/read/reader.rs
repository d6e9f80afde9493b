//! The entry for readers: which input, which order, which events.

use std::fmt;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::Arc;

use telemetry_schema::{Registry, parse_embedded};

use crate::bytes::blocks::Blocks;
use crate::bytes::source::{Files, Source};
use crate::decode::decoder::Decoder;
use crate::decode::state::StreamState;
use crate::lanes::position::Position;
use crate::logs::events::{LogInput, Placed};
use crate::logs::log::{Log, LogFile};
use crate::order::by_lane::ByLane;
use crate::order::events::Events;
use crate::order::index::{Index, scan};
use crate::order::list::MAX_IN_MEMORY;
use crate::order::load::Loader;
use crate::order::merge::Merge;
use crate::order::retimed::{self, Retimed};
use crate::recover::image::recover;
use crate::recover::recovered::Recovered;
use crate::registry::filter::Filter;
use crate::report::error::{Error, NotAStream, Result};
use crate::report::opaque::opaque;
use crate::scrub::how::Scrub;
use crate::scrub::run::{Scrubbed, scrub};
use crate::sessions::marks::{self, KnownRegistries};
use crate::typed::generated::Typed;
use crate::typed::typed_events::TypedEvents;

/// A reader for a stream: its methods select what is read, and [`Reader::events`] reads it.
///
/// ```no_run
/// use telemetry_decode::{Filter, Order, Reader};
///
/// let filter = Filter::default().kinds(["Trace"]).from_ns(1_000_000_000);
/// let reader = Reader::open("telemetry.tel")?.order(Order::Stream).filter(filter);
/// let mut events = reader.events()?;
/// while let Some(event) = events.next()? {
///     println!("{} ns: {} {:?}", event.time_ns(), event.name(), event.get("size"));
/// }
/// # Ok::<(), telemetry_decode::Error>(())
/// ```
///
/// `docs/design/reading.md` in the repository explains how streams are read.
#[must_use = "a reader does nothing until its events are read"]
pub struct Reader<'s> {
    input: Origin<'s>,
    order: Order,
    filter: Filter,
    registries: Vec<Registry>,
    known_registries: KnownRegistries,
    earlier: Vec<Position>,
    /// Maximum number of blocks whose list is in memory.
    max_in_memory: usize,
    /// Typed readers differ by default.
    shows_sensitive: Option<bool>,
}

impl fmt::Debug for Reader<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Reader { order, filter, .. } = self;
        f.debug_struct("Reader").field("order", order).field("filter", filter).finish_non_exhaustive()
    }
}

/// The order of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// In stream order: block by block for each lane, without delay, from a pipe too.
    Stream,
    /// By time, over all threads and sessions. Needs random access: a pipe is first copied to an
    /// unlinked temporary file.
    #[default]
    Time,
}

enum Origin<'s> {
    Source(Source<'s>),
    Once(Box<dyn Read + Send + 's>),
    Logs(LogInput<'s>),
}

impl Reader<'static> {
    /// Opens a file, or a pipe by its name; `-` is standard input.
    ///
    /// # Errors
    /// If it cannot be opened; the message names it.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Reader::open_all([path])
    }

    /// Opens several files and reads them as one: the segments of a rotated stream, or the streams
    /// of several processes.
    ///
    /// ```no_run
    /// # use telemetry_decode::Reader;
    /// let events = Reader::open_all(["cache.0.tel", "cache.1.tel"])?.events()?;
    /// # Ok::<(), telemetry_decode::Error>(())
    /// ```
    ///
    /// # Errors
    /// If one cannot be opened; the message names it.
    pub fn open_all(paths: impl IntoIterator<Item = impl AsRef<Path>>) -> Result<Self> {
        let opened = paths.into_iter().map(|path| Input::open(path.as_ref()));
        Reader::from_inputs(opened.collect::<Result<_>>()?)
    }

    /// Reads open streams as one.
    ///
    /// # Errors
    /// If the length of a file cannot be found.
    pub fn from_inputs(opened: Vec<Input>) -> Result<Self> {
        if opened.iter().all(|one| matches!(one, Input::File(_))) {
            let files = opened.into_iter().filter_map(|one| match one {
                Input::File(file) => Some(file),
                Input::Pipe(_) => None,
            });
            return Ok(Reader::new(Origin::Source(Source::Files(Arc::new(Files::new(files)?)))));
        }
        let all = opened.into_iter().map(|one| match one {
            Input::File(file) => Box::new(file) as Box<dyn Read + Send>,
            Input::Pipe(pipe) => pipe,
        });
        Ok(Reader::new(Origin::Once(all.fold(Box::new(io::empty()), |one, next| Box::new(one.chain(next))))))
    }
}

impl<'s> Reader<'s> {
    /// Reads logs of other systems as one.
    ///
    /// # Errors
    /// If the length of one cannot be found.
    pub fn from_logs(files: impl IntoIterator<Item = LogFile<'s>>) -> Result<Self> {
        let (files, logs): (Vec<File>, Vec<_>) =
            files.into_iter().map(|LogFile { file, log, cut }| (file, (log, cut))).unzip();
        let files = Files::new(files)?;
        let ranges = files.ranges().collect::<Vec<_>>();
        let logs = logs.into_iter().zip(ranges);
        let logs = logs.map(|((log, cut), range)| Placed { log, range, cut }).collect();
        Ok(Reader::new(Origin::Logs(LogInput { source: Source::Files(Arc::new(files)), logs })))
    }

    /// Reads a log of another system in memory, with its decoder.
    pub fn from_log(bytes: &'s [u8], log: impl Log + 's) -> Self {
        let log = Placed { log: Box::new(log), range: 0..bytes.len() as u64, cut: None };
        Reader::new(Origin::Logs(LogInput { source: Source::Slice(bytes), logs: vec![log] }))
    }

    /// Reads a stream in memory.
    ///
    /// ```
    /// # use telemetry_decode::Reader;
    /// let mut events = Reader::from_slice(&[]).events()?;
    /// assert!(events.next()?.is_none());
    /// assert_eq!(events.completeness().events, 0);
    /// # Ok::<(), telemetry_decode::Error>(())
    /// ```
    pub fn from_slice(bytes: &'s [u8]) -> Self {
        Reader::new(Origin::Source(Source::Slice(bytes)))
    }

    /// Reads any source once, in sequence. Time order copies it to a temporary file first.
    ///
    /// ```no_run
    /// # use telemetry_decode::{Order, Reader};
    /// let stream = std::net::TcpStream::connect("localhost:9000")?;
    /// let events = Reader::from_reader(stream).order(Order::Stream).events()?;
    /// # Ok::<(), telemetry_decode::Error>(())
    /// ```
    pub fn from_reader(input: impl Read + Send + 's) -> Self {
        Reader::new(Origin::Once(Box::new(input)))
    }

    fn new(input: Origin<'s>) -> Self {
        Reader {
            input,
            order: Order::default(),
            filter: Filter::default(),
            registries: Vec::new(),
            known_registries: marks::none,
            earlier: Vec::new(),
            max_in_memory: MAX_IN_MEMORY,
            shows_sensitive: None,
        }
    }

    /// Sets the maximum number of blocks whose list is in memory, for tests.
    #[doc(hidden)]
    pub fn max_in_memory(self, blocks: usize) -> Self {
        Reader { max_in_memory: blocks, ..self }
    }

    /// Sets the order of events; by default, time order.
    pub fn order(self, order: Order) -> Self {
        Reader { order, ..self }
    }

    /// Sets the filter of events; by default, all are read.
    pub fn filter(self, filter: Filter) -> Self {
        Reader { filter, ..self }
    }

    /// Sets whether the values of sensitive parameters are shown. By default, [`Reader::events`]
    /// hides them and [`Reader::typed`] shows them.
    ///
    /// A hidden value is the number 0 of an enum, in the registries of the events too. Its only
    /// value is called `<personal>` or `<secret>`. If a sensitive parameter stands for labels, only
    /// the events that refer to a label give its string. Typed readers that hide values skip the
    /// events that have one. `docs/sensitive.md` in the repository has more.
    pub fn show_sensitive(self, shows_sensitive: bool) -> Self {
        Reader { shows_sensitive: Some(shows_sensitive), ..self }
    }

    /// Adds a registry for events whose own is not in the stream. Its marks `names` also apply to
    /// older versions of it in the stream that have none.
    pub fn registry(mut self, registry: Registry) -> Self {
        self.registries.push(registry);
        self
    }

    /// Sets the source of the newest versions of registries by name. Their marks `names` apply to
    /// older versions in the stream. The runtime's own registry is always known.
    #[doc(hidden)]
    pub fn known_registries(self, known_registries: KnownRegistries) -> Self {
        Reader { known_registries, ..self }
    }

    /// Continues earlier readers of this stream when it was shorter, of its other segments, or of a
    /// snapshot. Their events are skipped as repetitions, and are not missing.
    ///
    /// ```no_run
    /// # use telemetry_decode::Reader;
    /// let mut events = Reader::open("telemetry.tel")?.events()?;
    /// while let Some(event) = events.next()? {
    ///     println!("{}", event.name());
    /// }
    /// let positions = events.positions();
    /// // Later, when the stream has grown:
    /// let new_events = Reader::open("telemetry.tel")?.resume(positions).events()?;
    /// # Ok::<(), telemetry_decode::Error>(())
    /// ```
    pub fn resume(mut self, read: impl IntoIterator<Item = Position>) -> Self {
        self.earlier.extend(read);
        self
    }

    /// Starts reading.
    ///
    /// For a file or memory, all block headers are read first. So sessions and registries are known
    /// before the first event, wherever they are. A pipe in stream order is read in one pass. Then
    /// [`Events::next`] returns [`Error::Filter`] if the filter has a condition on hidden values,
    /// unless a registry so far shows them.
    ///
    /// # Errors
    /// Those of the input, and [`Error::Filter`].
    pub fn events(self) -> Result<Events<'s>> {
        let Reader { input, order, filter, registries, known_registries, earlier, .. } = self;
        let hides_sensitive = !self.shows_sensitive.unwrap_or(false);
        let (filter, most) = (Filter { hides_sensitive, ..filter }, self.max_in_memory);
        let looks_ahead = !matches!((&input, order), (Origin::Once(_), Order::Stream));
        // The later events of a reader that continues another one are not all before it.
        let first = (order == Order::Time && earlier.is_empty()).then(|| registries.clone());
        let wanted = filter.clone();
        let mut decoder = decoder(looks_ahead, filter, registries, known_registries);
        earlier.into_iter().for_each(|lane| decoder.earlier.add(lane));
        let source = match (input, order) {
            (Origin::Logs(logs), _) => {
                let events = Events::of_logs(decoder, logs, order == Order::Time)?;
                check(&events.decoder)?;
                return Ok(events);
            }
            (Origin::Once(pipe), Order::Stream) => return Ok(Events::once(decoder, Blocks::new(pipe))),
            (input, _) => input.into_source()?,
        };
        let blocks = scan(&source, &mut decoder, most, |_, _| {})?;
        check(&decoder)?;
        let mut blocks = ByLane::new(blocks, &decoder)?;
        read_names(&source, &mut blocks, &mut decoder)?;
        Ok(match order {
            Order::Stream => Events::listed(decoder, source, blocks),
            Order::Time => {
                let has_marked =
                    decoder.state.registries.iter().any(|known| retimed::has_marked(&known.registry));
                let first = match first.filter(|_| has_marked) {
                    Some(registries) => {
                        Some(merge_of_marked(&source, &decoder, &wanted, registries, known_registries, most)?)
                    }
                    None => None,
                };
                let merge = Merge::new(source, blocks, &decoder)?;
                let Some((first, mut first_decoder)) = first else {
                    return Ok(Events::merged(decoder, merge));
                };
                match Retimed::new(merge, first, &mut first_decoder, &wanted)? {
                    Ok(retimed) => Events::retimed(decoder, retimed),
                    Err(merge) => Events::merged(decoder, merge),
                }
            }
        })
    }

    /// Reads the events of one registry as the structs that `#[telemetry_event(..., decode)]`
    /// generates. A stream of the program's own version need not have a registry.
    ///
    /// Sensitive values are there, because the program has fields for them.
    /// [`Reader::show_sensitive`] leaves them out.
    ///
    /// `docs/tutorial.md` in the repository has an example, and `docs/versions.md` says which
    /// versions can be read.
    ///
    /// # Errors
    /// As [`Reader::events`], and [`Error::Registry`].
    pub fn typed<D: Typed>(self) -> Result<TypedEvents<'s, D>> {
        let own = parse_embedded(D::REGISTRY).map_err(|invalid| Error::Registry(Box::new(invalid)))?;
        let shows_sensitive = self.shows_sensitive.unwrap_or(true);
        let reader = self.registry(own.clone()).show_sensitive(shows_sensitive);
        Ok(TypedEvents::new(reader.events()?, own))
    }

    /// Recovers memory images: a ring file, a core dump, a stream, or several of them. Finds blocks
    /// by their magic number, merges the copies of each, and writes their events as a stream. Order
    /// and filter do not apply.
    ///
    /// ```no_run
    /// # use telemetry_decode::Reader;
    /// let mut out = std::fs::File::create("last.tel")?;
    /// let recovered = Reader::open("telemetry.ring")?.recover(&mut out)?;
    /// println!("{} events of {} sessions", recovered.events, recovered.sessions.len());
    /// # Ok::<(), telemetry_decode::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of the input and of the output.
    pub fn recover(self, out: &mut dyn Write) -> Result<Recovered> {
        let source = self.input.into_source()?;
        Ok(recover(&source, decoder(true, Filter::default(), self.registries, self.known_registries), out)?)
    }

    /// Writes the stream again with other values for sensitive parameters. Events, times, positions
    /// and losses stay. Each session gets the fact [`Session::SCRUBBED`](crate::Session::SCRUBBED).
    /// What cannot be read is left out. Order and filter do not apply.
    ///
    /// # Errors
    /// Those of the input and of the output.
    pub fn scrub(self, how: &Scrub, out: &mut dyn Write) -> Result<Scrubbed> {
        let source = self.input.into_source()?;
        let mut decoder = decoder(true, Filter::default(), self.registries, self.known_registries);
        scan(&source, &mut decoder, self.max_in_memory, |_, _| {})?;
        Ok(scrub(&source, &decoder.state, how, out)?)
    }

    /// Returns true for logs of other systems.
    pub fn is_of_logs(&self) -> bool {
        matches!(self.input, Origin::Logs(_))
    }

    /// Reads block headers only. Order and filter do not apply.
    ///
    /// ```no_run
    /// # use telemetry_decode::Reader;
    /// for session in &Reader::open("telemetry.tel")?.index()?.sessions {
    ///     println!("{:016x} {:?}", session.id, session.facts.text("program"));
    /// }
    /// # Ok::<(), telemetry_decode::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of the input.
    pub fn index(self) -> Result<Index> {
        let source = self.input.into_source()?;
        let decoder = decoder(true, Filter::default(), self.registries, self.known_registries);
        Ok(Index::of(&source, decoder, self.max_in_memory)?)
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
                Ok(Source::Files(Arc::new(files)))
            }
        }
    }
}

/// Checks the condition of the filter when all registries are known.
fn check(decoder: &Decoder) -> Result<()> {
    decoder.check_condition().map_err(|misfit| Error::Filter(misfit.text))
}

/// Creates a merge of the selected events with the mark `time`. `main` knows the stream's
/// registries.
fn merge_of_marked<'s>(
    source: &Source<'s>,
    main: &Decoder,
    wanted: &Filter,
    registries: Vec<Registry>,
    known_registries: KnownRegistries,
    most: usize,
) -> io::Result<(Merge<'s>, Decoder)> {
    let known = main.state.registries.iter().map(|known| &known.registry);
    let mut decoder = decoder(true, retimed::filter(wanted, known), registries, known_registries);
    let blocks = scan(source, &mut decoder, most, |_, _| {})?;
    let blocks = ByLane::new(blocks, &decoder)?;
    let merge = Merge::new(source.clone(), blocks, &decoder)?;
    Ok((merge, decoder))
}

/// Reads the names of a stream before its events, because the name of a value may come after it.
fn read_names(source: &Source<'_>, blocks: &mut ByLane, decoder: &mut Decoder) -> io::Result<()> {
    let mut loader = Loader::default();
    for lane in 0..decoder.lanes.len() as u32 {
        let key = decoder.lanes[lane as usize].key;
        if !decoder.state.has_names(key.registry, key.kind) {
            continue;
        }
        for place in blocks.places(lane) {
            let (block, _) = blocks.get(place)?;
            // Damage is reported when the events are read.
            if let Ok(header) = loader.load(source, &block)? {
                decoder.state.names_block(lane, &header, loader.payload());
            }
        }
    }
    Ok(())
}

fn decoder(
    looks_ahead: bool,
    filter: Filter,
    registries: Vec<Registry>,
    known_registries: KnownRegistries,
) -> Decoder {
    let mut state = StreamState::new(looks_ahead, known_registries);
    state.hide(&filter);
    for registry in registries {
        state.add_registry(registry, &filter);
    }
    Decoder::new(state, filter)
}

/// An open input. It has random access or not, and there is no third.
pub enum Input {
    /// A regular file, which is read completely.
    File(File),
    /// Any other source, which is read once.
    Pipe(Box<dyn Read + Send>),
}

opaque!(Input, "Input");

impl Input {
    /// Opens a file, or a pipe by its name; `-` is standard input.
    ///
    /// # Errors
    /// If it cannot be opened, or is a directory; the message names it.
    pub fn open(path: &Path) -> Result<Input> {
        if path.as_os_str() == "-" {
            return Ok(open_stdin().map_or_else(|| Input::Pipe(Box::new(io::stdin())), Input::File));
        }
        let named = |error: io::Error| {
            io::Error::new(error.kind(), format!("cannot read `{}`: {error}", path.display()))
        };
        let file = File::open(path).map_err(named)?;
        let metadata = file.metadata().map_err(named)?;
        if metadata.is_dir() {
            let (path, found, help) = (path.to_path_buf(), "a directory", "name the files in it");
            return Err(Error::NotAStream(Box::new(NotAStream { path, found, help })));
        }
        Ok(if metadata.is_file() { Input::File(file) } else { Input::Pipe(Box::new(file)) })
    }
}

/// Returns standard input if it is a file at its start. Such a file need not be copied.
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
