//! A message that was posted.

use core::ops::Deref;

/// A message and the values of its events. The program owns it once
/// [`get`](crate::messages::Channel::get) has returned it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Posted<T> {
    ticks: u64,
    values: T,
}

impl<T> Posted<T> {
    pub(crate) const fn new(ticks: u64, values: T) -> Self {
        Posted { ticks, values }
    }

    /// Returns when the message was posted, by the clock of the events. No two messages of one name
    /// have the same time.
    ///
    /// Not a method, so that it does not hide a parameter: `Posted::ticks(&message)`.
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
