//! Words that are on for a time, beside those that stay.
//!
//! They are a set of words of their own, as those of a sink are. So the end of their time restores
//! what the other words say, however these were changed meanwhile.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::control::words::Words;
use crate::memory::registry::Registry;

/// The most lists of words that are on at a time. Each is a text of at most 4 kB.
const MAX_LISTS: usize = 64;
/// The most bytes of a list.
const MAX_LEN: usize = 4096;

/// The lists of words that are on for a time, by their text.
pub(super) struct Timed(BTreeMap<String, (Words, Instant)>);

impl Timed {
    /// No words.
    pub(super) const NONE: Timed = Timed(BTreeMap::new());

    /// Adds a list of words until a time, or extends the time of the same list. Returns false if
    /// there is no room.
    pub(super) fn add(&mut self, words: &str, until: Instant) -> bool {
        if let Some((_, known)) = self.0.get_mut(words) {
            *known = until.max(*known);
            return true;
        }
        let fits = self.0.len() < MAX_LISTS && words.len() <= MAX_LEN;
        if fits {
            self.0.insert(words.to_owned(), (Words::of(words), until));
        }
        fits
    }

    /// Takes away what words name from all lists.
    pub(super) fn reset(&mut self, words: &str) {
        self.0.values_mut().for_each(|(list, _)| _ = list.change(words, false));
    }

    /// Returns the words of each list.
    pub(super) fn lists(&self) -> impl Iterator<Item = &Words> {
        self.0.values().map(|(words, _)| words)
    }

    /// Returns the kinds with an event that is named, as bits.
    pub(super) fn kinds(&self, registry: &Registry) -> u64 {
        self.lists().fold(0, |bits, words| bits | words.kinds(registry))
    }

    /// Returns the words of each list as text.
    pub(super) fn texts(&self) -> impl Iterator<Item = String> {
        self.lists().map(Words::to_text).filter(|text| !text.is_empty())
    }

    /// Removes the lists whose time is over, and returns their texts.
    pub(super) fn expire(&mut self, now: Instant) -> Vec<String> {
        self.0.extract_if(.., |_, (_, until)| *until <= now).map(|(text, _)| text).collect()
    }

    /// Returns how long the next list still has, if there is one.
    pub(super) fn rest(&self, now: Instant) -> Option<Duration> {
        self.0.values().map(|(_, until)| until.saturating_duration_since(now)).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::tests::{ACCESS, TRACE, registry};

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn each_list_has_a_time_of_its_own() {
        let (mut timed, now) = (Timed::NONE, Instant::now());
        assert_eq!(timed.rest(now), None);
        assert!(timed.add("Ref", now + SECOND) && timed.add("all -Pool", now + 3 * SECOND));
        assert_eq!(timed.rest(now), Some(SECOND));
        // The same words again may only extend their time.
        assert!(timed.add("Ref", now + 2 * SECOND) && timed.add("Ref", now + SECOND));
        assert_eq!(timed.rest(now), Some(2 * SECOND));
        assert_eq!(timed.texts().collect::<Vec<_>>(), ["Ref", "all -Pool"]);
        timed.reset("Ref");
        assert_eq!(timed.texts().collect::<Vec<_>>(), ["all -Pool -Ref"]);

        assert!(timed.expire(now + SECOND).is_empty());
        assert_eq!(timed.expire(now + 2 * SECOND), ["Ref"]);
        assert_eq!(timed.rest(now + 2 * SECOND), Some(SECOND));
        assert_eq!(timed.rest(now + 9 * SECOND), Some(Duration::ZERO));
        assert_eq!((timed.lists().count(), timed.expire(now + 9 * SECOND).len()), (1, 1));
        assert_eq!((timed.lists().count(), timed.rest(now)), (0, None));
    }

    #[test]
    fn kinds_are_those_of_any_list() {
        let (mut timed, now, registry) = (Timed::NONE, Instant::now(), registry());
        assert_eq!(timed.kinds(registry), 0);
        assert!(timed.add("Hit", now) && timed.add("Miss", now));
        assert_eq!(timed.kinds(registry), 1 << ACCESS);
        assert!(timed.add("Step", now));
        assert_eq!(timed.kinds(registry), 1 << ACCESS | 1 << TRACE);
    }

    #[test]
    fn there_is_an_end_to_them() {
        let (mut timed, now) = (Timed::NONE, Instant::now());
        assert!(!timed.add(&"x".repeat(MAX_LEN + 1), now));
        assert!(timed.add(&"x".repeat(MAX_LEN), now));
        for number in 1..MAX_LISTS {
            assert!(timed.add(&format!("Word{number}"), now), "{number}");
        }
        assert!(!timed.add("more", now));
        assert!(timed.add("Word1", now + SECOND), "it is there");
        assert_eq!(timed.lists().count(), MAX_LISTS);
    }
}
