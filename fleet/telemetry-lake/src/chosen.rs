//! Some segments of a lake as one stream.

use std::collections::HashMap;
use std::io::Write;
use std::ops::Range;
use std::pin::pin;

use futures_util::stream::{self, StreamExt, TryStreamExt};
use telemetry_decode::blocks::{Blocks, Piece};
use telemetry_fleet::segment::SegmentName;
use telemetry_format::{BlockType, Header, Loss};

use crate::lake::{AT_ONCE, Done, Lake, LakeError, Result, number};
use crate::planning::SLACK_MS;

/// Segments that are read ahead.
const AHEAD: usize = 4;

/// What was written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Written {
    /// Segments.
    pub segments: usize,
    /// Bytes of segments.
    pub bytes: u64,
    /// Segments that are not in the store any more.
    pub gone: usize,
}

/// Writes the committed segments of a host, or of all, that have events of these times, in
/// nanoseconds since 1970. No other segment is read.
///
/// The result is a stream of its own: what is before the first segment of a lane was never meant
/// for it, so a reader does not miss it.
///
/// # Errors
/// Those of the store and of the writer.
pub async fn write_chosen(
    lake: &Lake,
    host: Option<&str>,
    times: Range<i64>,
    to: &mut impl Write,
) -> Result<Written> {
    let names = chosen(lake, host, times).await?;
    let bytes = names.iter().map(|name| lake.store.get(name));
    let mut segments = stream::iter(bytes).buffered(AHEAD);
    let (mut written, mut starts) = (Written::default(), Starts::default());
    while let Some(segment) = segments.next().await {
        let Some(segment) = segment? else {
            written.gone += 1;
            continue;
        };
        (written.segments, written.bytes) = (written.segments + 1, written.bytes + segment.len() as u64);
        let wrong = |error: &dyn std::fmt::Display| LakeError::Other(format!("cannot write: {error}"));
        let mut blocks = Blocks::from_slice(&segment);
        while let Some(piece) = blocks.next().map_err(|error| wrong(&error))? {
            // Damage is told by the holes that it leaves.
            let Piece::Block(block) = piece else { continue };
            let mut header = block.header.clone();
            starts.change(&mut header);
            let extra = &block.bytes[telemetry_format::HEADER_LEN..];
            to.write_all(&header.encode(crc32c::crc32c)).map_err(|error| wrong(&error))?;
            to.write_all(extra).map_err(|error| wrong(&error))?;
        }
    }
    Ok(written)
}

/// Returns the names of segments, by session and time. Only the batches are read that can have
/// them.
async fn chosen(lake: &Lake, host: Option<&str>, times: Range<i64>) -> Result<Vec<String>> {
    let is_touched = |(from, until): (i64, i64)| from < times.end && until >= times.start;
    let mut plans = lake.store.listed("batches").await?;
    plans.retain(|plan| plan.modified_ms.saturating_add(SLACK_MS) >= times.start / 1_000_000);
    let batches = plans.iter().filter_map(|plan| number(&plan.name)).map(async |batch| {
        let done = lake.done(batch).await?;
        let may_have = |done: &Done| {
            done.times.is_empty() || done.times.iter().any(|times| times.is_none_or(is_touched))
        };
        Ok::<_, LakeError>(match done.filter(may_have) {
            Some(done) => Some((lake.plan(batch).await?, done)),
            None => None,
        })
    });
    let mut batches = pin!(stream::iter(batches).buffered(AT_ONCE));
    let mut found = Vec::new();
    while let Some(batch) = batches.try_next().await? {
        let Some((plan, done)) = batch else { continue };
        for (number, text) in plan.segments.into_iter().enumerate() {
            let Ok(name) = text.parse::<SegmentName>() else { continue };
            let is_host = host.is_none_or(|host| name.host.as_str() == host);
            let is_in_time = match done.times.get(number).copied().flatten() {
                Some(times) => is_touched(times),
                // It is known when it begins, but not when it ends.
                None => (name.start_ns as i64) < times.end,
            };
            if is_host && is_in_time {
                found.push(((name.host, name.session, name.start_ns), text));
            }
        }
    }
    found.sort();
    found.dedup();
    Ok(found.into_iter().map(|(_, text)| text).collect())
}

/// A lane: session, registry, thread, kind.
type Lane = (u64, u64, u32, u8);

/// What each lane had before its first part in the stream.
#[derive(Default)]
struct Starts {
    lanes: HashMap<Lane, Start>,
    /// By session.
    syncs: HashMap<u64, Loss>,
}

#[derive(Clone, Copy)]
struct Start {
    before: u64,
    lost: Loss,
    excluded: u64,
}

impl Starts {
    /// Makes a header count from the beginning of the stream.
    fn change(&mut self, header: &mut Header) {
        match header.block_type {
            BlockType::Events => {
                let lane = (header.session, header.registry, header.thread, header.kind);
                let Header { before, lost, excluded, .. } = *header;
                let start = *self.lanes.entry(lane).or_insert(Start { before, lost, excluded });
                header.lost = less(header.lost, start.lost);
                // Recorded events before the start are excluded, also those that were lost.
                header.excluded = excluded.saturating_sub(start.excluded).saturating_add(start.before);
            }
            BlockType::Sync => {
                let start = *self.syncs.entry(header.session).or_insert(header.lost);
                header.lost = less(header.lost, start);
                // It counts events of all segments.
                header.before = 0;
            }
            _ => {}
        }
    }
}

fn less(all: Loss, start: Loss) -> Loss {
    Loss {
        pool: all.pool.saturating_sub(start.pool),
        reentrant: all.reentrant.saturating_sub(start.reentrant),
        sink: all.sink.saturating_sub(start.sink),
        truncated: all.truncated.saturating_sub(start.truncated),
    }
}
