//! Events that programs lost, as their streams state it.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use telemetry_format::{BlockType, Header, LossCause};

/// The highest losses that blocks have stated of each lane, as readers count them.
///
/// A block that comes again adds nothing, nor does one that states less. It may be of a file that
/// is cut again, or of another stream of the session.
#[derive(Debug, Default)]
pub(crate) struct Lost(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// Lost events, in the order of [`LossCause::ALL`].
    sums: [u64; 3],
    lanes: BTreeMap<LaneKey, Lane>,
    /// Blocks that stated losses.
    blocks: u64,
}

/// Session, registry, thread, kind. The last three are 0 for losses that belong to no lane.
type LaneKey = (u64, u64, u32, u8);

/// What is known of a lane.
#[derive(Debug, Default)]
struct Lane {
    highest: [u64; 3],
    /// The number of the last block that stated losses.
    last: u64,
}

/// The most lanes of which sums are known: some 4 MiB. Only lanes with losses are among them.
const MAX_LANES: usize = 1 << 16;

impl Lost {
    /// Notes what a block states.
    pub(crate) fn note(&self, header: &Header) {
        let stated = LossCause::ALL.map(|cause| header.lost.of(cause));
        let is_account = matches!(header.block_type, BlockType::Events | BlockType::Sync);
        if is_account && stated != [0; 3] {
            self.state().note(header, stated);
        }
    }

    /// Returns the number of lost events by cause.
    pub(crate) fn events(&self) -> impl Iterator<Item = (LossCause, u64)> + use<> {
        let sums = self.state().sums;
        LossCause::ALL.into_iter().zip(sums)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn note(&mut self, header: &Header, stated: [u64; 3]) {
        self.blocks += 1;
        let key = (header.session, header.registry, header.thread, header.kind);
        let lane = self.lanes.entry(key).or_default();
        lane.last = self.blocks;
        for ((sum, known), stated) in self.sums.iter_mut().zip(&mut lane.highest).zip(stated) {
            *sum = sum.saturating_add(stated.saturating_sub(*known));
            *known = stated.max(*known);
        }
        if self.lanes.len() > MAX_LANES {
            self.forget();
        }
    }

    /// Forgets half of the lanes: those that have stated no losses for longest.
    fn forget(&mut self) {
        let mut last: Vec<_> = self.lanes.values().map(|lane| lane.last).collect();
        let (_, middle, _) = last.select_nth_unstable(MAX_LANES / 2);
        let middle = *middle;
        self.lanes.retain(|_, lane| lane.last > middle);
    }
}

#[cfg(test)]
mod tests {
    use telemetry_format::Loss;

    use super::*;

    /// A block of a session and a thread that states these losses.
    fn block(block_type: BlockType, session: u64, thread: u32, [pool, reentrant, sink]: [u64; 3]) -> Header {
        let lost = Loss { pool, reentrant, sink, truncated: 7 };
        Header { thread, lost, ..Header::new(block_type, session) }
    }

    fn sums(lost: &Lost) -> [u64; 3] {
        lost.state().sums
    }

    #[test]
    fn the_highest_sums_of_a_lane_count_once() {
        use BlockType::{Events, Session, Sync};
        for (blocks, wanted) in [
            (&[(Events, 1, 1, [0, 0, 0])][..], [0, 0, 0]),
            // They grow, come again, and are those of an earlier time.
            (&[(Events, 1, 1, [1, 0, 2]), (Events, 1, 1, [4, 0, 2])], [4, 0, 2]),
            (&[(Events, 1, 1, [4, 1, 2]), (Events, 1, 1, [4, 1, 2])], [4, 1, 2]),
            (&[(Events, 1, 1, [4, 0, 2]), (Events, 1, 1, [1, 5, 0])], [4, 5, 2]),
            // Lanes and sessions have sums of their own, and so have losses of no lane.
            (&[(Events, 1, 1, [4, 0, 2]), (Events, 1, 2, [1, 0, 0]), (Events, 2, 1, [4, 0, 0])], [9, 0, 2]),
            (&[(Sync, 1, 0, [3, 1, 0]), (Events, 1, 1, [4, 0, 0]), (Sync, 1, 0, [3, 2, 0])], [7, 2, 0]),
            (&[(Session, 1, 0, [3, 1, 0])], [0, 0, 0]),
            (&[(Events, 1, 1, [u64::MAX, 0, 0]), (Events, 1, 2, [2, 0, 1])], [u64::MAX, 0, 1]),
        ] {
            let lost = Lost::default();
            for &(block_type, session, thread, stated) in blocks {
                lost.note(&block(block_type, session, thread, stated));
            }
            assert_eq!(sums(&lost), wanted, "{blocks:?}");
            assert!(lost.events().eq(LossCause::ALL.into_iter().zip(wanted)));
        }
    }

    /// A shipper that runs for months meets more lanes with losses than it can remember. They may
    /// all be of one session.
    #[test]
    fn the_oldest_lanes_are_forgotten() {
        for of_lane in [|n: u32| (u64::from(n), 1), |n: u32| (1, n)] {
            let note = |lost: &Lost, n| {
                let (session, thread) = of_lane(n);
                lost.note(&block(BlockType::Events, session, thread, [1, 0, 0]));
            };
            let (lost, lanes) = (Lost::default(), MAX_LANES as u32 * 2);
            for n in 1..=lanes {
                note(&lost, n);
                assert!(lost.state().lanes.len() <= MAX_LANES);
            }
            assert_eq!(sums(&lost), [u64::from(lanes), 0, 0]);
            // The last ones are known, and the first is counted again.
            for (n, counted) in [(lanes, 0), (lanes - 1000, 0), (1, 1)] {
                let before = sums(&lost)[0];
                note(&lost, n);
                assert_eq!(sums(&lost)[0] - before, counted, "{n}");
            }
        }
    }
}
