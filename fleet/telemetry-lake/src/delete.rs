//! Deletion of rows, joining of files, and deletion of segments that the tables have.

use std::collections::{BTreeMap, BTreeSet};

use telemetry_fleet::failpoint::failpoint;
use telemetry_fleet::segment::SegmentName;
use telemetry_fleet::store::Listed;

use crate::append;
use crate::compact::Table;
use crate::delta::{self, APP, Added, Change};
use crate::lake::{Done, Format, Lake, LakeError, Plan, Result, table_folder};
use crate::layout;
use crate::lease::Lease;
use crate::log::{self, Log};
use crate::planning;
use crate::selector::Selector;
use crate::sides;

/// Deletes the selected rows, and the segments that they came from. Returns the number of files.
///
/// # Errors
/// Those of the store, if a batch is not done, and if another program wrote files with rows that
/// may be selected. If it ends early, the next commit completes it.
pub async fn delete(lake: &Lake, lease: &Lease, selector: Selector) -> Result<u64> {
    let last = lake.last_done().await?;
    for name in last.tables.keys() {
        check_files(lake, name, &selector).await?;
    }
    let plan = Plan { batch: last.batch + 1, delete: Some(selector.clone()), ..Plan::default() };
    begin(lake, &plan).await?;
    rewrite(lake, lease, plan.batch, &Rewrite::Delete(selector)).await
}

/// Joins small files of a session and day, or of a bucket and day. Returns the number of files that
/// are no longer needed.
///
/// # Errors
/// Those of the store, if a batch is not done, and if the lake has no Delta: then readers would see
/// rows twice. If it ends early, the next commit completes it.
pub async fn compact(lake: &Lake, lease: &Lease) -> Result<u64> {
    if lake.settings.format != Format::Delta {
        let text =
            "the lake has the form `parquet`; expected `delta`, in which files can be replaced at once";
        return Err(LakeError::Other(text.to_owned()));
    }
    let last = lake.last_done().await?;
    // Before the plan, which later commands have to complete.
    for name in last.tables.keys() {
        Log::list(&lake.store, &table_folder(name)).await?.latest().await?;
    }
    let plan = Plan { batch: last.batch + 1, compact: true, ..Plan::default() };
    begin(lake, &plan).await?;
    rewrite(lake, lease, plan.batch, &Rewrite::Compact).await
}

/// Checks that no file hides selected rows: names of other programs do not tell hosts and sessions.
async fn check_files(lake: &Lake, table: &str, selector: &Selector) -> Result<()> {
    let folder = table_folder(table);
    let files = match lake.settings.format {
        Format::Delta => Log::list(&lake.store, &folder).await?.latest().await?.files().into_keys().collect(),
        Format::Parquet => lake.store.names(&folder).await?,
    };
    let in_folder = |path: &String| path.strip_prefix(&format!("{folder}/")).unwrap_or(path).to_owned();
    let is_hidden = |path: &String| selector.cannot_tell(path, lake.settings.layout());
    match files.iter().map(in_folder).find(is_hidden) {
        Some(path) => Err(hides(&folder, &path)),
        None => Ok(()),
    }
}

fn hides(folder: &str, path: &str) -> LakeError {
    LakeError::Other(format!(
        "`{folder}/{path}` is of another program, and may have such rows; help: delete the rows by Delta's own `DELETE`"
    ))
}

async fn begin(lake: &Lake, plan: &Plan) -> Result<()> {
    if !lake.add_plan(plan).await? {
        return Err(LakeError::Other("another process has just begun a batch".to_owned()));
    }
    failpoint("plan");
    Ok(())
}

/// What a batch does that adds no rows.
#[derive(Debug)]
pub(crate) enum Rewrite {
    /// Deletes rows.
    Delete(Selector),
    /// Joins files.
    Compact,
}

impl Rewrite {
    fn selector(&self) -> Option<&Selector> {
        match self {
            Rewrite::Delete(selector) => Some(selector),
            Rewrite::Compact => None,
        }
    }
}

/// Follows the plan of a deletion or a compaction. Returns the number of files that go.
pub(crate) async fn rewrite(lake: &Lake, lease: &Lease, batch: u64, what: &Rewrite) -> Result<u64> {
    let selector = what.selector();
    let before = lake.done(batch - 1).await?.unwrap_or_default();
    let mut states = lake.states(None).await?;
    for state in
        states.iter_mut().filter(|state| selector.is_some_and(|selector| selector.selects_all(state)))
    {
        state.delete_rows();
        state.batch = batch;
        (state.program, state.facts) = (None, String::new());
        (state.delay_ns, state.threads) = (None, BTreeMap::new());
        lease.renew(&lake.store).await?;
        lake.add_state(state).await?;
    }
    failpoint("states");
    // Rows of the sessions that are left, in one file instead of those of all batches.
    let mut side_files: BTreeMap<_, _> = sides::of_sessions(Some(batch), &states)
        .into_iter()
        .map(|file| (file.table.name.clone(), file))
        .collect();
    let (mut tables, mut deleted) = (before.tables.clone(), 0);
    let mut hidden = None;
    for (name, table) in &mut tables {
        lease.renew(&lake.store).await?;
        let folder = table_folder(name);
        let own = format!("{batch:010}.parquet");
        // A process that took over may have written later batches meanwhile.
        let is_earlier = |path: &str| layout::batch(path).is_none_or(|of| of < batch);
        let is_of_sessions = sides::is_of_sessions(name);
        let (store, layout) = (&lake.store, lake.settings.layout());
        let of_batch = Table { store, lease, layout, folder: &folder, batch };
        let operation = if selector.is_some() { "DELETE" } else { "OPTIMIZE" };
        let changes_rows = selector.is_some() || is_of_sessions;
        let mut change = Change { operation, changes_rows, ..Change::default() };
        if let Some(file) = side_files.remove(name) {
            let (bytes, rows) = (file.bytes.len() as u64, file.rows);
            lake.store.create(&format!("{folder}/{own}"), file.bytes).await?;
            change.added.push(Added { path: own.clone(), partition: None, bytes, rows, time: None });
        }
        let mut state = None;
        if lake.settings.format == Format::Delta {
            let log = Log::list(store, &folder).await?;
            let now = log.latest().await?;
            let files = now.files();
            // It came after the plan, which has to be completed. So it is told at the end.
            let hides_rows = |path: &&String| selector.is_some_and(|of| of.cannot_tell(path, layout));
            hidden = hidden.or_else(|| files.keys().find(hides_rows).map(|path| hides(&folder, path)));
            if now.transaction(APP) >= Some(batch) {
                // An earlier try wrote this version.
                table.version = log.last();
            } else {
                let (removed, added) = match selector {
                    _ if is_of_sessions => {
                        (files.keys().filter(|path| is_earlier(path)).cloned().collect(), Vec::new())
                    }
                    Some(selector) => of_batch.remove(selector, files.keys()).await?,
                    None => of_batch.join_all(&files).await?,
                };
                change.removed.extend(removed);
                change.added.extend(added);
                if !change.removed.is_empty() || !change.added.is_empty() {
                    let from = log.last() + 1;
                    table.version = append::commit(store, &folder, (APP, batch), from, None, &change).await?;
                }
            }
            state = Some((now, files));
        }
        failpoint("delete");
        let Some(selector) = selector else {
            // Readers of the version before need them: `vacuum` deletes them later.
            deleted += change.removed.len() as u64;
            continue;
        };
        let removed: BTreeSet<_> = change.removed.iter().map(String::as_str).collect();
        let stays = |path: &str, modified_ms: i64| {
            let Some((state, files)) = &state else { return false };
            // Another program may not have added its file yet.
            let is_new = layout::batch(path).is_none()
                && !state.is_told(path)
                && modified_ms + log::TOLD as i64 > delta::now_ms() as i64;
            !removed.contains(path) && (files.contains_key(path) || is_new)
        };
        for Listed { name: path, modified_ms, .. } in lake.store.listed(&folder).await? {
            let of_table = path.strip_prefix(&format!("{folder}/")).filter(|path| path.ends_with(".parquet"));
            let goes = match of_table {
                Some(path) if stays(path, modified_ms) => false,
                Some(path) if is_of_sessions => is_earlier(path),
                Some(path) if layout::batch(path).is_some_and(|of| of > batch) => false,
                Some(path) => of_batch.has_selected(path, selector).await?,
                None => false,
            };
            if goes {
                lease.renew(&lake.store).await?;
                lake.store.delete(&path).await?;
                deleted += 1;
            }
        }
    }
    if let Some(selector) = selector {
        let goes = |name: &SegmentName| selector.selects(&name.day(), name.host.as_str(), name.session);
        drop_segments(lake, Some(lease), batch, goes).await?;
    }
    append::write_checkpoints(lake, lease, &before, &tables, append::CHECKPOINT).await?;
    // Before it is done: a repetition needs the latest states alone, and makes up for a crash.
    for state in states.iter().filter(|state| state.batch == batch) {
        lease.renew(&lake.store).await?;
        lake.drop_states_before(&state.host, state.session, batch).await?;
    }
    failpoint("done");
    let done = Done { batch, registries: before.registries, tables, ..Done::default() };
    lake.add_done(&done).await?;
    hidden.map_or(Ok(deleted), Err)
}

/// Deletes segments of days before this one that the tables have, and files that tables have not
/// had since then. Returns the numbers of segments and files.
///
/// # Errors
/// Those of the store, and if a batch is not done.
pub async fn vacuum(lake: &Lake, before: i64) -> Result<(u64, u64)> {
    let (last, day) = (lake.last_done().await?, crate::convert::day_text(before));
    let segments = drop_segments(lake, None, last.batch + 1, |name| name.day() < day).await?;
    let (mut deleted, before_ms) = (0, before.max(0) * 86_400_000);
    for name in last.tables.keys().filter(|_| lake.settings.format == Format::Delta) {
        let folder = table_folder(name);
        let state = Log::list(&lake.store, &folder).await?.latest_since(before_ms).await?;
        for path in lake.store.names(&folder).await? {
            let of_table = path.strip_prefix(&format!("{folder}/"));
            let is_file = |path: &&str| !path.starts_with('_') && path.ends_with(".parquet");
            let Some(of_table) = of_table.filter(is_file) else { continue };
            // Files of a later batch, or of another program, may not be in the table yet.
            let was_there =
                state.is_told(of_table) || layout::batch(of_table).is_some_and(|of| of <= last.batch);
            if was_there && state.went_before(of_table, before_ms) {
                lake.store.delete(&path).await?;
                deleted += 1;
            }
        }
    }
    Ok((segments, deleted))
}

/// Deletes segments of the plans before a batch.
async fn drop_segments(
    lake: &Lake,
    lease: Option<&Lease>,
    batch: u64,
    goes: impl Fn(&SegmentName) -> bool,
) -> Result<u64> {
    let mut dropped = 0;
    for text in planning::segments(lake, batch.saturating_sub(1)).await?.planned {
        if text.parse::<SegmentName>().is_ok_and(|name| goes(&name)) {
            if let Some(lease) = lease {
                lease.renew(&lake.store).await?;
            }
            lake.store.delete(&text).await?;
            dropped += 1;
        }
    }
    Ok(dropped)
}
