//! The results of pairing.

use telemetry_decode::rules::Key;

use super::nesting::Place;

/// One end of a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct End {
    pub thread: u32,
    pub ns: i64,
    /// Time that the thread had spent on emissions by then; 0 if it is not subtracted.
    pub spent_ns: i64,
    pub ticks: u64,
    /// Where the event begins in the input.
    pub offset: u64,
    /// What [`super::Pairing::mark_by`] says about the event.
    pub marks: u64,
    /// The number of the event among those that begin or end spans, from 1.
    pub number: u64,
}

/// A span of a session, without its times.
#[derive(Debug, Clone)]
pub struct Which {
    /// Index into [`super::Pairing::defs`].
    pub def: usize,
    pub session: u64,
    pub key: Key,
}

/// A result of pairing.
#[derive(Debug)]
pub enum Found {
    /// A begin and its end, and the time in which no span that the thread began later was open.
    /// `path` is its number in [`super::Pairing::paths`]. Spans that a thread began, and that were
    /// open at the same time, have different rows. `place` is [`Place::Apart`] unless
    /// [`super::Pairing::keep_places`] was called.
    Whole { which: Which, begin: End, end: End, self_ns: i64, path: u32, row: u8, place: Place },
    /// A begin whose span is still open, but has the place [`Place::Thread`]. Another result for
    /// the span follows. Only if [`super::Pairing::keep_places`] was called.
    Begun(Which, End),
    /// A begin without an end, at the end of the stream or because another begin with its key
    /// followed.
    NoEnd(Which, End, Place),
    /// An end without a begin.
    NoBegin(Which, End),
    /// A begin that was dropped because too many spans were open.
    Dropped(Which, End),
}

impl Found {
    /// Returns the end, if there is one.
    pub fn end(&self) -> Option<&End> {
        match self {
            Found::Whole { end, .. } | Found::NoBegin(_, end) => Some(end),
            Found::Begun(..) | Found::NoEnd(..) | Found::Dropped(..) => None,
        }
    }

    /// Returns the index into [`super::Pairing::defs`].
    pub(super) fn def(&self) -> usize {
        match self {
            Found::Whole { which, .. } => which.def,
            Found::Begun(which, _) | Found::NoBegin(which, _) => which.def,
            Found::NoEnd(which, ..) | Found::Dropped(which, _) => which.def,
        }
    }
}

impl End {
    /// Returns the time without emissions.
    pub(super) fn net_ns(&self) -> i64 {
        self.ns.saturating_sub(self.spent_ns)
    }

    /// Returns the time from the begin to this end.
    pub fn since(&self, begin: &End) -> i64 {
        let took = self.net_ns().saturating_sub(begin.net_ns());
        if self.spent_ns == 0 { took } else { took.max(0) }
    }
}
