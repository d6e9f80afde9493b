//! Numbers of spans and events.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

/// How many numbers a thread takes at once, so that threads rarely write the same memory.
const BATCH: u64 = 64;

/// The first number that no thread has taken.
static NEXT: AtomicU64 = AtomicU64::new(1);

thread_local! {
    /// The thread's next number. The first one of a batch is not the thread's yet.
    static OWN: Cell<u64> = const { Cell::new(1) };
}

/// Returns a number that no span and no event of the process has had.
///
/// The ids of `tracing` do not do: it gives the id of a closed span to another one.
pub(crate) fn next() -> u64 {
    OWN.with(|own| {
        let number = match own.get() {
            first if first % BATCH == 1 => NEXT.fetch_add(BATCH, Ordering::Relaxed),
            number => number,
        };
        own.set(number + 1);
        number
    })
}
