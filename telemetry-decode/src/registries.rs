//! The registries of a stream, found in it or added by the caller.

use telemetry_schema::Registry;

/// A registry that events can be decoded with.
#[derive(Debug)]
pub struct KnownRegistry {
    /// What events blocks name it by.
    pub fingerprint: u64,
    /// What it says.
    pub registry: Registry,
    /// Byte offset of the block that it was read from; none for one that the caller added.
    pub at: Option<u64>,
}
