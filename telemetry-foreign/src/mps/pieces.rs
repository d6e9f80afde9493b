//! Events that wait for the end of their batch, by kind.

use std::io::{self, Write};

use super::run::{KINDS, Late};

/// Events that wait for the end of their batch, by kind.
pub(super) struct Pieces {
    kinds: [Piece; KINDS],
    late: Vec<Late>,
}

/// Events of a kind, the oldest first.
#[derive(Default)]
struct Piece {
    bytes: Vec<u8>,
    /// The clock reading, and the offset where the event begins.
    events: Vec<(u64, usize)>,
    /// Bytes of events that wait for a later batch than the next.
    held: usize,
}

impl Pieces {
    /// Makes batches for events that were output late.
    pub(super) fn new(late: Vec<Late>) -> Pieces {
        Pieces { kinds: Default::default(), late }
    }

    /// Returns true if a kind has events, and would have more than `most` bytes with `bytes` more.
    pub(super) fn would_fill(&self, kind: u8, bytes: usize, most: usize) -> bool {
        let piece = &self.kinds[usize::from(kind) % KINDS];
        let waiting = piece.bytes.len() - piece.held;
        waiting > 0 && waiting + bytes > most && !self.late.iter().any(|late| late.kind == kind)
    }

    /// Takes an event, the newest of its kind.
    pub(super) fn push(&mut self, kind: u8, ticks: u64, event: &[u8]) {
        let piece = &mut self.kinds[usize::from(kind) % KINDS];
        piece.events.push((ticks, piece.bytes.len()));
        piece.bytes.extend_from_slice(event);
    }

    /// Writes the events of the batch that ends at a clock reading.
    pub(super) fn write(&mut self, until: u64, out: &mut dyn Write) -> io::Result<()> {
        let late = &mut self.late;
        for (kind, piece) in self.kinds.iter_mut().enumerate() {
            let held = late.iter().filter(|late| usize::from(late.kind) == kind && late.until > until);
            let held = held.map(|late| late.from).min();
            // Events wait in order of time, so all from the first one on wait.
            let first = held.and_then(|from| piece.events.iter().position(|(ticks, _)| *ticks >= from));
            piece.write(first.unwrap_or(piece.events.len()), out)?;
        }
        late.retain(|late| late.until > until);
        Ok(())
    }

    /// Writes everything that is left.
    pub(super) fn write_all(&mut self, out: &mut dyn Write) -> io::Result<()> {
        self.late.clear();
        self.write(u64::MAX, out)
    }
}

impl Piece {
    /// Writes the first events, the newest first. The others stay.
    fn write(&mut self, events: usize, out: &mut dyn Write) -> io::Result<()> {
        let mut end = self.events.get(events).map_or(self.bytes.len(), |(_, at)| *at);
        let behind = end;
        for (_, at) in self.events[..events].iter().rev() {
            out.write_all(&self.bytes[*at..end])?;
            end = *at;
        }
        self.events.drain(..events);
        self.bytes.drain(..behind);
        for (_, at) in &mut self.events {
            *at -= behind;
        }
        self.held = self.bytes.len();
        Ok(())
    }
}
