//! Words that name events, in the order in which they were given.
//!
//! A number is a bitmap of kinds (as in the MPS, with C's prefixes 0x and 0; all ones for a negative
//! one), `all` is everything but the runtime's own events, other words name a kind or an event,
//! `registry:word` means just that registry, and a leading `-` takes away.

use crate::registry::Registry;
use crate::relation::EventInfo;

/// Words that still matter, each behind a `+` or a `-`, separated by spaces. Of fixed size, so that
/// nothing that is done with them allocates. The text comes last: few words take one page of it.
#[repr(C)]
pub(crate) struct Words {
    len: usize,
    text: [u8; 4096],
}

impl Words {
    /// No words.
    pub(crate) const NONE: Words = Words { len: 0, text: [0; _] };

    /// Words as they are given.
    pub(crate) fn of(words: &str) -> Words {
        let mut all = Words::NONE;
        all.change(words, true);
        all
    }

    /// Adds words, or takes away what they name. False if there are too many of them to be remembered.
    pub(crate) fn change(&mut self, words: &str, set: bool) -> bool {
        words.split_ascii_whitespace().fold(true, |all, word| {
            let (word, adds) = sign(word);
            self.remember(word, adds == set) && all
        })
    }

    /// Every word, and whether it adds.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, bool)> {
        let text = core::str::from_utf8(&self.text[..self.len]).unwrap_or_default();
        text.split_ascii_whitespace().map(|word| (&word[1..], word.starts_with('+')))
    }

    /// True if an event is named, and not taken away by a later word. The runtime's own events need not be
    /// named.
    pub(crate) fn name(&self, registry: &Registry, event: &EventInfo) -> bool {
        let last = self.iter().filter(|(word, _)| names(registry, word, event)).last();
        last.map_or(registry.is_own(), |(_, adds)| adds)
    }

    /// The kinds of which an event is named, as bits.
    pub(crate) fn kinds(&self, registry: &Registry) -> u64 {
        let relation = registry.relation();
        relation.events.iter().fold(0, |bits, event| {
            let bit = relation.kinds[usize::from(event.kind)].bit;
            bits | u64::from(self.name(registry, event)) << bit
        })
    }

    /// Appends a word, forgetting what it makes void, so that the text stays as short as the names
    /// are few.
    fn remember(&mut self, word: &str, on: bool) -> bool {
        let is_all = word.eq_ignore_ascii_case("all");
        let mut at = 0;
        let mut kept = 0;
        while at < self.len {
            let end =
                self.text[at..self.len].iter().position(|&byte| byte == b' ').map_or(self.len, |n| at + n);
            let old = &self.text[at + 1..end];
            let void = old.eq_ignore_ascii_case(word.as_bytes())
                || is_all && !old.get(..10).is_some_and(|start| start.eq_ignore_ascii_case(b"telemetry:"));
            if !void {
                self.text.copy_within(at..end, kept);
                self.text[kept + end - at] = b' ';
                kept += end - at + 1;
            }
            at = end + 1;
        }
        self.len = kept;
        let Some(room) = self.text.get_mut(kept..kept + word.len() + 2) else { return false };
        room[0] = if on { b'+' } else { b'-' };
        room[1..=word.len()].copy_from_slice(word.as_bytes());
        room[word.len() + 1] = b' ';
        self.len += room.len();
        true
    }
}

/// True if a word names anything in a registry.
pub(crate) fn is_known(registry: &Registry, word: &str) -> bool {
    let relation = registry.relation();
    word.eq_ignore_ascii_case("all")
        || number(word).is_some()
        || relation.events.iter().any(|event| names(registry, word, event))
        // One without events that are in use.
        || of_registry(registry, word)
            .is_some_and(|word| relation.kinds.iter().any(|kind| word.eq_ignore_ascii_case(kind.name)))
}

/// A word without its sign, and whether it adds. A number keeps its sign, and adds.
pub(crate) fn sign(word: &str) -> (&str, bool) {
    match word.strip_prefix('-') {
        Some(rest) if !rest.starts_with(|c: char| c.is_ascii_digit()) => (rest, false),
        _ => (word, true),
    }
}

/// True if a word names an event, alone or with others.
fn names(registry: &Registry, word: &str, event: &EventInfo) -> bool {
    let kind = &registry.relation().kinds[usize::from(event.kind)];
    of_registry(registry, word).is_some_and(|word| {
        word.eq_ignore_ascii_case("all")
            || word.eq_ignore_ascii_case(kind.name)
            || word.eq_ignore_ascii_case(event.name)
            || number(word).is_some_and(|bits| bits & 1 << kind.bit != 0)
    })
}

/// A word without the name of the registry; nothing if it is another's. The runtime's own registry must be named:
/// what is on for the program is no reason to lose what the runtime has to say.
fn of_registry<'w>(registry: &Registry, word: &'w str) -> Option<&'w str> {
    match word.split_once(':') {
        Some((name, _)) if !name.eq_ignore_ascii_case(registry.relation().name) => None,
        Some((_, rest)) => Some(rest),
        None if registry.is_own() => None,
        None => Some(word),
    }
}

/// A number as C's `strtoul` reads it in base 0; too large or negative ones are all bits, and `-0` is none.
fn number(word: &str) -> Option<u64> {
    let (negative, digits) = word.strip_prefix('-').map_or((false, word), |rest| (true, rest));
    let (digits, radix) = match digits.as_bytes() {
        [b'0', b'x' | b'X', _, ..] => (&digits[2..], 16),
        [b'0', _, ..] => (&digits[1..], 8),
        _ => (digits, 10),
    };
    if digits.is_empty() || !digits.chars().all(|c| c.is_digit(radix)) {
        return None;
    }
    let bits = u64::from_str_radix(digits, radix).unwrap_or(u64::MAX);
    Some(if negative && bits != 0 { u64::MAX } else { bits })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_strtoul() {
        let check = |word, expected| assert_eq!(number(word), expected, "{word}");
        check("0x40", Some(0x40));
        check("64", Some(64));
        check("010", Some(8));
        check("0", Some(0));
        check("-1", Some(u64::MAX));
        check("-0x0", Some(0));
        check("99999999999999999999", Some(u64::MAX));
        check("64,32", None);
        check("0x", None);
        check("Arena", None);
        check("", None);
        check("-", None);
    }

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
    fn words_beyond_the_room_are_refused() {
        let mut all = Words::NONE;
        let refused = (0..2000).filter(|number| !all.change(&format!("Word{number}"), true)).count();
        assert!(refused > 0);
        assert_eq!(all.iter().count(), 2000 - refused);
        assert!(all.change("all", true), "there is room for what makes all others void");
        assert_eq!(all.iter().collect::<Vec<_>>(), [("all", true)]);
    }

    #[test]
    fn a_minus_takes_away_but_in_a_number() {
        let check = |word, expected| assert_eq!(sign(word), expected);
        check("Arena", ("Arena", true));
        check("-Arena", ("Arena", false));
        check("-gc:1", ("gc:1", false));
        check("-1", ("-1", true));
        check("-", ("", false));
        check("", ("", true));
    }
}
