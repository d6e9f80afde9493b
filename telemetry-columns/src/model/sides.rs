//! The side tables: what a stream says beside its events.

use std::sync::Arc;

use crate::model::column::{Column, ColumnType, Source};
use crate::model::table::Table;

/// A side table.
pub(crate) struct Side {
    pub(crate) name: &'static str,
    doc: &'static str,
    columns: &'static [SideColumn],
}

/// The name of a column, its type, its unit, and its meaning. A name that ends in `?` is of a
/// column that may have no value.
type SideColumn = (&'static str, ColumnType, &'static str, &'static str);

use ColumnType::{Bool, F64, I64, Timestamp, U8, U32, U64, Utf8};

const SESSION: SideColumn = ("session", U64, "", "the id of the session");
const THREAD: SideColumn = ("thread", U32, "", "the session's number for the thread");
const REGISTRY: SideColumn = ("registry?", Utf8, "", "the name of the registry");
const FINGERPRINT: SideColumn = ("fingerprint", U64, "", "the fingerprint of the registry");
const KIND: SideColumn = ("kind?", Utf8, "", "the name of the kind");
const BIT: SideColumn = ("bit", U8, "", "the bit number of the kind");
const MISSING: SideColumn = ("missing", U64, "", "recorded events that were not read");
const LOST_POOL: SideColumn = ("lost_pool", U64, "", "events lost because the pool was full");
const LOST_REENTRANT: SideColumn = ("lost_reentrant", U64, "", "events lost because they were reentrant");
const LOST_SINK: SideColumn = ("lost_sink", U64, "", "events lost by the sink");
const TRUNCATED: SideColumn = ("truncated", U64, "", "events with a truncated string");
const FROM_NS: SideColumn = ("from_ns", I64, "ns", "the beginning, since the session's start");
const UNTIL_NS: SideColumn = ("until_ns", I64, "ns", "the end, since the session's start");
const TIME_NS: SideColumn = ("time_ns", I64, "ns", "the time since the session's start");
const FACTS: SideColumn = ("facts", Utf8, "", "all facts, a line `key = value` for each");

/// Sessions.
pub(crate) const SESSIONS: Side = Side {
    name: "session",
    doc: "the runs of processes",
    columns: &[
        SESSION,
        ("program?", Utf8, "", "the name of the program"),
        ("started", Timestamp, "", "the session's start"),
        ("started_ns", I64, "ns", "the session's start, since 1970-01-01 UTC"),
        ("start_ticks", U64, "", "the clock reading at the start"),
        ("ticks_per_second", F64, "", "the rate of the clock"),
        ("declared", Bool, "", "whether the stream has the session's facts"),
        ("ended", Bool, "", "whether the session ended in good order"),
        FACTS,
    ],
};

/// Threads.
pub(crate) const THREADS: Side = Side {
    name: "thread",
    doc: "the threads of sessions",
    columns: &[
        SESSION,
        THREAD,
        ("name?", Utf8, "", "the name of the thread"),
        ("tid?", U64, "", "the system's number for the thread"),
        FACTS,
    ],
};

/// Labels.
pub(crate) const LABELS: Side = Side {
    name: "label",
    doc: "the strings of labels",
    columns: &[SESSION, ("number", U64, "", "the label"), ("text", Utf8, "", "its string")],
};

/// Names of addresses.
pub(crate) const NAMES: Side = Side {
    name: "name",
    doc: "the names of pointers and addresses, each from a time on",
    columns: &[
        SESSION,
        ("address", U64, "", "the pointer or address"),
        ("role", Utf8, "", "`pointer`, `addr`, or `either` where both have the same names"),
        TIME_NS,
        ("name?", Utf8, "", "the name"),
    ],
};

/// Lanes.
pub(crate) const LANES: Side = Side {
    name: "lane",
    doc: "the accounts of lanes: which events were read, and which were not",
    columns: &[
        SESSION,
        THREAD,
        REGISTRY,
        FINGERPRINT,
        KIND,
        BIT,
        ("events", U64, "", "events that were read"),
        ("filtered", U64, "", "events that the filter excludes"),
        MISSING,
        ("excluded", U64, "", "events that the stream was never meant to have"),
        LOST_POOL,
        LOST_REENTRANT,
        LOST_SINK,
        TRUNCATED,
    ],
};

/// Losses.
pub(crate) const LOSSES: Side = Side {
    name: "loss",
    doc: "the intervals in which lanes lost events",
    columns: &[
        SESSION,
        THREAD,
        REGISTRY,
        FINGERPRINT,
        KIND,
        BIT,
        FROM_NS,
        UNTIL_NS,
        MISSING,
        LOST_POOL,
        LOST_REENTRANT,
        LOST_SINK,
        TRUNCATED,
    ],
};

/// Damage.
pub(crate) const DAMAGES: Side = Side {
    name: "damage",
    doc: "the ranges of the input that could not be read",
    columns: &[
        ("from", U64, "bytes", "the offset of the first byte"),
        ("until", U64, "bytes", "the offset after the last byte"),
        ("events", U64, "", "the number of events there, as far as it is known"),
        ("cause", Utf8, "", "the reason"),
    ],
};

/// Blocks.
pub(crate) const BLOCKS: Side = Side {
    name: "block",
    doc: "the blocks of events in the input",
    columns: &[
        ("offset", U64, "bytes", "the offset of its first byte"),
        ("length", U32, "bytes", "its length with the header"),
        SESSION,
        THREAD,
        REGISTRY,
        FINGERPRINT,
        KIND,
        BIT,
        ("number", U32, "", "the number of the block in its lane"),
        ("position", U64, "", "the position of its first event"),
        ("events", U32, "", "the number of its events"),
        FROM_NS,
        UNTIL_NS,
    ],
};

/// Messages.
pub(crate) const MESSAGES: Side = Side {
    name: "message",
    doc: "the events that are messages to the program itself",
    columns: &[
        SESSION,
        THREAD,
        ("position?", U64, "", "the number of events before it in its lane"),
        TIME_NS,
        ("time", Timestamp, "", "the time in UTC"),
        REGISTRY,
        ("message", Utf8, "", "the name of the message"),
        ("part", Utf8, "", "`begin`, `end`, or `whole` for a message of one event"),
        ("event", Utf8, "", "the event type"),
    ],
};

/// Spans.
pub(crate) const SPANS: Side = Side {
    name: "span",
    doc: "the pairs of begins and ends",
    columns: &[
        ("span", Utf8, "", "the name of the span"),
        REGISTRY,
        SESSION,
        ("thread?", U32, "", "the thread of the begin"),
        ("key?", U64, "", "the key, if it is a number"),
        ("key_text?", Utf8, "", "the key, if it is a string"),
        ("begin_ns?", I64, "ns", "the time of the begin since the session's start"),
        ("end_ns?", I64, "ns", "the time of the end since the session's start"),
        ("duration_ns?", I64, "ns", "the time between the two"),
        ("self_ns?", I64, "ns", "the part of it in which no later span of the thread was open"),
        ("end_thread?", U32, "", "the thread of the end"),
        ("certain", Bool, "", "whether no begin or end can be missing in between"),
        ("message?", Utf8, "", "the message whose pair it is"),
    ],
};

/// Values of counters.
pub(crate) const COUNTERS: Side = Side {
    name: "counter_value",
    doc: "the values of counters whose events carry changes",
    columns: &[
        SESSION,
        TIME_NS,
        ("time", Timestamp, "", "the time in UTC"),
        REGISTRY,
        ("counter", Utf8, "", "the name of the counter, with that of its section"),
        ("unit?", Utf8, "", "the unit of its values: `bytes`, `ns` or `%`"),
        ("value?", F64, "", "the value from this time on"),
    ],
};

/// All side tables.
pub(crate) const SIDES: [Side; 11] =
    [SESSIONS, THREADS, LABELS, NAMES, LANES, LOSSES, DAMAGES, BLOCKS, MESSAGES, SPANS, COUNTERS];

impl Side {
    /// Returns the table.
    pub(crate) fn table(&self) -> Arc<Table> {
        let column = |(name, ty, unit, doc): &SideColumn| Column {
            name: name.trim_end_matches('?').to_string(),
            ty: ty.clone(),
            is_nullable: name.ends_with('?'),
            is_address: *name == "address",
            doc: doc.to_string(),
            unit: unit.to_string(),
            is_counter: false,
            sort: String::new(),
            values: Vec::new(),
            source: Source::Side,
        };
        Arc::new(Table::of_columns(self.name, self.doc, self.columns.iter().map(column).collect()))
    }
}
