//! The content of a report.

/// The content of a report.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReportOptions {
    /// The origins of allocations, calls, exceptions and contentions.
    pub traces: bool,
    /// Also methods below a millisecond, all classes of a heap, names of images, and all counters.
    pub verbose: bool,
}
