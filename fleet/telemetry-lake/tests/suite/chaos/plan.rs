//! What happens in a schedule. It follows from the seed alone, whatever the processes do.

use telemetry_testing::made::Random;

use crate::commit::FORMS;
use crate::kills;
use crate::lakes::Form;

/// Points at which a process ends.
const SHIPPER: [(&str, u64); 6] = [
    ("ship-live-cut", 3),
    ("ship-spooled", 3),
    ("ship-before-remove", 3),
    ("ship-before-file-removed", 2),
    ("ship-shed", 3),
    ("ship-shed-kept", 3),
];
const COLLECTOR: [(&str, u64); 4] =
    [("collect-received", 3), ("collect-before-put", 3), ("collect-after-put", 3), ("collect-answer", 3)];

/// A compaction never comes to `checkpoint`: it writes one in 100 versions of a table.
const COMPACTION: [(&str, u64); 4] = [("plan", 1), ("file", 3), ("delta", 8), ("done", 1)];

/// A deletion never comes to `file`: no file has rows of [`GONE`] beside those of another host.
const DELETION: [(&str, u64); 5] = [("plan", 1), ("states", 1), ("delta", 5), ("delete", 10), ("done", 1)];

/// By command: the points at which a schedule may end it. Each is one that the command has.
static POINTS: [(&str, &[(&str, u64)]); 5] = [
    ("ship", &SHIPPER),
    ("collect", &COLLECTOR),
    ("commit", &kills::POINTS),
    ("compact", &COMPACTION),
    ("delete", &DELETION),
];

/// Returns all commands with their points, as in `commit:plan`.
pub(crate) fn points() -> impl Iterator<Item = String> {
    POINTS
        .iter()
        .flat_map(|(command, points)| points.iter().map(move |(point, _)| format!("{command}:{point}")))
}

/// Hosts of a schedule. The first has a certificate, and the second a token.
pub(crate) const HOSTS: usize = 2;

/// Collectors of a schedule. They have the same store.
pub(crate) const COLLECTORS: usize = 2;

/// A host of which only segments are left. They are older than those of other hosts, and go.
pub(crate) const GONE: &str = "gone";

/// Streams of a host that are made, and not those of programs.
pub(crate) const STREAMS: u64 = 3;

/// A schedule.
#[derive(Debug, Clone)]
pub(crate) struct Schedule {
    pub(crate) seed: u64,
    pub(crate) store: StoreKind,
    pub(crate) form: Form,
    pub(crate) steps: Vec<Step>,
}

/// Where the segments and the tables are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum StoreKind {
    Directory,
    /// A server in this process, with the worst answers that S3 gives.
    Fake,
    Moto,
}

/// A point and its time, at which a process that is started ends.
pub(crate) type Point = Option<String>;

/// What a command that changes tables meets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Beside {
    /// Committers that run, or that left a batch. Then it seldom comes far.
    Committers,
    /// Tables in which everything is committed.
    Nothing,
}

/// Something that happens.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    /// A host closes a file with its next stream. The file ends in the midst after a number of
    /// thousandths of its bytes.
    File { host: usize, cut: Option<u64> },
    /// A host sends its next stream as a program does, and again until it has arrived.
    Live { host: usize },
    /// A program starts.
    Program(Program),
    /// A host closes a file again that it closed before, as after a restored backup.
    Again { host: usize, number: u64 },
    /// The store gets a stream of a host in other segments, as from another path. The last one may
    /// be cut off in its midst.
    OtherCut { host: usize, number: u64, is_half: bool },
    /// A shipper is killed. Another one starts, and ends at a point. It sends to a collector.
    Shipper { host: usize, to: usize, point: Point },
    /// A collector is killed. Another one starts, and ends at a point.
    Collector { which: usize, point: Point },
    /// There is no collector. A program may record more than a spool holds meanwhile.
    Offline { busy: Option<Program> },
    /// The disk of a spool gets full, or has space again.
    Disk { whose: usize, is_full: bool },
    /// A host gets another certificate or token.
    Access { host: usize, is_good: bool },
    /// One or two committers start, beside those that run.
    Commit { points: Vec<Point> },
    /// Files of tables are joined.
    Compact { point: Point, beside: Beside },
    /// The store gets further segments of [`GONE`].
    OfGone,
    /// Rows and segments of [`GONE`] are deleted.
    Delete { point: Point, beside: Beside },
    /// Segments of days before those of the other hosts are deleted.
    Vacuum,
    /// From now on, one request in this number fails; 0 is none.
    Faults { one_in: u64 },
    /// Everything is killed. What has arrived and what is on the way make up what was recorded.
    Audit,
}

/// A program that emits.
#[derive(Debug, Clone)]
pub(crate) struct Program {
    pub(crate) host: usize,
    /// The version of its registry.
    pub(crate) version: &'static str,
    /// Events of each lane.
    pub(crate) events: u64,
    pub(crate) rounds: u64,
    /// Whether it sends its stream, and writes no file.
    pub(crate) is_live: bool,
    /// Whether its memory is too small.
    pub(crate) is_short: bool,
    /// Whether a kind is output only from the middle on.
    pub(crate) is_late: bool,
    /// Milliseconds after which it is killed.
    pub(crate) killed: Option<u64>,
}

impl Schedule {
    pub(crate) fn new(seed: u64) -> Schedule {
        let mut random = Random(seed);
        let store = [StoreKind::Directory, StoreKind::Fake, StoreKind::Moto][random.below(3) as usize];
        let form = FORMS[random.below(3) as usize];
        let mut steps: Vec<_> = (0..20).map(|_| step(&mut random, form)).collect();
        // A schedule without these shows little.
        for host in 0..HOSTS {
            let at = random.below(steps.len() as u64) as usize;
            steps.insert(at, Step::Program(program(&mut random, host)));
        }
        if random.below(3) == 0 {
            steps.push(Step::Audit);
        }
        Schedule { seed, store, form, steps }
    }
}

/// One of the points, at one of its times, or none.
fn point(random: &mut Random, points: &[(&str, u64)]) -> Point {
    let (point, most) = points[random.below(points.len() as u64) as usize];
    let time = 1 + random.below(most);
    (random.below(3) > 0).then(|| format!("{point}:{time}"))
}

fn step(random: &mut Random, form: Form) -> Step {
    let host = random.below(HOSTS as u64) as usize;
    let number = random.below(STREAMS);
    match random.below(26) {
        0..3 => Step::File { host, cut: (random.below(3) == 0).then(|| random.below(1000)) },
        3..5 => Step::Live { host },
        5 | 6 => Step::Program(program(random, host)),
        7 => Step::Again { host, number },
        8 | 9 => Step::OtherCut { host, number, is_half: random.below(2) == 0 },
        10 | 11 => {
            let to = random.below(COLLECTORS as u64) as usize;
            Step::Shipper { host, to, point: point(random, &SHIPPER) }
        }
        12 | 13 => {
            let which = random.below(COLLECTORS as u64) as usize;
            Step::Collector { which, point: point(random, &COLLECTOR) }
        }
        14 => Step::Offline { busy: (random.below(4) == 0).then(|| busy(host)) },
        15 => Step::Access { host, is_good: random.below(2) == 0 },
        16 => Step::Faults { one_in: [0, 20, 6][random.below(3) as usize] },
        17 | 18 => {
            let whose = random.below((HOSTS + COLLECTORS) as u64) as usize;
            Step::Disk { whose, is_full: random.below(3) > 0 }
        }
        19 => Step::OfGone,
        20 => Step::Delete { point: point(random, &DELETION), beside: beside(random) },
        21 => Step::Vacuum,
        22 if form.format.word() == "delta" => {
            Step::Compact { point: point(random, &COMPACTION), beside: beside(random) }
        }
        _ => {
            let count = 1 + random.below(2);
            Step::Commit { points: (0..count).map(|_| point(random, &kills::POINTS)).collect() }
        }
    }
}

fn beside(random: &mut Random) -> Beside {
    [Beside::Committers, Beside::Nothing][random.below(2) as usize]
}

fn program(random: &mut Random, host: usize) -> Program {
    let versions = ["first", "minor", "median", "changed", "major"];
    let is_live = random.below(2) == 0;
    Program {
        host,
        version: versions[random.below(5) as usize],
        events: 200 + random.below(1500),
        rounds: 1 + random.below(20),
        is_live,
        is_short: random.below(3) == 0,
        is_late: random.below(3) == 0,
        killed: (random.below(4) == 0).then(|| 5 + random.below(80)),
    }
}

/// A program that records some MiB at once.
fn busy(host: usize) -> Program {
    Program {
        host,
        version: "first",
        events: 30_000,
        rounds: 1,
        is_live: true,
        is_short: false,
        is_late: false,
        killed: None,
    }
}
