//! The number of a run of a program, which other systems' logs do not have.

/// Bytes that tell one run from all others: they have several readings of the clock.
pub(crate) const TELLING: usize = 128;

/// The session's number for a run whose events begin with these bytes: a hash (FNV-1a) of the first of them. So it is
/// the same whenever the log is read, also if it was cut or has grown, and it goes on in streams that are made of it.
pub(crate) fn run_id(events: &[u8]) -> u64 {
    let first = &events[..events.len().min(TELLING)];
    let hash = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    first.iter().fold(0xcbf2_9ce4_8422_2325, hash)
}
