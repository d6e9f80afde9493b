//! Measures a commit against the conversion of its segments alone, in processor time of the
//! process: `commit [HOSTS [SEGMENTS-OF-A-HOST [EVENTS-OF-A-SEGMENT]]]`.
//!
//! The store is a directory. Both use one thread, so that the ratio does not depend on processors.

use std::path::Path;
use std::time::Instant;

use telemetry_decode::blocks::{Blocks, Piece};
use telemetry_decode::writer::{Lane, Writer};
use telemetry_decode::{Facts, Value};
use telemetry_fleet::segment::Cutter;
use telemetry_lake::catalog::Catalog;
use telemetry_lake::commit::{How, commit_next};
use telemetry_lake::convert::convert;
use telemetry_lake::lake::{Format, Lake};
use telemetry_lake::lease::Lease;
use telemetry_lake::state::SessionState;
use telemetry_testing::made::{Random, START};

const REGISTRY: &str = r#"
[registry]
name = "app"
version = "1.0.0"
doc = "Measured"

[kinds]
Work = { bit = 0, doc = "work" }

[[event]]
name = "Alloc"
code = 1
kind = "Work"
doc = "An allocation"
params = [
  { name = "address", sort = "addr", doc = "where" },
  { name = "size", sort = "word", doc = "bytes" },
]
"#;

/// The segments of one host, which are of one session.
struct OfHost {
    host: String,
    session: u64,
    segments: Vec<u8>,
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default| arguments.next().map_or(default, |text| text.parse().expect("a number"));
    let (hosts, of_host, events): (u64, u64, u64) = (number(100), number(10), number(2000));
    let dir = tempfile::tempdir().expect("a directory");
    let all: Vec<_> = (1..=hosts).map(|host| ship(dir.path(), host, of_host, events)).collect();
    let (conversion, rows) = measured(|| {
        let convert = |of: &OfHost| {
            let host = of.host.clone();
            let mut state = SessionState { host, session: of.session, ..SessionState::default() };
            let converted = convert(&of.segments, &mut state, &mut Catalog::default(), false);
            converted.expect("a stream").files.iter().map(|file| file.rows).sum::<u64>()
        };
        // A commit converts sessions on other threads, too, whose memory is cold.
        let on_thread = |of| std::thread::scope(|scope| scope.spawn(|| convert(of)).join().expect("rows"));
        all.iter().map(on_thread).sum::<u64>()
    });
    println!("conversion: {rows} rows, {conversion}");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let (commit, segments) = measured(|| runtime.block_on(commit(dir.path(), hosts * of_host)));
    println!("commit: {segments} segments, {commit}");
    println!(
        "commit beyond conversion: {:.2} s of a processor, {:.2} times conversion",
        commit.processor - conversion.processor,
        commit.processor / conversion.processor
    );
}

/// Ships the stream of a host in about this many segments.
fn ship(store: &Path, number: u64, segments: u64, events: u64) -> OfHost {
    let (host, session) = (format!("h{number}"), number);
    let registry = telemetry_schema::parse(REGISTRY).expect("it is valid");
    let mut writer = Writer::new(Vec::new()).block_size(8000);
    let mut facts = Facts::default();
    facts.set("clock", "os");
    writer.session(session, &facts, 0, START).unwrap();
    let registry = writer.registry(session, &registry).unwrap();
    let (mut random, mut now) = (Random(number), 0);
    for event in 0..segments * events {
        now += 20 + random.below(60);
        let lane = Lane { session, thread: 1 + (event % 4) as u32, registry };
        let values = [Value::Addr(16 * random.below(1 << 40)), Value::Word(8 * random.below(100))];
        writer.event(lane, 1, now, &values).unwrap();
        if event % events == events - 1 {
            writer.flush().unwrap();
        }
    }
    writer.end(session, now + 1).unwrap();
    let stream = writer.finish().unwrap();
    let mut cutter = Cutter::new(store, host.parse().unwrap(), stream.len() as u64 / segments);
    let (mut blocks, mut cut) = (Blocks::from_slice(&stream), Vec::new());
    while let Some(piece) = blocks.next().unwrap() {
        if let Piece::Block(block) = piece {
            cut.extend(cutter.push(&block).unwrap());
        }
    }
    cut.extend(cutter.finish().unwrap());
    let mut together = Vec::new();
    for segment in cut {
        let place = store.join(segment.name.to_string());
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        together.extend(std::fs::read(&segment.path).unwrap());
        std::fs::rename(&segment.path, place).unwrap();
    }
    OfHost { host, session, segments: together }
}

/// Commits everything in one batch. Returns the number of segments.
async fn commit(store: &Path, most: u64) -> usize {
    let address = format!("file://{}", store.display());
    let lake = Lake::init(&address, Format::Delta, None).await.expect("a lake");
    let lease = Lease::take(&lake.store, 60).await.expect("a lease");
    let segments = most as usize * 2;
    let how = How { segments, threads: 1, checkpoint: 100, shows_sensitive: false };
    let done = commit_next(&lake, &lease, how).await.expect("a commit").expect("a batch");
    done.segments
}

/// What something takes, in seconds.
struct Taken {
    processor: f64,
    elapsed: f64,
}

impl std::fmt::Display for Taken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.2} s of a processor, {:.2} s in all", self.processor, self.elapsed)
    }
}

fn measured<T>(work: impl FnOnce() -> T) -> (Taken, T) {
    let (processor, start) = (cpu_seconds(), Instant::now());
    let done = work();
    (Taken { processor: cpu_seconds() - processor, elapsed: start.elapsed().as_secs_f64() }, done)
}

/// Returns the processor time of this process, all threads.
fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").expect("Linux");
    // The name of the program may have spaces. Times are in hundredths of a second.
    let fields = text.rsplit_once(')').expect("a name").1;
    let ticks = fields.split_whitespace().skip(11).take(2).map(|text| text.parse::<f64>().expect("a number"));
    ticks.sum::<f64>() / 100.0
}
