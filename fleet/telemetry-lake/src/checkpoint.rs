//! Checkpoints of a Delta log: everything that a version has, in one Parquet file. A reader then
//! needs no earlier version.
//!
//! The columns are those of
//! <https://github.com/delta-io/delta/blob/master/PROTOCOL.md#checkpoint-schema>, as far as the log
//! uses them.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::Arc;

use futures_util::stream::{self, StreamExt, TryStreamExt};
use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use serde_json::Value;
use telemetry_fleet::store::Store;

use crate::delta::lines;
use crate::lake::{LakeError, Result};

/// Requests to the store at the same time.
const AT_ONCE: usize = 64;

/// How long removed files are told, in milliseconds: Delta's usual week.
const TOLD: u64 = 7 * 86_400_000;

const SCHEMA: &str = "
message checkpoint {
  optional group txn {
    optional binary appId (UTF8);
    optional int64 version;
    optional int64 lastUpdated;
  }
  optional group add {
    optional binary path (UTF8);
    optional group partitionValues (MAP) {
      repeated group key_value { required binary key (UTF8); optional binary value (UTF8); }
    }
    optional int64 size;
    optional int64 modificationTime;
    optional boolean dataChange;
    optional binary stats (UTF8);
  }
  optional group remove {
    optional binary path (UTF8);
    optional int64 deletionTimestamp;
    optional boolean dataChange;
  }
  optional group metaData {
    optional binary id (UTF8);
    optional binary name (UTF8);
    optional binary description (UTF8);
    optional group format {
      optional binary provider (UTF8);
      optional group options (MAP) {
        repeated group key_value { required binary key (UTF8); optional binary value (UTF8); }
      }
    }
    optional binary schemaString (UTF8);
    optional group partitionColumns (LIST) {
      repeated group list { optional binary element (UTF8); }
    }
    optional group configuration (MAP) {
      repeated group key_value { required binary key (UTF8); optional binary value (UTF8); }
    }
    optional int64 createdTime;
  }
  optional group protocol {
    optional int32 minReaderVersion;
    optional int32 minWriterVersion;
  }
}";

/// Writes the checkpoint of a version, unless it is there. Does nothing if earlier versions are
/// gone: the program that removed them has written a checkpoint.
///
/// # Errors
/// Those of the store.
pub async fn write(store: &Store, folder: &str, version: u64, now_ms: u64) -> Result<()> {
    let names = (0..=version).map(|version| format!("{folder}/_delta_log/{version:020}.json"));
    let read = names.map(async |name| store.get(&name).await);
    // A long log is never in memory as a whole.
    let mut versions = pin!(stream::iter(read).buffered(AT_ONCE));
    let mut state = State::default();
    while let Some(version) = versions.try_next().await? {
        let Some(version) = version else { return Ok(()) };
        lines(&version).for_each(|action| state.take(action));
    }
    let wrong = |error| LakeError::Other(format!("cannot write a checkpoint of `{folder}`: {error}"));
    let bytes = file(&state.actions(now_ms)).map_err(wrong)?;
    store.create(&format!("{folder}/_delta_log/{version:020}.checkpoint.parquet"), bytes).await?;
    Ok(())
}

/// What holds after some versions, by kind of action.
#[derive(Default)]
struct State {
    /// By application.
    transactions: BTreeMap<String, Value>,
    /// By path.
    added: BTreeMap<String, Value>,
    removed: BTreeMap<String, Value>,
    /// The latest `metaData` and `protocol`.
    others: BTreeMap<&'static str, Value>,
}

impl State {
    fn take(&mut self, action: Value) {
        let text = |kind: &str, key: &str| action[kind][key].as_str().map(str::to_owned);
        if let Some(app) = text("txn", "appId") {
            self.transactions.insert(app, action);
        } else if let Some(path) = text("add", "path") {
            self.removed.remove(&path);
            self.added.insert(path, action);
        } else if let Some(path) = text("remove", "path") {
            self.added.remove(&path);
            self.removed.insert(path, action);
        } else if let Some(kind) = ["metaData", "protocol"].into_iter().find(|kind| action[*kind].is_object())
        {
            self.others.insert(kind, action);
        }
    }

    fn actions(self, now_ms: u64) -> Vec<Value> {
        let is_told = |action: &Value| {
            action["remove"]["deletionTimestamp"].as_u64().is_some_and(|time| time + TOLD > now_ms)
        };
        let removed = self.removed.into_values().filter(is_told);
        let others = self.others.into_values().chain(self.transactions.into_values());
        // A checkpoint changes no rows.
        let quiet = |mut action: Value| {
            for kind in ["add", "remove"] {
                if let Some(fields) = action.get_mut(kind).and_then(Value::as_object_mut) {
                    fields.insert("dataChange".to_owned(), Value::Bool(false));
                }
            }
            action
        };
        others.chain(self.added.into_values()).chain(removed).map(quiet).collect()
    }
}

fn file(actions: &[Value]) -> std::result::Result<Vec<u8>, ParquetError> {
    let schema = Arc::new(parse_message_type(SCHEMA)?);
    let zstd = Compression::ZSTD(ZstdLevel::default());
    let properties = Arc::new(WriterProperties::builder().set_compression(zstd).build());
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, properties)?;
    let mut group = writer.next_row_group()?;
    let mut columns = Columns { actions, group: &mut group };
    columns.texts("txn", "appId")?;
    columns.numbers("txn", "version")?;
    columns.numbers("txn", "lastUpdated")?;
    columns.texts("add", "path")?;
    columns.map("add", |add| Some(&add["partitionValues"]), 2)?;
    columns.numbers("add", "size")?;
    columns.numbers("add", "modificationTime")?;
    columns.flags("add", "dataChange")?;
    columns.texts("add", "stats")?;
    columns.texts("remove", "path")?;
    columns.numbers("remove", "deletionTimestamp")?;
    columns.flags("remove", "dataChange")?;
    columns.texts("metaData", "id")?;
    columns.texts("metaData", "name")?;
    columns.texts("metaData", "description")?;
    columns.each::<ByteArrayType>("metaData", |of| text(&of["format"]["provider"]), 3)?;
    columns.map("metaData", |of| Some(&of["format"]["options"]), 3)?;
    columns.texts("metaData", "schemaString")?;
    columns.list("metaData", |of| &of["partitionColumns"])?;
    columns.map("metaData", |of| Some(&of["configuration"]), 2)?;
    columns.numbers("metaData", "createdTime")?;
    columns.each::<Int32Type>("protocol", |of| int(&of["minReaderVersion"]), 2)?;
    columns.each::<Int32Type>("protocol", |of| int(&of["minWriterVersion"]), 2)?;
    group.close()?;
    writer.into_inner()
}

fn text(value: &Value) -> Option<ByteArray> {
    value.as_str().map(ByteArray::from)
}

fn int(value: &Value) -> Option<i32> {
    value.as_i64().and_then(|number| number.try_into().ok())
}

/// Writes one column after the other. A row has the fields of one kind of action.
struct Columns<'a, 'w> {
    actions: &'a [Value],
    group: &'a mut SerializedRowGroupWriter<'w, Vec<u8>>,
}

/// Values with their levels, as Parquet has them.
struct Levels<T> {
    values: Vec<T>,
    definitions: Vec<i16>,
    repetitions: Vec<i16>,
}

impl<T> Levels<T> {
    fn new() -> Levels<T> {
        Levels { values: Vec::new(), definitions: Vec::new(), repetitions: Vec::new() }
    }

    fn push(&mut self, value: Option<T>, definition: i16, repetition: i16) {
        self.values.extend(value);
        self.definitions.push(definition);
        self.repetitions.push(repetition);
    }
}

type Written = std::result::Result<(), ParquetError>;

impl Columns<'_, '_> {
    fn texts(&mut self, kind: &str, name: &str) -> Written {
        self.each::<ByteArrayType>(kind, |of| text(&of[name]), 2)
    }

    fn numbers(&mut self, kind: &str, name: &str) -> Written {
        self.each::<Int64Type>(kind, |of| of[name].as_i64(), 2)
    }

    fn flags(&mut self, kind: &str, name: &str) -> Written {
        self.each::<BoolType>(kind, |of| of[name].as_bool(), 2)
    }

    /// Writes a column of single values, `full` groups deep.
    fn each<T: DataType>(&mut self, kind: &str, get: impl Fn(&Value) -> Option<T::T>, full: i16) -> Written {
        let mut levels = Levels::new();
        for action in self.actions {
            let value = action.get(kind).map(&get);
            let definition = match &value {
                None => 0,
                Some(None) => full - 1,
                Some(Some(_)) => full,
            };
            levels.push(value.flatten(), definition, 0);
        }
        self.write::<T>(&levels)
    }

    /// Writes the two columns of a map, which is `depth` groups deep.
    fn map(&mut self, kind: &str, get: impl Fn(&Value) -> Option<&Value>, depth: i16) -> Written {
        let (mut keys, mut values) = (Levels::new(), Levels::new());
        for action in self.actions {
            let of = action.get(kind).and_then(&get);
            let entries = of.and_then(Value::as_object);
            let empty = if action.get(kind).is_none() { 0 } else { depth };
            if entries.is_none_or(|entries| entries.is_empty()) {
                keys.push(None, empty, 0);
                values.push(None, empty, 0);
            }
            for (number, (key, value)) in entries.into_iter().flatten().enumerate() {
                let repetition = i16::from(number > 0);
                keys.push(Some(ByteArray::from(key.as_str())), depth + 1, repetition);
                let value = text(value);
                let definition = depth + 1 + i16::from(value.is_some());
                values.push(value, definition, repetition);
            }
        }
        self.write::<ByteArrayType>(&keys)?;
        self.write::<ByteArrayType>(&values)
    }

    /// Writes the column of a list of texts.
    fn list(&mut self, kind: &str, get: impl Fn(&Value) -> &Value) -> Written {
        let mut levels = Levels::new();
        for action in self.actions {
            let items = action.get(kind).map(&get).and_then(Value::as_array);
            if items.is_none_or(Vec::is_empty) {
                levels.push(None, if action.get(kind).is_none() { 0 } else { 2 }, 0);
            }
            for (number, item) in items.into_iter().flatten().enumerate() {
                levels.push(text(item), 4, i16::from(number > 0));
            }
        }
        self.write::<ByteArrayType>(&levels)
    }

    fn write<T: DataType>(&mut self, levels: &Levels<T::T>) -> Written {
        let Some(mut column) = self.group.next_column()? else {
            return Err(ParquetError::General("the schema has no further column".to_owned()));
        };
        let Levels { values, definitions, repetitions } = levels;
        // Columns that do not repeat ignore these.
        column.typed::<T>().write_batch(values, Some(definitions), Some(repetitions))?;
        column.close()
    }
}
