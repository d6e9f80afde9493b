//! Words that name events, in the order in which they were given.
//!
//! - A number is a bitmap of kinds, with C's prefixes `0x` and `0`, as in the MPS. A negative
//!   number has all bits.
//! - `all` names all events except the runtime's own. Any other word names a kind, an event or a
//!   preset, which is a named set of events of its registry.
//! - `registry:word` applies to that registry only, and `*:word` is the same as `word`.
//! - A leading `-` takes away what the word names.

use core::fmt;

use telemetry_format::control::{ALL, Named, bitmap, of_registry, sign};
use telemetry_format::own::USAGE_KIND;

use crate::memory::registry::Registry;
use crate::model::registry_def::EventInfo;
use crate::sys::Mapped;

/// The words that still have an effect, each with `+` or `-` before it and a space after it.
///
/// No operation allocates, and a few words take next to no memory: more are in a mapping.
pub(crate) struct Words {
    len: usize,
    few: [u8; 48],
    /// The text, if it does not fit into `few`.
    many: Option<Mapped>,
}

/// Maximum length of the text.
const MAX_LEN: usize = 4096;

impl Words {
    /// No words.
    pub(crate) const NONE: Words = Words { len: 0, few: [0; _], many: None };

    /// Creates the list from words as the user gives them.
    pub(crate) fn of(words: &str) -> Words {
        let mut all = Words::NONE;
        all.change(words, true);
        all
    }

    /// Adds words, or takes away what they name. Returns false if there is no room to remember
    /// them.
    pub(crate) fn change(&mut self, words: &str, set: bool) -> bool {
        words.split_ascii_whitespace().fold(true, |all, word| {
            let (word, adds) = sign(word);
            self.remember(word, adds == set) && all
        })
    }

    /// Returns the words as they are displayed.
    pub(crate) fn to_text(&self) -> String {
        self.to_string()
    }

    /// Returns every word, and whether it adds.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, bool)> {
        let text = self.many.as_ref().map_or(&self.few[..], Mapped::bytes);
        let text = core::str::from_utf8(&text[..self.len]).unwrap_or_default();
        text.split_ascii_whitespace().map(|word| (&word[1..], word.starts_with('+')))
    }

    /// Returns true if a word names the event and no later word takes it away. The runtime's own
    /// events need no word, except those of the kind `Usage`.
    pub(crate) fn name(&self, registry: &Registry, event: &EventInfo) -> bool {
        let kind = &registry.def().kinds[usize::from(event.kind)];
        let mut is_named = registry.is_own() && kind.bit != USAGE_KIND;
        // A loop takes less of the stack than `filter` and `last` in a debug build, and a handler
        // of a fatal signal has only a few kilobytes.
        for (word, adds) in self.iter() {
            if names(registry, word, event) {
                is_named = adds;
            }
        }
        is_named
    }

    /// Returns the kinds with an event that is named, as bits.
    pub(crate) fn kinds(&self, registry: &Registry) -> u64 {
        let def = registry.def();
        let mut bits = 0;
        for event in def.events {
            let bit = def.kinds[usize::from(event.kind)].bit;
            bits |= u64::from(self.name(registry, event)) << bit;
        }
        bits
    }

    /// Appends a word, and removes earlier words that it makes void. The text thus stays as short
    /// as the list of different names. Returns false if there is no room.
    fn remember(&mut self, word: &str, on: bool) -> bool {
        let is_all = word.eq_ignore_ascii_case(ALL);
        let text = self.many.as_mut().map_or(&mut self.few[..], Mapped::bytes_mut);
        let mut at = 0;
        let mut kept = 0;
        while at < self.len {
            let end = text[at..self.len].iter().position(|&byte| byte == b' ').map_or(self.len, |n| at + n);
            let old = &text[at + 1..end];
            let void = old.eq_ignore_ascii_case(word.as_bytes()) || is_all && !is_of_own(old);
            if !void {
                text.copy_within(at..end, kept);
                text[kept + end - at] = b' ';
                kept += end - at + 1;
            }
            at = end + 1;
        }
        self.len = kept;
        let end = kept + word.len() + 2;
        if end > self.few.len() && self.many.is_none() {
            let Some(mut many) = Mapped::new(MAX_LEN) else { return false };
            many.bytes_mut()[..kept].copy_from_slice(&self.few[..kept]);
            self.many = Some(many);
        }
        let text = self.many.as_mut().map_or(&mut self.few[..], Mapped::bytes_mut);
        let Some(room) = text.get_mut(kept..end) else { return false };
        room[0] = if on { b'+' } else { b'-' };
        room[1..=word.len()].copy_from_slice(word.as_bytes());
        room[word.len() + 1] = b' ';
        self.len += room.len();
        true
    }
}

/// Displays the words in a form that [`Words::change`] accepts, without those that have no effect.
impl fmt::Display for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mut any, mut before) = (false, "");
        for (word, adds) in self.iter() {
            any |= adds;
            // The runtime's own events are on even if no word names them.
            if !any && !is_of_own(word.as_bytes()) {
                continue;
            }
            let has_sign = word.starts_with(|c: char| c.is_ascii_digit() || c == '-');
            let sign = match adds {
                true if !word.is_empty() && sign(word) == (word, true) => "",
                // Without `*:` the word would be read as another one, or as none.
                true => "*:",
                // Without `*:` the sign would belong to the number.
                false if has_sign || word.starts_with("*:") => "-*:",
                false => "-",
            };
            write!(f, "{before}{sign}{word}")?;
            before = " ";
        }
        Ok(())
    }
}

/// Returns true if a word names anything in a registry.
pub(crate) fn is_known(registry: &Registry, word: &str) -> bool {
    let def = registry.def();
    word.eq_ignore_ascii_case(ALL)
        || bitmap(word).is_some()
        || def.events.iter().any(|event| names(registry, word, event))
        // A kind or a preset without events.
        || of_registry(def.name, word).is_some_and(|word| {
            let presets = def.presets.iter().map(|preset| preset.name);
            def.kinds.iter().map(|kind| kind.name).chain(presets).any(|name| word.eq_ignore_ascii_case(name))
        })
}

/// Returns true if a word names the runtime's own registry.
fn is_of_own(word: &[u8]) -> bool {
    word.get(..10).is_some_and(|start| start.eq_ignore_ascii_case(b"telemetry:"))
}

/// Returns true if a word names an event, alone or with others.
fn names(registry: &Registry, word: &str, event: &EventInfo) -> bool {
    let def = registry.def();
    let kind = &def.kinds[usize::from(event.kind)];
    let named = Named { registry: def.name, kind: kind.name, bit: kind.bit, event: event.name };
    named.is_named(word, |word| def.presets.iter().any(|preset| preset.has(word, event.code)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::tests::{ACCESS, TRACE, registry};

    #[test]
    fn only_words_that_still_matter_are_remembered() {
        let mut all = Words::of("Ref");
        let mut check = |word, on, expected: &[(&str, bool)]| {
            assert!(all.change(word, on));
            assert_eq!(all.iter().collect::<Vec<_>>(), expected);
        };
        check("Arena", true, &[("Ref", true), ("Arena", true)]);
        check("gc:Pool", true, &[("Ref", true), ("Arena", true), ("gc:Pool", true)]);
        check("arena", false, &[("Ref", true), ("gc:Pool", true), ("arena", false)]);
        check(
            "telemetry:all",
            false,
            &[("Ref", true), ("gc:Pool", true), ("arena", false), ("telemetry:all", false)],
        );
        check("ALL", true, &[("telemetry:all", false), ("ALL", true)]);
        check("0x3", false, &[("telemetry:all", false), ("ALL", true), ("0x3", false)]);
        check("-1", true, &[("telemetry:all", false), ("ALL", true), ("0x3", false), ("-1", true)]);
    }

    #[test]
    fn the_text_restores_the_words() {
        let check = |changes: &[(&str, bool)], expected: &str| {
            let mut all = Words::NONE;
            changes.iter().for_each(|(words, set)| _ = all.change(words, *set));
            let text = all.to_text();
            assert_eq!(text, expected);
            let mut again = Words::of("all");
            again.change("all", false);
            again.change(&text, true);
            assert_eq!(again.to_text(), expected, "again");
        };
        check(&[], "");
        check(&[("Trace Seg", true)], "Trace Seg");
        check(&[("all -Ref", true), ("gc:Pool", false)], "all -Ref -gc:Pool");
        check(&[("all", true), ("all", false)], "");
        check(&[("Ref", false), ("Pool", true)], "Pool");
        check(&[("-telemetry:all Ref", true)], "-telemetry:all Ref");
        check(&[("all -1 gc:3", true), ("0x3 -2", false)], "all -1 gc:3 -*:0x3 -*:-2");
        check(&[("all -*:0x4", true)], "all -*:0x4");
        check(&[("all -gc:-1", true)], "all -gc:-1");
        // Names that no event has, but that must not become others.
        check(&[("all *:-Ref *:*:Ref -*:*:Pool *: -", true)], "all *:-Ref *:*:Ref -*:*:Pool -");
        check(&[("Ref *:", true)], "Ref *:");
    }

    #[test]
    fn words_name_events_and_kinds_of_a_registry() {
        let registry = registry();
        let check = |text: &str, expected: &[&str], kinds: u64| {
            let (words, events) = (Words::of(text), registry.def().events.iter());
            let named = events.filter(|event| words.name(registry, event)).map(|event| event.name);
            assert_eq!(named.collect::<Vec<_>>(), expected, "{text}");
            assert_eq!(words.kinds(registry), kinds, "{text}");
        };
        let (access, trace) = (1_u64 << ACCESS, 1_u64 << TRACE);
        check("", &[], 0);
        check("hit", &["Hit"], access);
        check("cache:Access -Miss", &["Hit"], access);
        check("Miss misses other:all", &["Miss"], access);
        check("0x20", &["Step"], trace);
        check("all -*:0x20", &["Hit", "Miss"], access);
        check("all", &["Hit", "Miss", "Step"], access | trace);
        check("Access -all Step", &["Step"], trace);
        check("nothing telemetry:all", &[], 0);
    }

    /// The runtime's own events are on unless a word takes them away, but for `Usage`.
    #[test]
    fn own_events_need_no_word() {
        let own = crate::own::registry::registry();
        let bit = |event: &EventInfo| own.def().kinds[usize::from(event.kind)].bit;
        let all = own.def().events.iter().fold(0_u64, |bits, event| bits | 1 << bit(event));
        let check = |text, expected: u64| assert_eq!(Words::of(text).kinds(own), expected, "{text}");
        check("", all & !(1 << USAGE_KIND));
        check("-all", all & !(1 << USAGE_KIND));
        check("telemetry:Usage", all);
        check("-telemetry:all", 0);
        check("-telemetry:all telemetry:Mark", 1 << 3);
    }

    #[test]
    fn a_word_is_known_if_it_names_anything() {
        let check = |word, expected| assert_eq!(is_known(registry(), word), expected, "{word}");
        for word in ["all", "ALL", "0x7", "-1", "Hit", "cache:step", "TRACE", "misses", "cache:Nothing"] {
            check(word, true);
        }
        for word in ["", "Hut", "other:Hit", "cache:", "telemetry:all", "cache:Hit "] {
            check(word, false);
        }
    }

    #[test]
    fn words_beyond_the_room_are_refused() {
        let mut all = Words::NONE;
        let refused = (0..2000).filter(|number| !all.change(&format!("Word{number}"), true)).count();
        assert!(refused > 0);
        assert_eq!(all.iter().count(), 2000 - refused);
        assert!(all.change("all", true), "there is room for what makes all others void");
        assert_eq!(all.iter().collect::<Vec<_>>(), [("all", true)]);
    }
}
