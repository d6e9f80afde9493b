//! The directories of sockets, and the checks before a request is sent to a socket.

use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::pid::Pid;
use super::ring::{DeadRing, dead_rings};
use crate::term::ended::Failure;
use crate::term::native;

/// A directory of sockets that only its owner can change.
pub(crate) struct Place {
    dir: PathBuf,
    owner: u32,
}

/// A process with a socket that may be its own; [`Process::ask`] checks that.
pub(crate) struct Process {
    pub(crate) pid: Pid,
    pub(super) path: PathBuf,
    pub(super) owner: u32,
    /// Another process passes the connections on: `telemetry listen --control`.
    pub(super) is_via: bool,
}

/// The content of a directory.
#[derive(Default)]
pub(crate) struct Found {
    pub(crate) processes: Vec<Process>,
    pub(crate) rings: Vec<DeadRing>,
}

impl Place {
    /// Returns the directory that `TELEMETRY_SOCKET` names, or that of the user, or for root those
    /// of all users. Missing directories are left out.
    pub(crate) fn all() -> Result<Vec<Place>, Failure> {
        let user = native::user();
        let named = std::env::var_os("TELEMETRY_SOCKET").filter(|set| set.as_encoded_bytes().contains(&b'/'));
        let mut places = Vec::new();
        if let Some(dir) = named {
            let dir = PathBuf::from(dir);
            // Root may look at the processes of all users.
            let owner = if user == 0 { owner_of(&dir) } else { Some(user) };
            places.extend(Place::at(dir, owner.unwrap_or(user))?);
        } else if user != 0 {
            places.extend(Place::at(format!("{BASE}{user}").into(), user)?);
        } else {
            for entry in std::fs::read_dir("/tmp").into_iter().flatten().flatten() {
                let path = entry.path();
                let number = path.to_str().and_then(|path| path.strip_prefix(BASE)).and_then(number);
                if let Some(owner) = number {
                    // Another user's directory is that user's concern, and no reason to stop.
                    match Place::at(path, owner) {
                        Err(failure) if owner == 0 => return Err(failure),
                        place => places.extend(place.ok().flatten()),
                    }
                }
            }
        }
        Ok(places)
    }

    /// Opens a directory if it exists. Only its owner may write to it: another user who can write
    /// there could replace a socket.
    pub(crate) fn at(dir: PathBuf, owner: u32) -> Result<Option<Place>, Failure> {
        let refused = |why: String| Failure::new(format!("cannot trust `{}`: {why}", dir.display()));
        let metadata = match dir.symlink_metadata() {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            metadata => metadata.map_err(|error| refused(error.to_string()))?,
        };
        let above = dir.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let above = above.metadata().map_err(|error| refused(error.to_string()))?;
        if !metadata.is_dir() {
            Err(refused("it is not a directory".into()))
        } else if metadata.uid() != owner {
            Err(refused(format!("it belongs to user {}, expected {owner}", metadata.uid())))
        } else if metadata.mode() & 0o022 != 0 {
            let mode = metadata.mode() & 0o7777;
            Err(refused(format!(
                "others may write to it, mode {mode:04o}; help: chmod 700 {}",
                dir.display()
            )))
        } else if above.mode() & 0o1002 == 0o2 {
            Err(refused("any user may replace it, since the directory above is open to all".into()))
        } else {
            Ok(Some(Place { dir, owner }))
        }
    }

    /// Returns the process with this number, if it has a socket here.
    pub(super) fn process(&self, pid: Pid) -> Option<Process> {
        let path = self.dir.join(pid.to_string());
        path.symlink_metadata().is_ok().then_some(Process { pid, path, owner: self.owner, is_via: false })
    }

    /// Lists the directory.
    pub(crate) fn find(&self) -> Found {
        let mut found = Found::default();
        for entry in std::fs::read_dir(&self.dir).into_iter().flatten().flatten() {
            let (path, name) = (entry.path(), entry.file_name());
            let name = name.to_string_lossy();
            if let Ok(pid) = name.parse() {
                found.processes.push(Process { pid, path, owner: self.owner, is_via: false });
            } else if let Some(pid) = name.strip_suffix(".ring").and_then(|name| name.parse().ok()) {
                found.rings.extend(self.dead_rings(pid));
            } else if let Some(hidden) = name.strip_prefix('.') {
                self.sweep(hidden, &path);
            }
        }
        found.processes.sort_by_key(|process| process.pid);
        found.rings.sort_by_key(|ring| ring.pid);
        // Links of earlier processes with the same number may lead to the same file.
        let mut rings: Vec<DeadRing> = Vec::new();
        for ring in found.rings.drain(..) {
            if !rings.iter().any(|known| known.is(&ring)) {
                rings.push(ring);
            }
        }
        found.rings = rings;
        found
    }

    /// Returns the ring files of a process, if the process is dead.
    fn dead_rings(&self, pid: Pid) -> Vec<DeadRing> {
        dead_rings(&self.dir, self.owner, pid)
    }

    /// Removes the unfinished file of a process that died while creating it.
    fn sweep(&self, hidden: &str, path: &Path) {
        let number = [".ring", ".snapshot"].iter().find_map(|end| hidden.strip_suffix(end)).unwrap_or(hidden);
        let is_dead = |pid: Pid| {
            native::exists(pid.number).is_err_and(|error| error.kind() != ErrorKind::PermissionDenied)
        };
        if self.owner == native::user() && number.parse().is_ok_and(is_dead) {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Directories of sockets begin like this, and end with the number of their user.
pub(super) const BASE: &str = "/tmp/telemetry-";

/// The end of the names of sockets that `telemetry listen --control` makes.
pub(super) const CONTROL: &str = "control";

impl Process {
    /// Returns the process behind a socket that `telemetry listen --control` has made.
    pub(super) fn via(path: PathBuf) -> Result<Process, Failure> {
        let shown = path.display();
        let owner = owner_of(&path).ok_or_else(|| not_connected(&path))?;
        let user = native::user();
        if owner != user && user != 0 {
            return Err(Failure::new(format!(
                "cannot trust `{shown}`: it belongs to user {owner}, expected {user}"
            )));
        }
        // The program knows its number.
        let unknown = Process { pid: Pid { number: 0, copy: 1 }, path, owner, is_via: true };
        let info = unknown.info()?;
        Ok(Process { pid: Pid { number: info.pid, copy: info.copy }, ..unknown })
    }

    /// Removes the socket that a dead process left, if it is in our directory.
    pub(crate) fn remove_stale(&self) {
        if self.owner == native::user() {
            let _ = std::fs::remove_file(&self.path);
        }
    }

    /// Returns the reason not to connect to the path, if there is one.
    pub(super) fn distrust(&self) -> io::Result<Option<String>> {
        let metadata = self.path.symlink_metadata()?;
        Ok(if !metadata.file_type().is_socket() {
            Some("it is not a socket".into())
        } else if metadata.uid() != self.owner {
            Some(format!("it belongs to user {}, expected {}", metadata.uid(), self.owner))
        } else {
            None
        })
    }
}

/// Explains that no program is behind a socket of `telemetry listen --control`.
pub(super) fn not_connected(path: &Path) -> Failure {
    let path = path.display();
    Failure::new(format!(
        "no program is behind `{path}`; help: `telemetry listen --control` names each that is"
    ))
}

/// Explains why a process has no listening socket.
pub(super) fn absent(pid: Pid, places: &[Place]) -> Failure {
    let left = places.iter().flat_map(|place| place.dead_rings(pid)).next();
    Failure::new(match (native::exists(pid.number), left) {
        (Err(error), _) if error.kind() == ErrorKind::PermissionDenied => {
            format!("process {pid} belongs to another user; help: run this as that user, or as root")
        }
        (Err(_), Some(DeadRing { ring, .. })) => {
            let ring = ring.display();
            format!("process {pid} is dead; help: `telemetry recover {ring}` reads what it left")
        }
        (Err(_), None) => {
            format!("there is no process {pid}; help: `telemetry list` shows the processes")
        }
        (Ok(()), _) if pid.copy > 1 => format!(
            "process {} has no copy {} of the runtime; help: `telemetry list` shows those that it has",
            pid.number, pid.copy
        ),
        (Ok(()), _) => format!(
            "process {pid} has no control socket; help: `telemetry doctor {pid}` says why; a program with telemetry has \
             one from the first emitter that it reaches"
        ),
    })
}

/// Returns true if the system says that the process is stopped, so that it cannot answer.
pub(super) fn is_stopped(pid: u32) -> bool {
    has_state(pid, &['T', 't'])
}

/// Returns true if the system says that the process is in one of these states.
fn has_state(pid: u32, states: &[char]) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The name before it, in parentheses, may contain anything.
    stat.rsplit_once(") ").is_some_and(|(_, state)| state.starts_with(states))
}

/// How long a process may take to end after it has closed its connections.
const ENDING: Duration = Duration::from_millis(500);

impl Process {
    /// Returns true if it has ended, or ends in a moment. A process that ends closes its
    /// connections first, and only then counts as ended.
    pub(crate) fn is_ending(&self) -> bool {
        let since = Instant::now();
        while !self.has_ended() {
            if since.elapsed() > ENDING {
                return false;
            }
            std::thread::sleep(ENDING / 100);
        }
        true
    }

    /// Returns true if it no longer runs, even if its parent does not know it yet.
    fn has_ended(&self) -> bool {
        if self.is_via {
            return self.path.symlink_metadata().is_err();
        }
        native::exists(self.pid.number).is_err() || has_state(self.pid.number, &['Z', 'X'])
    }
}

fn owner_of(path: &Path) -> Option<u32> {
    path.symlink_metadata().ok().map(|metadata| metadata.uid())
}

/// Checks a word of the command line. An option among words would be taken for a word.
pub(crate) fn word(text: &str) -> Result<String, String> {
    if text.starts_with("--") {
        return Err("expected a word; help: options stand before all words".into());
    }
    Ok(text.into())
}

/// Parses a number without signs and leading zeros.
fn number(text: &str) -> Option<u32> {
    text.parse().ok().filter(|number: &u32| number.to_string() == text)
}
