//! Sessions as processes, and their threads, with numbers that no two of them share.

use hashbrown::{HashMap, HashSet};
use telemetry_decode::Session;

/// Made-up numbers of processes and threads begin here. Linux has none above.
const MADE_UP: u32 = 1 << 22;

/// A session as a process.
#[derive(Debug, Clone)]
pub(crate) struct Process {
    /// Its own number, or a made-up one if it has none or another session has the same.
    pub(crate) pid: u32,
    pub(crate) name: String,
    /// Its start in nanoseconds since 1970.
    pub(crate) start: i64,
    /// Some of its threads say their number.
    has_tids: bool,
}

/// All processes.
#[derive(Debug, Default)]
pub(crate) struct Processes {
    by_session: HashMap<u64, Process>,
    pids: HashSet<u32>,
    tids: HashSet<(u32, u32)>,
}

impl Processes {
    /// Returns a session's process, if it was added.
    pub(crate) fn get(&self, session: u64) -> Option<&Process> {
        self.by_session.get(&session)
    }

    /// Adds a session.
    pub(crate) fn add(&mut self, session: &Session) -> &Process {
        let said = session.facts.number("pid").and_then(|pid| u32::try_from(pid).ok());
        let pid = said.filter(|pid| *pid > 0 && !self.pids.contains(pid));
        let pid = pid.unwrap_or_else(|| {
            let made_up = (MADE_UP + self.pids.len() as u32..).find(|pid| !self.pids.contains(pid));
            made_up.unwrap_or(u32::MAX)
        });
        self.pids.insert(pid);
        let program = session.facts.text("program").unwrap_or("session");
        let name = match session.facts.text("host") {
            Some(host) => format!("{program} on {host}"),
            None => program.to_string(),
        };
        let has_tids = session.threads().values().any(|facts| facts.number("tid").is_some());
        let start = i64::try_from(session.clock.start_wall()).unwrap_or(i64::MAX);
        let process = Process { pid, name, start, has_tids };
        self.by_session.entry(session.id).or_insert(process)
    }

    /// Returns the number for a thread of a session that was added. Call it once for each thread.
    pub(crate) fn tid(&mut self, session: &Session, thread: u32) -> u32 {
        let (pid, has_tids) =
            self.get(session.id).map_or((0, false), |process| (process.pid, process.has_tids));
        let said = session.threads().get(&thread).and_then(|facts| facts.number("tid"));
        let said = said.and_then(|tid| u32::try_from(tid).ok()).filter(|tid| *tid > 0);
        let own = (!has_tids && thread > 0).then_some(thread);
        let free = said.or(own).filter(|tid| !self.tids.contains(&(pid, *tid)));
        let tid = free.unwrap_or_else(|| MADE_UP.saturating_add(thread));
        self.tids.insert((pid, tid));
        tid
    }
}
