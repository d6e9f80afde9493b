//! Rules about `names`, the mark of parameters that give names.

use super::fields::Fields;
use super::{Check, Origin, Text};
use crate::diagnostic::{one_of, quote};
use crate::words::nearest;
use crate::{Count, NameBy, Named, Param};

/// What a parameter says of itself, for the rules that need all of them.
pub(super) struct Marked<'a> {
    pub(super) fields: Fields<'a>,
    /// False if its sort is not what was meant.
    pub(super) sound: bool,
}

/// `names` of all parameters of an event, which are known by now.
pub(super) fn names(cx: &mut Check, event: &Fields, params: &mut [Param], marked: &[Marked]) {
    let mut taken: Vec<(usize, Text)> = Vec::new();
    for (by, Marked { fields, .. }) in marked.iter().enumerate() {
        if !fields.has("names") {
            continue;
        }
        // One of another time does no harm to the rest of a stream's registry.
        let noted = (cx.origin == Origin::Embedded).then(|| std::mem::take(&mut cx.diags));
        let found = name(cx, event, params, marked, by, &mut taken);
        let found = found.filter(|_| noted.is_none() || cx.diags.is_empty());
        if let Some(noted) = noted {
            cx.diags = noted;
        }
        params[by].names = found;
    }
}

/// The parameter whose value one is the name of.
fn name<'a>(
    cx: &mut Check,
    event: &Fields,
    params: &[Param],
    marked: &[Marked<'a>],
    by: usize,
    taken: &mut Vec<(usize, Text<'a>)>,
) -> Option<usize> {
    let fields = &marked[by].fields;
    let text = fields.text(cx, "names")?;
    let name = *text.get_ref();
    let Some(of) = params.iter().position(|param| param.name == name) else {
        if !cx.diags.is_full() {
            let message = format!("{} names {}, which is no parameter", fields.what, quote(name));
            let others = || params.iter().map(|param| param.name.as_str());
            cx.diags.error(text.span(), message).help(match nearest(name, others()) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => format!("{} has {}", event.what, one_of(others())),
            });
        }
        return None;
    };
    let mut refuse = |message: String, help: &str| {
        cx.diags.error(text.span(), message).help(help);
    };
    if of == by {
        refuse(format!("{} names itself", fields.what), "`names` is the parameter whose value is called so");
        return None;
    }
    if let Some((_, first)) = taken.iter().find(|(other, _)| *other == of) {
        let (message, first) =
            (format!("{} has two parameters that name `{name}`", event.what), first.span());
        cx.diags.error(text.span(), message).label(first, "first named here").help("leave one mark out");
        return None;
    }
    if marked[by].sound && (params[by].count != Count::One || NameBy::of(params[by].sort).is_none()) {
        refuse(
            format!("{} has `names`, but is no name", fields.what),
            "a name is a `string`, or a `label`, `word` or unsigned integer that stands for one, or the `pointer` or \
             `addr` of something that is called so",
        );
        return None;
    }
    let named = Named::of(params[of].sort).filter(|_| params[of].count == Count::One);
    if marked[of].sound {
        match named {
            None => {
                refuse(
                    format!("{} names {}, which is of another sort", fields.what, quote(name)),
                    "expected `pointer`, `addr`, `label`, `word` or an unsigned integer",
                );
                return None;
            }
            Some(named)
                if marked[by].sound
                    && named.is_number()
                    && NameBy::of(params[by].sort) != Some(NameBy::Text) =>
            {
                refuse(
                    format!("{} names the number {}, but is no string", fields.what, quote(name)),
                    "a number stands for a `string`",
                );
                return None;
            }
            Some(_) => {}
        }
    }
    taken.push((of, text));
    Some(of)
}
