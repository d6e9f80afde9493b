//! The choice of spans by a condition.

use telemetry_filter::{SpanCondition, SpanParts};
use telemetry_report::spans::{Def, Found, Pairing};

/// The spans that meet a condition, or all.
pub(crate) struct Selected(Option<SpanCondition>);

impl Selected {
    /// Lets a pairing note what the condition says about events.
    pub(crate) fn new(condition: Option<SpanCondition>, pairing: &mut Pairing) -> Selected {
        if let Some(condition) = &condition {
            let mut marker = condition.marker();
            pairing.mark_by(move |event| marker.marks(event));
        }
        Selected(condition)
    }

    /// Returns true if a span meets the condition.
    pub(crate) fn has(&self, found: &Found, defs: &[Def]) -> bool {
        self.0.as_ref().is_none_or(|condition| condition.matches(&parts(found, defs)))
    }
}

/// Returns what a condition needs of a span.
fn parts<'d>(found: &Found, defs: &'d [Def]) -> SpanParts<'d> {
    let (def, marks, times) = match found {
        Found::Whole { which, begin, end, self_ns, .. } => {
            (which.def, [begin.marks, end.marks], Some((end.since(begin), *self_ns)))
        }
        Found::NoEnd(which, begin, _) => (which.def, [begin.marks, 0], None),
        Found::NoBegin(which, end) => (which.def, [0, end.marks], None),
        Found::Begun(which, _) | Found::Dropped(which, _) => (which.def, [0, 0], None),
    };
    SpanParts { name: defs[def].declared_name(), marks, times }
}
