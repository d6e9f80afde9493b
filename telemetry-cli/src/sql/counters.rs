//! The table `counter_value`: values of counters whose events carry changes.

use rusqlite::Connection;
use telemetry_decode::counters::DefinedCounters;
use telemetry_decode::{Event, Value};

use super::insert::Insert;
use super::value;

const TABLE: &str = "counter_value";

const CREATE: &str = "CREATE TABLE IF NOT EXISTS counter_value (session INTEGER, time_ns INTEGER, registry TEXT, \
     counter TEXT, unit TEXT, value NUMERIC, log_serial INTEGER)";

/// Fills the table with the values that the events of one log have. Those of each lane must come
/// in their order.
#[derive(Default)]
pub(super) struct CounterValues<'c> {
    defined: DefinedCounters,
    /// None before the first event about a counter.
    insert: Option<Insert<'c>>,
}

impl<'c> CounterValues<'c> {
    /// Makes the table, unless it is there.
    pub(super) fn create(connection: &Connection) -> rusqlite::Result<()> {
        connection.execute_batch(CREATE)
    }

    /// Takes an event of a session. `serial` is that of the log.
    #[inline]
    pub(super) fn take(
        &mut self,
        connection: &'c Connection,
        event: &Event<'_>,
        session: i64,
        serial: i64,
    ) -> rusqlite::Result<()> {
        if DefinedCounters::has(event) { self.add(connection, event, session, serial) } else { Ok(()) }
    }

    #[cold]
    fn add(
        &mut self,
        connection: &'c Connection,
        event: &Event<'_>,
        session: i64,
        serial: i64,
    ) -> rusqlite::Result<()> {
        let Some(of) = self.defined.take(event) else { return Ok(()) };
        let insert = match &mut self.insert {
            Some(insert) => insert,
            None => {
                let [session, time, registry, counter, unit, value] =
                    ["session", "time_ns", "registry", "counter", "unit", "value"].map(|name| (name, None));
                let columns = [session, time, registry, counter, unit, value, ("log_serial", Some(serial))];
                Self::create(connection)?;
                self.insert.insert(Insert::new(connection, TABLE, &columns)?)
            }
        };
        let start = event.wall_ns().saturating_sub(event.time_ns());
        for (time, value) in &of.values {
            insert.integer(session);
            insert.integer(time.saturating_sub(start));
            insert.text(|all| all.extend_from_slice(event.registry().name.as_bytes()));
            insert.text(|all| all.extend_from_slice(of.name.as_bytes()));
            match of.unit {
                "" => insert.null(),
                unit => insert.text(|all| all.extend_from_slice(unit.as_bytes())),
            }
            match value {
                // The nearest float, since no integer of SQLite is as large.
                Value::Unsigned(number) if *number > i64::MAX as u64 => insert.real(*number as f64),
                value => value::push(insert, value),
            }
            insert.end_row()?;
        }
        Ok(())
    }

    /// Writes the last rows.
    pub(super) fn finish(&mut self) -> rusqlite::Result<()> {
        self.insert.as_mut().map_or(Ok(()), Insert::flush)
    }
}
