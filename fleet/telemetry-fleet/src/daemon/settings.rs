//! The settings of a shipper, which a reload may change.

use std::path::PathBuf;
use std::time::Duration;

use crate::daemon::allow::Allow;
use crate::destination::Destination;

/// What may change while a shipper runs.
#[derive(Clone)]
pub struct Settings {
    /// Where segments go.
    pub to: Destination,
    /// Directories with closed files.
    pub watch: Vec<PathBuf>,
    /// Bytes of a segment.
    pub max_len: u64,
    /// How long a segment of a connected program grows.
    pub max_age: Duration,
    /// The most bytes of the spool.
    pub spool_limit: u64,
    /// What a collector may ask of which programs.
    pub allow: Vec<Allow>,
    /// The command `telemetry`, which asks them.
    pub command: PathBuf,
}
