//! The reference writer of streams. It checks every value against the registry, and prefers clarity
//! to speed.

use std::collections::BTreeMap;
use std::fmt;
use std::io::Write;

use telemetry_format::{BlockType, Header, Loss, MAX_PAYLOAD, codec, flags};
use telemetry_schema::{Registry, Slots};

use crate::bytes::compression::pack as compressed;
use crate::sessions::clock::Clock;
use crate::sessions::facts::Facts;
use crate::values::value::Value;

use super::block::write_block;
use super::error::{WriteError, refused};
use super::lane::WriterLane;
use super::pack::{self, Runs};

/// The payload length at which a block is closed.
const BLOCK_SIZE: usize = 64 << 10;

/// Writes a stream of any number of sessions. For tests and converters: a program that observes
/// itself uses the runtime.
///
/// ```
/// use telemetry_decode::writer::{Lane, Writer};
/// use telemetry_decode::{Facts, Reader, Value};
///
/// let registry = telemetry_schema::parse(r#"
///     [registry]
///     name = "demo"
///     version = { major = 1, median = 0, minor = 0 }
///     doc = "A demonstration"
///     [kinds]
///     Pool = { bit = 0, doc = "per pool" }
///     [[event]]
///     name = "PoolInit"
///     code = 1
///     kind = "Pool"
///     doc = "A pool was made"
///     params = [{ name = "pool", sort = "pointer", doc = "the pool" }]
/// "#).unwrap();
/// let mut facts = Facts::default();
/// facts.set("program", "demo");
/// facts.set("clock", "os");
///
/// let mut writer = Writer::new(Vec::new());
/// writer.session(7, &facts, 0, 1_700_000_000_000_000_000)?;
/// let lane = Lane { session: 7, thread: 1, registry: writer.registry(7, &registry)? };
/// writer.event(lane, 1, 250, &[Value::Pointer(0x7f00_1000)])?;
/// writer.end(7, 300)?;
/// let stream = writer.finish()?;
///
/// let mut events = Reader::from_slice(&stream).events()?;
/// let event = events.next()?.unwrap();
/// assert_eq!((event.name(), event.time_ns()), ("PoolInit", 250));
/// assert_eq!(event.get("pool"), Some(Value::Pointer(0x7f00_1000)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub struct Writer<W: Write> {
    out: W,
    block_size: usize,
    compress: Compress,
    runs: Runs,
    sessions: BTreeMap<u64, OpenSession>,
    /// By lane and kind.
    lanes: BTreeMap<(Lane, u8), WriterLane>,
}

impl<W: Write> fmt::Debug for Writer<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").finish_non_exhaustive()
    }
}

/// The blocks that a writer compresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Compress {
    /// None, as in the runtime.
    Nothing,
    /// Blocks of text: facts and registries. They are most of a short stream.
    Texts,
    /// Blocks of text and events.
    All,
}

/// The source of an event. A lane of the stream is this together with the event's kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Lane {
    /// Session id.
    pub session: u64,
    /// The session's number for the thread, from 1.
    pub thread: u32,
    /// The registry's fingerprint.
    pub registry: u64,
}

/// A session that has not ended.
struct OpenSession {
    clock: Clock,
    /// Number of written events.
    given: u64,
    registries: BTreeMap<u64, OpenRegistry>,
}

struct OpenRegistry {
    registry: Registry,
    slots: Slots,
}

impl<W: Write> Writer<W> {
    /// Creates a writer that closes blocks at 64 KiB.
    pub fn new(out: W) -> Self {
        Writer {
            out,
            block_size: BLOCK_SIZE,
            compress: Compress::Nothing,
            runs: Runs::Limited,
            sessions: BTreeMap::new(),
            lanes: BTreeMap::new(),
        }
    }

    /// Sets the payload length at which blocks are closed. A longer event has a block of its own.
    pub fn block_size(self, bytes: usize) -> Self {
        Writer { block_size: bytes.min(MAX_PAYLOAD as usize), ..self }
    }

    /// Compresses payloads, each block separately, if that makes them shorter. By default, nothing
    /// is compressed. Readers decompress them.
    pub fn compress(self, what: Compress) -> Self {
        Writer { compress: what, ..self }
    }

    /// Accepts strings and byte strings that exceed their `max` in the registry, as other systems
    /// have them. By default they are refused. Readers accept them.
    pub fn long_runs(self) -> Self {
        Writer { runs: Runs::Long, ..self }
    }

    /// Opens a session, with its facts and its start. The start is a clock reading, with its time
    /// in nanoseconds since 1970. The facts `clock` and `ticks_per_second` determine how ticks
    /// convert to time; docs/format.md lists the others.
    ///
    /// # Errors
    /// If the session is already open, or the output fails.
    pub fn session(&mut self, id: u64, facts: &Facts, ticks: u64, wall: u64) -> Result<(), WriteError> {
        if self.sessions.contains_key(&id) {
            return refused(format!("session {id} is open already"));
        }
        let clock = match facts.text("clock") {
            Some("os") => Clock::nanoseconds(ticks, wall),
            _ => Clock::ticks(ticks, wall, facts.number("ticks_per_second").unwrap_or(0)),
        };
        let header = at_moment(fact(BlockType::Session, id), ticks, &clock);
        write_packed(&mut self.out, self.compress, header, facts.to_toml().as_bytes())?;
        self.sessions.insert(id, OpenSession { clock, given: 0, registries: BTreeMap::new() });
        Ok(())
    }

    /// Adds a registry to a session, and returns its fingerprint, by which lanes refer to it.
    ///
    /// # Errors
    /// If the session is not open, or the output fails.
    pub fn registry(&mut self, session: u64, registry: &Registry) -> Result<u64, WriteError> {
        let open = open_session(&mut self.sessions, session)?;
        let fingerprint = registry.fingerprint();
        let header = Header { registry: fingerprint, ..fact(BlockType::Registry, session) };
        write_packed(&mut self.out, self.compress, header, registry.to_toml().as_bytes())?;
        let open_registry = OpenRegistry { registry: registry.clone(), slots: registry.slots() };
        open.registries.insert(fingerprint, open_registry);
        Ok(fingerprint)
    }

    /// Writes the facts of a thread: its `name`, and the system's number for it, `tid`.
    ///
    /// # Errors
    /// If the session is not open, or the output fails.
    pub fn thread(&mut self, session: u64, thread: u32, facts: &Facts) -> Result<(), WriteError> {
        open_session(&mut self.sessions, session)?;
        let header = Header { thread, ..fact(BlockType::Thread, session) };
        write_packed(&mut self.out, self.compress, header, facts.to_toml().as_bytes())
    }

    /// Appends an event.
    ///
    /// # Errors
    /// - The lane's session or registry is not open, or the registry has no such event.
    /// - The clock reading is before the lane's last event.
    /// - A value does not match its parameter, which the message names.
    /// - The output fails.
    pub fn event(&mut self, lane: Lane, code: u16, ticks: u64, values: &[Value]) -> Result<(), WriteError> {
        let OpenSession { clock, given, registries } = open_session(&mut self.sessions, lane.session)?;
        let OpenRegistry { registry, slots } = open_registry(registries, lane.registry)?;
        let Some(index) = registry.event_index(code) else {
            return refused(format!("registry `{}` has no event of code {code:#06x}", registry.name));
        };
        let event = &registry.events[index];
        pack::check(registry, event, values, self.runs)?;
        let kind = registry.kind_of(event).bit;
        let state = self.lanes.entry((lane, kind)).or_default();
        if ticks < state.time() {
            let (name, time) = (&event.name, state.time());
            return refused(format!("event `{name}` at {ticks} ticks, expected {time} or later in its lane"));
        }
        let kind_slots = slots.of_kind(event.kind);
        let packed = pack::Event {
            registry,
            event,
            code,
            values,
            slots: &|param| slots.number(index, param).map(|slot| (slot - kind_slots.start) as usize),
        };
        if !state.append(&packed, ticks, kind_slots.len(), self.block_size) {
            if let Some((header, payload)) = state.take_part(true) {
                *given += u64::from(header.events);
                write_packed(&mut self.out, self.compress, of_lane(header, lane, kind, clock), &payload)?;
            }
            if !state.append(&packed, ticks, kind_slots.len(), self.block_size) {
                let name = &event.name;
                return refused(format!("event `{name}` is longer than the {MAX_PAYLOAD} bytes of a block"));
            }
        }
        Ok(())
    }

    /// Adds to the losses of a lane. Its next block states them.
    ///
    /// # Errors
    /// If the lane's session or registry is not open.
    pub fn lose(&mut self, lane: Lane, kind: u8, lost: Loss) -> Result<(), WriteError> {
        let session = open_session(&mut self.sessions, lane.session)?;
        open_registry(&session.registries, lane.registry)?;
        self.lanes.entry((lane, kind)).or_default().lose(lost);
        Ok(())
    }

    /// Counts events of a lane that were recorded while their kind was not output. They are not in
    /// the stream, and not lost. The lane's next block states their number.
    ///
    /// # Errors
    /// If the lane's session or registry is not open.
    pub fn exclude(&mut self, lane: Lane, kind: u8, events: u64) -> Result<(), WriteError> {
        let session = open_session(&mut self.sessions, lane.session)?;
        open_registry(&session.registries, lane.registry)?;
        self.lanes.entry((lane, kind)).or_default().exclude(events);
        Ok(())
    }

    /// Writes the events of open blocks as parts. Later events continue them.
    ///
    /// # Errors
    /// Those of the output.
    pub fn flush(&mut self) -> Result<(), WriteError> {
        self.write_parts(None, false)?;
        Ok(self.out.flush()?)
    }

    /// Sets the clock for later blocks, if its rate is better than the one that [`Writer::session`]
    /// had.
    ///
    /// # Errors
    /// If the session is not open.
    pub fn set_clock(&mut self, session: u64, clock: Clock) -> Result<(), WriteError> {
        open_session(&mut self.sessions, session)?.clock = clock;
        Ok(())
    }

    /// Closes the session's blocks, and writes a sync block at a clock reading. All events so far
    /// were before it. From the sync block, readers know whether the end of the session is missing,
    /// and they can take the clock's rate from a later time.
    ///
    /// # Errors
    /// If the session is not open, or the output fails.
    pub fn sync(&mut self, session: u64, ticks: u64) -> Result<(), WriteError> {
        self.write_sync(session, ticks, 0)
    }

    /// Ends a session in good order: closes its blocks, and writes its end.
    ///
    /// # Errors
    /// If the session is not open, or the output fails.
    pub fn end(&mut self, session: u64, ticks: u64) -> Result<(), WriteError> {
        self.write_sync(session, ticks, flags::END)?;
        self.lanes.retain(|(lane, _), _| lane.session != session);
        self.sessions.remove(&session);
        Ok(())
    }

    fn write_sync(&mut self, session: u64, ticks: u64, flags: u8) -> Result<(), WriteError> {
        open_session(&mut self.sessions, session)?;
        self.write_parts(Some(session), true)?;
        let OpenSession { clock, given, .. } = *open_session(&mut self.sessions, session)?;
        let header = Header { flags, before: given, ..Header::new(BlockType::Sync, session) };
        write_packed(&mut self.out, self.compress, at_moment(header, ticks, &clock), &[])?;
        Ok(())
    }

    /// Closes all blocks and returns the output. Sessions that were not ended stay without an end.
    ///
    /// # Errors
    /// Those of the output.
    pub fn finish(mut self) -> Result<W, WriteError> {
        self.write_parts(None, true)?;
        self.out.flush()?;
        Ok(self.out)
    }

    fn write_parts(&mut self, session: Option<u64>, last: bool) -> Result<(), WriteError> {
        for ((lane, kind), state) in &mut self.lanes {
            if session.is_some_and(|session| session != lane.session) {
                continue;
            }
            let Some(open) = self.sessions.get_mut(&lane.session) else { continue };
            if let Some((header, payload)) = state.take_part(last) {
                open.given += u64::from(header.events);
                write_packed(
                    &mut self.out,
                    self.compress,
                    of_lane(header, *lane, *kind, &open.clock),
                    &payload,
                )?;
            }
        }
        Ok(())
    }
}

fn open_session(sessions: &mut BTreeMap<u64, OpenSession>, id: u64) -> Result<&mut OpenSession, WriteError> {
    sessions.get_mut(&id).ok_or_else(|| WriteError::Refused(format!("session {id} is not open")))
}

fn open_registry(
    registries: &BTreeMap<u64, OpenRegistry>,
    fingerprint: u64,
) -> Result<&OpenRegistry, WriteError> {
    let missing = || WriteError::Refused(format!("the session has no registry {fingerprint:016x}"));
    registries.get(&fingerprint).ok_or_else(missing)
}

/// Creates the header of a block of text in one part.
fn fact(block_type: BlockType, session: u64) -> Header {
    Header { flags: flags::LAST, ..Header::new(block_type, session) }
}

fn at_moment(header: Header, ticks: u64, clock: &Clock) -> Header {
    let wall = u64::try_from(clock.wall_ns(ticks)).unwrap_or(0);
    Header { base_ticks: ticks, base_wall: wall, end_ticks: ticks, ..header }
}

fn of_lane(header: Header, lane: Lane, kind: u8, clock: &Clock) -> Header {
    let base_wall = u64::try_from(clock.wall_ns(header.base_ticks)).unwrap_or(0);
    let Lane { session, thread, registry } = lane;
    Header { session, thread, registry, kind, base_wall, ..header }
}

/// Writes a block as [`write_block`] does. Compresses it if the writer compresses such blocks and
/// it becomes shorter.
fn write_packed(
    out: &mut impl Write,
    compress: Compress,
    header: Header,
    payload: &[u8],
) -> Result<(), WriteError> {
    let is_wanted = match compress {
        Compress::Nothing => false,
        Compress::Texts => header.block_type != BlockType::Events,
        Compress::All => true,
    };
    let packed = is_wanted.then(|| compressed(payload)).flatten();
    match (packed, u32::try_from(payload.len())) {
        (Some(packed), Ok(unpacked_len)) if unpacked_len <= MAX_PAYLOAD => {
            write_block(out, Header { codec: codec::DEFLATE, unpacked_len, ..header }, &packed)
        }
        _ => write_block(out, header, payload),
    }
}
