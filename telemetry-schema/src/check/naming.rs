//! Rules about `names`, the mark of parameters that give names.

use crate::check::context::{Check, Origin, Text};
use crate::check::fields::Fields;
use crate::check::names::Style;
use crate::model::naming::{NameBy, Named};
use crate::model::registry::{Count, Param, Registry};
use crate::text::diagnostic::{one_of, quote};
use crate::text::words::nearest;

/// The marks of a parameter, for the rules that need all of them.
pub(super) struct Marked<'a> {
    pub(super) fields: Fields<'a>,
    /// False if its type is invalid.
    pub(super) sound: bool,
}

/// Checks `names` of all parameters of an event, which are known by now.
pub(super) fn names(cx: &mut Check, event: &Fields, params: &mut [Param], marked: &[Marked]) {
    let mut taken: Vec<(usize, Text)> = Vec::new();
    for (by, Marked { fields, .. }) in marked.iter().enumerate() {
        if !fields.has("names") {
            continue;
        }
        // In a stream, a mark of another version does not affect the rest of its registry.
        let noted = (cx.origin == Origin::Embedded).then(|| std::mem::take(&mut cx.diags));
        let found = name(cx, event, params, marked, by, &mut taken);
        let found = found.filter(|_| noted.is_none() || cx.diags.is_empty());
        if let Some(noted) = noted {
            cx.diags = noted;
        }
        params[by].names = found;
    }
}

/// Checks `numbers` of all parameters of an event. [`spaces`] later checks whether an event names
/// such numbers.
pub(super) fn numbers(cx: &mut Check, params: &mut [Param], marked: &[Marked]) {
    for (param, Marked { fields, sound }) in params.iter_mut().zip(marked) {
        // In a stream, a mark of another version does not affect the rest of its registry.
        let noted = (cx.origin == Origin::Embedded).then(|| std::mem::take(&mut cx.diags));
        if let Some(space) = fields.text(cx, "numbers")
            && cx.spelling("numbers", &space, Style::Snake)
        {
            if *sound && !param.has_numbers() {
                let message = format!("{} has `numbers`, but is not an unsigned integer", fields.what);
                let help = "`numbers` is for a `word`, an unsigned integer, or an array of them";
                cx.diags.error(space.span(), message).help(help);
            } else {
                param.numbers = space.get_ref().to_string();
                cx.spaces.push((fields.what.clone(), space.span(), param.numbers.clone()));
            }
        }
        if let Some(noted) = noted {
            cx.diags = noted;
        }
    }
}

/// Checks that an event gives the strings of the numbers that parameters claim to have.
pub(super) fn spaces(cx: &mut Check, registry: &Registry) {
    let spaces = std::mem::take(&mut cx.spaces);
    if cx.origin == Origin::Embedded {
        return;
    }
    for (what, span, space) in spaces {
        if registry.names_numbers(&space) || cx.diags.is_full() {
            continue;
        }
        let named = registry.events.iter().flat_map(|event| {
            let numbers = event.namings().filter(|naming| naming.named == Named::Number);
            numbers.map(|naming| event.params[naming.of].number_space())
        });
        let help = match nearest(&space, named) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => "an event gives the string of a number: of its two parameters, the number has the same `numbers`, and \
                     the string has `names`"
                .to_string(),
        };
        let message = format!("{what} has the numbers {}, whose strings no event gives", quote(&space));
        cx.diags.error(span, message).help(help);
    }
}

/// Returns the parameter that a value names.
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
            let message = format!("{} names {}, which is not a parameter", fields.what, quote(name));
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
            format!("{} has `names`, but is not a name", fields.what),
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
                    format!("{} names {}, which has the wrong type", fields.what, quote(name)),
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
                    format!("{} names the number {}, but is not a string", fields.what, quote(name)),
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
