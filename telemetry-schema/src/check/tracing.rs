//! Rules about `tracing`, the mark of events that spans and events of the crate `tracing` become.

use std::collections::HashMap;
use std::ops::Range;

use crate::check::context::{Check, Origin};
use crate::check::fields::Fields;
use crate::model::registry::{Count, Param};
use crate::model::sort::Sort;
use crate::model::tracing::{Tracing, TracingAt};
use crate::text::diagnostic::{one_of, quote};
use crate::text::keys;
use crate::text::words::nearest;

/// The marks so far, each with its place.
pub(super) type Marks = HashMap<Tracing, Range<usize>>;

/// Checks `tracing` of an event. `sound` says whether the types of its parameters are valid.
pub(super) fn tracing(
    cx: &mut Check,
    event: &Fields,
    params: &[Param],
    sound: bool,
    marks: &mut Marks,
) -> Option<Tracing> {
    // In a stream, a mark of another version does not affect the rest of its registry.
    let noted = (cx.origin == Origin::Embedded).then(|| std::mem::take(&mut cx.diags));
    let mut tracing = mark(cx, event, params, sound, marks);
    if let Some(noted) = noted {
        tracing = tracing.filter(|_| cx.diags.is_empty());
        cx.diags = noted;
    }
    tracing
}

fn mark(cx: &mut Check, event: &Fields, params: &[Param], sound: bool, marks: &mut Marks) -> Option<Tracing> {
    let table = event.table(cx, "tracing")?;
    let what = format!("the mark `tracing` of {}", event.what);
    let fields = Fields::new(cx, what, table.span(), table.get_ref(), keys::TRACING);
    let [target, name] = ["target", "name"].map(|key| text(cx, &fields, key));
    let at = match fields.text(cx, "at") {
        None if fields.has("at") => return None,
        None => TracingAt::default(),
        Some(word) => {
            let at = TracingAt::from_text(word.get_ref());
            if at.is_none() {
                let names = || TracingAt::ALL.iter().map(|at| at.name());
                let message = format!("unknown moment {} of {}", quote(word.get_ref()), fields.what);
                cx.diags.error(word.span(), message).help(match nearest(word.get_ref(), names()) {
                    Some(meant) => format!("did you mean `{meant}`?"),
                    None => format!("expected {}", one_of(names())),
                });
            }
            at?
        }
    };
    let tracing = Tracing { target: target?, name: name?, at };
    let other = |param: &&Param| param.count != Count::One || param.sort == Sort::Bytes;
    if sound && let Some(param) = params.iter().find(other) {
        let found = if param.count == Count::One { "bytes" } else { "an array" };
        let message =
            format!("{} has `tracing`, but its parameter {} is {found}", event.what, quote(&param.name));
        cx.diags.error(table.span(), message).help("no field of `tracing` has such a value: leave it out");
        return None;
    }
    if let Some(first) = marks.get(&tracing) {
        let message = format!("two events have the same mark `tracing`, as {} has it", event.what);
        cx.diags
            .error(table.span(), message)
            .label(first.clone(), "first used here")
            .help("give one of them another name or moment, or leave it out");
        return None;
    }
    marks.insert(tracing.clone(), table.span());
    Some(tracing)
}

/// Returns a text that is not empty.
fn text(cx: &mut Check, fields: &Fields, key: &str) -> Option<String> {
    let text = fields.need_text(cx, key)?;
    if text.get_ref().is_empty() {
        let message = format!("`{key}` of {} is empty", fields.what);
        cx.diags.error(text.span(), message).help("write it as the macro of `tracing` has it");
        return None;
    }
    Some(text.into_inner().to_string())
}
