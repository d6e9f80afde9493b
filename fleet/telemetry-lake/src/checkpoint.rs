//! Checkpoints of a Delta log: everything that a version has, in one Parquet file. A reader then
//! needs no earlier version.
//!
//! The columns are those of
//! <https://github.com/delta-io/delta/blob/master/PROTOCOL.md#checkpoint-schema>, as far as the log
//! uses them.

use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::record::{Field, Row};
use parquet::schema::parser::parse_message_type;
use serde_json::Value;

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

/// Kinds of actions that matter. Checkpoints of other programs may have further ones.
const KINDS: [&str; 5] = ["txn", "add", "remove", "metaData", "protocol"];

/// Returns the actions of a checkpoint, as the versions have them.
pub(crate) fn actions(bytes: Vec<u8>) -> std::result::Result<Vec<Value>, ParquetError> {
    let reader = SerializedFileReader::new(Bytes::from(bytes))?;
    let action = |row: Row| {
        let kinds = row.get_column_iter().filter(|(name, _)| KINDS.contains(&name.as_str()));
        Value::Object(object(kinds.map(|(name, field)| (name.clone(), field))))
    };
    reader.get_row_iter(None)?.map(|row| row.map(action)).collect()
}

/// Returns an object without the fields that are null.
fn object<'f>(fields: impl Iterator<Item = (String, &'f Field)>) -> serde_json::Map<String, Value> {
    fields.map(|(name, field)| (name, value(field))).filter(|(_, value)| !value.is_null()).collect()
}

/// Returns a value as JSON. Types that no action has become null.
fn value(field: &Field) -> Value {
    match field {
        Field::Bool(flag) => (*flag).into(),
        Field::Int(number) => (*number).into(),
        Field::Long(number) => (*number).into(),
        Field::Str(text) => text.as_str().into(),
        Field::Group(fields) => {
            Value::Object(object(fields.get_column_iter().map(|(name, field)| (name.clone(), field))))
        }
        Field::ListInternal(items) => items.elements().iter().map(value).collect(),
        Field::MapInternal(map) => {
            let key = |key: &Field| value(key).as_str().unwrap_or_default().to_owned();
            // A partition may be null.
            Value::Object(map.entries().iter().map(|(name, of)| (key(name), value(of))).collect())
        }
        _ => Value::Null,
    }
}

pub(crate) fn file(actions: &[Value]) -> std::result::Result<Vec<u8>, ParquetError> {
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A later checkpoint is made of an earlier one, so nothing may change on the way.
    #[test]
    fn actions_are_read_as_they_were_written() {
        let written = vec![
            json!({"metaData": {
                "id": "an-id", "name": "app_Alloc", "description": "An \"allocation\"",
                "format": {"provider": "parquet", "options": {}}, "schemaString": "{\"type\":\"struct\"}",
                "partitionColumns": ["day", "host"], "configuration": {"delta.appendOnly": "true"},
                "createdTime": 1_700_000_000_000_u64,
            }}),
            json!({"metaData": {
                "id": "other", "format": {"provider": "parquet", "options": {}}, "schemaString": "",
                "partitionColumns": [], "configuration": {}, "createdTime": 0,
            }}),
            json!({"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}),
            json!({"txn": {"appId": "telemetry-lake", "version": 7, "lastUpdated": 5}}),
            json!({"txn": {"appId": "another", "version": 1}}),
            json!({"add": {
                "path": "day=2026-11-22/host=a/1.parquet", "partitionValues": {"day": "2026-11-22", "host": "a"},
                "size": 5, "modificationTime": 6, "dataChange": false, "stats": "{\"numRecords\":1}",
            }}),
            json!({"add": {
                "path": "1.parquet", "partitionValues": {}, "size": 5, "modificationTime": 6, "dataChange": false,
            }}),
            json!({"add": {
                "path": "2.parquet", "partitionValues": {"day": null}, "size": 5, "modificationTime": 6,
                "dataChange": false,
            }}),
            json!({"remove": {"path": "0.parquet", "deletionTimestamp": 7, "dataChange": false}}),
        ];
        assert_eq!(actions(file(&written).unwrap()).unwrap(), written);
    }
}
