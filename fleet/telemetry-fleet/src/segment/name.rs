//! Names of segments in a store.

use std::fmt;
use std::str::FromStr;

use telemetry_format::Calendar;

/// The name of a segment: two segments with the same events of the same host have the same name.
///
/// ```
/// use telemetry_fleet::segment::SegmentName;
///
/// let text = "segments/day=2026-11-22/host=h7/00000000075bcd15-18ea5c38afec8000-1a2b3c4d.tel";
/// let name: SegmentName = text.parse().unwrap();
/// assert_eq!((name.session, name.host.as_str()), (123_456_789, "h7"));
/// assert_eq!(name.to_string(), text);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SegmentName {
    /// The host that recorded the events.
    pub host: Host,
    /// The session.
    pub session: u64,
    /// When its first block was opened, in nanoseconds since 1970 UTC.
    pub start_ns: u64,
    /// The checksum of its [intervals](crate::segment::Intervals).
    pub intervals: u32,
}

impl SegmentName {
    /// Returns the day of its first block, in UTC: `2026-11-22`.
    pub fn day(&self) -> String {
        let day = Calendar::from_seconds(self.start_ns / 1_000_000_000);
        format!("{:04}-{:02}-{:02}", day.year, day.month, day.day)
    }
}

impl fmt::Display for SegmentName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SegmentName { host, session, start_ns, intervals } = self;
        let day = self.day();
        write!(f, "segments/day={day}/host={host}/{session:016x}-{start_ns:016x}-{intervals:08x}.tel")
    }
}

impl FromStr for SegmentName {
    type Err = String;

    fn from_str(text: &str) -> Result<SegmentName, String> {
        let parse = || -> Option<SegmentName> {
            let (_, rest) = text.strip_prefix("segments/day=")?.split_once("/host=")?;
            let (host, file) = rest.split_once('/')?;
            let mut numbers = file.strip_suffix(".tel")?.split('-');
            let mut next = || u64::from_str_radix(numbers.next()?, 16).ok();
            let (session, start_ns, intervals) = (next()?, next()?, u32::try_from(next()?).ok()?);
            Some(SegmentName { host: host.parse().ok()?, session, start_ns, intervals })
        };
        let name = parse().filter(|name| name.to_string() == text);
        name.ok_or_else(|| {
            let form = "segments/day=DAY/host=HOST/SESSION-START-INTERVALS.tel";
            format!("`{text}` is not the name of a segment; expected {form}")
        })
    }
}

/// The name of a host, as it is in names of segments: 1 to 64 lower-case letters, digits, hyphens
/// and dots, without a dot at the start. So it is safe in a path, a URL and a partition of a table.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Host(String);

impl Host {
    /// Returns the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Host {
    type Err = String;

    fn from_str(text: &str) -> Result<Host, String> {
        let is_allowed = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.');
        if (1..=64).contains(&text.len()) && text.bytes().all(is_allowed) && !text.starts_with('.') {
            return Ok(Host(text.to_owned()));
        }
        let form = "1 to 64 lower-case letters, digits, hyphens and dots, without a dot at the start";
        Err(format!("`{}` cannot be the name of a host; expected {form}", text.escape_debug()))
    }
}
