//! Versions and checkpoints that are added to the logs of Delta tables, also beside other programs.

use std::collections::BTreeMap;

use serde_json::Value;
use telemetry_fleet::failpoint::failpoint;
use telemetry_fleet::store::Store;

use crate::delta::{Change, Metadata, actions, lines, now_ms};
use crate::lake::{Done, Format, Lake, LakeError, Result, TableState, table_folder};
use crate::lease::Lease;
use crate::log::{self, Log};

/// Versions of a table between two checkpoints of its log, if the user does not say.
pub const CHECKPOINT: u64 = 100;

/// Adds a version to the table in `folder`, unless a version from `from` on has the transaction
/// `batch` of `app` already. Returns the number of a version that has it.
///
/// # Errors
/// Those of the store. Also if another program has given the table a newer protocol, or has changed
/// a table from which files go.
pub async fn commit(
    store: &Store,
    folder: &str,
    (app, batch): (&str, u64),
    from: u64,
    metadata: Option<&Metadata>,
    change: &Change,
) -> Result<u64> {
    let mut version = from;
    let is_new = from == 0;
    let mut of_table = metadata.filter(|_| is_new).map_or_else(Vec::new, |metadata| metadata.create(app));
    let changed = metadata.filter(|_| !is_new);
    if changed.is_some() || last_checkpoint(store, folder).await? >= Some(from) {
        // Versions from `from` on may be gone: a checkpoint of another program stands for them.
        let log = Log::list(store, folder).await?;
        let state = log.latest().await?;
        if state.transaction(app) >= Some(batch) {
            return Ok(log.last());
        }
        version = version.max(log.last() + 1);
        if version > from && !change.removed.is_empty() {
            return Err(has_changed(&format!("{folder}/_delta_log")));
        }
        of_table.extend(changed.map(|metadata| metadata.change(state.metadata())));
    }
    let actions = actions((app, batch), of_table, change);
    let mut protocol = None;
    loop {
        let name = format!("{folder}/_delta_log/{version:020}.json");
        match store.get(&name).await? {
            Some(found) if has_transaction(&found, app, batch) => return Ok(version),
            // Another writer, such as a compaction by Spark, was first.
            Some(found) => {
                check_version(&name, &found, change, changed.is_some())?;
                protocol = lines(&found).find(|action| action["protocol"].is_object()).or(protocol);
                version += 1;
            }
            None => {
                if let Some(action) = &protocol {
                    log::check_protocol(&format!("{folder}/_delta_log"), &action["protocol"])?;
                }
                failpoint("delta");
                if store.create(&name, actions.clone().into_bytes()).await? {
                    return Ok(version);
                }
            }
        }
    }
}

/// Returns the version of the last checkpoint that another program has written.
async fn last_checkpoint(store: &Store, folder: &str) -> Result<Option<u64>> {
    let bytes = store.get(&format!("{folder}/_delta_log/_last_checkpoint")).await?;
    let hint = bytes.and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
    Ok(hint.and_then(|hint| hint["version"].as_u64()))
}

/// Checks that a change may follow a version of another program.
fn check_version(name: &str, version: &[u8], change: &Change, changes_columns: bool) -> Result<()> {
    let has_metadata = || lines(version).any(|action| action["metaData"].is_object());
    // The files that go may be gone already, and their rows be in others. And the new columns would
    // take back the properties that the version sets.
    match !change.removed.is_empty() || changes_columns && has_metadata() {
        true => Err(has_changed(name)),
        false => Ok(()),
    }
}

fn has_changed(name: &str) -> LakeError {
    LakeError::Other(format!(
        "`{name}`: another program has just changed the table; help: run `telemetry-lake commit`, which completes the \
         batch"
    ))
}

fn has_transaction(version: &[u8], app: &str, batch: u64) -> bool {
    lines(version).any(|action| {
        let txn = &action["txn"];
        txn["appId"] == app && txn["version"].as_u64().is_some_and(|version| version >= batch)
    })
}

/// Writes checkpoints of the tables that have passed a multiple of `every` versions.
pub(crate) async fn write_checkpoints(
    lake: &Lake,
    lease: &Lease,
    before: &Done,
    tables: &BTreeMap<String, TableState>,
    every: u64,
) -> Result<()> {
    if lake.settings.format != Format::Delta {
        return Ok(());
    }
    for (name, table) in tables {
        let known = before.tables.get(name).map_or(0, |known| known.version);
        if table.version / every > known / every {
            lease.renew(&lake.store).await?;
            let folder = table_folder(name);
            let log = Log::list(&lake.store, &folder).await?;
            log.write_checkpoint(table.version, now_ms()).await?;
            failpoint("checkpoint");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delta::APP;

    /// A change that removes files is of the version that was read, and of no later one.
    #[test]
    fn files_go_only_from_the_version_that_was_read() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&format!("file://{}", dir.path().display())).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let version = |number: u64| format!("t/_delta_log/{number:020}.json");
        let metadata = Metadata { name: "t".into(), doc: "".into(), schema: "{}".into(), partitions: vec![] };
        let commit = |batch: u64, from: u64, metadata: Option<&Metadata>, removed: &[&str]| {
            let removed = removed.iter().map(|path| (*path).to_owned()).collect();
            let change = Change { removed, operation: "OPTIMIZE", ..Change::default() };
            let version = runtime.block_on(commit(&store, "t", (APP, batch), from, metadata, &change));
            version.map_err(|error| error.to_string())
        };
        let error = |place: &str| {
            let text = "another program has just changed the table; help: run `telemetry-lake commit`, which completes \
                        the batch";
            Err(format!("`t/_delta_log{place}`: {text}"))
        };
        assert_eq!(commit(1, 0, Some(&metadata), &[]), Ok(0));
        runtime.block_on(store.create(&version(1), b"{\"commitInfo\": {}}\n".to_vec())).unwrap();
        assert_eq!(commit(2, 1, None, &["a"]), error("/00000000000000000001.json"));
        // Where the log is read, because a checkpoint may stand for the version.
        assert_eq!(commit(2, 1, Some(&metadata), &["a"]), error(""));
        assert_eq!(commit(2, 2, None, &["a"]), Ok(2));
        // The same batch again, and one that only adds.
        assert_eq!(commit(2, 2, None, &["a"]), Ok(2));
        assert_eq!(commit(3, 1, None, &[]), Ok(3));
    }
}
