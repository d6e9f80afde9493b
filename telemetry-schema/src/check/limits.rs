//! Rules about `limit` and `sample`, by which an event is not always recorded.

use crate::check::context::{Check, Origin};
use crate::check::fields::Fields;
use crate::model::limit::Limit;
use crate::model::registry::{Count, Param};
use crate::model::sort::Sort;
use crate::text::diagnostic::{one_of, quote};
use crate::text::keys;
use crate::text::limits::{MAX_BURST, MAX_ONE_IN, MAX_PER_SECOND};
use crate::text::words::nearest;

/// Checks `limit` and `sample` of an event. `sound` says whether the types of its parameters are
/// valid.
pub(super) fn limit(cx: &mut Check, event: &Fields, params: &[Param], sound: bool) -> Option<Limit> {
    // In a stream, a mark of another version does not affect the rest of its registry.
    let noted = (cx.origin == Origin::Embedded).then(|| std::mem::take(&mut cx.diags));
    let (rate, sample) = (rate(cx, event), sample(cx, event, params, sound));
    if let (Some(_), Some(place)) = (event.place("limit"), event.place("sample")) {
        let message = format!("{} has both `limit` and `sample`", event.what);
        cx.diags.error(place, message).help("an event has one of them: leave the other out");
    }
    if let Some(noted) = noted {
        cx.diags = noted;
    }
    rate.or(sample)
}

fn rate(cx: &mut Check, event: &Fields) -> Option<Limit> {
    let table = event.table(cx, "limit")?;
    let what = format!("`limit` of {}", event.what);
    let fields = Fields::new(cx, what, table.span(), table.get_ref(), keys::LIMIT);
    let per_second = fields.need_int(cx, "per_second", 1..=MAX_PER_SECOND.into());
    let burst = fields.int(cx, "burst", 1..=MAX_BURST.into());
    let per_second = *per_second?.get_ref() as u32;
    match (burst, fields.has("burst")) {
        (Some(burst), _) => Some(Limit::Rate { per_second, burst: *burst.get_ref() as u32 }),
        (None, true) => None,
        (None, false) => Some(Limit::Rate { per_second, burst: per_second }),
    }
}

fn sample(cx: &mut Check, event: &Fields, params: &[Param], sound: bool) -> Option<Limit> {
    let table = event.table(cx, "sample")?;
    let what = format!("`sample` of {}", event.what);
    let fields = Fields::new(cx, what, table.span(), table.get_ref(), keys::SAMPLE);
    let one_in = fields.need_int(cx, "one_in", 2..=MAX_ONE_IN.into());
    let by = match fields.has("by") {
        true => Some(by(cx, event, &fields, params, sound)?),
        false => None,
    };
    Some(Limit::Sample { one_in: *one_in?.get_ref() as u32, by })
}

/// Returns the index of the parameter by which an event is sampled.
fn by(cx: &mut Check, event: &Fields, fields: &Fields, params: &[Param], sound: bool) -> Option<usize> {
    let text = fields.text(cx, "by")?;
    let name = *text.get_ref();
    let Some(index) = params.iter().position(|param| param.name == name) else {
        let message = format!("{} is by {}, which is not a parameter", fields.what, quote(name));
        let others = || params.iter().map(|param| param.name.as_str());
        let help = match (nearest(name, others()), params.is_empty()) {
            (Some(meant), _) => format!("did you mean `{meant}`?"),
            (None, true) => "the event has no parameter: leave `by` out".to_string(),
            (None, false) => format!("{} has {}", event.what, one_of(others())),
        };
        cx.diags.error(text.span(), message).help(help);
        return None;
    };
    let param = &params[index];
    if sound && !(param.count == Count::One && param.role.is_none() && is_number(param.sort)) {
        let message = format!("{} is by {}, which has the wrong type", fields.what, quote(name));
        let help = "expected a single integer, `word`, `label`, `pointer` or `addr`";
        cx.diags.error(text.span(), message).help(help);
        return None;
    }
    Some(index)
}

fn is_number(sort: Sort) -> bool {
    match sort {
        Sort::Pointer | Sort::Addr | Sort::Word | Sort::Label => true,
        Sort::U8 | Sort::U16 | Sort::U32 | Sort::U64 => true,
        Sort::I8 | Sort::I16 | Sort::I32 | Sort::I64 => true,
        Sort::F32 | Sort::F64 | Sort::Bool | Sort::String | Sort::Bytes | Sort::Named(_) => false,
    }
}
