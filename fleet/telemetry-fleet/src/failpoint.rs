//! Points at which tests end the process, as a power cut would.

/// Ends the process here if the variable `FAILPOINT` names this point: `NAME`, or `NAME:3` for the
/// third time. Only builds with the feature `failpoints` look.
#[inline]
pub fn failpoint(name: &str) {
    #[cfg(feature = "failpoints")]
    chosen::reach(name);
    #[cfg(not(feature = "failpoints"))]
    let _ = name;
}

#[cfg(feature = "failpoints")]
mod chosen {
    use std::sync::LazyLock;
    use std::sync::atomic::{AtomicI64, Ordering};

    static CHOSEN: LazyLock<Option<(String, AtomicI64)>> = LazyLock::new(|| {
        let text = std::env::var("FAILPOINT").ok()?;
        let (name, time) = text.split_once(':').unwrap_or((&text, "1"));
        Some((name.to_owned(), AtomicI64::new(time.parse().ok()?)))
    });

    pub(super) fn reach(name: &str) {
        if let Some((chosen, left)) = &*CHOSEN
            && chosen == name
            && left.fetch_sub(1, Ordering::Relaxed) == 1
        {
            // No destructor runs and nothing is flushed.
            std::process::abort();
        }
    }
}
