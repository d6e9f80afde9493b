//! The facts of a log: sessions, threads, lanes, losses.

use rusqlite::{Connection, OptionalExtension, params};
use serde_json::{Map, Value};
use telemetry_decode::completeness::LaneReport;
use telemetry_decode::{Completeness, Events, Facts, Position, Session};

use super::log_lanes::LogLanes;
use super::schema::Schema;

/// Returns the serial number of a session. A new session gets one.
pub(super) fn session(connection: &Connection, id: u64) -> rusqlite::Result<i64> {
    let id = format!("{id:016x}");
    let found = connection
        .query_row("SELECT serial FROM session WHERE id = ?", [&id], |row| row.get(0))
        .optional()?;
    if let Some(serial) = found {
        return Ok(serial);
    }
    connection.execute("INSERT INTO session (id) VALUES (?)", [&id])?;
    Ok(connection.last_insert_rowid())
}

/// Returns the number of events of a session.
pub(super) fn events_of_session(connection: &Connection, id: u64) -> rusqlite::Result<u64> {
    let find = "SELECT serial FROM session WHERE id = ?";
    let serial: Option<i64> =
        connection.query_row(find, [format!("{id:016x}")], |row| row.get(0)).optional()?;
    let Some(serial) = serial else { return Ok(0) };
    let events = "SELECT count(*) FROM event WHERE session = ?";
    let events: i64 = connection.query_row(events, [serial], |row| row.get(0))?;
    Ok(events.cast_unsigned())
}

/// Returns the serial number of a new session without facts.
pub(super) fn nameless_session(connection: &Connection) -> rusqlite::Result<i64> {
    connection.execute("INSERT INTO session (id) VALUES (NULL)", [])?;
    Ok(connection.last_insert_rowid())
}

/// Returns the positions in all lanes that earlier logs had reached.
pub(super) fn positions(connection: &Connection) -> rusqlite::Result<Vec<Position>> {
    let mut states = connection.prepare("SELECT state FROM lane")?;
    let states = states.query_map([], |row| row.get::<_, String>(0))?;
    states
        .map(|state| {
            serde_json::from_str(&state?)
                .map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))
        })
        .collect()
}

/// Writes the facts at the end of a log.
pub(super) fn record(
    connection: &Connection,
    schema: &Schema,
    events: &Events<'_>,
    completeness: &Completeness,
    of_log: Option<LogLanes>,
) -> rusqlite::Result<()> {
    for session in events.sessions() {
        record_session(connection, session)?;
    }
    let record = |lane: &LaneReport, read: &Position| {
        let session = events.sessions().iter().find(|session| session.id == lane.session);
        record_lane(connection, schema, session, lane, read)
    };
    match of_log {
        Some(lanes) => lanes.read().try_for_each(|(lane, read)| record(&lane, &read)),
        None => {
            completeness.lanes.iter().zip(&events.positions()).try_for_each(|(lane, read)| record(lane, read))
        }
    }
}

fn record_session(connection: &Connection, session: &Session) -> rusqlite::Result<()> {
    let serial = self::session(connection, session.id)?;
    // Facts of an earlier log stay if this one does not have them.
    if session.declared {
        let clock = &session.clock;
        connection.execute(
            "UPDATE session SET program = ?, started_ns = ?, start_ticks = ?, ticks_per_second = ?, facts = ?
             WHERE serial = ?",
            params![
                session.facts.text("program"),
                clock.start_wall() as i64,
                clock.start_ticks() as i64,
                clock.ticks_per_second(),
                facts(&session.facts),
                serial
            ],
        )?;
    }
    connection.execute(
        "UPDATE session SET ended = max(coalesce(ended, 0), ?) WHERE serial = ?",
        params![session.ended, serial],
    )?;
    for (thread, told) in session.threads() {
        connection.execute(
            "INSERT OR REPLACE INTO thread (session, thread, name, tid, facts) VALUES (?, ?, ?, ?, ?)",
            params![serial, thread, told.text("name"), told.number("tid").map(|tid| tid as i64), facts(told)],
        )?;
    }
    Ok(())
}

fn record_lane(
    connection: &Connection,
    schema: &Schema,
    session: Option<&Session>,
    lane: &LaneReport,
    read: &Position,
) -> rusqlite::Result<()> {
    let serial = self::session(connection, lane.session)?;
    let fingerprint = format!("{:016x}", lane.registry);
    let kind = schema.index(lane.registry).map(|index| schema.registries[index].kind(lane.kind));
    let key = params![serial, lane.thread, fingerprint, lane.kind];
    let of_lane = "WHERE session = ? AND thread = ? AND fingerprint = ? AND bit = ?";
    let known: Option<String> = connection
        .query_row(&format!("SELECT state FROM lane {of_lane}"), key, |row| row.get(0))
        .optional()?;
    // With `-f` the log was read as if it were the first.
    let known = known.and_then(|known| serde_json::from_str::<Position>(&known).ok());
    let read = known.map_or_else(|| read.clone(), |known| known.join(read));
    let state = serde_json::to_string(&read)
        .map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
    let lost = lane.lost;
    connection.execute(
        "INSERT OR REPLACE INTO lane (session, thread, fingerprint, bit, kind, events, missing, excluded, lost_pool,
         lost_reentrant, lost_sink, truncated, state) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        params![
            serial,
            lane.thread,
            fingerprint,
            lane.kind,
            kind,
            read.events() as i64,
            lane.missing as i64,
            lane.excluded as i64,
            lost.pool as i64,
            lost.reentrant as i64,
            lost.sink as i64,
            lost.truncated as i64,
            state
        ],
    )?;
    connection.execute(&format!("DELETE FROM loss {of_lane}"), key)?;
    for gap in &lane.gaps {
        let ns = |ticks| session.map(|session| session.clock.ns(ticks));
        connection.execute(
            "INSERT INTO loss (session, thread, kind, from_ns, until_ns, missing, lost_pool, lost_reentrant, lost_sink,
             truncated, fingerprint, bit) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            params![
                serial,
                lane.thread,
                kind,
                ns(gap.from_ticks),
                ns(gap.until_ticks),
                gap.absent.saturating_sub(gap.lost.sink) as i64,
                gap.lost.pool as i64,
                gap.lost.reentrant as i64,
                gap.lost.sink as i64,
                gap.lost.truncated as i64,
                fingerprint,
                lane.kind
            ],
        )?;
    }
    Ok(())
}

/// Formats facts as a JSON object.
fn facts(facts: &Facts) -> String {
    let all =
        facts.iter().map(|(key, value)| (key.to_string(), serde_json::to_value(value).unwrap_or_default()));
    Value::Object(all.collect::<Map<_, _>>()).to_string()
}
