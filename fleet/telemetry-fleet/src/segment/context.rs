//! What a reader needs before the events of a session, repeated at the start of each segment.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::PathBuf;

use telemetry_decode::blocks::Block;
use telemetry_format::{BlockType, Header};
use telemetry_schema::Kind;

use crate::segment::interval::Intervals;
use crate::segment::priority::Priorities;

/// The blocks of a session's facts, registries, threads and labels so far, in a file.
///
/// A program with a million labels has megabytes of them, so they are not held in memory. The file
/// is open only while it is used, because a stream may have more sessions than a process has files.
pub(crate) struct Context {
    path: PathBuf,
    len: u64,
    /// Those of the labels.
    intervals: Intervals,
    known: HashSet<Key>,
    /// Fingerprints of the runtime's own registry: its events on thread 0 give labels their texts.
    labels: HashSet<u64>,
    priorities: Priorities,
}

/// The start of the runtime's own registry in its canonical form.
pub(crate) const RUNTIME_REGISTRY: &[u8] = b"[registry]\nname = \"telemetry\"\n";

/// Tells blocks apart: type, registry, thread, number of the block, offset, and checksum of the
/// payload.
type Key = (u8, u64, u32, u32, u32, u32);

/// What a block is for the segments of its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Facts of the session or a thread, or a registry: in each segment from now on.
    Facts,
    /// Texts of labels: in each segment from now on, and events that count.
    Labels,
    /// A block of the context again: programs repeat them.
    Repetition,
    /// Anything else: in one segment.
    Data,
}

impl Context {
    pub(crate) fn new(path: PathBuf) -> io::Result<Context> {
        File::create(&path)?;
        let labels = telemetry_decode::names::runtime_registry().map(|registry| registry.fingerprint());
        Ok(Context {
            path,
            len: 0,
            intervals: Intervals::default(),
            known: HashSet::new(),
            labels: labels.into_iter().collect(),
            priorities: Priorities::default(),
        })
    }

    /// Says what a block is.
    pub(crate) fn role(&self, block: &Block<'_>) -> Role {
        let header = &block.header;
        let role = match header.block_type {
            BlockType::Session | BlockType::Registry | BlockType::Thread => Role::Facts,
            BlockType::Events if header.thread == 0 && self.labels.contains(&header.registry) => Role::Labels,
            _ => return Role::Data,
        };
        if self.known.contains(&key(header)) { Role::Repetition } else { role }
    }

    /// Adds a block that each segment repeats.
    pub(crate) fn add(&mut self, block: &Block<'_>) -> io::Result<()> {
        let header = &block.header;
        // After a full disk, the same block is written again, to the same place.
        let mut file = File::options().write(true).open(&self.path)?;
        file.seek(SeekFrom::Start(self.len))?;
        file.write_all(block.bytes)?;
        self.len += block.bytes.len() as u64;
        self.known.insert(key(header));
        match header.block_type {
            BlockType::Events => self.intervals.add(header),
            BlockType::Registry => {
                if block.payload.starts_with(RUNTIME_REGISTRY) {
                    self.labels.insert(header.registry);
                }
                self.priorities.learn(header.registry, block.payload);
            }
            _ => {}
        }
        Ok(())
    }

    /// Returns the priority of a block.
    pub(crate) fn priority(&self, header: &Header) -> u8 {
        if header.block_type == BlockType::Events {
            self.priorities.of(header.registry, header.kind)
        } else {
            Kind::DEFAULT_PRIORITY
        }
    }

    /// Copies everything. Returns the number of bytes, and the intervals.
    pub(crate) fn copy_to(&self, to: &mut impl Write) -> io::Result<(u64, Intervals)> {
        let copied = io::copy(&mut File::open(&self.path)?.take(self.len), to)?;
        Ok((copied, self.intervals))
    }
}

fn key(header: &Header) -> Key {
    let Header { registry, thread, seq, offset, payload_crc, .. } = *header;
    (header.block_type.code(), registry, thread, seq, offset, payload_crc)
}

impl Drop for Context {
    fn drop(&mut self) {
        // A file that stays is in the way of nothing.
        let _ = std::fs::remove_file(&self.path);
    }
}
