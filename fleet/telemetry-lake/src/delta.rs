//! The log of a Delta table: one object for each version, which is written once.
//!
//! The protocol is that of <https://github.com/delta-io/delta/blob/master/PROTOCOL.md>, reader
//! version 1 and writer version 2.

use serde_json::{Value, json};
use telemetry_columns::{ColumnType, Table};
use telemetry_format::Calendar;

use crate::layout::{Layout, Partition};

/// The name of the committer in Delta's logs.
pub const APP: &str = "telemetry-lake";

/// A table of the lake in Delta's log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Metadata {
    /// The name.
    pub name: String,
    /// The meaning.
    pub doc: String,
    /// The columns, as Delta writes them.
    pub schema: String,
    /// The columns of its partitions.
    pub partitions: Vec<&'static str>,
}

impl Metadata {
    /// Returns the actions that create the table.
    pub(crate) fn create(&self, app: &str) -> Vec<Value> {
        let others = json!({
            "id": id(app, &self.name),
            "format": {"provider": "parquet", "options": {}},
            "configuration": {},
            "createdTime": now_ms(),
        });
        vec![json!({"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}), self.change(&others)]
    }

    /// Returns the action that gives the table its columns. The rest stays as it was: users set
    /// properties of tables.
    pub(crate) fn change(&self, before: &Value) -> Value {
        let mut metadata = before.clone();
        metadata["name"] = json!(self.name);
        metadata["description"] = json!(self.doc);
        metadata["schemaString"] = json!(self.schema);
        metadata["partitionColumns"] = json!(self.partitions);
        json!({"metaData": metadata})
    }
}

/// A file that a version adds.
#[derive(Debug, Clone)]
pub struct Added {
    /// Its name in the folder of the table.
    pub path: String,
    /// The partition, in a table that has some.
    pub partition: Option<Partition>,
    /// Its length in bytes.
    pub bytes: u64,
    /// The number of its rows.
    pub rows: u64,
    /// The times of its rows, in nanoseconds since 1970.
    pub time: Option<(i64, i64)>,
}

/// What a version of a table changes.
#[derive(Debug, Default)]
pub struct Change {
    /// Names of files that go.
    pub removed: Vec<String>,
    /// Files that come.
    pub added: Vec<Added>,
    /// The name of the operation, for `DESCRIBE HISTORY`.
    pub operation: &'static str,
    /// Whether the rows are others than before. A compaction changes none.
    pub changes_rows: bool,
}

/// Returns how Delta describes a table.
pub fn metadata(table: &Table, layout: Option<Layout>) -> Metadata {
    let field = |name: &str, ty: Value, doc: &str| json!({"name": name, "type": ty, "nullable": true, "metadata": {"comment": doc}});
    let mut fields: Vec<_> =
        table.columns.iter().map(|column| field(&column.name, type_of(&column.ty), &column.doc)).collect();
    let partitions = layout.map(Layout::columns).unwrap_or_default();
    fields.extend(partitions.iter().map(|(name, ty, doc)| field(name, json!(ty), doc)));
    Metadata {
        name: table.name.clone(),
        doc: table.doc.clone(),
        schema: json!({"type": "struct", "fields": fields}).to_string(),
        partitions: partitions.iter().map(|(name, ..)| *name).collect(),
    }
}

/// Returns the actions of a version.
pub(crate) fn lines(version: &[u8]) -> impl Iterator<Item = Value> {
    version.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok())
}

/// Returns the lines of a version.
pub(crate) fn actions((app, batch): (&str, u64), of_table: Vec<Value>, change: &Change) -> String {
    let now = now_ms();
    let mut actions = vec![
        json!({"commitInfo": {"timestamp": now, "operation": change.operation, "operationParameters": {}}}),
        json!({"txn": {"appId": app, "version": batch, "lastUpdated": now}}),
    ];
    actions.extend(of_table);
    let is_change = change.changes_rows;
    for path in &change.removed {
        actions.push(json!({"remove": {"path": path, "deletionTimestamp": now, "dataChange": is_change}}));
    }
    for Added { path, partition, bytes, rows, time } in &change.added {
        let values = match partition {
            Some(Partition { day, column, value }) => json!({"day": day, *column: value}),
            None => json!({}),
        };
        let mut stats = json!({"numRecords": rows});
        if let Some((first, last)) = time {
            // Statistics of times have milliseconds: the last one is rounded up.
            stats["minValues"] = json!({"time": timestamp(first.div_euclid(1_000_000))});
            stats["maxValues"] = json!({"time": timestamp(last.div_euclid(1_000_000) + 1)});
            stats["nullCount"] = json!({"time": 0});
        }
        actions.push(json!({"add": {
            "path": path,
            "partitionValues": values,
            "size": bytes,
            "modificationTime": now,
            "dataChange": is_change,
            "stats": stats.to_string(),
        }}));
    }
    actions.iter().map(|action| format!("{action}\n")).collect()
}

fn type_of(ty: &ColumnType) -> Value {
    match ty {
        ColumnType::Bool => json!("boolean"),
        ColumnType::I8 | ColumnType::I16 | ColumnType::U8 | ColumnType::U16 | ColumnType::I32 => {
            json!("integer")
        }
        ColumnType::U32 | ColumnType::U64 | ColumnType::I64 => json!("long"),
        ColumnType::F32 => json!("float"),
        ColumnType::F64 => json!("double"),
        ColumnType::Timestamp => json!("timestamp"),
        ColumnType::Binary => json!("binary"),
        ColumnType::List(items) => {
            json!({"type": "array", "elementType": type_of(items), "containsNull": true})
        }
        // Texts, with or without a dictionary.
        _ => json!("string"),
    }
}

/// Returns the id of a table, in the form of a UUID. It is the same whenever it is made.
fn id(app: &str, name: &str) -> String {
    let part =
        |salt: u32| crc32c::crc32c_append(crc32c::crc32c_append(salt, app.as_bytes()), name.as_bytes());
    let (a, b, c, d) = (part(1), part(2), part(3), part(4));
    format!("{a:08x}-{:04x}-4{:03x}-8{:03x}-{:04x}{d:08x}", b >> 16, b & 0xfff, c >> 20, c & 0xffff)
}

fn timestamp(ms: i64) -> String {
    let at = Calendar::from_seconds(ms.max(0) as u64 / 1000);
    let (date, ms) = (format!("{:04}-{:02}-{:02}", at.year, at.month, at.day), ms.max(0) % 1000);
    format!("{date}T{:02}:{:02}:{:02}.{ms:03}Z", at.hour, at.minute, at.second)
}

/// Returns the time in milliseconds since 1970.
pub(crate) fn now_ms() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(0, |since| since.as_millis() as u64)
}
