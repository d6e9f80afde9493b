//! The shared state of all connections: the limits, the files, and the counts of refusals.

use std::fmt::Display;
use std::io::{self, ErrorKind};
use std::net::UdpSocket;
#[cfg(unix)]
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use telemetry_decode::blocks::{Block, Blocks, Piece};
use telemetry_decode::completeness::{Cause, Damage};
use telemetry_format::HeaderError;

#[cfg(unix)]
use super::control::{self, ControlSocket};
use super::limits::{Bucket, Limits, READ_TIMEOUT};
use super::places::Places;
use super::store::{Refusal, Session, Store, Stored};
use crate::term::message::{note, warning};
use crate::text::table::Table;
use crate::text::{count, grouped};

/// The maximum of problems that are reported. Further ones are only counted.
const MAX_TOLD: usize = 100;
/// The maximum length of a datagram.
const MAX_DATAGRAM: usize = 1 << 16;

pub(super) struct Receiver {
    pub(super) limits: Limits,
    /// None after the end.
    state: Mutex<Option<State>>,
    stopping: AtomicBool,
    pub(super) places: Places,
    /// Programs on Unix sockets get sockets for `telemetry control`.
    #[cfg(unix)]
    pub(super) has_control: bool,
    /// Open connections, with those that are being replaced.
    pub(super) connections: AtomicUsize,
}

pub(super) struct State {
    store: Store,
    /// All connections so far.
    pub(super) connections: u64,
    pub(super) refused: Refused,
    told: usize,
}

/// All that was received.
#[derive(Serialize)]
pub(super) struct Received {
    version: u32,
    sessions: Vec<Session>,
    connections: u64,
    pub(super) refused: Refused,
}

/// All that was refused, by reason.
#[derive(Serialize, Default, Clone)]
pub(super) struct Refused {
    /// Ranges of bytes that are not a whole block within the limit,
    damaged_ranges: u64,
    /// and the bytes in them.
    damaged_bytes: u64,
    /// Blocks beyond `--max-disk`,
    disk_blocks: u64,
    /// of sessions beyond `--max-sessions`,
    session_blocks: u64,
    /// and of sessions whose file could not be written.
    file_blocks: u64,
    /// Datagrams beyond `--max-rate`.
    datagrams: u64,
    /// Connections beyond `--max-connections`,
    pub(super) connections: u64,
    /// and those that were closed because no block arrived in time, or only other bytes.
    closed_connections: u64,
    /// Idle connections that were closed for others.
    idle_connections: u64,
}

impl Receiver {
    pub(super) fn new(limits: Limits, store: Store) -> Receiver {
        let state = State { store, connections: 0, refused: Refused::default(), told: 0 };
        Receiver {
            places: Places::new(limits.max_connections, limits.timeout),
            limits,
            state: Mutex::new(Some(state)),
            stopping: AtomicBool::new(false),
            #[cfg(unix)]
            has_control: false,
            connections: AtomicUsize::new(0),
        }
    }

    /// Sets whether programs on Unix sockets get sockets for `telemetry control`.
    #[cfg(unix)]
    pub(super) fn with_control(self, has_control: bool) -> Receiver {
        Receiver { has_control, ..self }
    }

    /// Makes the socket by which `telemetry control` reaches the program whose first block this is.
    #[cfg(unix)]
    pub(super) fn open_control(
        &self,
        first: &Block<'_>,
        program: UnixStream,
        peer: &str,
    ) -> Option<ControlSocket> {
        let session = first.header.session;
        let takes_requests = control::takes_requests(first);
        let path = self.state().as_ref()?.store.path(session).with_extension("control");
        match ControlSocket::open(path.clone(), program, takes_requests) {
            Ok(socket) => {
                note(match takes_requests {
                    true => {
                        format!(
                            "{peer}: `telemetry control {}` reaches session {session:016x}",
                            path.display()
                        )
                    }
                    false => format!(
                        "{peer}: session {session:016x} takes no requests; help: start the program with \
                         TELEMETRY_BACK_CHANNEL=on"
                    ),
                });
                Some(socket)
            }
            Err(error) => {
                self.with_state(|state| {
                    state.tell(format!("{peer}: no socket `{}`: {error}", path.display()))
                });
                None
            }
        }
    }

    pub(super) fn stop(&self) {
        self.stopping.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }

    /// Returns the number of open connections.
    pub(super) fn connections(&self) -> usize {
        self.connections.load(Ordering::Acquire)
    }

    /// Returns true if all connections have ended, after at least one; or, for datagrams, if a
    /// session has ended.
    pub(super) fn is_done(&self) -> bool {
        let (made, ended) =
            self.state().as_ref().map_or((0, false), |state| (state.connections, state.store.has_ended()));
        self.connections() == 0 && (made > 0 || ended)
    }

    /// Ends the reception. Later blocks are not written.
    pub(super) fn finish(&self) -> Received {
        let state = self.state().take();
        let (sessions, connections, refused) = state.map_or_else(Default::default, |state| {
            (state.store.into_sessions(), state.connections, state.refused)
        });
        Received { version: 1, sessions, connections, refused }
    }

    /// Stores a block, or counts it as refused.
    pub(super) fn put(&self, block: &Block<'_>, peer: &str) {
        self.with_state(|state| match state.store.put(block) {
            Ok(Stored::Further) => {}
            Ok(Stored::First) => {
                let path = state.store.path(block.header.session);
                note(format!("{peer}: session {:016x} goes to `{}`", block.header.session, path.display()));
            }
            Err(refusal) => state.refuse(refusal, block.bytes.len(), &self.limits, peer),
        });
    }

    /// Counts bytes that are not a block.
    pub(super) fn refuse_damage(&self, damage: &Damage, peer: &str) {
        let bytes = damage.range.end - damage.range.start;
        let most = self.limits.max_block;
        self.with_state(|state| {
            state.refused.damaged_ranges += 1;
            state.refused.damaged_bytes += bytes;
            let at = format!("bytes {}..{}", damage.range.start, damage.range.end);
            match damage.cause {
                Cause::Header(HeaderError::PayloadLen(len)) => state.tell(format!(
                    "{peer}: {at} refused: a block with a payload of {} bytes, beyond --max-block {}",
                    grouped(len.into()),
                    grouped(most)
                )),
                ref cause => state.tell(format!("{peer}: {at} are damaged: {cause}")),
            }
        });
    }

    /// Counts the remaining bytes of a closed connection.
    pub(super) fn refuse_rest(&self, bytes: u64, was_idle: bool, error: &io::Error, peer: &str) {
        self.with_state(|state| {
            state.refused.damaged_ranges += u64::from(bytes > 0);
            state.refused.damaged_bytes += bytes;
            let refused = &mut state.refused;
            *if was_idle { &mut refused.idle_connections } else { &mut refused.closed_connections } += 1;
            state.tell(format!("{peer}: the connection is closed: {error}"));
        });
    }

    pub(super) fn receive_datagrams(&self, socket: &UdpSocket) {
        let mut bucket = Bucket::new(self.limits.max_rate);
        let mut buffer = vec![0; MAX_DATAGRAM];
        loop {
            match socket.recv_from(&mut buffer) {
                Ok((len, peer)) => {
                    let peer = format!("udp:{peer}");
                    if !bucket.take(0).is_zero() {
                        self.with_state(|state| {
                            state.refused.datagrams += 1;
                            state.tell(format!("{peer}: a datagram is refused, beyond --max-rate"));
                        });
                        continue;
                    }
                    bucket.take(len);
                    self.receive_datagram(&buffer[..len], &peer);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => {
                    self.with_state(|state| state.tell(format!("cannot receive a datagram: {error}")));
                    std::thread::sleep(READ_TIMEOUT);
                }
            }
        }
    }

    fn receive_datagram(&self, datagram: &[u8], peer: &str) {
        let mut blocks = Blocks::from_slice(datagram).max_block(self.limits.max_block);
        // Reading from memory cannot fail.
        while let Ok(Some(piece)) = blocks.next() {
            match piece {
                Piece::Block(block) => self.put(&block, peer),
                Piece::Damage(damage, _) => self.refuse_damage(&damage, peer),
            }
        }
    }

    pub(super) fn with_state(&self, work: impl FnOnce(&mut State)) {
        if let Some(state) = &mut *self.state() {
            work(state);
        }
    }

    fn state(&self) -> MutexGuard<'_, Option<State>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn refuse(&mut self, refusal: Refusal, bytes: usize, limits: &Limits, peer: &str) {
        match refusal {
            Refusal::Disk => {
                self.refused.disk_blocks += 1;
                if self.refused.disk_blocks == 1 {
                    self.tell(format!(
                        "{peer}: a block of {} bytes is refused: the files have --max-disk {} bytes; what \
                         comes is refused as long as it does not fit",
                        grouped(bytes as u64),
                        grouped(limits.max_disk)
                    ));
                }
            }
            Refusal::Sessions => {
                self.refused.session_blocks += 1;
                if self.refused.session_blocks == 1 {
                    self.tell(format!(
                        "{peer}: a session is refused, beyond --max-sessions {}",
                        limits.max_sessions
                    ));
                }
            }
            Refusal::File(path, error) => {
                self.refused.file_blocks += 1;
                self.tell(format!("{peer}: a block is refused: cannot write `{}`: {error}", path.display()));
            }
        }
    }

    pub(super) fn tell(&mut self, problem: impl Display) {
        self.told += 1;
        match self.told {
            1..=MAX_TOLD => warning(problem),
            told if told == MAX_TOLD + 1 => warning("further problems are only counted"),
            _ => {}
        }
    }
}

impl Received {
    /// Appends a table of the sessions.
    pub(super) fn append_text(&self, out: &mut Vec<u8>) {
        let mut table =
            Table::new(2, &["session", "ended", "events", "lost", "missing", "blocks", "bytes", "repeated"]);
        for session in &self.sessions {
            let ended = if session.ended { "in good order" } else { "not in good order" };
            let Session { events, lost, missing, blocks, bytes, repeated, .. } = session;
            let numbers = [*events, lost.events(), *missing, *blocks, *bytes, *repeated];
            table.row([session.id.clone(), ended.to_owned()].into_iter().chain(numbers.map(grouped)));
        }
        if !self.sessions.is_empty() {
            table.append(out, 0);
        }
    }

    /// Describes all in one line.
    pub(super) fn verdict(&self) -> String {
        let sum = |number: fn(&Session) -> u64| self.sessions.iter().map(number).sum::<u64>();
        let absent = [
            (sum(|session| session.lost.events()), "lost in the program"),
            (sum(|session| session.missing), "missing"),
        ];
        let absent = absent.iter().filter(|(number, _)| *number > 0);
        let absent: String = absent.map(|(number, what)| format!(", {} {what}", grouped(*number))).collect();
        format!(
            "received {} in {}: {}{absent}, {}, {}; refused {}",
            count(self.sessions.len() as u64, "session"),
            count(self.connections, "connection"),
            count(sum(|session| session.events), "event"),
            count(sum(|session| session.blocks), "block"),
            count(sum(|session| session.bytes), "byte"),
            self.refused.in_words(),
        )
    }
}

impl Refused {
    /// Returns true if anything was refused.
    pub(super) fn is_any(&self) -> bool {
        self.reasons().next().is_some()
    }

    fn in_words(&self) -> String {
        let words: Vec<_> = self.reasons().collect();
        if words.is_empty() { "nothing".to_owned() } else { words.join(", ") }
    }

    /// Names the number and the reason of each sort of refusal.
    fn reasons(&self) -> impl Iterator<Item = String> {
        let all = [
            (self.damaged_bytes, "byte", "outside whole blocks"),
            (self.disk_blocks, "block", "beyond --max-disk"),
            (self.session_blocks, "block", "beyond --max-sessions"),
            (self.file_blocks, "block", "that could not be written"),
            (self.datagrams, "datagram", "beyond --max-rate"),
            (self.connections, "connection", "beyond --max-connections"),
            (self.closed_connections, "connection", "without a block in time"),
            (self.idle_connections, "connection", "idle while others waited"),
        ];
        let some = all.into_iter().filter(|(number, ..)| *number > 0);
        some.map(|(number, noun, why)| format!("{} {why}", count(number, noun)))
    }
}
