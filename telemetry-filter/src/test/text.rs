//! Comparisons of texts.

use std::borrow::Cow;

use regex_lite::Regex;

/// A comparison of a text.
#[derive(Debug, Clone)]
pub(crate) enum TextTest {
    Is(Vec<u8>),
    IsOneOf(Vec<Vec<u8>>),
    Contains(Vec<u8>),
    Matches(Regex),
}

impl TextTest {
    /// Returns true for a text that passes. In a pattern, bytes that are not UTF-8 count as U+FFFD.
    pub(crate) fn passes(&self, text: &[u8]) -> bool {
        match self {
            TextTest::Is(wanted) => text == wanted,
            TextTest::IsOneOf(list) => list.iter().any(|wanted| text == wanted),
            TextTest::Contains(part) => contains(text, part),
            TextTest::Matches(pattern) => match String::from_utf8_lossy(text) {
                Cow::Borrowed(text) => pattern.is_match(text),
                Cow::Owned(text) => pattern.is_match(&text),
            },
        }
    }

    /// Returns true for a name that passes. Case does not matter, except in patterns.
    pub(crate) fn passes_name(&self, name: &str) -> bool {
        match self {
            TextTest::Is(wanted) => name.as_bytes().eq_ignore_ascii_case(wanted),
            TextTest::IsOneOf(list) => list.iter().any(|wanted| name.as_bytes().eq_ignore_ascii_case(wanted)),
            TextTest::Contains(part) => {
                contains(name.to_ascii_lowercase().as_bytes(), &part.to_ascii_lowercase())
            }
            TextTest::Matches(pattern) => pattern.is_match(name),
        }
    }
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    let Some(&first) = part.first() else { return true };
    let mut rest = text;
    while let Some(at) = rest.iter().position(|byte| *byte == first) {
        if rest[at..].starts_with(part) {
            return true;
        }
        rest = &rest[at + 1..];
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts() {
        let is = |text: &str| TextTest::Is(text.into());
        let contains = |text: &str| TextTest::Contains(text.into());
        let pattern = |text: &str| TextTest::Matches(Regex::new(text).unwrap());
        let table: &[(TextTest, &[u8], bool, bool)] = &[
            (is("abc"), b"abc", true, true),
            (is("abc"), b"ABC", false, true),
            (is(""), b"", true, true),
            (contains("bc"), b"abbc", true, true),
            (contains("bc"), b"abbd", false, false),
            (contains("B"), b"abc", false, true),
            (contains(""), b"", true, true),
            (contains("aab"), b"aaab", true, true),
            (pattern("^a.c$"), b"abc", true, true),
            (pattern("^a.c$"), b"a\xffc", true, true),
            (TextTest::IsOneOf(vec![b"x".to_vec(), b"y".to_vec()]), b"y", true, true),
        ];
        for (test, text, passes, passes_name) in table {
            assert_eq!(test.passes(text), *passes, "{test:?} {text:?}");
            assert_eq!(test.passes_name(&String::from_utf8_lossy(text)), *passes_name, "{test:?} {text:?}");
        }
    }
}
