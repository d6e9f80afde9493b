//! Copies of batches, which any thread can read.

use super::batch::Head;
use super::event_batch::EventBatch;
use crate::registry::known_registry::KnownRegistry;
use crate::sessions::session::Session;
use crate::values::raw::Raw;

/// Copies of batches, in order. Together with [`Known`], any thread can read them.
#[derive(Debug, Default)]
pub struct Copies {
    batches: Vec<Copied>,
    heads: Vec<Head>,
    raw: Vec<Raw>,
    /// The bytes of strings, byte strings and arrays.
    bytes: Vec<u8>,
}

/// What the events of a copied batch share.
#[derive(Debug)]
struct Copied {
    /// Indices of the session and the registry.
    session: u32,
    registry: u32,
    thread: u32,
    offset: u64,
    is_plain: bool,
    before: u64,
    /// The end of its heads.
    end: usize,
}

/// The sessions and registries of a stream, for copies of its batches.
#[derive(Debug)]
pub struct Known {
    pub(crate) sessions: Vec<Session>,
    pub(crate) registries: Vec<KnownRegistry>,
}

impl Copies {
    /// Adds a copy of a batch, which must be from a block.
    #[inline]
    pub fn add(&mut self, batch: &EventBatch<'_>) {
        let (Some(first), Some(last)) = (batch.heads.first(), batch.heads.last()) else { return };
        let start = self.raw.len();
        // The parameters of a batch are contiguous.
        self.raw.extend_from_slice(batch.raw.get(first.all_params(last)).unwrap_or_default());
        let before = self.heads.len();
        self.heads.extend(batch.heads.iter().map(|head| head.moved(first, start as u32)));
        for at in before..self.heads.len() {
            let head = self.heads[at];
            if batch.known.plan.has_runs(head.event) {
                self.copy_runs(&head, batch);
            }
        }
        self.batches.push(Copied {
            session: batch.session_index,
            registry: batch.registry_index,
            thread: batch.thread,
            offset: batch.offset,
            is_plain: batch.is_plain,
            before: batch.before,
            end: self.heads.len(),
        });
    }

    /// Copies the bytes of an event's strings, byte strings and arrays.
    #[inline(never)]
    fn copy_runs(&mut self, head: &Head, batch: &EventBatch<'_>) {
        let raw = self.raw.get_mut(head.param_range()).unwrap_or_default();
        for index in batch.known.plan.runs(head.event) {
            let Some(raw) = raw.get_mut(index) else { continue };
            let run = raw.run(batch.payload);
            raw.at = self.bytes.len() as u32;
            raw.end = raw.at + run.len() as u32;
            self.bytes.extend_from_slice(run);
        }
    }

    /// Returns the number of events.
    #[inline]
    pub fn len(&self) -> usize {
        self.heads.len()
    }

    /// Returns true if there are no events.
    pub fn is_empty(&self) -> bool {
        self.heads.is_empty()
    }

    /// Returns the number of bytes of all strings, byte strings and arrays.
    #[inline]
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Removes all events, and keeps the memory for others.
    pub fn clear(&mut self) {
        self.batches.clear();
        self.heads.clear();
        self.raw.clear();
        self.bytes.clear();
    }

    /// Passes all batches to a function.
    pub fn each(&self, known: &Known, mut visit: impl FnMut(&EventBatch<'_>)) {
        let mut start = 0;
        for copied in &self.batches {
            let heads = self.heads.get(start..copied.end).unwrap_or_default();
            start = copied.end;
            let session = known.sessions.get(copied.session as usize);
            let Some((session, registry)) = session.zip(known.registries.get(copied.registry as usize))
            else {
                continue;
            };
            visit(&EventBatch {
                session,
                session_index: copied.session,
                thread: copied.thread,
                known: registry,
                registry_index: copied.registry,
                offset: copied.offset,
                is_plain: copied.is_plain,
                before: copied.before,
                payload: &self.bytes,
                heads,
                raw: &self.raw,
                one: None,
            });
        }
    }
}
