//! What hosts record, and what must become of it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use telemetry_decode::accounts::HeaderSums;
use telemetry_decode::blocks::{Blocks, Piece};
use telemetry_format::{BlockType, Header};
use telemetry_testing::made::{Made, Plan, blocks, make, turn_clock};

use crate::chaos::plan::{Program, STREAMS};
use crate::chaos::process::Process;
use crate::lakes::renumber;

/// A host with its streams and programs.
pub(crate) struct Host {
    pub(crate) name: String,
    /// The kind of its streams that shippers withhold.
    pub(crate) withheld: Option<u8>,
    /// Streams that it has not recorded yet.
    pub(crate) future: Vec<Made>,
    pub(crate) recorded: Vec<Recorded>,
    pub(crate) programs: Vec<Started>,
    pub(crate) shipper: Option<Process>,
    /// The collector that shippers send to from their next start on.
    pub(crate) to: usize,
    /// How many shippers have started.
    pub(crate) starts: u64,
}

/// A lane of a host: session, fingerprint of the registry, thread, kind.
pub(crate) type OwnLane = (u64, u64, u32, u8);

/// What a stream says of a lane.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Account {
    pub(crate) recorded: u64,
    pub(crate) sums: HeaderSums,
}

/// A stream that a host has recorded.
pub(crate) struct Recorded {
    /// The last block may not be whole.
    pub(crate) stream: Vec<u8>,
    whole_len: usize,
    pub(crate) accounts: BTreeMap<OwnLane, Account>,
}

impl Recorded {
    /// Records a stream, of which `cut` thousandths are left.
    pub(crate) fn of(made: Made, cut: Option<u64>) -> Recorded {
        let mut stream = made.stream;
        let whole = accounts(&stream);
        // The writer's own account says the same.
        let lost: u64 = made.lost.values().map(|(loss, excluded)| loss.sink + excluded).sum();
        let recorded: u64 = whole.values().map(|account| account.recorded).sum();
        assert_eq!(recorded, made.events.len() as u64 + lost);
        let blocks = blocks(&stream);
        if let Some(thousandths) = cut {
            stream.truncate(stream.len() * thousandths as usize / 1000);
        }
        let ends = blocks.iter().map(|block| block.end).take_while(|end| *end <= stream.len());
        let (whole_len, accounts) = (ends.last().unwrap_or(0), accounts(&stream));
        Recorded { stream, whole_len, accounts }
    }

    /// The blocks that are whole.
    pub(crate) fn whole(&self) -> &[u8] {
        &self.stream[..self.whole_len]
    }
}

/// Returns the headers of all whole blocks of events.
pub(crate) fn headers(stream: &[u8]) -> Vec<Header> {
    let (mut blocks, mut headers) = (Blocks::from_slice(stream), Vec::new());
    while let Ok(Some(piece)) = blocks.next() {
        if let Piece::Block(block) = piece
            && block.header.block_type == BlockType::Events
        {
            headers.push(block.header);
        }
    }
    headers
}

pub(crate) fn lane_of(header: &Header) -> OwnLane {
    (header.session, header.registry, header.thread, header.kind)
}

/// Returns the accounts of lanes, as the headers of whole blocks state them.
fn accounts(stream: &[u8]) -> BTreeMap<OwnLane, Account> {
    let mut accounts = BTreeMap::<_, Account>::new();
    for header in headers(stream) {
        let account = accounts.entry(lane_of(&header)).or_default();
        account.recorded = account.recorded.max(header.before + u64::from(header.events));
        let (sums, known) = (HeaderSums::of(&header), &mut account.sums);
        known.excluded = known.excluded.max(sums.excluded);
        for (known, now) in [
            (&mut known.lost.pool, sums.lost.pool),
            (&mut known.lost.reentrant, sums.lost.reentrant),
            (&mut known.lost.sink, sums.lost.sink),
            (&mut known.lost.truncated, sums.lost.truncated),
        ] {
            *known = now.max(*known);
        }
    }
    accounts
}

/// A program that was started.
pub(crate) struct Started {
    pub(crate) plan: Program,
    pub(crate) process: Process,
    /// What it said.
    pub(crate) log: PathBuf,
    /// When it is killed.
    pub(crate) killed: Option<Instant>,
    /// The starts of shippers until then.
    pub(crate) starts: u64,
}

impl Started {
    pub(crate) fn kill_if_due(&mut self) {
        if self.killed.is_some_and(|killed| killed <= Instant::now()) {
            self.process.kill();
        }
    }

    /// Says whether it ended before its peer had read everything. Only its own log says so.
    pub(crate) fn has_unsent(&self) -> bool {
        std::fs::read_to_string(&self.log).unwrap().contains("[events-unsent]")
    }

    /// Waits until it has ended.
    pub(crate) fn end(&mut self) {
        if let Some(killed) = self.killed {
            while self.process.is_alive() && Instant::now() < killed {
                std::thread::sleep(Duration::from_millis(2));
            }
            self.process.kill();
        } else {
            assert_eq!(self.process.wait("a program"), Some(0), "a program");
        }
    }
}

/// The registry of all streams that are made.
pub(crate) fn registry() -> telemetry_schema::Registry {
    let mut registry = telemetry_testing::made::registry();
    for (kind, priority) in registry.kinds.iter_mut().zip([2, 5, 9]) {
        kind.priority = priority;
    }
    registry
}

/// Marks a parameter as sensitive, and returns the kind of its event.
fn mark(registry: &mut telemetry_schema::Registry) -> u8 {
    let event = registry.events.iter_mut().find(|event| event.name == "Made").expect("such an event");
    event.params[0].sensitive = Some(telemetry_schema::Sensitive::Personal);
    let event = event.clone();
    registry.kind_of(&event).bit
}

impl Host {
    pub(crate) fn new(seed: u64, number: usize) -> Host {
        let (mut registry, number) = (registry(), number as u64);
        let withheld = (seed + number).is_multiple_of(3).then(|| mark(&mut registry));
        let future = (0..STREAMS).map(|part| {
            let plan = Plan {
                seed: seed * 100 + number * 10 + part,
                sessions: 1 + part % 2,
                events: 5000,
                block_size: 2048,
                flush: 40,
                lose: [0, 30][(seed + part) as usize % 2],
                // Blocks of some are compressed.
                compress: (seed + number + part).is_multiple_of(4),
                ..Plan::default()
            };
            let mut made = make(&registry, &plan);
            renumber(&mut made.stream, 1000 * number + 10 * part);
            turn_clock(&mut made.stream, seed + number + part);
            made
        });
        Host {
            name: format!("h{number}"),
            withheld,
            future: future.collect(),
            recorded: Vec::new(),
            programs: Vec::new(),
            shipper: None,
            to: 0,
            starts: 0,
        }
    }

    /// Returns true for lanes of its own streams whose events shippers withhold.
    pub(crate) fn withholds(&self, lane: &OwnLane) -> bool {
        self.withheld == Some(lane.3)
    }
}
