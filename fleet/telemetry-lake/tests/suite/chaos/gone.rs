//! A host that is gone: its rows are deleted.

use telemetry_testing::made::{Made, Plan, START, blocks, edit, make};

use crate::chaos::hosts::registry;
use crate::chaos::plan::GONE;
use crate::lakes::{Form, TestLake, renumber};

/// Days by which its events are older than those of other hosts, whose clocks are off by an hour.
const OLDER: u64 = 3;

const DAY: u64 = 86_400_000_000_000;

/// The names and the bytes of segments.
pub(crate) type Segments = Vec<(String, Vec<u8>)>;

/// Cuts a stream into segments of about this many bytes.
pub(crate) fn cut(form: Form, host: &str, stream: &[u8], max_len: u64) -> Segments {
    let lake = TestLake::new(form);
    let segments = lake.ship_cut(host, stream, max_len).into_iter();
    let named = |path: std::path::PathBuf| {
        let name = path.strip_prefix(lake.path()).unwrap().to_str().unwrap().to_owned();
        (name, std::fs::read(path).unwrap())
    };
    segments.map(named).collect()
}

/// What is left of the host.
pub(crate) struct Gone {
    seed: u64,
    /// What the store has got.
    streams: Vec<Vec<u8>>,
}

impl Gone {
    pub(crate) fn new(seed: u64) -> Gone {
        Gone { seed, streams: Vec::new() }
    }

    /// The number of days from the day after its events until today.
    pub(crate) fn days_ago() -> u64 {
        let today = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        today.as_secs() / 86_400 - (START / DAY - OLDER + 1)
    }

    /// Says whether the store has got something.
    pub(crate) fn has_come(&self) -> bool {
        !self.streams.is_empty()
    }

    /// Makes the next segments.
    pub(crate) fn next(&mut self, form: Form) -> Segments {
        let number = self.streams.len() as u64;
        let plan = Plan { seed: self.seed + number, events: 300, block_size: 2048, ..Plan::default() };
        let Made { mut stream, .. } = make(&registry(), &plan);
        // Sessions of other hosts have the same numbers.
        renumber(&mut stream, number);
        for block in blocks(&stream) {
            edit(&mut stream[block], |header| {
                header.base_wall = header.base_wall.saturating_sub(OLDER * DAY)
            });
        }
        self.streams.push(stream.clone());
        cut(form, GONE, &stream, 4000)
    }

    /// Makes other segments of what the store has got.
    pub(crate) fn again(&self, form: Form) -> Segments {
        self.streams.iter().flat_map(|stream| cut(form, GONE, stream, 9000)).collect()
    }
}
