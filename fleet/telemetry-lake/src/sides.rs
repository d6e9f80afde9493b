//! The tables beside those of events and spans. A batch adds one file to each.

use std::sync::Arc;

use telemetry_columns::ColumnType::{Bool, I32, I64, Utf8};
use telemetry_columns::{Batch, Cell, Column, ColumnType, ParquetWriter, Rows, Table};
use telemetry_decode::KnownRegistry;
use telemetry_schema::Registry;

use crate::state::SessionState;

/// A committed segment.
#[derive(Debug, Clone)]
pub struct SegmentRow {
    /// Its name in the store.
    pub name: String,
    /// The host.
    pub host: String,
    /// The session.
    pub session: u64,
    /// Its length in bytes.
    pub bytes: u64,
    /// Why it could not be read. Then it gives no rows.
    pub error: Option<String>,
    /// When its events happened, in nanoseconds since 1970, if that is known.
    pub time: Option<(i64, i64)>,
    /// When the store got it, by its clock, in nanoseconds since 1970, if that is known.
    pub stored_ns: Option<i64>,
}

/// The name of a column, its type and its meaning. A name that ends in `?` is of a column that may
/// have no value.
type SideColumn = (&'static str, ColumnType, &'static str);

const BATCH: SideColumn = ("batch", I64, "the batch that wrote the row");
const HOST: SideColumn = ("host", Utf8, "the host");
const SESSION: SideColumn = ("session", I64, "the id of the session");
const LANE: SideColumn = ("lane", I32, "the number of the lane in its session");
const NAME: SideColumn = ("name", Utf8, "the name");
const DOC: SideColumn = ("doc", Utf8, "the meaning");
const FINGERPRINT: SideColumn = ("fingerprint", I64, "the fingerprint of the registry");
const EVENT: SideColumn = ("event", Utf8, "the event type");
const FROM_NS: SideColumn = ("from_ns", I64, "the beginning, in nanoseconds since 1970");
const UNTIL_NS: SideColumn = ("until_ns", I64, "the end, in nanoseconds since 1970");
const FACTS: SideColumn = ("facts", Utf8, "all facts, a line `key = value` for each");

/// Tables whose rows a later batch replaces: those of the latest batch of a session count.
const OF_SESSIONS: [(&str, &str, &[SideColumn]); 7] = [
    (
        "session",
        "the runs of processes",
        &[
            BATCH,
            HOST,
            SESSION,
            ("program?", Utf8, "the name of the program"),
            ("started_ns", I64, "the start, in nanoseconds since 1970"),
            ("ended", Bool, "whether the session ended in good order"),
            FACTS,
        ],
    ),
    (
        "thread",
        "the threads of sessions",
        &[
            BATCH,
            HOST,
            SESSION,
            ("thread", I64, "the session's number for the thread"),
            ("name?", Utf8, "the name of the thread"),
            ("tid?", I64, "the system's number for the thread"),
            FACTS,
        ],
    ),
    (
        "lane",
        "the accounts of lanes: recorded = rows + lost_sink + excluded + shed + deleted + holes",
        &[
            BATCH,
            HOST,
            SESSION,
            LANE,
            ("registry?", Utf8, "the name of the registry"),
            FINGERPRINT,
            ("thread", I64, "the session's number for the thread"),
            ("kind?", Utf8, "the name of the kind"),
            ("bit", I32, "the bit number of the kind"),
            ("recorded", I64, "events that were recorded, as far as blocks tell"),
            ("rows", I64, "events that are rows"),
            ("lost_pool", I64, "events lost because the pool was full"),
            ("lost_reentrant", I64, "events lost because they were reentrant"),
            ("lost_sink", I64, "recorded events that the sink lost"),
            ("truncated", I64, "events with a truncated value"),
            ("excluded", I64, "recorded events that were never meant for the stream"),
            ("holes", I64, "recorded events that did not arrive"),
            ("shed?", I64, "recorded events that a shipper shed; none in rows of an earlier version"),
            ("deleted?", I64, "events whose rows were deleted; none in rows of an earlier version"),
        ],
    ),
    (
        "lane_range",
        "the events of lanes that are rows",
        &[
            BATCH,
            HOST,
            SESSION,
            LANE,
            ("from_n", I64, "the number of the first event"),
            ("until_n", I64, "the number after the last event"),
            FROM_NS,
            UNTIL_NS,
        ],
    ),
    (
        "loss",
        "the events that are not rows, with their times",
        &[
            BATCH,
            HOST,
            SESSION,
            ("lane?", I32, "the number of the lane in its session; none at ends of unknown lanes"),
            FROM_NS,
            UNTIL_NS,
            ("events", I64, "the number of events"),
            ("why", Utf8, "`pool`, `reentrant`, `sink`, `shed` or `hole`"),
        ],
    ),
    (
        "open_span",
        "the spans that were open after the last batch of their session",
        &[
            BATCH,
            HOST,
            SESSION,
            ("span", Utf8, "the name"),
            ("registry", Utf8, "the name of the registry"),
            ("thread", I64, "the session's number for the thread of the begin"),
            ("key?", I64, "the key, if it is a number"),
            ("key_text?", Utf8, "the key, if it is a string"),
            ("begin_ns", I64, "the begin, as in the table `span`"),
        ],
    ),
    (
        "watermark",
        "up to when everything of a session was sent",
        &[
            BATCH,
            HOST,
            SESSION,
            ("until_ns", I64, "the latest such time, in nanoseconds since 1970"),
            ("ended", Bool, "whether the session ended in good order, so that nothing follows"),
        ],
    ),
];

/// Tables to which each batch adds rows that stay.
const ADDED: [(&str, &str, &[SideColumn]); 5] = [
    (
        "segment",
        "the committed segments",
        &[
            BATCH,
            HOST,
            SESSION,
            NAME,
            ("bytes", I64, "its length"),
            ("error?", Utf8, "why it could not be read"),
            ("from_ns?", I64, "its first event, by the clock of the host, if that is known"),
            ("until_ns?", I64, "its last event, by the clock of the host, if that is known"),
            ("stored_ns?", I64, "when the store got it, by the store's clock, if that is known"),
        ],
    ),
    (
        "registry",
        "the registries of events",
        &[
            BATCH,
            FINGERPRINT,
            NAME,
            ("major", I64, "the version"),
            ("median", I64, "the version"),
            ("minor", I64, "the version"),
            DOC,
            ("text", Utf8, "the registry in canonical form"),
        ],
    ),
    (
        "event_type",
        "the event types of registries",
        &[BATCH, FINGERPRINT, EVENT, ("code", I32, "the code"), ("kind", Utf8, "the kind"), DOC],
    ),
    (
        "event_param",
        "the parameters of event types",
        &[
            BATCH,
            FINGERPRINT,
            EVENT,
            ("number", I32, "the place in the event"),
            NAME,
            ("type", Utf8, "the parameter type"),
            ("unit", Utf8, "the unit"),
            DOC,
            ("counter?", Bool, "whether it is a counter; none in rows of an earlier version"),
        ],
    ),
    (
        "enum_value",
        "the named numbers of enums and flags",
        &[BATCH, FINGERPRINT, ("enum", Utf8, "the enum or flags"), ("value", I64, "the number"), NAME, DOC],
    ),
];

/// Returns all tables of this module.
pub fn tables() -> Vec<Arc<Table>> {
    OF_SESSIONS.iter().chain(&ADDED).map(table).collect()
}

/// Says whether rows of the latest batch of a session replace those before.
pub fn is_of_sessions(name: &str) -> bool {
    OF_SESSIONS.iter().any(|(table, ..)| *table == name)
}

/// Returns the files of the tables of sessions: table, bytes and rows. A table without rows has
/// none. `batch` is that of a state, unless it is given.
pub fn of_sessions(batch: Option<u64>, states: &[SessionState]) -> Vec<SideFile> {
    let mut files = OF_SESSIONS.map(|of| Side::new(&of));
    let [sessions, threads, lanes, ranges, losses, open_spans, watermarks] = &mut files;
    for state in states.iter().filter(|state| !state.is_deleted) {
        let (batch, host, session) =
            (batch.unwrap_or(state.batch).into(), state.host.as_str().into(), state.session.into());
        let (program, started, ended) =
            (state.program.as_deref().into(), state.started_ns.into(), state.ended.into());
        sessions.push([batch, host, session, program, started, ended, state.facts.as_str().into()]);
        watermarks.push([batch, host, session, state.complete_ns().into(), ended]);
        for begin in state.spans.open.iter().map(|open| &open.begin) {
            let text = begin.key_text.as_deref().map(String::from_utf8_lossy);
            open_spans.push([
                batch,
                host,
                session,
                begin.name().as_str().into(),
                begin.registry.as_str().into(),
                begin.thread.into(),
                begin.key.into(),
                text.as_deref().into(),
                begin.ns.into(),
            ]);
        }
        for (thread, of) in &state.threads {
            let (name, tid) = (of.name.as_deref().into(), of.tid.into());
            threads.push([batch, host, session, (*thread).into(), name, tid, of.facts.as_str().into()]);
        }
        for (number, lane) in state.lanes.iter().enumerate() {
            let (number, total): (Cell<'_>, _) = ((number as u64).into(), lane.marks.total());
            lanes.push([
                batch,
                host,
                session,
                number,
                lane.registry.as_deref().into(),
                lane.fingerprint.into(),
                lane.thread.into(),
                lane.kind.as_deref().into(),
                u32::from(lane.bit).into(),
                lane.recorded.into(),
                lane.rows().into(),
                total.lost.pool.into(),
                total.lost.reentrant.into(),
                lane.not_given().sink.into(),
                total.lost.truncated.into(),
                lane.excluded().into(),
                lane.holes().into(),
                lane.shed().into(),
                lane.deleted().into(),
            ]);
            for range in &lane.ranges {
                let (from, until) = (range.from.into(), range.until.into());
                let (from_ns, until_ns) = (range.from_ns.into(), range.until_ns.into());
                ranges.push([batch, host, session, number, from, until, from_ns, until_ns]);
            }
        }
        for missing in state.missing() {
            // That a session is open is in `watermark`, because it ends by itself.
            let Some(events) = missing.events else { continue };
            let lane = missing.lane.map(|lane| lane as u64).into();
            let (from_ns, until_ns) = (missing.from_ns.into(), missing.until_ns.into());
            losses.push([
                batch,
                host,
                session,
                lane,
                from_ns,
                until_ns,
                events.into(),
                missing.why.word().into(),
            ]);
        }
    }
    files.into_iter().filter_map(Side::finish).collect()
}

/// Returns the files of the other tables, for the segments and the registries that are new.
pub fn of_batch(batch: u64, segments: &[SegmentRow], registries: &[KnownRegistry]) -> Vec<SideFile> {
    let mut files = ADDED.map(|of| Side::new(&of));
    let [of_segments, of_registries, events, params, values] = &mut files;
    let batch = batch.into();
    for SegmentRow { name, host, session, bytes, error, time, stored_ns } in segments {
        let (host, name, error) = (host.as_str().into(), name.as_str().into(), error.as_deref().into());
        let (from_ns, until_ns) = (time.map(|time| time.0).into(), time.map(|time| time.1).into());
        let (session, bytes, stored_ns) = ((*session).into(), (*bytes).into(), (*stored_ns).into());
        of_segments.push([batch, host, session, name, bytes, error, from_ns, until_ns, stored_ns]);
    }
    for KnownRegistry { fingerprint, registry, .. } in registries {
        let (fingerprint, version): (Cell<'_>, _) = ((*fingerprint).into(), registry.version);
        of_registries.push([
            batch,
            fingerprint,
            registry.name.as_str().into(),
            version.major.into(),
            version.median.into(),
            version.minor.into(),
            registry.doc.as_str().into(),
            registry.to_toml().as_str().into(),
        ]);
        for event in &registry.events {
            let (name, kind) = (event.name.as_str().into(), registry.kind_of(event).name.as_str().into());
            let code = u32::from(event.code).into();
            events.push([batch, fingerprint, name, code, kind, event.doc.as_str().into()]);
            of_params(batch, fingerprint, (registry, event), params);
        }
        for ty in &registry.types {
            for value in &ty.values {
                let (of, name) = (ty.name.as_str().into(), value.name.as_str().into());
                let number = (value.number as i64).into();
                values.push([batch, fingerprint, of, number, name, value.doc.as_str().into()]);
            }
        }
    }
    files.into_iter().filter_map(Side::finish).collect()
}

fn of_params(
    batch: Cell<'_>,
    fingerprint: Cell<'_>,
    (registry, event): (&Registry, &telemetry_schema::Event),
    params: &mut Side,
) {
    for (number, param) in event.params.iter().enumerate() {
        params.push([
            batch,
            fingerprint,
            event.name.as_str().into(),
            (number as u64).into(),
            param.name.as_str().into(),
            registry.sort_text(param).as_str().into(),
            param.unit.as_str().into(),
            param.doc.as_str().into(),
            param.is_counter.into(),
        ]);
    }
}

fn table((name, doc, columns): &(&str, &str, &[SideColumn])) -> Arc<Table> {
    let column = |(name, ty, doc): &SideColumn| {
        let mut column = Column::new(name.trim_end_matches('?'), ty.clone(), *doc);
        column.is_nullable = name.ends_with('?');
        column
    };
    Arc::new(Table::of_columns(*name, *doc, columns.iter().map(column).collect()))
}

/// A file of a table.
pub struct SideFile {
    /// The table.
    pub table: Arc<Table>,
    /// The Parquet file.
    pub bytes: Vec<u8>,
    /// The number of its rows.
    pub rows: u64,
}

/// Rows of a table.
struct Side {
    table: Arc<Table>,
    rows: Rows,
    batches: Vec<Batch>,
}

impl Side {
    fn new(of: &(&str, &str, &[SideColumn])) -> Side {
        let table = table(of);
        Side { rows: Rows::new(table.clone()), table, batches: Vec::new() }
    }

    fn push<const N: usize>(&mut self, cells: [Cell<'_>; N]) {
        self.batches.extend(self.rows.push(cells));
    }

    fn finish(mut self) -> Option<SideFile> {
        self.batches.extend(self.rows.finish());
        let rows = self.batches.iter().map(|batch| batch.rows() as u64).sum();
        if rows == 0 {
            return None;
        }
        let mut writer = ParquetWriter::new(Vec::new(), &self.table, &[]);
        let written = self.batches.into_iter().try_for_each(|batch| writer.push(batch));
        // A vector takes all bytes.
        let bytes = written.and_then(|()| writer.finish()).ok()?;
        Some(SideFile { table: self.table, bytes, rows })
    }
}
