//! Segments to tables, a batch at a time.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::pin::pin;
use std::sync::Arc;

use futures_util::stream::{self, StreamExt, TryStreamExt};
use telemetry_decode::KnownRegistry;
use telemetry_fleet::failpoint::failpoint;
use telemetry_fleet::segment::SegmentName;
use tokio::task::spawn_blocking;

use crate::append;
use crate::catalog::{self, Catalog};
use crate::convert::NewFile;
use crate::delete::{Rewrite, rewrite};
use crate::delta::{self, APP, Added, Change};
use crate::lake::{
    AT_ONCE, Done, Format, Lake, LakeError, Plan, Result, TableState, json, registry_name, state_name,
    table_folder,
};
use crate::lease::Lease;
use crate::planning::{self, Stored};
use crate::session::{Fetched, FetchedSegment, OfSession, Room, Taken};
use crate::sides::{self, SegmentRow};
use crate::state::SessionState;

/// How to commit.
#[derive(Debug, Clone, Copy)]
pub struct How {
    /// The most segments of a batch.
    pub segments: usize,
    /// Sessions that are converted at once. The result is the same for any number.
    pub threads: usize,
    /// Versions of a table between two checkpoints of its log.
    pub checkpoint: u64,
    /// Whether the tables have the values of sensitive parameters. A batch that was begun goes on
    /// as it was begun.
    pub shows_sensitive: bool,
}

/// What a batch did.
#[derive(Debug, Clone, Default)]
pub struct Committed {
    /// The number of the batch.
    pub batch: u64,
    /// Segments of the batch.
    pub segments: usize,
    /// Rows of events that were added.
    pub rows: u64,
    /// Segments that could not be read, and why.
    pub unreadable: Vec<(String, String)>,
}

/// The most bytes of files that wait to be written together.
const MAX_WAITING: usize = 64 << 20;

/// The most bytes of segments that are in memory before their rows are written. The segments of one
/// session may be longer, and are alone then.
const MAX_FETCHED: u64 = 512 << 20;

/// Sessions whose segments are read ahead.
const AHEAD: usize = 4;

/// Commits the next batch: one that was begun, or else segments that are new.
/// Returns `None` if there is none.
///
/// # Errors
/// Those of the store. The next call continues where this one ended.
pub async fn commit_next(lake: &Lake, lease: &Lease, how: How) -> Result<Option<Committed>> {
    loop {
        let last = lake.last_batch().await?;
        if lake.done(last).await?.is_none() {
            let plan = lake.plan(last).await?;
            if let Some(selector) = &plan.delete {
                rewrite(lake, lease, plan.batch, &Rewrite::Delete(selector.clone())).await?;
                continue;
            }
            if plan.compact {
                rewrite(lake, lease, plan.batch, &Rewrite::Compact).await?;
                continue;
            }
            return run(lake, lease, plan, how).await.map(Some);
        }
        let segments = planning::choose(planning::segments(lake, last).await?.new, how.segments);
        if segments.is_empty() {
            return Ok(None);
        }
        let shows_sensitive = how.shows_sensitive;
        let mut plan = Plan { batch: last + 1, shows_sensitive, ..Plan::default() };
        for (name, Stored { bytes, at_ms }) in segments {
            plan.segments.push(name);
            plan.lengths.push(bytes);
            plan.stored_ms.push(at_ms);
        }
        // Another committer may have written this plan. Then that is the one to follow.
        if lake.add_plan(&plan).await? {
            failpoint("plan");
            return run(lake, lease, plan, how).await.map(Some);
        }
    }
}

/// The files and rows of a batch, as far as it has come.
#[derive(Default)]
struct Progress {
    /// Objects that are not written yet.
    waiting: Vec<(String, Vec<u8>)>,
    waiting_bytes: usize,
    /// The lengths of objects that were there already.
    found: HashMap<String, u64>,
    segments: Vec<SegmentRow>,
    states: Vec<SessionState>,
    /// By table.
    added: BTreeMap<String, Vec<Added>>,
    rows: u64,
}

/// Converts a session on another thread.
async fn on_thread(session: &Arc<Fetched>, plan: &Plan, catalog: &Arc<Catalog>) -> Result<OfSession> {
    let (session, catalog) = (session.clone(), catalog.clone());
    let (batch, shows) = (plan.batch, plan.shows_sensitive);
    let converted = spawn_blocking(move || session.convert(batch, Catalog::clone(&catalog), shows));
    let converted = converted.await;
    converted.map_err(|error| LakeError::Other(format!("a conversion failed: {error}")))
}

async fn run(lake: &Lake, lease: &Lease, plan: Plan, how: How) -> Result<Committed> {
    let before = lake.done(plan.batch - 1).await?.unwrap_or_default();
    let catalog = load_catalog(lake, &before).await?;
    let known = catalog.registries().len();
    let catalog = RefCell::new(Arc::new(catalog));
    let mut progress = Progress::default();
    let sessions = by_session(&plan);
    let states = sessions.keys().map(|(host, session)| lake.state_before(host, *session, plan.batch));
    let states: Vec<_> = stream::iter(states).buffered(AT_ONCE).try_collect().await?;
    let room = Room::new(MAX_FETCHED);
    // In order: a session that waits would otherwise wait for one behind it.
    let in_room = stream::iter(states.into_iter().zip(sessions.values()));
    let in_room = in_room.then(async |(state, of_plan)| (state, of_plan, room.take(of_plan.bytes).await));
    let fetched = in_room.map(|(state, of_plan, taken)| fetch(lake, state, &of_plan.segments, taken));
    let fetched = fetched.buffered(AHEAD.max(how.threads));
    let converted = fetched.map(async |session: Result<Fetched>| {
        let (session, base) = (Arc::new(session?), catalog.borrow().clone());
        let converted = on_thread(&session, &plan, &base).await?;
        Ok::<_, LakeError>((session, base, converted))
    });
    let mut converted = pin!(converted.buffered(how.threads));
    while let Some(next) = converted.next().await {
        lease.renew(&lake.store).await?;
        let (session, base, mut of_session) = next?;
        let now = catalog.borrow().clone();
        // A session before it had a new registry or stricter marks, on which the columns depend.
        if !Arc::ptr_eq(&base, &now) {
            of_session = on_thread(&session, &plan, &now).await?;
        }
        if of_session.catalog.changes() > now.changes() {
            *catalog.borrow_mut() = Arc::new(std::mem::take(&mut of_session.catalog));
        }
        progress.take(lake, lease, of_session).await?;
        failpoint("session");
    }
    let catalog = catalog.borrow().clone();
    progress.write_all(lake, lease).await?;
    let news = &catalog.registries()[known..];
    for KnownRegistry { fingerprint, registry, .. } in news {
        let name = registry_name(&format!("{fingerprint:016x}"));
        lake.store.create(&name, registry.to_toml().into_bytes()).await?;
    }
    // Older versions of this program read the names above, so those texts are there, too.
    for (name, known) in catalog.names().iter().zip(catalog.registries()) {
        if name.contains('-') && !before.registries.contains(name) {
            let text = known.registry.to_toml();
            lake.store.create(&registry_name(name), text.into_bytes()).await?;
        }
    }
    let mut side_files = sides::of_sessions(None, &progress.states);
    side_files.extend(sides::of_batch(plan.batch, &progress.segments, news));
    for file in side_files {
        let path = format!("{:010}.parquet", plan.batch);
        let (name, bytes) = (file.table.name.clone(), file.bytes.len() as u64);
        progress.write(lake, lease, format!("{}/{path}", table_folder(&name)), file.bytes).await?;
        let added = Added { path, partition: None, bytes, rows: file.rows, time: None };
        progress.added.entry(name).or_default().push(added);
    }
    progress.write_all(lake, lease).await?;
    progress.set_lengths();
    failpoint("files");
    let tables = write_logs(lake, plan.batch, &before, &catalog, progress.added).await?;
    append::write_checkpoints(lake, lease, &before, &tables, how.checkpoint).await?;
    let registries = catalog.names().to_vec();
    failpoint("done");
    let mut known: HashMap<_, _> =
        progress.segments.iter().map(|segment| (&segment.name, segment.time)).collect();
    let times = plan.segments.iter().map(|name| known.remove(name).flatten()).collect();
    lake.add_done(&Done { batch: plan.batch, rows: progress.rows, registries, tables, times }).await?;
    failpoint("after");
    let dropped = progress.states.iter().map(|state| lake.drop_states(&state.host, state.session));
    stream::iter(dropped).buffer_unordered(AT_ONCE).try_collect::<()>().await?;
    let unreadable = progress.segments.into_iter().filter_map(|segment| Some((segment.name, segment.error?)));
    let unreadable = unreadable.collect();
    Ok(Committed { batch: plan.batch, segments: plan.segments.len(), rows: progress.rows, unreadable })
}

/// Reads the registries that were known before a batch.
async fn load_catalog(lake: &Lake, before: &Done) -> Result<Catalog> {
    let mut catalog = Catalog::new(lake.settings.layout());
    for fingerprint in &before.registries {
        let name = registry_name(fingerprint);
        let damaged = |why: String| LakeError::Other(format!("`{name}` is damaged: {why}"));
        let bytes = lake.store.get(&name).await?.ok_or_else(|| damaged("it is missing".to_owned()))?;
        let text = String::from_utf8(bytes).map_err(|error| damaged(error.to_string()))?;
        let registry = telemetry_schema::parse_embedded(&text)
            .map_err(|invalid| damaged(invalid.render(&name, &text)))?;
        catalog.add_stored(fingerprint, &registry.into());
    }
    Ok(catalog)
}

type Key = (String, u64);

/// The segments of a session in a plan.
#[derive(Default)]
struct OfPlan {
    /// In order: the name, and when the store got it, in milliseconds since 1970.
    segments: Vec<(String, Option<i64>)>,
    /// The sum of their lengths, or the most that it can be.
    bytes: u64,
}

/// Returns the segments of a plan by host and session.
fn by_session(plan: &Plan) -> BTreeMap<Key, OfPlan> {
    let mut sessions = BTreeMap::<_, OfPlan>::new();
    for (number, text) in plan.segments.iter().enumerate() {
        if let Ok(name) = text.parse::<SegmentName>() {
            let session = sessions.entry((name.host.to_string(), name.session)).or_default();
            let bytes = plan.lengths.get(number).copied().unwrap_or(planning::MAX_BYTES);
            session.bytes = session.bytes.saturating_add(bytes);
            session.segments.push((text.clone(), plan.stored_ms.get(number).copied()));
        }
    }
    sessions
}

async fn fetch(
    lake: &Lake,
    state: SessionState,
    of_plan: &[(String, Option<i64>)],
    taken: Taken,
) -> Result<Fetched> {
    let mut segments = Vec::new();
    for (name, stored_ms) in of_plan {
        // One that is gone since the plan was made was deleted with its rows.
        let bytes = lake.store.get(name).await?.unwrap_or_default();
        let stored_ns = stored_ms.map(|ms| ms.saturating_mul(1_000_000));
        segments.push(FetchedSegment { name: name.clone(), bytes, stored_ns });
    }
    Ok(Fetched { state, segments, _room: taken })
}

impl Progress {
    /// Takes the rows of a session.
    async fn take(&mut self, lake: &Lake, lease: &Lease, of_session: OfSession) -> Result<()> {
        let OfSession { state, files, segments, .. } = of_session;
        let (host, session, batch) = (&state.host, state.session, state.batch);
        self.segments.extend(segments);
        for (number, file) in files.into_iter().enumerate() {
            let NewFile { table, day, bytes, rows, time } = file;
            let (partition, path) = lake.settings.layout().file(&day, (host, session), batch, number);
            let name = format!("{}/{path}", table_folder(&table.name));
            let added = Added { path, partition: Some(partition), bytes: bytes.len() as u64, rows, time };
            if table.name != catalog::SPANS {
                self.rows += rows;
            }
            self.added.entry(table.name.clone()).or_default().push(added);
            self.write(lake, lease, name, bytes).await?;
        }
        // A repetition of the batch begins with the state before it, so this one may be there
        // first.
        self.write(lake, lease, state_name(&state), json(&state)).await?;
        self.states.push(state);
        Ok(())
    }

    /// Takes an object, and writes those that wait if they are many.
    async fn write(&mut self, lake: &Lake, lease: &Lease, name: String, bytes: Vec<u8>) -> Result<()> {
        self.waiting_bytes += bytes.len();
        self.waiting.push((name, bytes));
        match self.waiting.len() < AT_ONCE && self.waiting_bytes < MAX_WAITING {
            true => Ok(()),
            false => self.write_all(lake, lease).await,
        }
    }

    /// Writes all objects that wait. A process that took over may have deleted files meanwhile. The
    /// lease is renewed, so that this one seldom brings them back.
    async fn write_all(&mut self, lake: &Lake, lease: &Lease) -> Result<()> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        lease.renew(&lake.store).await?;
        self.waiting_bytes = 0;
        let writes = std::mem::take(&mut self.waiting).into_iter().map(async |(name, bytes)| {
            let is_new = lake.store.create(&name, bytes).await?;
            failpoint("file");
            let found = if is_new { None } else { lake.store.get(&name).await? };
            Ok::<_, LakeError>(found.map(|found| (name, found.len() as u64)))
        });
        let mut written = pin!(stream::iter(writes).buffer_unordered(AT_ONCE));
        while let Some(found) = written.try_next().await? {
            self.found.extend(found);
        }
        Ok(())
    }

    /// Sets the lengths of files that an earlier try wrote. Another version of this program may
    /// have written them, with other columns.
    fn set_lengths(&mut self) {
        for (table, files) in &mut self.added {
            for file in files {
                if let Some(len) = self.found.get(&format!("{}/{}", table_folder(table), file.path)) {
                    file.bytes = *len;
                }
            }
        }
    }
}

/// Writes a version of each table that is new, has other columns, or has files. Returns all tables.
async fn write_logs(
    lake: &Lake,
    batch: u64,
    before: &Done,
    catalog: &Catalog,
    mut added: BTreeMap<String, Vec<Added>>,
) -> Result<BTreeMap<String, TableState>> {
    let mut tables = before.tables.clone();
    let layout = lake.settings.layout();
    let of_events = catalog.tables().into_iter().chain([catalog::of_spans(layout)]);
    let of_events = of_events.map(|table| (table, Some(layout)));
    // The ranges of lanes and the watermarks come last: they say which rows are there.
    let (last, sides): (Vec<_>, Vec<_>) = sides::tables()
        .into_iter()
        .partition(|table| matches!(table.name.as_str(), "lane_range" | "watermark"));
    let sides = sides.into_iter().chain(last).map(|table| (table, None));
    for (table, layout) in of_events.chain(sides) {
        let metadata = delta::metadata(&table, layout);
        let known = before.tables.get(&table.name);
        let is_changed = known.is_none_or(|known| known.schema != metadata.schema);
        let files = added.remove(&table.name).unwrap_or_default();
        if files.is_empty() && !is_changed {
            continue;
        }
        let mut version = 0;
        if lake.settings.format == Format::Delta {
            let change = Change { added: files, operation: "WRITE", changes_rows: true, ..Change::default() };
            let folder = table_folder(&table.name);
            let from = known.map_or(0, |known| known.version + 1);
            let metadata = is_changed.then_some(&metadata);
            version = append::commit(&lake.store, &folder, (APP, batch), from, metadata, &change).await?;
        }
        tables.insert(table.name.clone(), TableState { version, schema: metadata.schema });
    }
    Ok(tables)
}
