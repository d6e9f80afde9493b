//! Lanes, losses, damage and blocks.

use std::mem;

use telemetry_decode::blocks::Index;
use telemetry_decode::{Completeness, Events, KnownRegistry, Session};

use crate::batch::error::{Error, Result};
use crate::batch::table_batch::Batch;
use crate::model::sides::{BLOCKS, DAMAGES, LANES, LOSSES};
use crate::side::facts;
use crate::side::rows::Rows;

/// Returns the side tables of events that were all read: `session`, `thread`, `label`, `name`,
/// `lane`, `loss` and `damage`. A table without rows has no batch.
///
/// The rows of a kind's tables, and what `lane` and `loss` say of it, are all events that the
/// program emitted.
///
/// ```no_run
/// use telemetry_columns::{Batches, side_tables};
/// use telemetry_decode::Reader;
///
/// let mut batches = Batches::new(Reader::open("telemetry.tel")?.events()?);
/// while let Some(batch) = batches.next_batch()? {
///     println!("{}: {} rows", batch.table().name, batch.rows());
/// }
/// for batch in side_tables(batches.events()) {
///     println!("{}: {} rows", batch.table().name, batch.rows());
/// }
/// # Ok::<(), telemetry_columns::Error>(())
/// ```
pub fn side_tables(events: &Events<'_>) -> Vec<Batch> {
    let mut batches = facts::batches(events.sessions());
    batches.extend(lanes(&events.completeness(), events.sessions(), events.registries()));
    batches
}

/// Returns the table `block` of an index, a batch at a time. The list of blocks may be long.
///
/// # Errors
/// Those of the temporary file in which a long list of blocks is.
pub fn block_table(mut index: Index) -> impl Iterator<Item = Result<Batch>> + Send + use<> {
    let mut rows = Rows::of_side(&BLOCKS);
    let (lanes, sessions) = (mem::take(&mut index.lanes), mem::take(&mut index.sessions));
    let registries = mem::take(&mut index.registries);
    let mut blocks = index.into_blocks();
    std::iter::from_fn(move || {
        for block in blocks.by_ref() {
            let block = match block {
                Ok(block) => block,
                Err(error) => return Some(Err(Error::Read(error.into()))),
            };
            let Some(lane) = lanes.get(block.lane as usize) else { continue };
            let Some(session) = sessions.get(lane.session) else { continue };
            let (registry, kind) = names(&registries, lane.registry, lane.kind);
            let batch = rows.push([
                block.at.into(),
                block.len.into(),
                session.id.into(),
                lane.thread.into(),
                registry.into(),
                lane.registry.into(),
                kind.into(),
                u32::from(lane.kind).into(),
                block.seq.into(),
                block.before.into(),
                block.events.into(),
                session.clock.ns(block.base_ticks).into(),
                session.clock.ns(block.end_ticks).into(),
            ]);
            if batch.is_some() {
                return batch.map(Ok);
            }
        }
        rows.finish().map(Ok)
    })
}

fn lanes(completeness: &Completeness, sessions: &[Session], registries: &[KnownRegistry]) -> Vec<Batch> {
    let mut batches = Vec::new();
    let [mut lanes, mut losses, mut damages] = [LANES, LOSSES, DAMAGES].map(|side| Rows::of_side(&side));
    for lane in &completeness.lanes {
        let (registry, kind) = names(registries, lane.registry, lane.kind);
        let kind = lane.kind_name.as_deref().or(kind);
        batches.extend(lanes.push([
            lane.session.into(),
            lane.thread.into(),
            registry.into(),
            lane.registry.into(),
            kind.into(),
            u32::from(lane.kind).into(),
            lane.read.into(),
            lane.filtered.into(),
            lane.missing.into(),
            lane.excluded.into(),
            lane.lost.pool.into(),
            lane.lost.reentrant.into(),
            lane.lost.sink.into(),
            lane.lost.truncated.into(),
        ]));
        let session = sessions.iter().find(|session| session.id == lane.session);
        let ns = |ticks| session.map_or(0, |session| session.clock.ns(ticks));
        for gap in &lane.gaps {
            batches.extend(losses.push([
                lane.session.into(),
                lane.thread.into(),
                registry.into(),
                lane.registry.into(),
                kind.into(),
                u32::from(lane.kind).into(),
                ns(gap.from_ticks).into(),
                ns(gap.until_ticks).into(),
                gap.absent.saturating_sub(gap.lost.sink).into(),
                gap.lost.pool.into(),
                gap.lost.reentrant.into(),
                gap.lost.sink.into(),
                gap.lost.truncated.into(),
            ]));
        }
    }
    let damage = completeness
        .damage
        .iter()
        .map(|damage| (damage.range.clone(), damage.events, damage.cause.to_string()));
    let undecodable = completeness
        .undecodable
        .iter()
        .map(|part| (part.range.clone(), part.events, part.reason.to_string()));
    let mut all: Vec<_> = damage.chain(undecodable).collect();
    // They were found in the order in which the events were read.
    all.sort_by_key(|(range, ..)| range.start);
    for (range, events, cause) in all {
        let cells = [range.start.into(), range.end.into(), events.into(), cause.as_str().into()];
        batches.extend(damages.push(cells));
    }
    batches.extend([lanes, losses, damages].iter_mut().filter_map(Rows::finish));
    batches
}

/// Returns the names of a registry and of its kind.
fn names(registries: &[KnownRegistry], fingerprint: u64, kind: u8) -> (Option<&str>, Option<&str>) {
    let known = registries.iter().find(|known| known.fingerprint == fingerprint);
    let registry = known.map(|known| &known.registry);
    let kind = registry.and_then(|registry| registry.kinds.iter().find(|of| of.bit == kind));
    (registry.map(|registry| registry.name.as_str()), kind.map(|kind| kind.name.as_str()))
}
