//! A limit for how many users do something at a time.

use std::sync::Arc;

use crate::sys::atomic::{AtomicUsize, Ordering};

/// One of a limited number of seats, which is returned on drop.
pub(crate) struct Seat(Arc<AtomicUsize>);

impl Seat {
    /// Takes a seat, if one is free.
    pub(crate) fn take(of: &Arc<AtomicUsize>, most: usize) -> Option<Seat> {
        let more = |taken| (taken < most).then_some(taken + 1);
        of.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok()?;
        Some(Seat(of.clone()))
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
