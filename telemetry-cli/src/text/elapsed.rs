//! How long something has lasted, for people.

/// Formats seconds in the two largest units: `3d 4h`, `2h 5m`, `3m 7s`, `12s`.
pub(crate) fn elapsed(seconds: u64) -> String {
    const UNITS: [(u64, &str); 4] = [(86_400, "d"), (3600, "h"), (60, "m"), (1, "s")];
    let largest = UNITS.iter().position(|(size, _)| seconds >= *size).unwrap_or(UNITS.len() - 1);
    let (size, name) = UNITS[largest];
    let first = format!("{}{name}", seconds / size);
    match UNITS.get(largest + 1) {
        Some((next, name)) => format!("{first} {}{name}", seconds % size / next),
        None => first,
    }
}

#[cfg(test)]
mod tests {
    use super::elapsed;

    #[test]
    fn two_units_are_shown() {
        for (seconds, text) in [
            (0, "0s"),
            (59, "59s"),
            (60, "1m 0s"),
            (3599, "59m 59s"),
            (7500, "2h 5m"),
            (86_399, "23h 59m"),
            (3 * 86_400 + 4 * 3600, "3d 4h"),
        ] {
            assert_eq!(elapsed(seconds), text);
        }
    }
}
