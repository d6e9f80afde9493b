//! The memory of this process, on Linux only.

/// Bytes resident now.
pub(super) fn now() -> Option<u64> {
    field("/proc/self/status", "VmRSS:")
}

/// Most bytes that were resident at once since [`forget_peak`], or since the process began.
pub(super) fn peak() -> Option<u64> {
    field("/proc/self/status", "VmHWM:")
}

/// Lets the peak begin again, where that may be done.
pub(super) fn forget_peak() {
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

/// Bytes that programs can still have without swapping.
pub(super) fn available() -> Option<u64> {
    field("/proc/meminfo", "MemAvailable:")
}

/// A line `KEY N kB`, in bytes.
fn field(path: &str, key: &str) -> Option<u64> {
    let text = std::fs::read_to_string(path).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(key))?;
    let number: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(number << 10)
}
