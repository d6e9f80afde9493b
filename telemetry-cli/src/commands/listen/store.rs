//! The files of sessions.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashSet, VecDeque};
use std::fs::{File, OpenOptions, TryLockError};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use telemetry_decode::Reader;
use telemetry_decode::blocks::Block;
use telemetry_format::{BlockType, Header, flags};

use super::limits::Limits;
use crate::input::verdict::Lost;
use crate::term::output::make_new;

/// The maximum of open files.
const MAX_OPEN: usize = 64;
/// The maximum of facts of a session that are known to be in its file. Further facts may be
/// repeated in it.
const MAX_FACTS: usize = 1_024;
/// The maximum of event blocks that are known to be in their files: the latest of all sessions. A
/// sender repeats what it sent just before its connection broke.
const MAX_RECENT: usize = 64 << 10;

/// The directory, and the content written to it.
pub(super) struct Store {
    dir: PathBuf,
    sessions: BTreeMap<u64, Session>,
    /// Sessions with an open file, the most recently used last.
    open: VecDeque<u64>,
    recent: Recent,
    /// Bytes of all session files.
    used: u64,
    max_disk: u64,
    max_sessions: usize,
}

/// A session, as received so far.
#[derive(Serialize)]
pub(super) struct Session {
    pub(super) id: String,
    pub(super) file: PathBuf,
    pub(super) blocks: u64,
    pub(super) bytes: u64,
    pub(super) events: u64,
    /// Events lost in the program, from the whole file, with earlier runs.
    pub(super) lost: Lost,
    /// Events that the file counts but does not contain.
    pub(super) missing: u64,
    /// Blocks that the file already has: facts, and events that were sent twice.
    pub(super) repeated: u64,
    /// It ended in good order.
    pub(super) ended: bool,
    #[serde(skip)]
    opened: Option<File>,
    /// Bytes of whole blocks in the file.
    #[serde(skip)]
    len: u64,
    #[serde(skip)]
    facts: HashSet<Fact>,
}

/// The identity of a block of facts in its session, with the checksum of its text.
type Fact = (u8, u64, u32, u32, u32);

/// Why a block was not written.
#[derive(Debug)]
pub(super) enum Refusal {
    Disk,
    Sessions,
    File(PathBuf, io::Error),
}

/// The result for an accepted block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stored {
    /// The first block of its session in this run.
    First,
    Further,
}

impl Store {
    /// Opens the directory, and creates it if it is missing.
    pub(super) fn open(dir: &Path, limits: &Limits) -> io::Result<Store> {
        if std::fs::metadata(dir).is_ok_and(|metadata| !metadata.is_dir()) {
            return Err(io::Error::new(ErrorKind::NotADirectory, "expected a directory"));
        }
        std::fs::create_dir_all(dir)?;
        let mut used = 0;
        for entry in std::fs::read_dir(dir)? {
            let entry = entry?;
            if is_of_session(&entry.file_name().to_string_lossy()) {
                used += entry.metadata()?.len();
            }
        }
        check_writable(dir)?;
        Ok(Store {
            dir: dir.to_path_buf(),
            sessions: BTreeMap::new(),
            open: VecDeque::new(),
            recent: Recent::default(),
            used,
            max_disk: limits.max_disk,
            max_sessions: limits.max_sessions,
        })
    }

    /// Appends a block to the file of its session.
    pub(super) fn put(&mut self, block: &Block<'_>) -> Result<Stored, Refusal> {
        let Block { header, bytes, .. } = block;
        let len = bytes.len() as u64;
        let is_known = self.sessions.contains_key(&header.session);
        if !is_known && self.sessions.len() >= self.max_sessions {
            return Err(Refusal::Sessions);
        }
        let fact = fact(header);
        let head = self.recent.hash(&bytes[..header.header_len.into()]);
        if let Some(session) = self.sessions.get_mut(&header.session) {
            let is_repeated = match &fact {
                Some(fact) => session.facts.contains(fact),
                None => is_unique(header) && self.recent.has(head),
            };
            if is_repeated {
                session.repeated += 1;
                return Ok(Stored::Further);
            }
        }
        if self.used.saturating_add(len) > self.max_disk {
            return Err(Refusal::Disk);
        }
        let session = self.opened(header.session)?;
        session.write(bytes).map_err(|error| Refusal::File(session.file.clone(), error))?;
        session.blocks += 1;
        session.bytes += len;
        session.events += if header.is_withheld() { 0 } else { u64::from(header.events) };
        session.ended |= header.flags & flags::END != 0;
        session.facts.extend(fact.filter(|_| session.facts.len() < MAX_FACTS));
        if is_unique(header) {
            self.recent.add(head);
        }
        self.used += len;
        Ok(if is_known { Stored::Further } else { Stored::First })
    }

    /// Returns the path of a session's file.
    pub(super) fn path(&self, session: u64) -> PathBuf {
        self.dir.join(format!("{session:016x}.tel"))
    }

    /// Returns true if a session has ended in good order.
    pub(super) fn has_ended(&self) -> bool {
        self.sessions.values().any(|session| session.ended)
    }

    /// Returns the sessions that were received.
    pub(super) fn into_sessions(self) -> Vec<Session> {
        self.sessions.into_values().map(Session::accounted).collect()
    }

    /// Returns the session with its file open.
    fn opened(&mut self, id: u64) -> Result<&mut Session, Refusal> {
        let path = self.path(id);
        if self.open.back() != Some(&id) {
            self.open.retain(|open| *open != id);
            self.open.push_back(id);
        }
        if self.open.len() > MAX_OPEN
            && let Some(session) = self.open.pop_front().and_then(|oldest| self.sessions.get_mut(&oldest))
        {
            session.opened = None;
        }
        let opened = |session: &mut Session| -> io::Result<()> {
            if session.opened.is_none() {
                let (file, len) = open_file(&session.file)?;
                (session.opened, session.len) = (Some(file), len);
            }
            Ok(())
        };
        match self.sessions.entry(id) {
            Entry::Occupied(known) => {
                let session = known.into_mut();
                opened(session).map_err(|error| Refusal::File(path, error))?;
                Ok(session)
            }
            // A session is known only once it has a file.
            Entry::Vacant(place) => {
                let mut session = Session::new(id, path.clone());
                opened(&mut session).map_err(|error| Refusal::File(path, error))?;
                Ok(place.insert(session))
            }
        }
    }
}

impl Session {
    fn new(id: u64, file: PathBuf) -> Session {
        Session {
            id: format!("{id:016x}"),
            file,
            blocks: 0,
            bytes: 0,
            events: 0,
            lost: Lost::default(),
            missing: 0,
            repeated: 0,
            ended: false,
            opened: None,
            len: 0,
            facts: HashSet::new(),
        }
    }

    /// Adds the losses in block headers. If the file was removed, there are none.
    fn accounted(mut self) -> Session {
        self.opened = None;
        if let Ok(index) = Reader::open(&self.file).and_then(Reader::index) {
            self.lost = index.completeness.lost().into();
            self.missing = index.completeness.missing();
        }
        self
    }

    /// Writes a whole block or nothing.
    fn write(&mut self, block: &[u8]) -> io::Result<()> {
        let Some(file) = &mut self.opened else { return Err(ErrorKind::NotFound.into()) };
        match file.write_all(block) {
            Ok(()) => self.len += block.len() as u64,
            Err(error) => {
                // If this fails too, readers find the next block after the incomplete one.
                let _ = file.set_len(self.len);
                return Err(error);
            }
        }
        Ok(())
    }
}

/// The headers of the blocks stored last. A header contains its payload's checksum, and its place
/// in the stream.
#[derive(Default)]
struct Recent {
    /// With a random key, a sender cannot make two headers collide.
    hasher: RandomState,
    set: HashSet<u64>,
    /// The latest last.
    order: VecDeque<u64>,
}

impl Recent {
    fn hash(&self, header: &[u8]) -> u64 {
        self.hasher.hash_one(header)
    }

    fn has(&self, hash: u64) -> bool {
        self.set.contains(&hash)
    }

    fn add(&mut self, hash: u64) {
        if !self.set.insert(hash) {
            return;
        }
        self.order.push_back(hash);
        if self.order.len() > MAX_RECENT
            && let Some(oldest) = self.order.pop_front()
        {
            self.set.remove(&oldest);
        }
    }
}

/// Returns the identity of a block of facts, if it is one.
fn fact(header: &Header) -> Option<Fact> {
    let is_fact = matches!(header.block_type, BlockType::Session | BlockType::Registry | BlockType::Thread);
    let Header { registry, thread, offset, payload_crc, .. } = *header;
    is_fact.then_some((header.block_type.code(), registry, thread, offset, payload_crc))
}

/// Returns true for blocks with a unique header. Events have numbers, and the others a time.
fn is_unique(header: &Header) -> bool {
    header.events > 0 || header.block_type == BlockType::Sync
}

fn is_of_session(name: &str) -> bool {
    let digits = name.strip_suffix(".tel").unwrap_or_default();
    digits.len() == 16 && digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Opens a session's file to append to it, or creates it. In a directory where others may write,
/// the name may lead to their link or pipe.
fn open_file(path: &Path) -> io::Result<(File, u64)> {
    let mut options = OpenOptions::new();
    options.append(true);
    // The system refuses to create a file in place of a link, and to follow one.
    let file = match options.clone().create_new(true).open(path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            follow_no_link(&mut options).open(path).map_err(|error| not_a_file(path, error))?
        }
        made => made?,
    };
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::new(ErrorKind::AlreadyExists, "it is not a regular file"));
    }
    is_own(&metadata)?;
    if cfg!(unix) && matches!(file.try_lock(), Err(TryLockError::WouldBlock)) {
        return Err(io::Error::new(ErrorKind::ResourceBusy, "another program is writing it"));
    }
    Ok((file, metadata.len()))
}

/// Explains that a file is not regular, if the system refused to open it for that reason.
fn not_a_file(path: &Path, error: io::Error) -> io::Error {
    match std::fs::symlink_metadata(path) {
        Ok(metadata) if !metadata.is_file() => {
            io::Error::new(ErrorKind::AlreadyExists, "it is not a regular file")
        }
        _ => error,
    }
}

#[cfg(unix)]
fn follow_no_link(options: &mut OpenOptions) -> &mut OpenOptions {
    use std::os::unix::fs::OpenOptionsExt;
    // A pipe without a reader would make us wait.
    options.custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
}

#[cfg(not(unix))]
fn follow_no_link(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

/// Refuses a file of another user, who could read the events, and a file with a second name.
#[cfg(unix)]
fn is_own(metadata: &std::fs::Metadata) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt;
    let refused = |text: String| Err(io::Error::new(ErrorKind::PermissionDenied, text));
    let (user, own) = (metadata.uid(), crate::term::native::user());
    if user != own {
        return refused(format!("it belongs to user {user}, expected {own}"));
    }
    match metadata.nlink() {
        0 | 1 => Ok(()),
        links => refused(format!("it has {links} names (hard links), expected one")),
    }
}

#[cfg(not(unix))]
fn is_own(_: &std::fs::Metadata) -> io::Result<()> {
    Ok(())
}

/// Makes and removes a file, so that an error appears at the start and not at the first block.
/// Others may write to the directory too, so the name cannot be guessed and nothing is replaced.
fn check_writable(dir: &Path) -> io::Result<()> {
    tempfile::Builder::new().prefix(".telemetry-listen.").suffix(".tmp").make_in(dir, make_new)?.close()
}
