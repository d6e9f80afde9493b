//! Names: how they are spelled, how one becomes another, and which are taken.

/// Returns the name of an event's emitter: `PoolInitMVFF` becomes `pool_init_mvff`, `VMMap`
/// `vm_map`.
///
/// A word begins at an upper-case letter that follows a lower-case letter or a digit, and at one
/// that follows an upper-case letter and precedes a lower-case one; so a row of capitals is one
/// word, less its last letter if that begins the next. Digits belong to the word before them:
/// `L2Cache` becomes `l2_cache`. Two names give the same emitter only if they differ only in case.
#[must_use]
pub fn snake_case(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 8);
    let mut before = None;
    let mut chars = name.chars().peekable();
    while let Some(c) = chars.next() {
        let after = chars.peek();
        if c.is_ascii_uppercase() {
            let begins = before.is_some_and(|before: char| {
                before.is_ascii_lowercase()
                    || before.is_ascii_digit()
                    || before.is_ascii_uppercase() && after.is_some_and(char::is_ascii_lowercase)
            });
            if begins {
                out.push('_');
            }
        }
        out.push(c.to_ascii_lowercase());
        before = Some(c);
    }
    out
}

/// Turns `free_size` into `FreeSize`; what a message proposes for a name that is not `CamelCase`.
pub(crate) fn camel_case(name: &str) -> String {
    let words = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words
        .flat_map(|word| word[..1].to_ascii_uppercase().chars().chain(word[1..].chars()).collect::<Vec<_>>())
        .collect()
}

/// Letters and digits of ASCII, the first an upper-case letter.
pub(crate) fn is_camel_case(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_uppercase()) && name.chars().all(|c| c.is_ascii_alphanumeric())
}

/// Returns true for lower-case words and digits of ASCII, joined by single underscores. So
/// names that begin or end in an underscore or hold two are free for generated code.
pub(crate) fn is_snake_case(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
        && !name.ends_with('_')
        && !name.contains("__")
}

/// Returns the languages that have a word as a keyword: `Rust`, `Python`, or both.
pub(crate) fn keyword_of(word: &str) -> Option<&'static str> {
    match (RUST.contains(&word), PYTHON.contains(&word)) {
        (true, true) => Some("Rust and Python"),
        (true, false) => Some("Rust"),
        (false, true) => Some("Python"),
        (false, false) => None,
    }
}

/// Returns true for keywords of Python 3 but the soft ones. A registry in a file has none; one out
/// of a stream may.
pub fn is_python_keyword(word: &str) -> bool {
    PYTHON.contains(&word)
}

/// Returns true if a macro can have the name.
pub(crate) fn can_be_macro(name: &str) -> bool {
    is_snake_case(name) && !RUST.contains(&name)
}

/// Keywords of Rust 2024, the reserved ones too. The weak ones (`union`, `raw`, `safe`,
/// `macro_rules`) can name anything that we generate.
#[rustfmt::skip]
const RUST: &[&str] = &[
    "Self", "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate", "do", "dyn",
    "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop", "macro",
    "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return", "self", "static", "struct", "super",
    "trait", "true", "try", "type", "typeof", "unsafe", "unsized", "use", "virtual", "where", "while", "yield",
];

/// Keywords of Python 3. The soft ones (`match`, `case`, `type`, `_`) can name a field.
#[rustfmt::skip]
const PYTHON: &[&str] = &[
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del",
    "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal",
    "not", "or", "pass", "raise", "return", "try", "while", "with", "yield",
];

/// `CamelCase` names that generated modules define beside those of the registry's events, kinds and
/// types. A generator that needs another puts it here.
#[rustfmt::skip]
pub const RESERVED: &[&str] = &[
    "Completeness", "DESC", "Decoder", "Dispatch", "EVENT", "Event", "EventDesc", "EventParam", "HeaderDesc", "HiddenValue",
    "IncompleteWarning", "KIND", "Kind", "KindDesc", "LabelRef", "Lane", "NotAStream", "OtherForm", "Reader",
    "Registry", "Replay", "Session", "StreamError", "VersionError",
];

/// The word that means every kind and event wherever words switch them, in any case.
pub(crate) const ALL_WORD: &str = "all";

/// Registry names that are taken: the framework's own, and [`ALL_WORD`].
pub(crate) const RESERVED_REGISTRIES: &[&str] = &[telemetry_format::own::NAME, ALL_WORD];

/// Returns the candidate that is nearest to a misspelled word, if at most a third of the letters
/// differ. A letter may be inserted, removed, replaced, or swapped with its neighbor. Case does not
/// matter. If none is near, returns the shortest candidate that the word abbreviates.
#[must_use]
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let candidates: Vec<&str> = candidates.into_iter().take(MAX_CANDIDATES).collect();
    nearest_within(word, third(word), candidates.iter().copied()).or_else(|| abbreviated(word, &candidates))
}

/// Returns true if at most a third of the letters of the first word differ.
pub(crate) fn is_near(word: &str, other: &str) -> bool {
    nearest_within(word, third(word), [other]).is_some()
}

fn third(word: &str) -> usize {
    (word.chars().take(MAX_COMPARED).count() / 3).max(1)
}

/// Returns the shortest candidate that begins with a word.
fn abbreviated<'a>(word: &str, candidates: &[&'a str]) -> Option<&'a str> {
    let begins =
        |candidate: &&&str| candidate.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word));
    let is_long = word.len() >= MIN_ABBREVIATION;
    candidates.iter().filter(|_| is_long).filter(begins).min_by_key(|candidate| candidate.len()).copied()
}

/// Returns the candidate that is nearest to a word, if at most `letters` differ.
#[must_use]
pub fn nearest_within<'a>(
    word: &str,
    letters: usize,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let word = word.chars().take(MAX_COMPARED).collect::<String>().to_lowercase();
    let len = word.chars().count();
    candidates
        .into_iter()
        .take(MAX_CANDIDATES)
        .filter(|candidate| candidate.len().abs_diff(len) <= letters)
        .map(|candidate| (strsim::osa_distance(&word, &candidate.to_lowercase()), candidate))
        .filter(|&(distance, _)| distance <= letters)
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, candidate)| candidate)
}

/// Bounds the work on hostile input.
const MAX_COMPARED: usize = 64;
const MAX_CANDIDATES: usize = 2000;
/// A shorter word may be anything.
const MIN_ABBREVIATION: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn emitters_are_named_by_words() {
        for (name, emitter) in [
            ("PoolInitMVFF", "pool_init_mvff"),
            ("VMMap", "vm_map"),
            ("VMArenaExtendDone", "vm_arena_extend_done"),
            ("AMCScanNailed", "amc_scan_nailed"),
            ("L2Cache", "l2_cache"),
            ("PoolInitMV2", "pool_init_mv2"),
            ("Utf8Error", "utf8_error"),
            ("A", "a"),
            ("GC", "gc"),
            ("ABTest", "ab_test"),
            ("TraceA", "trace_a"),
        ] {
            assert_eq!(snake_case(name), emitter);
            assert!(is_camel_case(name) && is_snake_case(emitter));
        }
    }

    #[test]
    fn slips_find_what_was_meant() {
        let known = ["pointer", "addr", "word", "u8", "u16", "u32", "string"];
        for (word, meant) in [
            ("pionter", Some("pointer")),
            ("Word", Some("word")),
            ("u9", Some("u8")),
            ("u23", Some("u32")),
            ("strng", Some("string")),
            ("piontr", Some("pointer")),
            ("u128", None),
            ("float", None),
            ("", None),
            ("str", Some("string")),
            ("Poi", Some("pointer")),
            ("st", None),
        ] {
            assert_eq!(nearest(word, known), meant, "{word}");
        }
    }

    #[test]
    fn lists_of_words_are_sorted_and_distinct() {
        for list in [RUST, PYTHON, RESERVED] {
            assert!(list.is_sorted_by(|a, b| a < b), "{list:?}");
        }
    }
}
