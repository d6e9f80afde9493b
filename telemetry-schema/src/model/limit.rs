//! Limits: how many events of a type a thread records, or which ones.

/// The limit of an event: `limit = { per_second = 1000, burst = 100 }`, or
/// `sample = { one_in = 100, by = "key" }`. What it leaves out is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// Each thread records up to a number.
    Rate {
        /// Events in a second, over a longer time. From 1.
        per_second: u32,
        /// The most events at once. From 1.
        burst: u32,
    },
    /// One in a number is recorded.
    Sample {
        /// From 2.
        one_in: u32,
        /// Index of the parameter whose value decides. `None` if each thread records every
        /// `one_in`-th event.
        by: Option<usize>,
    },
}

impl Limit {
    /// Returns true if the events with some value of the parameter `by` are recorded, for a sample
    /// by that parameter. Signed values are extended to 64 bits.
    ///
    /// The runtime decides so, in every process and version.
    pub const fn keeps(one_in: u32, value: u64) -> bool {
        telemetry_format::sample::keeps(one_in, value)
    }
}
