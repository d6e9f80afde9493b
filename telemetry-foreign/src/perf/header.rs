//! The comments that `perf script --header` prints before the events.

/// A moment by two clocks: a place on the time line of events whose times are those of
/// `CLOCK_MONOTONIC_RAW`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Anchor {
    /// Nanoseconds of `CLOCK_MONOTONIC_RAW`.
    pub raw_ns: u64,
    /// Nanoseconds since 1970-01-01 UTC.
    pub wall_ns: u64,
}

/// Returns the moment in a header, if perf used the clock `monotonic_raw`. Its wall time has
/// microseconds.
pub fn anchor(first: &[u8]) -> Option<Anchor> {
    // `# reference time: DATE = SECONDS (TOD) = SECONDS (monotonic_raw)`
    let line = value(first, "reference time")?;
    let mut times = line.split(" = ").skip(1);
    let wall = times.next()?.strip_suffix(" (TOD)")?;
    let raw = times.next()?.strip_suffix(" (monotonic_raw)")?;
    Some(Anchor { raw_ns: nanoseconds(raw)?, wall_ns: nanoseconds(wall)? })
}

/// Returns the clock that perf used, if a header says so and it is another one than
/// `CLOCK_MONOTONIC_RAW`.
pub fn other_clock(first: &[u8]) -> Option<&str> {
    let has_header = first.starts_with(b"# ====");
    match value(first, "clockid") {
        Some(clock) if clock.starts_with("monotonic_raw") => None,
        None if !has_header => None,
        clock => Some(clock.unwrap_or("perf's own clock")),
    }
}

/// Returns the value of a key in a header.
pub(super) fn value<'t>(first: &'t [u8], key: &str) -> Option<&'t str> {
    let lines = first.split(|&byte| byte == b'\n').filter_map(|line| str::from_utf8(line).ok());
    lines
        .take_while(|line| line.starts_with('#') || line.is_empty())
        .filter_map(|line| line.strip_prefix("# ")?.split_once(':'))
        .find_map(|(name, value)| (name.trim() == key).then_some(value.trim()))
}

/// Reads seconds with at most nine decimals.
pub(super) fn nanoseconds(text: &str) -> Option<u64> {
    let (seconds, fraction) = text.split_once('.')?;
    let is_number = |digits: &str| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number(seconds) || !is_number(fraction) || fraction.len() > 9 {
        return None;
    }
    let fraction: u64 = format!("{fraction:0<9}").parse().ok()?;
    seconds.parse::<u64>().ok()?.checked_mul(1_000_000_000)?.checked_add(fraction)
}
