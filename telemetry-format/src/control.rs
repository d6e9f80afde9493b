//! The words by which a person switches events, as the runtime and the tools parse them.
//!
//! A word is the name of an event, of a kind or of a preset, [`ALL`], or a number as a bitmap of
//! kinds. `registry:word` applies to one registry. A leading `-` takes away what the word names.

/// The word that names every event, in any case.
pub const ALL: &str = "all";

/// An event as words name it.
#[derive(Debug, Clone, Copy)]
pub struct Named<'a> {
    /// The name of its registry.
    pub registry: &'a str,
    /// The name of its kind.
    pub kind: &'a str,
    /// The bit of its kind, 0 to 63.
    pub bit: u8,
    /// Its own name.
    pub event: &'a str,
}

impl Named<'_> {
    /// Returns true if a word without its sign names the event. `in_preset` says whether the preset
    /// of a name has it.
    pub fn is_named(&self, word: &str, in_preset: impl FnOnce(&str) -> bool) -> bool {
        of_registry(self.registry, word).is_some_and(|word| {
            [ALL, self.kind, self.event].iter().any(|name| word.eq_ignore_ascii_case(name))
                || in_preset(word)
                || bitmap(word).is_some_and(|bits| bits & 1 << self.bit != 0)
        })
    }
}

/// Returns a word without the name of the registry, or `None` if it is that of another one. A word
/// must name the runtime's own registry to match there. So switches for the program do not hide
/// what the runtime reports.
pub fn of_registry<'w>(registry: &str, word: &'w str) -> Option<&'w str> {
    match word.split_once(':') {
        Some((name, _)) if !name.eq_ignore_ascii_case(registry) => None,
        Some((_, rest)) => Some(rest),
        None if registry == crate::own::NAME => None,
        None => Some(word),
    }
}

/// Returns a word without its sign and without `*:`, and whether it adds. A number keeps its sign
/// and adds, unless the sign is before `*:`.
pub fn sign(word: &str) -> (&str, bool) {
    let (word, adds) = match word.strip_prefix('-') {
        Some(rest) if !rest.starts_with(|c: char| c.is_ascii_digit()) => (rest, false),
        _ => (word, true),
    };
    (word.strip_prefix("*:").unwrap_or(word), adds)
}

/// Parses a bitmap of kinds as C's `strtoul` does in base 0. A number that is negative or too large
/// is all bits, and `-0` is none.
pub fn bitmap(word: &str) -> Option<u64> {
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
        let check = |word, expected| assert_eq!(bitmap(word), expected, "{word}");
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
    fn a_word_names_events_by_kind_name_preset_or_bits() {
        let event = Named { registry: "cache", kind: "Trace", bit: 3, event: "Hit" };
        let check = |word: &str, expected| {
            assert_eq!(event.is_named(word, |name| name == "misses"), expected, "{word}");
        };
        for word in ["all", "ALL", "trace", "Hit", "misses", "8", "0xf8", "-1", "cache:hit", "Cache:8"] {
            check(word, true);
        }
        for word in ["Miss", "Tracer", "hits", "4", "0xf7", "", "gc:all", "gc:8", "cache:4", "cache:Miss"] {
            check(word, false);
        }
    }

    #[test]
    fn the_runtime_has_its_words_only_by_its_name() {
        let own = crate::own::NAME;
        assert_eq!(of_registry("cache", "all"), Some("all"));
        assert_eq!(of_registry("cache", "CACHE:all"), Some("all"));
        assert_eq!(of_registry("cache", "gc:all"), None);
        assert_eq!(of_registry(own, "all"), None);
        assert_eq!(of_registry(own, "telemetry:all"), Some("all"));
    }

    #[test]
    fn a_minus_takes_away_but_in_a_number() {
        let check = |word, expected| assert_eq!(sign(word), expected);
        check("Arena", ("Arena", true));
        check("-Arena", ("Arena", false));
        check("-gc:1", ("gc:1", false));
        check("-1", ("-1", true));
        check("-*:1", ("1", false));
        check("-*:-1", ("-1", false));
        check("*:Arena", ("Arena", true));
        check("-", ("", false));
        check("", ("", true));
    }
}
