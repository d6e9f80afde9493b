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
