//! Spans: pairs of begin and end events, and their durations.
//!
//! It may use `figures`. It never opens an input, and its memory grows only with the number of open
//! spans, which is limited.

mod earlier;
mod emissions;
mod found;
mod gaps;
mod identity;
mod nesting;
mod pairing;
mod paths;
mod roles;
mod sampled;
mod tally;

pub use telemetry_decode::rules::Key;

pub use earlier::Carried;
pub use found::{End, Found, Which};
pub use gaps::Gaps;
pub use nesting::Place;
pub use pairing::{Pairing, Step};
pub use paths::Paths;
pub use roles::{Def, may_have_role};
pub use sampled::{Sampled, SampledShape, SampledSpan, is_sample, open_spans};
pub use tally::{Long, SpanTally, Tally, Unmatched};
