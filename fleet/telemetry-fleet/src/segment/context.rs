//! What a reader needs before the events of a session, repeated at the start of each segment.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::PathBuf;

use telemetry_decode::blocks::{Block, Blocks, Piece};
use telemetry_format::{BlockType, Header};
use telemetry_schema::Kind;

use crate::segment::interval::Intervals;
use crate::segment::priority::Priorities;
use crate::segment::text::{Text, own_fingerprint};
use crate::segment::withheld::{Leaving, Withheld};

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
    /// `None` if everything leaves the host.
    withheld: Option<Withheld>,
}

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
    /// A context in this file. `sends_sensitive` says whether kinds leave the host that do not by
    /// themselves.
    pub(crate) fn new(path: PathBuf, sends_sensitive: bool) -> io::Result<Context> {
        File::create(&path)?;
        Ok(Context {
            path,
            len: 0,
            intervals: Intervals::default(),
            known: HashSet::new(),
            labels: own_fingerprint().into_iter().collect(),
            priorities: Priorities::default(),
            withheld: (!sends_sensitive).then(Withheld::new),
        })
    }

    /// Says what a block is.
    pub(crate) fn role(&self, header: &Header) -> Role {
        let role = match header.block_type {
            BlockType::Session | BlockType::Registry | BlockType::Thread => Role::Facts,
            BlockType::Events if self.is_label(header) => Role::Labels,
            _ => return Role::Data,
        };
        if self.known.contains(&key(header)) { Role::Repetition } else { role }
    }

    /// Returns a block as it leaves the host.
    pub(crate) fn leaving<'a>(&self, block: &Block<'a>) -> Leaving<'a> {
        match &self.withheld {
            Some(withheld) => withheld.leaving(block, self.is_label(&block.header)),
            None => Leaving::whole(block),
        }
    }

    fn is_label(&self, header: &Header) -> bool {
        header.thread == 0 && self.labels.contains(&header.registry)
    }

    /// Returns true if the texts of labels do not leave the host.
    pub(crate) fn withholds_labels(&self) -> bool {
        self.withheld.as_ref().is_some_and(Withheld::withholds_labels)
    }

    /// Removes the texts of labels. If this fails, it may be called again.
    pub(crate) fn remove_labels(&mut self) -> io::Result<()> {
        let (mut blocks, mut left) = (Blocks::new(File::open(&self.path)?.take(self.len)), Vec::new());
        while let Some(piece) = blocks.next()? {
            if let Piece::Block(block) = piece
                && block.header.block_type != BlockType::Events
            {
                left.extend_from_slice(block.bytes);
            }
        }
        let new = self.path.with_extension("context.new");
        std::fs::write(&new, &left)?;
        std::fs::rename(new, &self.path)?;
        (self.len, self.intervals) = (left.len() as u64, Intervals::default());
        Ok(())
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
            BlockType::Session => {
                if let Some(withheld) = &mut self.withheld {
                    withheld.learn_session(block);
                }
            }
            BlockType::Registry => {
                let text = Text::of(block);
                if text.is_own() {
                    self.labels.insert(header.registry);
                }
                self.priorities.learn(header.registry, text.bytes());
                if let Some(withheld) = &mut self.withheld {
                    withheld.learn(header, text.bytes());
                }
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
