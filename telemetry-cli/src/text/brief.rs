//! Numbers with three significant digits, where room is scarce.

/// Formats a number: `0`, `7`, `1,234`, `57.2 k`, `1.23 M`.
pub(crate) fn brief(number: f64) -> String {
    // Thousands begin at 10,000.
    const UNITS: [(f64, f64, &str); 4] =
        [(1e12, 1e12, "T"), (1e9, 1e9, "G"), (1e6, 1e6, "M"), (1e4, 1e3, "k")];
    if !number.is_finite() {
        return "-".to_string();
    }
    // What would be rounded up to the next unit belongs there.
    match UNITS.into_iter().find(|(least, ..)| number >= least * 0.9995) {
        Some((_, size, name)) => format!("{} {name}", three_digits(number / size)),
        None if number >= 999.5 => super::grouped(number.round() as u64),
        None if number.fract() == 0.0 => format!("{number:.0}"),
        None => three_digits(number),
    }
}

/// Formats a duration: `0 ns`, `255 ns`, `1.23 ms`, `12.0 s`, `2h 5m`.
pub(crate) fn brief_ns(ns: f64) -> String {
    const UNITS: [(f64, &str); 4] = [(1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns")];
    if ns >= 600e9 {
        return super::elapsed::elapsed((ns / 1e9) as u64);
    }
    let (size, name) = UNITS.into_iter().find(|(size, _)| ns >= size * 0.9995).unwrap_or(UNITS[3]);
    let number = if size == 1.0 && ns.fract() == 0.0 { format!("{ns:.0}") } else { three_digits(ns / size) };
    format!("{number} {name}")
}

/// Formats bytes: `0 B`, `512 B`, `1.50 KiB`, `4.00 MiB`.
pub(crate) fn brief_bytes(bytes: f64) -> String {
    const UNITS: [(f64, &str); 4] = [
        ((1_u64 << 40) as f64, "TiB"),
        ((1 << 30) as f64, "GiB"),
        ((1 << 20) as f64, "MiB"),
        ((1 << 10) as f64, "KiB"),
    ];
    match UNITS.into_iter().find(|(size, _)| bytes >= *size) {
        Some((size, name)) => format!("{} {name}", three_digits(bytes / size)),
        None => format!("{bytes:.0} B"),
    }
}

fn three_digits(number: f64) -> String {
    match number {
        x if x >= 99.95 => format!("{x:.0}"),
        x if x >= 9.995 => format!("{x:.1}"),
        x => format!("{x:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_are_shown() {
        for (number, text) in [
            (0.0, "0"),
            (7.0, "7"),
            (0.25, "0.25"),
            (99.96, "100"),
            (999.4, "999"),
            (999.6, "1,000"),
            (1234.5, "1,235"),
            (57_234.0, "57.2 k"),
            (999_499.0, "999 k"),
            (999_600.0, "1.00 M"),
            (1_234_567.0, "1.23 M"),
            (57e12, "57.0 T"),
            (f64::NAN, "-"),
        ] {
            assert_eq!(brief(number), text, "{number}");
        }
        for (ns, text) in [
            (0.0, "0 ns"),
            (255.0, "255 ns"),
            (999.6, "1.00 µs"),
            (255_340.0, "255 µs"),
            (1_234_567.0, "1.23 ms"),
            (12e9, "12.0 s"),
            (7500e9, "2h 5m"),
        ] {
            assert_eq!(brief_ns(ns), text, "{ns}");
        }
        for (bytes, text) in
            [(0.0, "0 B"), (1023.0, "1023 B"), (1536.0, "1.50 KiB"), (4_194_304.0, "4.00 MiB")]
        {
            assert_eq!(brief_bytes(bytes), text, "{bytes}");
        }
    }
}
