//! Loads one log into the database.

use std::path::Path;
use std::time::UNIX_EPOCH;

use rusqlite::{Connection, OptionalExtension, params};
use telemetry_decode::counters::DefinedCounters;
use telemetry_decode::names::RUNTIME_REGISTRY;
use telemetry_decode::{Event, Events, KnownRegistry, Position, Session};
use telemetry_schema::Registry;

use super::counters::CounterValues;
use super::database::Transaction;
use super::insert::Insert;
use super::log_lanes::LogLanes;
use super::schema::Schema;
use super::tables::{COMMON, quoted};
use super::{interrupt, names, record, value};
use crate::input::inputs::cannot_read;
use crate::term::ended::Failure;
use crate::term::message::{note, warning};
use crate::term::progress::Step;
use crate::text::count;

/// Events between two checks for an interrupt.
const EVENTS_PER_CHECK: u64 = 4096;

/// The name and identity of a log.
pub(crate) struct Log {
    name: String,
    size: Option<u64>,
    /// Seconds since 1970.
    modified: Option<i64>,
    /// The options of the filter.
    filter: Option<String>,
}

/// The result of loading a log.
pub(crate) struct Loaded {
    pub(crate) events: u64,
    /// Its number in the database; none if it had nothing new.
    pub(crate) serial: Option<i64>,
}

/// Loads a log's events into the tables.
pub(crate) struct Load<'t, 'd> {
    transaction: &'t Transaction<'d>,
    connection: &'d Connection,
    schema: &'t mut Schema,
    serial: i64,
    /// By registry and event.
    inserts: Vec<Vec<Option<Box<Insert<'d>>>>>,
    /// Fingerprint and index of the last event's registry; id and serial number of its session.
    registry: Option<(u64, usize)>,
    session: Option<(u64, i64)>,
    /// Only for a log of another system.
    lanes: Option<LogLanes>,
    counters: CounterValues<'d>,
    events: u64,
    /// The verbosity, 0 to 3.
    verbosity: u8,
}

impl Log {
    /// Describes a file, or standard input.
    pub(crate) fn new(path: &Path) -> Log {
        let is_stdin = path.as_os_str() == "-";
        let metadata = std::fs::metadata(path).ok().filter(|metadata| !is_stdin && metadata.is_file());
        let modified = metadata.as_ref().and_then(|metadata| metadata.modified().ok());
        let modified = modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        Log {
            name: if is_stdin { "<stdin>".to_string() } else { path.display().to_string() },
            size: metadata.map(|metadata| metadata.len()),
            modified: modified.map(|since| since.as_secs() as i64),
            filter: None,
        }
    }

    /// Sets the filter by which its events are selected.
    pub(crate) fn filtered(self, filter: Option<String>) -> Log {
        Log { filter, ..self }
    }

    /// Sets the size of the log, if it was not known before.
    pub(super) fn read(&mut self, size: u64) {
        self.size = Some(size);
    }
}

impl<'t, 'd> Load<'t, 'd> {
    pub(crate) fn new(
        transaction: &'t Transaction<'d>,
        schema: &'t mut Schema,
        verbosity: u8,
    ) -> Result<Self, Failure> {
        let connection = transaction.connection();
        let last = connection
            .query_row("SELECT seq FROM sqlite_sequence WHERE name = 'event_log'", [], |row| row.get(0))
            .optional()
            .map_err(|error| transaction.failed(&error))?;
        Ok(Load {
            transaction,
            connection,
            schema,
            serial: last.unwrap_or(0) + 1,
            inserts: Vec::new(),
            registry: None,
            session: None,
            lanes: None,
            counters: CounterValues::default(),
            events: 0,
            verbosity,
        })
    }

    /// Returns the positions up to which earlier logs had the sessions.
    pub(crate) fn positions(&self) -> Result<Vec<Position>, Failure> {
        record::positions(self.connection).map_err(|error| self.failed(&error))
    }

    /// Returns the filter of an earlier stream, if it was another one.
    pub(crate) fn other_filter(&self, filter: Option<&str>) -> Result<Option<Option<String>>, Failure> {
        let find = "SELECT filter FROM event_log WHERE content IS NULL AND filter IS NOT ? LIMIT 1";
        let found = self.connection.query_row(find, [filter], |row| row.get(0)).optional();
        found.map_err(|error| self.failed(&error))
    }

    /// Returns the number of events that earlier logs had of these sessions.
    pub(crate) fn earlier_events(&self, sessions: &[Session]) -> Result<u64, Failure> {
        let known = sessions.iter().map(|session| record::events_of_session(self.connection, session.id));
        known.sum::<rusqlite::Result<u64>>().map_err(|error| self.failed(&error))
    }

    /// Loads all events of a source, except those of earlier logs. Calls `tick` at intervals with
    /// the numbers of events and of bytes that were read.
    pub(crate) fn events(
        mut self,
        log: &Log,
        events: &mut Events<'_>,
        refresh: bool,
        mut tick: impl FnMut(u64, u64),
    ) -> Result<Loaded, Failure> {
        self.add_registries(events.registries(), refresh)?;
        self.lanes = events.log_counts().map(|_| LogLanes::default());
        loop {
            match events.next() {
                Ok(Some(event)) => self.event(&event).map_err(|error| self.failed(&error))?,
                Ok(None) => break,
                Err(error) => return Err(cannot_read(error)),
            }
            if self.events.is_multiple_of(EVENTS_PER_CHECK) {
                self.look_up(events.bytes_done(), &mut tick)?;
            }
        }
        self.add_registries(events.registries(), refresh)?;
        let completeness = events.completeness();
        if completeness.blocks == 0 {
            // The source is not a stream, so nothing changed.
            return Ok(Loaded { events: 0, serial: None });
        }
        let lanes = self.lanes.take();
        let written = record::record(self.connection, self.schema, events, &completeness, lanes);
        written.map_err(|error| self.failed(&error))?;
        self.finish(log, None)
    }

    /// Creates the tables of registries in their order, the runtime's last.
    pub(super) fn add_registries(
        &mut self,
        registries: &[KnownRegistry],
        refresh: bool,
    ) -> Result<(), Failure> {
        for is_runtimes in [false, true] {
            for known in
                registries.iter().filter(|known| (known.registry.name == RUNTIME_REGISTRY) == is_runtimes)
            {
                self.add_registry(known.fingerprint, &known.registry, refresh)?;
            }
        }
        if DefinedCounters::may_be_in(registries) {
            CounterValues::create(self.connection).map_err(|error| self.failed(&error))?;
        }
        Ok(())
    }

    pub(super) fn add_registry(
        &mut self,
        fingerprint: u64,
        registry: &Registry,
        refresh: bool,
    ) -> Result<(), Failure> {
        let before = self.schema.tables.list.len();
        let is_new = self.schema.index(fingerprint).is_none();
        let added = self.schema.add(self.connection, fingerprint, registry);
        let index = added.map_err(|error| self.failed(&error))?;
        if refresh && !is_new {
            let refreshed = self.schema.refresh(self.connection, fingerprint, registry);
            refreshed.map_err(|error| self.failed(&error))?;
        }
        if self.inserts.len() <= index {
            self.inserts.resize_with(index + 1, Vec::new);
        }
        if is_new && self.verbosity > 0 {
            let tables = count((self.schema.tables.list.len() - before) as u64, "new table");
            note(format!("registry {} {}: {tables}", registry.name, registry.version));
        }
        let versions = self.schema.changed_versions(&registry.name);
        if is_new && !versions.is_empty() {
            let versions: Vec<_> = versions.iter().map(ToString::to_string).collect();
            warning(format!(
                "the database has events of {} {}, which differ in existing events; help: docs/sql.md, \
                 \"Versions\"",
                registry.name,
                versions.join(" and ")
            ));
        }
        Ok(())
    }

    #[inline]
    fn event(&mut self, event: &Event<'_>) -> rusqlite::Result<()> {
        let fingerprint = event.known_registry().fingerprint;
        let registry = match self.registry {
            Some((last, index)) if last == fingerprint => index,
            _ => self.registry_of(event.known_registry())?,
        };
        let session = match self.session {
            Some((last, serial)) if last == event.session().id => serial,
            _ => self.session_of(event.session().id)?,
        };
        if let Some(lanes) = &mut self.lanes {
            lanes.count(event);
        }
        self.counters.take(self.connection, event, session, self.serial)?;
        let row = self.row(registry, event.index())?;
        for value in event.values() {
            value::push(row, &value);
        }
        row.integer(event.ticks() as i64);
        row.integer(session);
        row.integer(event.thread().into());
        row.integer(event.time_ns());
        row.end_row()?;
        self.events += 1;
        Ok(())
    }

    /// Begins a row for an event's table: its parameters, and then `time`, `session`, `thread`,
    /// `time_ns`.
    #[inline]
    pub(super) fn row(&mut self, registry: usize, event: usize) -> rusqlite::Result<&mut Insert<'d>> {
        let inserts = &mut self.inserts[registry];
        if inserts.is_empty() {
            inserts.resize_with(self.schema.registries[registry].places.len(), || None);
        }
        let insert = &mut inserts[event];
        if let Some(insert) = insert {
            return Ok(insert);
        }
        let place = &self.schema.registries[registry].places[event];
        let table = &self.schema.tables.list[place.table];
        let params = place.columns.iter().map(|column| (table.columns()[*column].name.as_str(), None));
        let common = COMMON.map(|name| (name, (name == "log_serial").then_some(self.serial)));
        let columns: Vec<_> = params.chain(common).collect();
        let made = Insert::new(self.connection, &table.name, &columns)?;
        Ok(insert.insert(Box::new(made)))
    }

    /// Counts an event that became a row.
    pub(super) fn counted(&mut self, bytes: u64, tick: &mut impl FnMut(u64, u64)) -> Result<(), Failure> {
        self.events += 1;
        if self.events.is_multiple_of(EVENTS_PER_CHECK) { self.look_up(bytes, tick) } else { Ok(()) }
    }

    /// Returns the index of a registry that was added.
    pub(super) fn registry_index(&self, fingerprint: u64) -> usize {
        self.schema.index(fingerprint).unwrap_or_default()
    }

    pub(super) fn connection(&self) -> &'d Connection {
        self.connection
    }

    pub(super) fn failed(&self, error: &rusqlite::Error) -> Failure {
        self.transaction.failed(error)
    }

    #[cold]
    fn look_up(&self, bytes: u64, tick: &mut impl FnMut(u64, u64)) -> Result<(), Failure> {
        tick(self.events, bytes);
        if interrupt::is_wanted() { Err(Failure::Interrupted) } else { Ok(()) }
    }

    #[cold]
    fn registry_of(&mut self, known: &KnownRegistry) -> rusqlite::Result<usize> {
        let index = self.schema.add(self.connection, known.fingerprint, &known.registry)?;
        if self.inserts.len() <= index {
            self.inserts.resize_with(index + 1, Vec::new);
        }
        self.registry = Some((known.fingerprint, index));
        Ok(index)
    }

    #[cold]
    fn session_of(&mut self, id: u64) -> rusqlite::Result<i64> {
        let serial = record::session(self.connection, id)?;
        self.session = Some((id, serial));
        Ok(serial)
    }

    /// Inserts the waiting rows, makes indexes and views, and records the log if it had anything.
    pub(super) fn finish(mut self, log: &Log, content: Option<&str>) -> Result<Loaded, Failure> {
        let _step = Step::new("creating indexes");
        let is_recorded = self.is_recorded(log).map_err(|error| self.failed(&error))?;
        let finished = self.write_rest(log, content, is_recorded);
        finished.map_err(|error| self.failed(&error))?;
        Ok(Loaded { events: self.events, serial: is_recorded.then_some(self.serial) })
    }

    /// Returns true if the log is listed: it had new events, or is the first with its filter. So
    /// the database knows the filter by which events were left out.
    fn is_recorded(&self, log: &Log) -> rusqlite::Result<bool> {
        let find = "SELECT count(*) FROM event_log WHERE filter = ?";
        let logs = || self.connection.query_row(find, [&log.filter], |row| row.get::<_, i64>(0));
        Ok(self.events > 0 || log.filter.is_some() && logs()? == 0)
    }

    fn write_rest(&mut self, log: &Log, content: Option<&str>, is_recorded: bool) -> rusqlite::Result<()> {
        let mut rows = vec![0; self.schema.tables.list.len()];
        for (registry, inserts) in self.inserts.iter_mut().enumerate() {
            for (event, insert) in inserts.iter_mut().enumerate() {
                let Some(insert) = insert else { continue };
                insert.flush()?;
                rows[self.schema.registries[registry].places[event].table] += insert.rows;
            }
        }
        self.inserts.clear();
        self.counters.finish()?;
        // Without times, the index is by clock reading.
        let by = if content.is_some() { "time" } else { "time_ns" };
        for (table, rows) in self.schema.tables.list.iter().zip(rows).filter(|(_, rows)| *rows > 0) {
            if self.verbosity > 1 {
                note(format!("{}: {}", table.name, count(rows, "row")));
            }
            if self.verbosity > 2 {
                note(format!("{}: index by {by}", table.name));
            }
            let (index, table) = (quoted(&format!("{}_{by}", table.name)), quoted(&table.name));
            self.connection
                .execute_batch(&format!("CREATE INDEX IF NOT EXISTS {index} ON {table} ({by})"))?;
        }
        names::fill(self.connection, self.schema, self.serial)?;
        self.schema.settle(self.connection)?;
        if is_recorded {
            self.connection.execute(
                "INSERT INTO event_log (name, size, modtime, completed, serial, events, content, filter)
                 VALUES (?, ?, ?, 1, ?, ?, ?, ?)",
                params![
                    log.name,
                    log.size.map(|size| size as i64),
                    log.modified,
                    self.serial,
                    self.events as i64,
                    content,
                    log.filter
                ],
            )?;
        }
        Ok(())
    }
}
