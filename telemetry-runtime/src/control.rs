//! Which events are on: words in, bits in the registries' masks out.
//!
//! Words are separated by spaces and apply from left to right: a number is a bitmap of kinds (as in
//! the MPS, with C's prefixes 0x and 0; all ones for a negative one), `all` is everything, other
//! words name a kind or an event, `registry:word` means just that registry, and a leading `-` takes
//! away. Registries that come into use later get all words so far.

use std::sync::{Mutex, MutexGuard, TryLockError};

use crate::registry::{self, EventName, Registry, Relation};
use crate::thread::Inside;
use crate::{start, sys};

/// All that was ever set or reset, in order, for registries to come.
struct Words {
    /// Those of the environment, without an allocation: the first event may come from inside of one.
    environment: [u8; 4096],
    environment_len: usize,
    /// Without those, the program's first ones.
    configured: String,
    /// Those that came later, each behind a `+` or a `-`.
    later: String,
}

static WORDS: Mutex<Words> = Mutex::new(Words::NONE);

/// Switches on what the words name.
///
/// ```
/// telemetry_runtime::set("Arena Pool -PoolAlloc gc:Trace");
/// ```
pub fn set(words: &str) {
    change(words, true);
}

/// Switches off what the words name; `reset("all")` is silence. A leading `-` switches on.
pub fn reset(words: &str) {
    change(words, false);
}

/// What is on, in words that [`set`] takes: `registry:Kind` for a kind that is wholly on, else
/// `registry:Event`. Empty if nothing is on.
pub fn get() -> String {
    start::ensure();
    let mut words = Vec::new();
    for registry in registry::all() {
        let relation = registry.relation();
        for (kind, of_kind) in relation.kinds.iter().enumerate() {
            let events =
                || relation.events.iter().enumerate().filter(|(_, event)| usize::from(event.kind) == kind);
            let on = events().filter(|(index, _)| registry.is_on(*index));
            match on.clone().count() {
                0 => {}
                n if n == events().count() => words.push(format!("{}:{}", relation.name, of_kind.name)),
                _ => words.extend(on.map(|(_, event)| format!("{}:{}", relation.name, event.name))),
            }
        }
    }
    words.join(" ")
}

/// Puts a registry into use with the words so far, unless it is already. False if that cannot be
/// done now, because this interrupts who has the lock.
pub(crate) fn list(registry: &'static Registry) -> bool {
    if registry.is_listed() {
        return true;
    }
    if !start::ensure() {
        return false;
    }
    let Some((_inside, words)) = lock(100) else { return false };
    if !registry.is_listed() {
        // Each event once, as it shall be: another thread may test it meanwhile.
        for (index, event) in registry.relation().events.iter().enumerate() {
            let mut on = false;
            words.each(|word, adds| {
                if names(registry.relation(), word, event) {
                    on = adds;
                }
            });
            registry.switch(index, on);
        }
        registry.enlist();
    }
    true
}

/// Takes the words of `TELEMETRY_CONTROL`, or without it those of the program, before any registry is
/// listed. Does not allocate.
pub(crate) fn begin(configured: Option<String>) {
    let Ok(mut words) = WORDS.try_lock() else { return };
    match sys::env(c"TELEMETRY_CONTROL", &mut words.environment).map(str::len) {
        Some(len) => words.environment_len = len,
        None => words.configured = configured.unwrap_or_default(),
    }
}

/// Switches everything off for good.
pub(crate) fn end() {
    registry::all().for_each(Registry::switch_off);
}

fn change(words: &str, set: bool) {
    if !start::ensure() {
        return;
    }
    let Some((_inside, mut all)) = lock(usize::MAX) else { return };
    for word in words.split_ascii_whitespace() {
        let (word, adds) = sign(word);
        let on = adds == set;
        registry::all().for_each(|registry| switch(registry, word, on));
        all.remember(word, on);
    }
}

/// A word without its sign, and whether it adds. A number keeps its sign, and adds.
fn sign(word: &str) -> (&str, bool) {
    match word.strip_prefix('-') {
        Some(rest) if !rest.starts_with(|c: char| c.is_ascii_digit()) => (rest, false),
        _ => (word, true),
    }
}

impl Words {
    const NONE: Words =
        Words { environment: [0; _], environment_len: 0, configured: String::new(), later: String::new() };

    /// Every word, and whether it adds. Does not allocate.
    fn each(&self, mut f: impl FnMut(&str, bool)) {
        let environment = core::str::from_utf8(&self.environment[..self.environment_len]).unwrap_or_default();
        for word in environment.split_ascii_whitespace().chain(self.configured.split_ascii_whitespace()) {
            let (word, adds) = sign(word);
            f(word, adds);
        }
        for word in self.later.split_ascii_whitespace() {
            let (sign, word) = word.split_at(1);
            f(word, sign == "+");
        }
    }

    /// Appends a word, forgetting what it makes void, so that the text stays as short as the names
    /// are few.
    fn remember(&mut self, word: &str, on: bool) {
        let is_all = word.eq_ignore_ascii_case("all");
        if is_all {
            self.environment_len = 0;
            self.configured.clear();
        }
        let later = self.later.split_ascii_whitespace();
        let kept: Vec<&str> = later.filter(|old| !is_all && !old[1..].eq_ignore_ascii_case(word)).collect();
        let new = format!("{}{word}", if on { '+' } else { '-' });
        self.later = [&kept[..], &[&new]].concat().join(" ");
    }
}

/// Takes the lock of the words and of the list, with so many tries: an event may not wait long. Nothing
/// where this interrupts who has it.
fn lock(tries: usize) -> Option<(Inside, MutexGuard<'static, Words>)> {
    let inside = Inside::enter()?;
    for _ in 0..tries {
        match WORDS.try_lock() {
            Ok(guard) => return Some((inside, guard)),
            Err(TryLockError::Poisoned(poisoned)) => return Some((inside, poisoned.into_inner())),
            Err(TryLockError::WouldBlock) => sys::yield_now(),
        }
    }
    None
}

/// Switches what a word names in one registry.
fn switch(registry: &Registry, word: &str, on: bool) {
    let relation = registry.relation();
    for (index, event) in relation.events.iter().enumerate() {
        if names(relation, word, event) {
            registry.switch(index, on);
        }
    }
}

/// True if a word names an event, alone or with others. Does not allocate.
fn names(relation: &Relation, word: &str, event: &EventName) -> bool {
    let word = match word.split_once(':') {
        Some((name, _)) if !name.eq_ignore_ascii_case(relation.name) => return false,
        Some((_, rest)) => rest,
        None => word,
    };
    let kind = &relation.kinds[usize::from(event.kind)];
    word.eq_ignore_ascii_case("all")
        || word.eq_ignore_ascii_case(kind.name)
        || word.eq_ignore_ascii_case(event.name)
        || number(word).is_some_and(|bits| bits & 1 << kind.bit != 0)
}

/// A number as C's `strtoul` reads it in base 0; too large or negative ones are all bits.
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
    Some(if negative { u64::MAX } else { u64::from_str_radix(digits, radix).unwrap_or(u64::MAX) })
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
        check("99999999999999999999", Some(u64::MAX));
        check("64,32", None);
        check("0x", None);
        check("Arena", None);
        check("", None);
        check("-", None);
    }

    #[test]
    fn only_words_that_still_matter_are_remembered() {
        let mut all = Words { configured: "Ref".into(), ..Words::NONE };
        let mut check = |word, on, expected: &[(&str, bool)]| {
            all.remember(word, on);
            let mut words = Vec::new();
            all.each(|word, on| words.push((word.to_owned(), on)));
            let words: Vec<_> = words.iter().map(|(word, on)| (word.as_str(), *on)).collect();
            assert_eq!(words, expected);
        };
        check("Arena", true, &[("Ref", true), ("Arena", true)]);
        check("gc:Pool", true, &[("Ref", true), ("Arena", true), ("gc:Pool", true)]);
        check("arena", false, &[("Ref", true), ("gc:Pool", true), ("arena", false)]);
        check("ALL", true, &[("ALL", true)]);
        check("0x3", false, &[("ALL", true), ("0x3", false)]);
        check("-1", true, &[("ALL", true), ("0x3", false), ("-1", true)]);
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
