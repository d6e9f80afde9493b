//! Marks: moments of a run that have a text, such as "warm-up done".

use telemetry_format::Label;

use crate::own::labels::intern;
use crate::own::registry as own;

/// Marks this moment with a text, for readers of the stream and for every picture of it.
///
/// ```
/// for round in 1..=3 {
///     telemetry_runtime::mark(&format!("round {round}"));
/// }
/// ```
///
/// The mark is an event of the runtime's own registry, `telemetry:Mark`, with the label of the
/// text. It is on unless [`reset`](crate::reset) and [`reset_record`](crate::reset_record) switch
/// off `telemetry:Mark`, by this name; then the text gets no label. A mark alone starts no stream:
/// it waits in memory for one.
///
/// The text is truncated to 4096 bytes, and never freed, see [`intern`](fn@intern). If it gets no
/// label, the mark is recorded with [`Label::NONE`]. May be called wherever an event may be
/// emitted.
///
/// [`mark!`](crate::mark!) is faster for a constant text.
pub fn mark(text: &str) {
    mark_as(|| intern(text));
}

/// Marks this moment with a constant text, as [`mark`](fn@mark) does. Looks the text up once; from
/// then on it is a load and an event.
///
/// ```
/// telemetry_runtime::mark!("warm-up done");
/// ```
#[macro_export]
macro_rules! mark {
    ($text:expr $(,)?) => {
        $crate::__private::mark_as(|| $crate::intern!($text))
    };
}

/// Records a mark with the label of its text, which is asked for only if marks are on.
#[inline(always)]
pub fn mark_as(text: impl FnOnce() -> Label) {
    own::mark(text);
}
