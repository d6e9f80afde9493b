//! Gaps in which events may be missing, so that a pair is uncertain.

use telemetry_decode::completeness::{self, Gap};

use super::found::{End, Which};
use super::roles::Def;

/// The gaps of lanes.
#[derive(Default)]
pub struct Gaps(completeness::Gaps);

impl Gaps {
    pub fn new(gaps: &[Gap]) -> Gaps {
        Gaps(completeness::Gaps::new(gaps))
    }

    /// Returns the gaps for other questions.
    pub fn all(&self) -> &completeness::Gaps {
        &self.0
    }

    /// Returns true if no begin or end of such a span can be missing between two clock readings.
    pub fn are_none(&self, def: &Def, which: &Which, thread: u32, from: u64, until: u64) -> bool {
        // With a key, the other event may be on any thread.
        let thread = def.span.key.is_none().then_some(thread);
        let of_kind = |kind: u8| (which.session, def.fingerprint, kind);
        def.kinds.iter().all(|kind| self.0.are_none(of_kind(*kind), thread, from, until))
    }

    /// Returns true if a span is certain.
    pub fn are_not_in(&self, def: &Def, which: &Which, begin: &End, end: &End) -> bool {
        self.are_none(def, which, begin.thread, begin.ticks, end.ticks)
    }
}
