//! The state of a Delta table after some versions of its log. A checkpoint stands for all versions
//! up to its own, so that reading begins with one.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;

use futures_util::stream::{self, StreamExt, TryStreamExt};
use serde_json::Value;
use telemetry_fleet::store::{Listed, Store};

use crate::checkpoint;
use crate::delta::lines;
use crate::lake::{LakeError, Result};

/// Requests to the store at the same time.
const AT_ONCE: usize = 64;

/// How long removed files are told, in milliseconds: Delta's usual week.
pub(crate) const TOLD: u64 = 7 * 86_400_000;

/// The objects of a table's log. Other programs may have deleted the older ones.
#[derive(Debug)]
pub struct Log<'s> {
    store: &'s Store,
    folder: &'s str,
    versions: BTreeSet<u64>,
    /// The parts of each checkpoint, by its version and their number.
    checkpoints: BTreeMap<(u64, usize), Vec<Listed>>,
}

/// A name in the folder of a log.
#[derive(Debug, PartialEq, Eq)]
enum Name {
    Version(u64),
    /// A checkpoint, and how many parts it has.
    Checkpoint(u64, usize),
}

impl Name {
    fn of(path: &str) -> Option<Name> {
        let parts: Vec<_> = path.rsplit('/').next()?.split('.').collect();
        let version = |text: &str| text.parse().ok().filter(|_| text.len() == 20);
        match parts[..] {
            [of, "json"] => version(of).map(Name::Version),
            [of, "checkpoint", "parquet"] => version(of).map(|of| Name::Checkpoint(of, 1)),
            [of, "checkpoint", _, count, "parquet"] => {
                Some(Name::Checkpoint(version(of)?, count.parse().ok()?))
            }
            // Such as checksums, which readers do not need.
            _ => None,
        }
    }
}

impl<'s> Log<'s> {
    /// Lists the log of the table in a folder.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn list(store: &'s Store, folder: &'s str) -> Result<Log<'s>> {
        let mut log = Log { store, folder, versions: BTreeSet::new(), checkpoints: BTreeMap::new() };
        for listed in store.listed(&format!("{folder}/_delta_log")).await? {
            match Name::of(&listed.name) {
                Some(Name::Version(version)) => drop(log.versions.insert(version)),
                Some(Name::Checkpoint(version, count)) => {
                    log.checkpoints.entry((version, count)).or_default().push(listed);
                }
                None => {}
            }
        }
        Ok(log)
    }

    /// Returns what the latest version has.
    ///
    /// # Errors
    /// Those of the store, and if versions are gone for which no checkpoint stands. Also if another
    /// program has given the table a newer protocol.
    pub async fn latest(&self) -> Result<State> {
        self.known(self.read(self.last(), None).await?)
    }

    /// Returns what the latest version has, and all removals since a time, in milliseconds since
    /// 1970. A checkpoint may leave older ones out.
    ///
    /// # Errors
    /// The same.
    pub async fn latest_since(&self, ms: i64) -> Result<State> {
        self.known(self.read(self.last(), Some(ms)).await?)
    }

    /// Writes the checkpoint of a version, unless it is there. Does nothing if versions are gone or
    /// the table has a newer protocol. Then another program writes checkpoints.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn write_checkpoint(&self, version: u64, now_ms: u64) -> Result<()> {
        if self.checkpoints.contains_key(&(version, 1)) {
            return Ok(());
        }
        let state = match self.read(version, None).await {
            Ok(Some(state)) if state.is_plain() => state,
            Ok(_) | Err(LakeError::Other(_)) => return Ok(()),
            Err(error) => return Err(error),
        };
        let wrong =
            |error| LakeError::Other(format!("cannot write a checkpoint of `{}`: {error}", self.folder));
        let bytes = checkpoint::file(&state.actions(now_ms)).map_err(wrong)?;
        let name = format!("{}/_delta_log/{version:020}.checkpoint.parquet", self.folder);
        self.store.create(&name, bytes).await?;
        Ok(())
    }

    /// Returns the last version.
    pub fn last(&self) -> u64 {
        let checkpoint = self.checkpoints.keys().next_back().map(|(version, _)| *version);
        self.versions.last().copied().max(checkpoint).unwrap_or_default()
    }

    /// Reads the log until a version. It begins with the last checkpoint, or with the last one that
    /// was written before `since_ms`. If there is none, it begins as early as it can.
    ///
    /// Returns `None` if versions are gone for which no checkpoint stands.
    async fn read(&self, until: u64, since_ms: Option<i64>) -> Result<Option<State>> {
        // All versions from here on are there.
        let first = (0..=until).rev().take_while(|version| self.versions.contains(version)).last();
        let first = first.unwrap_or(until + 1);
        let fits = |((version, count), parts): &(&(u64, usize), &Vec<Listed>)| {
            parts.len() == *count && *version <= until && *version + 1 >= first
        };
        let mut usable = self.checkpoints.iter().filter(fits).map(|((version, _), parts)| (*version, parts));
        let is_before = |(_, parts): &(u64, &Vec<Listed>)| {
            since_ms.is_none_or(|since| parts.iter().all(|part| part.modified_ms < since))
        };
        let begin = usable.clone().rev().find(is_before);
        let begin = begin.or_else(|| usable.next().filter(|_| first > 0));
        let mut state = State::default();
        let from = match begin {
            Some((version, parts)) => {
                for part in parts {
                    state.take_all(self.actions(&part.name).await?);
                }
                state.begins_ms = parts.iter().map(|part| part.modified_ms).max();
                version + 1
            }
            None if first == 0 => 0,
            None => return Ok(None),
        };
        let names = (from..=until).map(|version| format!("{}/_delta_log/{version:020}.json", self.folder));
        let read = names.map(async |name| Ok::<_, LakeError>((self.store.get(&name).await?, name)));
        // A long log is never in memory as a whole.
        let mut versions = pin!(stream::iter(read).buffered(AT_ONCE));
        while let Some((version, name)) = versions.try_next().await? {
            state.take_all(lines(&version.ok_or_else(|| gone(&name))?));
        }
        Ok(Some(state))
    }

    /// Refuses a state that cannot be read, or not as a whole: files that seem to be gone would be
    /// deleted.
    fn known(&self, state: Option<State>) -> Result<State> {
        let state = state.ok_or_else(|| self.is_cut())?;
        let place = format!("{}/_delta_log", self.folder);
        check_protocol(&place, state.protocol())?;
        match state.is_plain() {
            true => Ok(state),
            false => Err(LakeError::Other(format!(
                "`{place}`: found a deletion vector, expected none; help: use the program that changed the table"
            ))),
        }
    }

    fn is_cut(&self) -> LakeError {
        let (folder, last) = (self.folder, self.last());
        LakeError::Other(format!(
            "`{folder}/_delta_log`: earlier versions than {last} are gone, and no checkpoint of one or more Parquet \
             files stands for them; help: write such a checkpoint by the program that deleted them"
        ))
    }

    /// Reads a part of a checkpoint.
    async fn actions(&self, name: &str) -> Result<Vec<Value>> {
        let bytes = self.store.get(name).await?.ok_or_else(|| gone(name))?;
        checkpoint::actions(bytes)
            .map_err(|error| LakeError::Other(format!("`{name}` cannot be read: {error}")))
    }
}

/// Checks that a table has the protocol that is read and written here.
///
/// # Errors
/// If it has another one, or none.
pub fn check_protocol(place: &str, protocol: &Value) -> Result<()> {
    let version = |key: &str| protocol[key].as_u64().unwrap_or_default();
    match (version("minReaderVersion"), version("minWriterVersion")) {
        (1, 1 | 2) => Ok(()),
        (reader, writer) => Err(LakeError::Other(format!(
            "`{place}`: found reader version {reader} and writer version {writer}, expected 1 and 2; help: return the \
             table to them by the program that changed it"
        ))),
    }
}

fn gone(name: &str) -> LakeError {
    LakeError::Other(format!("`{name}` was there, and is gone; help: run the command again"))
}

/// What a version of a table has, by kind of action.
#[derive(Debug, Default)]
pub struct State {
    /// When the checkpoint was written with which reading began, in milliseconds since 1970.
    begins_ms: Option<i64>,
    /// By application.
    transactions: BTreeMap<String, Value>,
    /// By path.
    added: BTreeMap<String, Value>,
    removed: BTreeMap<String, Value>,
    /// The latest `metaData` and `protocol`.
    others: BTreeMap<&'static str, Value>,
}

impl State {
    fn take_all(&mut self, actions: impl IntoIterator<Item = Value>) {
        actions.into_iter().for_each(|action| self.take(action));
    }

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

    /// Says whether all rows of the files are in the table. A newer protocol may hide some.
    fn is_plain(&self) -> bool {
        let has_vector = |action: &Value| action["add"]["deletionVector"].is_object();
        check_protocol("", self.protocol()).is_ok() && !self.added.values().any(has_vector)
    }

    /// Returns the fields of the latest `protocol`.
    pub fn protocol(&self) -> &Value {
        self.others.get("protocol").map_or(&Value::Null, |action| &action["protocol"])
    }

    /// Returns the last transaction of a program.
    pub fn transaction(&self, app: &str) -> Option<u64> {
        self.transactions.get(app)?["txn"]["version"].as_u64()
    }

    /// Returns the fields of the latest `metaData`.
    pub fn metadata(&self) -> &Value {
        self.others.get("metaData").map_or(&Value::Null, |action| &action["metaData"])
    }

    /// Returns the files: names and lengths.
    pub fn files(&self) -> BTreeMap<String, u64> {
        let length = |action: &Value| action["add"]["size"].as_u64().unwrap_or_default();
        self.added.iter().map(|(path, action)| (path.clone(), length(action))).collect()
    }

    /// Says whether a removal of a file is told.
    pub fn is_told(&self, path: &str) -> bool {
        self.removed.contains_key(path)
    }

    /// Says whether a file, which was in the table once, went before a time, in milliseconds since
    /// 1970.
    pub fn went_before(&self, path: &str, ms: i64) -> bool {
        match self.removed.get(path) {
            Some(action) => action["remove"]["deletionTimestamp"].as_i64().unwrap_or_default() < ms,
            // The checkpoint does not tell it any more, so it went before that.
            None => !self.added.contains_key(path) && self.begins_ms.is_some_and(|begins| begins < ms),
        }
    }

    /// Returns the actions of a checkpoint.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_a_log() {
        for (name, wanted) in [
            ("00000000000000000007.json", Some(Name::Version(7))),
            (
                "tables/lane/_delta_log/00000000000000000100.checkpoint.parquet",
                Some(Name::Checkpoint(100, 1)),
            ),
            ("00000000000000000100.checkpoint.0000000002.0000000003.parquet", Some(Name::Checkpoint(100, 3))),
            ("00000000000000000007.crc", None),
            ("00000000000000000001.00000000000000000007.compacted.json", None),
            ("_last_checkpoint", None),
            ("0000000007.json", None),
        ] {
            assert_eq!(Name::of(name), wanted, "{name}");
        }
    }

    /// A file whose removal is not told any more went before the checkpoint.
    #[test]
    fn a_file_went_before_it_is_not_told() {
        let remove =
            |path: &str, ms: u64| serde_json::json!({"remove": {"path": path, "deletionTimestamp": ms}});
        let mut state = State { begins_ms: Some(100), ..State::default() };
        state.take_all([
            remove("a", 150),
            remove("b", 150),
            serde_json::json!({"add": {"path": "b", "size": 5}}),
        ]);
        for (path, ms, wanted) in
            [("a", 150, false), ("a", 151, true), ("b", 999, false), ("c", 100, false), ("c", 101, true)]
        {
            assert_eq!(state.went_before(path, ms), wanted, "{path} before {ms}");
        }
        // A log that is read from its beginning tells all.
        state.begins_ms = None;
        assert!(!state.went_before("c", 999));
        assert_eq!(state.files(), [("b".to_owned(), 5)].into());
    }
}
