//! Kills a process at any moment, and checks the ring file that it leaves.

use std::path::{Path, PathBuf};
use std::time::Duration;

use telemetry_decode::Reader;

use crate::ends::optimized_ring;
use crate::support::process::{Outcome, Process};

/// The ring file, and where a process moves that of an earlier one.
const RING: &str = "app.ring";
const OLD: &str = "app.ring.old";
/// The number of threads of the program.
const THREADS: usize = 4;

/// A process that was killed while it recorded.
pub(crate) struct Killed {
    run: Outcome,
    /// The process had moved the ring file of an earlier one.
    pub(crate) has_moved: bool,
    /// Events that its threads had recorded.
    pub(crate) recorded: u64,
    /// Threads of which only the latest events are there.
    pub(crate) wrapped: u64,
    /// Threads that had hardly begun.
    pub(crate) early: u64,
}

/// Runs the program `ring` with the flight recorder on, kills it this time after its start, and
/// checks its ring file. The latest events of each thread are there, and every missing event was
/// evicted. At its start, the process may find the ring file of an earlier one. Then that is whole,
/// wherever it is.
pub(crate) fn kill(buffer: &str, after: Duration, earlier: Option<&[u8]>) -> Killed {
    let process = Process::new(optimized_ring()).arg("0").env("TELEMETRY_RING", RING);
    let process =
        process.without("TELEMETRY_CONTROL").env("TELEMETRY_RECORD", "all").env("TELEMETRY_BUFFER", buffer);
    if let Some(earlier) = earlier {
        std::fs::write(process.dir().join(RING), earlier).expect("a file");
    }
    let run = process.killed_after_that(|dir| dir.join("told").exists(), after);
    let at = format!("{buffer}, {after:?}");
    let told = told(run.dir());
    let image = run.dir().join(RING);
    let has_moved = earlier.is_some_and(|earlier| has_moved(run.dir(), earlier));
    let mut killed = Killed { run, has_moved, recorded: 0, wrapped: 0, early: 0 };
    if earlier.is_some() && !has_moved || !image.exists() {
        assert_eq!(told, [0; THREADS], "{at}: no ring");
        return killed;
    }
    let found = Reader::open(&image).expect("an image").recover(&mut std::io::sink()).expect("what is left");
    assert!(found.refused.is_empty(), "{at}: {:?}", found.refused);
    let mut lanes: Vec<_> = found.lanes.iter().filter(|lane| lane.kind == 0).collect();
    for lane in &lanes {
        let sum = lane.recovered + lane.evicted + lane.written + lane.lost + lane.missing;
        assert_eq!((lane.recorded, lane.written, lane.lost, lane.missing), (sum, 0, 0, 0), "{at}: {lane:?}");
    }
    for (thread, told) in told.into_iter().enumerate() {
        let last = found.threads.iter().filter_map(|thread| Some((thread.thread, found.last_event(thread)?)));
        let mut its = last.filter(|(_, event)| {
            event.values().nth(3).and_then(|value| value.as_i128()) == Some(thread as i128)
        });
        let Some((number, last)) = its.next() else {
            assert_eq!(told, 0, "{at}: nothing of {told} events of thread {thread}");
            continue;
        };
        // One event may have been in progress.
        let recorded =
            last.values().next().and_then(|value| value.as_i128()).map_or(0, |last| last as u64 + 1);
        assert!((told..=told + 1).contains(&recorded), "{at}: told {told}, found {recorded}");
        let lane = lanes.iter().position(|lane| lane.thread == number).expect("an account");
        let lane = lanes.swap_remove(lane);
        assert_eq!(lane.recorded, recorded, "{at}: {lane:?}");
        killed.recorded += recorded;
        killed.wrapped += u64::from(lane.evicted > 0);
        killed.early += u64::from(recorded < 100);
    }
    killed
}

/// Returns a time after which to kill a process, from its number and a random one. A third of all
/// processes is killed in the first three milliseconds.
pub(crate) fn moment(number: u64, random: u64) -> Duration {
    Duration::from_micros(if number.is_multiple_of(3) { random % 3000 } else { random % 40_000 })
}

impl Killed {
    /// Returns the ring file that the next process finds, if there is one.
    pub(crate) fn ring(&self) -> Option<Vec<u8>> {
        // An empty file makes way without a trace.
        read(self.run.dir().join(RING)).filter(|bytes| !bytes.is_empty())
    }
}

/// Returns the number of events that each thread reported.
fn told(dir: &Path) -> [u64; THREADS] {
    let told = std::fs::read(dir.join("told")).expect("what the threads told");
    std::array::from_fn(|thread| {
        told.get(thread * 8..thread * 8 + 8)
            .map_or(0, |bytes| u64::from_le_bytes(bytes.try_into().expect("8 bytes")))
    })
}

/// Returns true if a process has moved the ring file of an earlier one. Wherever that file is, it
/// is as it was.
fn has_moved(dir: &Path, earlier: &[u8]) -> bool {
    let [new, old] = [RING, OLD].map(|name| read(dir.join(name)));
    let has_moved = old.is_some();
    assert!(old.or(new).as_deref() == Some(earlier), "the ring file of the earlier process has changed");
    has_moved
}

fn read(path: PathBuf) -> Option<Vec<u8>> {
    std::fs::read(path).ok()
}
