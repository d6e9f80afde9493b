//! What is left of a segment whose events are shed: facts, labels, and the intervals.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use telemetry_decode::blocks::{Blocks, Piece};
use telemetry_format::{BlockType, HEADER_LEN, Header, flags};

use crate::segment::cutter::Segment;
use crate::segment::interval::Intervals;
use crate::segment::name::{Host, SegmentName};
use crate::segment::text::{Text, own_fingerprint};

/// Writes to `dir` what is left of the segment in `file` without its events: the facts, the labels,
/// and for each run of events of a lane two parts without events, as `docs/format.md` in the
/// repository says.
///
/// Returns the new segment and the number of events that are shed, or `None` if there are none.
///
/// # Errors
/// Those of the files.
pub fn shed(file: &Path, host: &Host, dir: &Path) -> io::Result<Option<(Segment, u64)>> {
    let mut blocks = Blocks::new(File::open(file)?);
    let mut left = Vec::new();
    let mut labels: Vec<_> = own_fingerprint().into_iter().collect();
    let mut lanes: BTreeMap<(u64, u32, u8), Vec<Run>> = BTreeMap::new();
    let (mut sync, mut counted, mut session) = (Vec::new(), (0, 0), 0);
    let mut intervals = Intervals::default();
    while let Some(piece) = blocks.next()? {
        let Piece::Block(block) = piece else { continue };
        let header = block.header.clone();
        session = header.session;
        match header.block_type {
            BlockType::Events if header.is_withheld() => {
                intervals.add(&header);
                left.extend_from_slice(block.bytes);
            }
            BlockType::Events if header.thread != 0 || !labels.contains(&header.registry) => {
                add(lanes.entry((header.registry, header.thread, header.kind)).or_default(), header);
            }
            // The one that counts most has all that the others of its stream say.
            BlockType::Sync if (header.flags, header.before) >= counted => {
                (sync, counted) = (block.bytes.to_vec(), (header.flags, header.before));
            }
            BlockType::Sync => {}
            block_type => {
                if block_type == BlockType::Registry && Text::of(&block).is_own() {
                    labels.push(header.registry);
                } else if block_type == BlockType::Events {
                    intervals.add(&header);
                }
                left.extend_from_slice(block.bytes);
            }
        }
    }
    let mut start_ns = u64::MAX;
    for run in lanes.values().flatten() {
        // A run without events only states sums.
        let parts = if run.end > run.first.before { 2 } else { 1 };
        for header in &run.parts()[..parts] {
            intervals.add(header);
            start_ns = start_ns.min(header.base_wall);
            left.extend_from_slice(&header.encode(crc32c::crc32c));
        }
    }
    let events: u64 = lanes.values().map(|runs| events_in(runs)).sum();
    if events == 0 {
        return Ok(None);
    }
    left.extend_from_slice(&sync);
    let name = SegmentName { host: host.clone(), session, start_ns, intervals: intervals.checksum() };
    let text = name.to_string();
    let path = dir.join(Path::new(&text).file_name().unwrap_or_default());
    let mut file = File::create(&path)?;
    file.write_all(&left)?;
    file.sync_all()?;
    Ok(Some((Segment { name, path, len: left.len() as u64, events: 0, withheld: 0, priority: 9 }, events)))
}

/// Events of a lane with consecutive numbers.
struct Run {
    first: Header,
    last: Header,
    end: u64,
}

fn add(runs: &mut Vec<Run>, header: Header) {
    let end = header.before + u64::from(header.events);
    match runs.last_mut() {
        // Without events, only the latest sums count.
        Some(run) if run.end == run.first.before && header.before == end && end == run.end => {
            *run = Run { first: header.clone(), last: header, end };
        }
        Some(run) if run.first.before <= header.before && header.before <= run.end => {
            // Not a part that comes again.
            if end >= run.end {
                (run.last, run.end) = (header, end);
            }
        }
        _ => runs.push(Run { first: header.clone(), last: header, end }),
    }
}

/// Returns the number of events in runs, which may overlap.
fn events_in(runs: &[Run]) -> u64 {
    let mut ranges: Vec<_> = runs.iter().map(|run| (run.first.before, run.end)).collect();
    ranges.sort_unstable();
    let (mut events, mut at) = (0, 0);
    for (from, until) in ranges {
        events += until.saturating_sub(from.max(at));
        at = until.max(at);
    }
    events
}

impl Run {
    /// Returns the headers of the two parts.
    fn parts(&self) -> [Header; 2] {
        let empty = |header: &Header, before, offset, flags| Header {
            before,
            offset,
            flags,
            header_len: HEADER_LEN as u16,
            codec: 0,
            events: 0,
            payload_len: 0,
            unpacked_len: 0,
            payload_crc: 0,
            ..header.clone()
        };
        let (first, last) = (&self.first, &self.last);
        let begin = empty(first, first.before, first.offset, 0);
        let end = empty(last, self.end, last.offset.saturating_add(last.unpacked_len), flags::SHED);
        [Header { end_ticks: first.base_ticks, ..begin }, end]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_that_come_again_or_late_are_shed_once() {
        for (parts, wanted, events) in [
            (&[(0, 10), (10, 10)][..], &[(0, 20)][..], 20),
            (&[(0, 10), (20, 5)], &[(0, 10), (20, 25)], 15),
            // Again, in whole and in part.
            (&[(0, 10), (10, 10), (0, 10)], &[(0, 20)], 20),
            (&[(0, 10), (5, 10)], &[(0, 15)], 15),
            // Those of another stream, from an earlier begin.
            (&[(50, 50), (0, 60)], &[(50, 100), (0, 60)], 100),
            // Sums alone.
            (&[(10, 0), (10, 0)], &[(10, 10)], 0),
        ] {
            let mut runs = Vec::new();
            for (before, events) in parts {
                let header = Header { before: *before, events: *events, ..Header::new(BlockType::Events, 1) };
                add(&mut runs, header);
            }
            let found: Vec<_> = runs.iter().map(|run| (run.first.before, run.end)).collect();
            assert_eq!((&found[..], events_in(&runs)), (wanted, events), "{parts:?}");
            let last = runs.iter().map(|run| run.last.before + u64::from(run.last.events));
            assert!(last.eq(runs.iter().map(|run| run.end)), "{parts:?}");
        }
    }
}
