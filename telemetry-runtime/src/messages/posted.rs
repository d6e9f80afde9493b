//! A message as the program has it.

use core::ops::Deref;

/// A message, with what its events said. The program's own from [`get`](super::Channel::get) on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Posted<T> {
    ticks: u64,
    values: T,
}

impl<T> Posted<T> {
    pub(super) const fn new(ticks: u64, values: T) -> Self {
        Posted { ticks, values }
    }

    /// When it was posted, by the clock that events are timed by. No two messages of a name have the same time.
    ///
    /// Not a method, so that it is in no parameter's way: `Posted::ticks(&message)`.
    pub fn ticks(this: &Self) -> u64 {
        this.ticks
    }
}

impl<T> Deref for Posted<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.values
    }
}
