//! The memory of this process, on Linux only.

/// Returns the bytes that are resident now.
pub(super) fn now() -> Option<u64> {
    field("/proc/self/status", "VmRSS:")
}

/// Returns the most bytes that were resident at once since [`forget_peak`], or since the start of
/// the process.
pub(super) fn peak() -> Option<u64> {
    field("/proc/self/status", "VmHWM:")
}

/// Resets the peak, if the system allows it.
pub(super) fn forget_peak() {
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

/// Returns the bytes that programs can still use without swapping.
pub(super) fn available() -> Option<u64> {
    field("/proc/meminfo", "MemAvailable:")
}

/// Returns the bytes of a line `KEY N kB`.
fn field(path: &str, key: &str) -> Option<u64> {
    let text = std::fs::read_to_string(path).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(key))?;
    let number: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(number << 10)
}
