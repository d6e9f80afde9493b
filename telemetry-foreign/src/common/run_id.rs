//! The id of a run of a program, which other systems' logs do not have.

/// Bytes that distinguish one run from all others: they contain several clock readings.
pub(crate) const TELLING: usize = 128;

/// Returns the session's id for a run whose events begin with these bytes: an FNV-1a hash of the
/// first of them. So it is the same whenever the log is read, even if it was cut or has grown. It
/// is also the same in streams that are made of the log.
pub(crate) fn run_id(events: &[u8]) -> u64 {
    let first = &events[..events.len().min(TELLING)];
    let hash = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    first.iter().fold(0xcbf2_9ce4_8422_2325, hash)
}
