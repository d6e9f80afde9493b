//! Processor time, which does not depend on what else the machine does.

use std::time::Duration;

/// Runs a function, and fails if this thread needs more processor time for it. Checks nothing where
/// the system does not state the time of a thread.
pub fn takes_at_most<T>(limit: Duration, what: &str, run: impl FnOnce() -> T) -> T {
    let before = of_thread();
    let result = run();
    if let (Some(before), Some(after)) = (before, of_thread()) {
        let taken = after.saturating_sub(before);
        assert!(taken < limit, "{what}: {taken:?} of processor time, expected less than {limit:?}");
    }
    result
}

/// Returns the processor time of this thread; `None` where the system does not state it.
pub fn of_thread() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(Duration::from_nanos(text.split_whitespace().next()?.parse().ok()?))
}
