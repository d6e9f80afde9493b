//! What senders may cost.

use std::time::{Duration, Instant};

use telemetry_format::{HEADER_LEN, MAX_PAYLOAD};

/// Most bytes of a block that the format has.
const MOST_BLOCK: u64 = MAX_PAYLOAD as u64 + u16::MAX as u64;

#[derive(clap::Args, Clone)]
pub(crate) struct Limits {
    /// Connections at a time; others are closed at once
    #[arg(long, value_name = "N", default_value = "64", help_heading = "Limits")]
    pub(crate) max_connections: usize,

    /// Bytes of a block, at most 16M; each connection may take so much memory, and some more
    #[arg(long, value_name = "BYTES", default_value = "4M", value_parser = block_size, help_heading = "Limits")]
    pub(crate) max_block: u64,

    /// Bytes per second of a connection, which then has to wait, or of the datagrams to an address, which are
    /// then refused
    #[arg(long, value_name = "BYTES", default_value = "256M", value_parser = rate, help_heading = "Limits")]
    pub(crate) max_rate: u64,

    /// Bytes of all session files in DIR, those of earlier runs too
    #[arg(long, value_name = "BYTES", default_value = "4G", value_parser = bytes, help_heading = "Limits")]
    pub(crate) max_disk: u64,

    /// Sessions, those of earlier runs not counted
    #[arg(long, value_name = "N", default_value = "1000", help_heading = "Limits")]
    pub(crate) max_sessions: usize,

    /// How long a block may take to arrive, and the first one of a connection to come
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = seconds, help_heading = "Limits")]
    pub(crate) timeout: Duration,
}

/// So many bytes in a second, and as many at once.
pub(super) struct Bucket {
    rate: f64,
    left: f64,
    at: Instant,
}

impl Bucket {
    pub(super) fn new(rate: u64) -> Bucket {
        Bucket { rate: rate as f64, left: rate as f64, at: Instant::now() }
    }

    /// Takes bytes out. How long it will be until there is something in it again.
    pub(super) fn take(&mut self, bytes: usize) -> Duration {
        let now = Instant::now();
        self.left = (self.left + (now - self.at).as_secs_f64() * self.rate).min(self.rate);
        self.at = now;
        self.left -= bytes as f64;
        Duration::try_from_secs_f64(-self.left / self.rate).unwrap_or_default()
    }
}

/// A number of bytes with an optional suffix.
fn bytes(text: &str) -> Result<u64, String> {
    let expected = || "expected a number of bytes, such as 65536, 64k, 16M or 2G".to_owned();
    let (digits, shift) = match text.char_indices().next_back() {
        Some((at, 'k' | 'K')) => (&text[..at], 10),
        Some((at, 'm' | 'M')) => (&text[..at], 20),
        Some((at, 'g' | 'G')) => (&text[..at], 30),
        _ => (text, 0),
    };
    let number: u64 = digits.parse().map_err(|_| expected())?;
    number.checked_mul(1 << shift).ok_or_else(expected)
}

fn rate(text: &str) -> Result<u64, String> {
    match bytes(text)? {
        0 => Err("expected more than 0 bytes per second".to_owned()),
        rate => Ok(rate),
    }
}

fn block_size(text: &str) -> Result<u64, String> {
    match bytes(text)? {
        // The format's own limit is one of payloads.
        bytes if bytes == u64::from(MAX_PAYLOAD) => Ok(MOST_BLOCK),
        bytes if (HEADER_LEN as u64..=u64::from(MAX_PAYLOAD)).contains(&bytes) => Ok(bytes),
        bytes => Err(format!("found {bytes} bytes, expected {HEADER_LEN} to {MAX_PAYLOAD}, which is 16M")),
    }
}

/// A time in seconds.
pub(super) fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| *seconds > 0.0);
    let duration = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    duration.ok_or_else(|| "expected a number of seconds above 0, such as 10 or 0.5".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read() {
        let check = |text, expected: Option<u64>| assert_eq!(bytes(text).ok(), expected, "{text}");
        check("65536", Some(65_536));
        check("64k", Some(65_536));
        check("2G", Some(2 << 30));
        for text in ["", "k", "-1", "1.5M", "1ü", "99999999999G"] {
            check(text, None);
        }
        assert_eq!(block_size("143").ok(), None);
        assert_eq!(block_size("17M").ok(), None);
        assert_eq!(block_size("16M").ok(), Some(MOST_BLOCK));
        assert!(
            rate("0").is_err()
                && seconds("0").is_err()
                && seconds("nan").is_err()
                && seconds("1e99").is_err()
        );
    }

    #[test]
    fn a_bucket_that_is_empty_says_how_long() {
        let mut bucket = Bucket::new(1_000);
        assert_eq!(bucket.take(900), Duration::ZERO);
        let wait = bucket.take(10_000);
        assert!(wait > Duration::from_secs(8) && wait < Duration::from_secs(11), "{wait:?}");
    }
}
