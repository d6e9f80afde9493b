//! Marks of events that spans and events of the Rust crate `tracing` become.

/// The mark of an event: `tracing = { target = "gc", name = "collect" }`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Tracing {
    /// The target of the span or event in the crate `tracing`.
    pub target: String,
    /// Its name there.
    pub name: String,
    /// When a span becomes the event.
    pub at: TracingAt,
}

/// The moment of a span at which it becomes an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum TracingAt {
    /// The span is made. An event of `tracing` has this moment alone.
    #[default]
    New,
    /// The last handle of the span is dropped.
    Close,
}

impl TracingAt {
    /// Both moments.
    pub const ALL: &[TracingAt] = &[TracingAt::New, TracingAt::Close];

    /// Returns its word in a registry file.
    pub const fn name(self) -> &'static str {
        match self {
            TracingAt::New => "new",
            TracingAt::Close => "close",
        }
    }

    /// Returns the moment for a word.
    pub fn from_text(text: &str) -> Option<TracingAt> {
        TracingAt::ALL.iter().copied().find(|at| at.name() == text)
    }
}
