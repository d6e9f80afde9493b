//! The places for connections. If all are taken, a new connection replaces an idle one.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A connection that has sent no block may be replaced after this time.
const FIRST_BLOCK_TIMEOUT: Duration = Duration::from_secs(1);

/// The connections that are open.
pub(super) struct Places {
    max: usize,
    /// A connection that has sent blocks may be replaced after a silence of this length.
    silence: Duration,
    taken: Mutex<Vec<Arc<Place>>>,
}

/// The shared state of a connection.
pub(super) struct Place {
    state: Mutex<State>,
    /// Another connection replaces it.
    replaced: AtomicBool,
}

#[derive(Clone, Copy)]
struct State {
    has_block: bool,
    /// The time of its last block, or of its start.
    since: Instant,
}

impl Places {
    pub(super) fn new(max: usize, silence: Duration) -> Places {
        Places { max, silence, taken: Mutex::new(Vec::new()) }
    }

    /// Returns a place for a new connection, if one is free or an idle connection can be replaced.
    pub(super) fn take(&self, now: Instant) -> Option<Arc<Place>> {
        let mut taken = self.lock();
        if taken.len() >= self.max {
            let idle = taken.iter().enumerate().filter_map(|(index, place)| {
                let State { has_block, since } = *lock(&place.state);
                let least = if has_block { self.silence } else { FIRST_BLOCK_TIMEOUT };
                (now.saturating_duration_since(since) >= least).then_some(((has_block, since), index))
            });
            let (_, index) = idle.min()?;
            taken.swap_remove(index).replaced.store(true, Ordering::Relaxed);
        }
        let state = Mutex::new(State { has_block: false, since: now });
        let place = Arc::new(Place { state, replaced: AtomicBool::new(false) });
        taken.push(place.clone());
        Some(place)
    }

    /// Frees the place, since the connection has ended.
    pub(super) fn leave(&self, place: &Arc<Place>) {
        self.lock().retain(|taken| !Arc::ptr_eq(taken, place));
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<Place>>> {
        lock(&self.taken)
    }
}

impl Place {
    /// Notes that a whole block has come.
    pub(super) fn has_block(&self) {
        *lock(&self.state) = State { has_block: true, since: Instant::now() };
    }

    /// Returns true if another connection has taken the place.
    pub(super) fn is_replaced(&self) -> bool {
        self.replaced.load(Ordering::Relaxed)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_idle_go_first() {
        let silence = Duration::from_secs(30);
        let places = Places::new(3, silence);
        let start = Instant::now();
        let quiet = places.take(start).unwrap();
        quiet.has_block();
        let empty = places.take(start + FIRST_BLOCK_TIMEOUT / 2).unwrap();
        let last = places.take(start + FIRST_BLOCK_TIMEOUT).unwrap();
        // All have come just now.
        assert!(places.take(start + FIRST_BLOCK_TIMEOUT).is_none());
        let first = places.take(start + 2 * FIRST_BLOCK_TIMEOUT).unwrap();
        assert!(empty.is_replaced() && !last.is_replaced() && !quiet.is_replaced());
        let second = places.take(start + 3 * FIRST_BLOCK_TIMEOUT).unwrap();
        assert!(last.is_replaced() && !quiet.is_replaced());
        // Of the connections that have sent something, the one that is silent for longest goes.
        first.has_block();
        second.has_block();
        assert!(places.take(start + 4 * FIRST_BLOCK_TIMEOUT).is_none());
        let third = places.take(Instant::now() + silence).unwrap();
        assert!(quiet.is_replaced() && !first.is_replaced());
        assert_eq!(places.lock().len(), 3);
        places.leave(&quiet);
        assert_eq!(places.lock().len(), 3);
        places.leave(&third);
        assert_eq!(places.lock().len(), 2);
    }
}
