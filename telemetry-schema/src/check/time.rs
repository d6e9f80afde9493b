//! Rules about `time`, the mark of events that tell of another time than that of their emission.

use crate::check::context::{Check, Origin};
use crate::check::fields::Fields;
use crate::model::registry::{Count, Param};
use crate::model::sort::Sort;
use crate::text::diagnostic::{one_of, quote};
use crate::text::words::nearest;

/// Checks `time` of an event, and returns the index of the parameter with the clock reading.
/// `sound` says whether the types of its parameters are valid.
pub(super) fn time(cx: &mut Check, event: &Fields, params: &[Param], sound: bool) -> Option<usize> {
    // In a stream, a mark of another version does not affect the rest of its registry.
    let noted = (cx.origin == Origin::Embedded).then(|| std::mem::take(&mut cx.diags));
    let index = mark(cx, event, params, sound);
    if let Some(noted) = noted {
        cx.diags = noted;
    }
    index
}

fn mark(cx: &mut Check, event: &Fields, params: &[Param], sound: bool) -> Option<usize> {
    let text = event.text(cx, "time")?;
    let name = *text.get_ref();
    let Some(index) = params.iter().position(|param| param.name == name) else {
        let message = format!("the time of {} is {}, which is not a parameter", event.what, quote(name));
        let others = || params.iter().map(|param| param.name.as_str());
        let help = match (nearest(name, others()), params.is_empty()) {
            (Some(meant), _) => format!("did you mean `{meant}`?"),
            (None, true) => "the event has no parameter: leave `time` out".to_string(),
            (None, false) => format!("{} has {}", event.what, one_of(others())),
        };
        cx.diags.error(text.span(), message).help(help);
        return None;
    };
    let param = &params[index];
    if sound && (param.sort, param.count) != (Sort::U64, Count::One) {
        let message = format!("the time of {} is {}, which has the wrong type", event.what, quote(name));
        cx.diags.error(text.span(), message).help("expected `u64`: a clock reading");
        return None;
    }
    Some(index)
}
