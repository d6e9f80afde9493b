//! The content of a report.

/// The content of a report.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReportOptions {
    /// The origins of allocations, calls, exceptions and contentions.
    pub traces: bool,
    /// Also methods below a millisecond, all classes of a heap, names of images, and all counters.
    pub verbose: bool,
}

impl ReportOptions {
    /// Sets whether the report has the origins of events.
    #[must_use]
    pub fn traces(mut self, traces: bool) -> Self {
        self.traces = traces;
        self
    }

    /// Sets whether the report has what is rare or small, too.
    #[must_use]
    pub fn verbose(mut self, verbose: bool) -> Self {
        self.verbose = verbose;
        self
    }
}
