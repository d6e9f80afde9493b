//! What a sink gets: the kinds that words select, or everything. And whether sensitive kinds leave
//! the host.

use crate::control::words::Words;
use crate::memory::registry::Registry;
use crate::sys::atomic::{AtomicBool, Ordering};

/// True if sinks that leave the host get all kinds.
static SENDS_SENSITIVE: AtomicBool = AtomicBool::new(false);

/// Sets whether sinks that leave the host get the kinds of sensitive parameters.
pub(crate) fn set_sends_sensitive(sends: bool) {
    SENDS_SENSITIVE.store(sends, Ordering::Relaxed);
}

/// Returns true if sinks that leave the host get the kinds of sensitive parameters.
pub(super) fn sends_sensitive() -> bool {
    SENDS_SENSITIVE.load(Ordering::Relaxed)
}

/// What a sink gets.
pub(crate) enum Selection {
    /// What the control selects.
    Control,
    /// The kinds that its own words select.
    Own(Box<Words>),
    /// Everything, for a snapshot, which does not count as written.
    All,
}

impl Selection {
    /// Returns the selection by these words, or that of the control.
    pub(crate) fn of(words: Option<&str>) -> Selection {
        match words {
            None => Selection::Control,
            Some(words) => Selection::Own(Box::new(Words::of(words))),
        }
    }

    /// Returns true if a stream that has begun gets blocks of this kind that were opened at that
    /// time.
    pub(crate) fn has(&self, registry: &Registry, kind: u8, base_ticks: u64) -> bool {
        match self {
            Selection::Control => registry.is_followed(kind, base_ticks),
            Selection::Own(words) => words.kinds(registry) & 1 << kind != 0,
            Selection::All => true,
        }
    }

    /// Returns the words of a sink that has its own.
    pub(super) fn words(&self) -> Option<&Words> {
        match self {
            Selection::Own(words) => Some(words),
            Selection::Control | Selection::All => None,
        }
    }

    /// Returns true for a snapshot.
    pub(crate) fn is_all(&self) -> bool {
        matches!(self, Selection::All)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::tests::{ACCESS, TRACE, registry};

    #[test]
    fn a_sink_has_kinds_by_control_or_by_its_words_or_all() {
        let registry = registry();
        registry.add_output(1 << TRACE, 1 << TRACE | 1 << ACCESS);
        let check = |selection: &Selection, expected: [bool; 3]| {
            assert_eq!([ACCESS, TRACE, 0].map(|kind| selection.has(registry, kind, u64::MAX)), expected);
        };
        check(&Selection::of(None), [false, true, false]);
        check(&Selection::of(Some("Hit")), [true, false, false]);
        check(&Selection::of(Some("")), [false; 3]);
        check(&Selection::All, [true; 3]);
        let all = [Selection::of(None), Selection::of(Some("all")), Selection::All];
        assert_eq!(all.each_ref().map(Selection::is_all), [false, false, true]);
        let words = all.each_ref().map(|selection| selection.words().map(Words::to_text));
        assert_eq!(words, [None, Some("all".to_owned()), None]);
    }
}
