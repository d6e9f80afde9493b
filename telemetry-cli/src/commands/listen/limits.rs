//! Limits on what senders may use.

use std::time::{Duration, Instant};

use telemetry_format::{HEADER_LEN, MAX_PAYLOAD};

use crate::text::grouped;
use crate::text::quantity::{bytes, duration};

/// How long one read waits before it checks whether to stop.
pub(super) const READ_TIMEOUT: Duration = Duration::from_millis(100);

/// The largest block that the format allows, in bytes.
const MAX_BLOCK: u64 = MAX_PAYLOAD as u64 + u16::MAX as u64;

#[derive(clap::Args, Clone)]
pub(crate) struct Limits {
    /// Connections at a time; beyond it, a new connection replaces an idle one or is closed
    #[arg(long, value_name = "N", default_value = "64", help_heading = "Limits")]
    pub(crate) max_connections: usize,

    /// Bytes of a block, at most 16M; each connection may take slightly more memory than that
    #[arg(long, value_name = "BYTES", default_value = "4M", value_parser = block_size, help_heading = "Limits")]
    pub(crate) max_block: u64,

    /// Bytes per second of a connection, which waits beyond it, or of an address's datagrams, which
    /// are refused
    #[arg(long, value_name = "BYTES", default_value = "256M", value_parser = rate, help_heading = "Limits")]
    pub(crate) max_rate: u64,

    /// Bytes of all session files in DIR, including those of earlier runs
    #[arg(long, value_name = "BYTES", default_value = "4G", value_parser = bytes, help_heading = "Limits")]
    pub(crate) max_disk: u64,

    /// Sessions, not counting those of earlier runs
    #[arg(long, value_name = "N", default_value = "1000", help_heading = "Limits")]
    pub(crate) max_sessions: usize,

    /// Time for a block to arrive, and for the first block of a connection to start
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = duration, help_heading = "Limits")]
    pub(crate) timeout: Duration,
}

/// A token bucket: bytes per second, and the same number at once.
pub(super) struct Bucket {
    rate: f64,
    left: f64,
    at: Instant,
}

impl Bucket {
    pub(super) fn new(rate: u64) -> Bucket {
        Bucket { rate: rate as f64, left: rate as f64, at: Instant::now() }
    }

    /// Takes bytes out. Returns the time until the bucket is no longer empty.
    pub(super) fn take(&mut self, bytes: usize) -> Duration {
        let now = Instant::now();
        self.left = (self.left + (now - self.at).as_secs_f64() * self.rate).min(self.rate);
        self.at = now;
        self.left -= bytes as f64;
        Duration::try_from_secs_f64(-self.left / self.rate).unwrap_or_default()
    }
}

fn rate(text: &str) -> Result<u64, String> {
    match bytes(text)? {
        0 => Err("expected more than 0 bytes per second".to_owned()),
        rate => Ok(rate),
    }
}

fn block_size(text: &str) -> Result<u64, String> {
    match bytes(text)? {
        // The limit of the format is one of payloads.
        bytes if bytes == u64::from(MAX_PAYLOAD) => Ok(MAX_BLOCK),
        bytes if (HEADER_LEN as u64..=u64::from(MAX_PAYLOAD)).contains(&bytes) => Ok(bytes),
        bytes => {
            let (bytes, most) = (grouped(bytes), grouped(MAX_PAYLOAD.into()));
            Err(format!("found {bytes} bytes, expected {HEADER_LEN} to {most}, which is 16M"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read() {
        assert_eq!(block_size("143").ok(), None);
        assert_eq!(block_size("17M").ok(), None);
        assert_eq!(block_size("16M").ok(), Some(MAX_BLOCK));
        assert!(rate("0").is_err());
    }

    #[test]
    fn an_empty_bucket_returns_the_time_to_wait() {
        let mut bucket = Bucket::new(1_000);
        assert_eq!(bucket.take(900), Duration::ZERO);
        let wait = bucket.take(10_000);
        assert!(wait > Duration::from_secs(8) && wait < Duration::from_secs(11), "{wait:?}");
    }
}
