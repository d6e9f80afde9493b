//! The files of the sessions.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashSet, VecDeque};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use telemetry_decode::{Block, Reader};
use telemetry_format::{BlockType, Header, flags};

use super::limits::Limits;
use crate::verdict::Lost;

/// Files that are open at a time.
const MOST_OPEN: usize = 64;
/// Facts of a session that are known to stand in its file. Those beyond may stand there repeatedly.
const MOST_FACTS: usize = 1_024;

/// The directory, and what was written to it.
pub(super) struct Store {
    dir: PathBuf,
    sessions: BTreeMap<u64, Session>,
    /// Sessions whose files are open, the latest used last.
    open: VecDeque<u64>,
    /// Bytes of all session files.
    used: u64,
    max_disk: u64,
    max_sessions: usize,
}

/// A session, as far as it was received.
#[derive(Serialize)]
pub(super) struct Session {
    pub(super) id: String,
    pub(super) file: PathBuf,
    pub(super) blocks: u64,
    pub(super) bytes: u64,
    pub(super) events: u64,
    /// Lost in the program, as the whole file tells, whatever of it came in this run.
    pub(super) lost: Lost,
    /// Events that the file counts, and that are not in it.
    pub(super) missing: u64,
    /// Blocks of facts that stand in the file already.
    pub(super) repeated: u64,
    /// In good order.
    pub(super) ended: bool,
    #[serde(skip)]
    opened: Option<File>,
    /// Bytes of whole blocks in the file.
    #[serde(skip)]
    len: u64,
    #[serde(skip)]
    facts: HashSet<Fact>,
}

/// What tells a block of facts from others of its session, its text by the checksum.
type Fact = (u8, u64, u32, u32, u32);

/// Why a block was not written.
#[derive(Debug)]
pub(super) enum Refusal {
    Disk,
    Sessions,
    File(PathBuf, io::Error),
}

/// What became of a block that was not refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stored {
    /// It is the first of its session in this run.
    First,
    Further,
}

impl Store {
    /// The directory, made if it is not there.
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
        if let (Some(fact), Some(session)) = (fact, self.sessions.get_mut(&header.session))
            && session.facts.contains(&fact)
        {
            session.repeated += 1;
            return Ok(Stored::Further);
        }
        if self.used.saturating_add(len) > self.max_disk {
            return Err(Refusal::Disk);
        }
        let session = self.opened(header.session)?;
        session.write(bytes).map_err(|error| Refusal::File(session.file.clone(), error))?;
        session.blocks += 1;
        session.bytes += len;
        session.events += u64::from(header.events);
        session.ended |= header.flags & flags::END != 0;
        session.facts.extend(fact.filter(|_| session.facts.len() < MOST_FACTS));
        self.used += len;
        Ok(if is_known { Stored::Further } else { Stored::First })
    }

    /// The session's file.
    pub(super) fn path(&self, session: u64) -> PathBuf {
        self.dir.join(format!("{session:016x}.tel"))
    }

    /// True if a session has ended in good order.
    pub(super) fn has_ended(&self) -> bool {
        self.sessions.values().any(|session| session.ended)
    }

    /// What was received, by session.
    pub(super) fn into_sessions(self) -> Vec<Session> {
        self.sessions.into_values().map(Session::accounted).collect()
    }

    /// The session with its file open.
    fn opened(&mut self, id: u64) -> Result<&mut Session, Refusal> {
        let path = self.path(id);
        if self.open.back() != Some(&id) {
            self.open.retain(|open| *open != id);
            self.open.push_back(id);
        }
        if self.open.len() > MOST_OPEN
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
            // Known only once it has a file.
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

    /// With what block headers tell of losses. Whoever took the file away since learns of none.
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
                // If even that fails, readers find the next block behind the half one.
                let _ = file.set_len(self.len);
                return Err(error);
            }
        }
        Ok(())
    }
}

/// What a block says if it is one of facts.
fn fact(header: &Header) -> Option<Fact> {
    let is_fact = matches!(header.block_type, BlockType::Session | BlockType::Registry | BlockType::Thread);
    let Header { registry, thread, offset, payload_crc, .. } = *header;
    is_fact.then_some((header.block_type.code(), registry, thread, offset, payload_crc))
}

fn is_of_session(name: &str) -> bool {
    let digits = name.strip_suffix(".tel").unwrap_or_default();
    digits.len() == 16 && digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Opens a session's file to go on at its end.
fn open_file(path: &Path) -> io::Result<(File, u64)> {
    match std::fs::symlink_metadata(path) {
        Ok(metadata) if !metadata.is_file() => {
            return Err(io::Error::new(ErrorKind::AlreadyExists, "it is there and no regular file"));
        }
        _ => {}
    }
    let file = OpenOptions::new().append(true).create(true).open(path)?;
    if cfg!(unix) && matches!(file.try_lock(), Err(TryLockError::WouldBlock)) {
        return Err(io::Error::new(ErrorKind::ResourceBusy, "it is being written by somebody else"));
    }
    let len = file.metadata()?.len();
    Ok((file, len))
}

/// Makes and removes a file, so that it is told at the start and not at the first block.
fn check_writable(dir: &Path) -> io::Result<()> {
    let path = dir.join(format!(".telemetry-listen.{}.tmp", std::process::id()));
    File::create(&path)?;
    std::fs::remove_file(path)
}
