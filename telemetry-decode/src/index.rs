//! What a stream holds, from its block headers alone.

use crate::completeness::Completeness;
use crate::registries::KnownRegistry;
use crate::session::Session;

/// What a stream holds, from its block headers alone: payloads of events are not read.
#[derive(Debug, Default)]
pub struct Index {
    /// In the order of their first blocks.
    pub sessions: Vec<Session>,
    /// Those in the stream and those that the caller added.
    pub registries: Vec<KnownRegistry>,
    /// By session, thread, registry and kind.
    pub lanes: Vec<IndexedLane>,
    /// Events blocks in the order of the stream.
    pub blocks: Vec<IndexedBlock>,
    /// What the headers tell: whole, but for damage inside payloads.
    pub completeness: Completeness,
}

/// A lane: the events of one kind of one thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexedLane {
    /// Index into [`Index::sessions`].
    pub session: usize,
    /// The session's number for the thread.
    pub thread: u32,
    /// The registry's fingerprint.
    pub registry: u64,
    /// The kind's bit number.
    pub kind: u8,
}

/// An events block, or a part of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexedBlock {
    /// Byte offset of its header.
    pub at: u64,
    /// Bytes of header and payload.
    pub len: u32,
    /// Index into [`Index::lanes`].
    pub lane: u32,
    /// Number of the block in its lane.
    pub seq: u32,
    /// Where the part begins in the payload of its block.
    pub offset: u32,
    /// Events in it.
    pub events: u32,
    /// Flags of its header.
    pub flags: u8,
    /// Clock reading when the block was opened.
    pub base_ticks: u64,
    /// No event in it is later.
    pub end_ticks: u64,
    /// Events recorded in the lane before it.
    pub before: u64,
}
