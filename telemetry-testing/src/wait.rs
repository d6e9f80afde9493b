//! Waits that end: a test that waits in vain fails, and says for what.

use std::time::{Duration, Instant};

/// Nothing takes longer, even on a loaded machine.
const LONGEST: Duration = Duration::from_secs(60);

/// Waits until a condition holds.
///
/// # Panics
/// If it does not hold after 60 s.
#[track_caller]
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let since = Instant::now();
    while !is_so() {
        assert!(since.elapsed() < LONGEST, "{what}: not so after {} s", LONGEST.as_secs());
        std::thread::sleep(Duration::from_millis(2));
    }
}
