//! The name that a misspelled word means.

/// Returns the name that is nearest to a word, if at most a third of the letters differ. Otherwise
/// returns the shortest name that begins with the word. The command finds the same names, with a
/// library.
pub(crate) fn meant<'n>(word: &str, names: &[&'n str]) -> Option<&'n str> {
    let most = (word.len() / 3).max(1);
    let near = names.iter().filter(|name| name.len().abs_diff(word.len()) <= most);
    let near = near.map(|name| (distance(word, name), *name)).filter(|&(distance, _)| distance <= most);
    near.min_by_key(|&(distance, _)| distance).map(|(_, name)| name).or_else(|| {
        let begins =
            |name: &&&str| name.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word));
        let long = names.iter().filter(|_| word.len() >= 3).filter(begins);
        long.min_by_key(|name| name.len()).copied()
    })
}

/// Returns how many letters differ. One may be inserted, removed, replaced, or swapped with its
/// neighbor.
fn distance(a: &str, b: &str) -> usize {
    let (a, b) = (a.to_ascii_lowercase().into_bytes(), b.to_ascii_lowercase().into_bytes());
    let mut table = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            table[i][j] = match (i, j) {
                (0, other) | (other, 0) => other,
                _ => {
                    let differs = usize::from(a[i - 1] != b[j - 1]);
                    let least = table[i - 1][j - 1] + differs;
                    let least = least.min(table[i - 1][j] + 1).min(table[i][j - 1] + 1);
                    let swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
                    if swapped { least.min(table[i - 2][j - 2] + 1) } else { least }
                }
            };
        }
    }
    table[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_find_what_was_meant() {
        let names = ["Cache", "Hit", "Evicted", "EvictedLate"];
        for (word, expected) in [
            ("Cahce", Some("Cache")),
            ("Cach", Some("Cache")),
            ("evict", Some("Evicted")),
            ("Evic", Some("Evicted")),
            ("Hot", Some("Hit")),
            ("Hi", Some("Hit")),
            ("Nope", None),
            ("", None),
            ("Ev", None),
            ("Evi", Some("Evicted")),
            ("EVICTEDL", Some("Evicted")),
            ("EVICTEDLat", Some("EvictedLate")),
            ("Evicted\u{e4}", Some("Evicted")),
        ] {
            assert_eq!(meant(word, &names), expected, "{word}");
        }
    }

    #[test]
    fn letters_that_differ_are_counted() {
        for (one, other, expected) in [
            ("", "", 0),
            ("", "abc", 3),
            ("Abc", "aBC", 0),
            ("ab", "ba", 1),
            ("abcd", "abdc", 1),
            ("ab", "xab", 1),
            ("abc", "bc", 1),
            ("abcd", "axcd", 1),
            ("abcd", "badc", 2),
            ("ca", "abc", 3),
            ("kitten", "sitting", 3),
        ] {
            assert_eq!(distance(one, other), expected, "{one} {other}");
            assert_eq!(distance(other, one), expected, "{other} {one}");
        }
    }
}
