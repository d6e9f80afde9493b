//! Sums over the headers of a stream: where each event of each lane went, without the reader's
//! help.

use std::collections::BTreeMap;
use std::path::Path;

use telemetry_decode::blocks::{Blocks, Piece};
use telemetry_format::{BlockType, Loss};

/// The first bytes of the runtime's own registry.
const OWN: &[u8] = b"[registry]\nname = \"telemetry\"\n";

/// The account of one stream.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Ledger {
    /// The program's events in it, and the runtime's.
    pub(crate) covered: u64,
    pub(crate) own: u64,
    /// Events that were not meant for it.
    pub(crate) excluded: u64,
    /// Events lost by its lanes, or without a lane.
    pub(crate) lost: Loss,
    /// Events that the sync block says were written.
    pub(crate) given: u64,
}

#[derive(Default)]
struct Lane {
    /// Runs of event numbers, and the highest number.
    covered: Vec<(u64, u64)>,
    end: u64,
    excluded: u64,
    lost: Loss,
}

impl Ledger {
    /// Reads a stream of one session. The test fails if the stream is damaged, has an event twice,
    /// or leaves one unexplained.
    pub(crate) fn of(path: impl AsRef<Path>) -> Ledger {
        let file = std::fs::File::open(path).expect("a stream");
        let mut blocks = Blocks::new(file);
        let (mut ledger, mut lanes) = (Ledger::default(), BTreeMap::<_, Lane>::new());
        let mut own = None;
        while let Some(piece) = blocks.next().expect("a readable stream") {
            let Piece::Block(block) = piece else { panic!("{piece:?}") };
            let header = block.header;
            match header.block_type {
                BlockType::Events => {
                    let lane = lanes.entry((header.thread, header.registry, header.kind)).or_default();
                    let end = header.before + u64::from(header.events);
                    lane.covered.push((header.before, end));
                    lane.end = lane.end.max(end);
                    lane.excluded = lane.excluded.max(header.excluded);
                    add(&mut lane.lost, &header.lost, u64::max);
                }
                BlockType::Sync => {
                    add(&mut ledger.lost, &header.lost, u64::max);
                    ledger.given = ledger.given.max(header.before);
                }
                BlockType::Registry if block.payload.starts_with(OWN) => own = Some(header.registry),
                _ => {}
            }
        }
        for (name, mut lane) in lanes {
            lane.covered.sort_unstable();
            assert!(lane.covered.windows(2).all(|two| two[0].1 <= two[1].0), "{name:?} gives events twice");
            let covered: u64 = lane.covered.iter().map(|(from, to)| to - from).sum();
            let explained = covered + lane.excluded + lane.lost.sink;
            assert_eq!(explained, lane.end, "{name:?}: {covered} + {} + {:?}", lane.excluded, lane.lost);
            if Some(name.1) == own {
                ledger.own += covered;
                continue;
            }
            ledger.covered += covered;
            ledger.excluded += lane.excluded;
            add(&mut ledger.lost, &lane.lost, u64::wrapping_add);
        }
        ledger
    }

    /// All events in the program's lanes.
    pub(crate) fn emitted(&self) -> u64 {
        self.covered + self.excluded + self.lost.events()
    }
}

fn add(sum: &mut Loss, more: &Loss, how: impl Fn(u64, u64) -> u64) {
    sum.pool = how(sum.pool, more.pool);
    sum.reentrant = how(sum.reentrant, more.reentrant);
    sum.sink = how(sum.sink, more.sink);
    sum.truncated = how(sum.truncated, more.truncated);
}
