//! What `[[counter]]` says of a counter.

/// A number that the program counts, and that the runtime samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counter {
    /// Whether it only grows.
    pub form: CounterForm,
    /// Whether each thread has its own.
    pub per: CounterPer,
}

/// How the value of a counter changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CounterForm {
    /// It only grows. The samples are `u64`.
    #[default]
    Monotonic,
    /// It grows and shrinks. The samples are `i64`.
    Gauge,
}

/// What has a value of a counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CounterPer {
    /// The process has one value.
    #[default]
    Process,
    /// Each thread has a value.
    Thread,
}

impl Counter {
    /// Returns a counter.
    pub const fn new(form: CounterForm, per: CounterPer) -> Counter {
        Counter { form, per }
    }
}

impl CounterForm {
    /// Every form.
    pub const ALL: &[CounterForm] = &[CounterForm::Monotonic, CounterForm::Gauge];

    /// Returns its word in a registry file.
    pub const fn name(self) -> &'static str {
        match self {
            CounterForm::Monotonic => "monotonic",
            CounterForm::Gauge => "gauge",
        }
    }
}

impl CounterPer {
    /// Every choice.
    pub const ALL: &[CounterPer] = &[CounterPer::Process, CounterPer::Thread];

    /// Returns its word in a registry file.
    pub const fn name(self) -> &'static str {
        match self {
            CounterPer::Process => "process",
            CounterPer::Thread => "thread",
        }
    }
}
