//! Rules about `range` and `census`: marks with an action, a name for what it is about, and roles
//! of parameters.

use crate::check::context::{Check, Origin, Text};
use crate::check::fields::Fields;
use crate::check::names::Style;
use crate::model::census::{Census, CensusRole, CensusStep};
use crate::model::range::{Range, RangeAction, RangeRole};
use crate::model::registry::{Count, Param};
use crate::model::sort::Sort;
use crate::text::diagnostic::{one_of, quote};
use crate::text::keys;
use crate::text::words::nearest;

/// The form of a mark.
pub(super) trait Form: Copy + PartialEq + 'static {
    type Role: Copy + PartialEq + 'static;
    /// The key of the event.
    const KEY: &'static str;
    /// The keys of the mark.
    const KEYS: &'static [&'static str];
    const ACTIONS: &'static [Self];
    const ROLES: &'static [Self::Role];
    fn name(self) -> &'static str;
    fn needs(self) -> &'static [&'static [Self::Role]];
    fn allows(self) -> &'static [Self::Role];
    fn role(role: Self::Role) -> &'static str;
    fn takes(role: Self::Role, param: &Param) -> bool;
    fn expected(role: Self::Role) -> &'static str;
}

impl Form for RangeAction {
    type Role = RangeRole;
    const KEY: &'static str = "range";
    const KEYS: &'static [&'static str] = keys::RANGE;
    const ACTIONS: &'static [Self] = RangeAction::ALL;
    const ROLES: &'static [RangeRole] = RangeRole::ALL;

    fn name(self) -> &'static str {
        RangeAction::name(self)
    }

    fn needs(self) -> &'static [&'static [RangeRole]] {
        RangeAction::needs(self)
    }

    fn allows(self) -> &'static [RangeRole] {
        RangeAction::allows(self)
    }

    fn role(role: RangeRole) -> &'static str {
        role.name()
    }

    fn takes(role: RangeRole, param: &Param) -> bool {
        let is_one = param.count == Count::One;
        let (is_place, is_number) = (is_place(param.sort), is_number(param.sort));
        match role {
            RangeRole::Base | RangeRole::Limit | RangeRole::From => is_one && is_place,
            RangeRole::Moves => !is_one && is_place,
            RangeRole::Size => is_one && is_number && matches!(param.unit.as_str(), "" | "bytes"),
            RangeRole::Key | RangeRole::Owner => {
                is_one && (is_place || is_number || param.sort == Sort::Label)
            }
        }
    }

    fn expected(role: RangeRole) -> &'static str {
        match role {
            RangeRole::Base | RangeRole::Limit | RangeRole::From => "a `pointer` or `addr`",
            RangeRole::Moves => "an array of `pointer` or `addr`",
            RangeRole::Size => "a `word` or an unsigned integer, in bytes",
            RangeRole::Key | RangeRole::Owner => {
                "a `pointer`, an `addr`, a `label`, a `word` or an unsigned integer"
            }
        }
    }
}

impl Form for CensusStep {
    type Role = CensusRole;
    const KEY: &'static str = "census";
    const KEYS: &'static [&'static str] = keys::CENSUS;
    const ACTIONS: &'static [Self] = CensusStep::ALL;
    const ROLES: &'static [CensusRole] = CensusRole::ALL;

    fn name(self) -> &'static str {
        CensusStep::name(self)
    }

    fn needs(self) -> &'static [&'static [CensusRole]] {
        CensusStep::needs(self)
    }

    fn allows(self) -> &'static [CensusRole] {
        &[]
    }

    fn role(role: CensusRole) -> &'static str {
        role.name()
    }

    fn takes(role: CensusRole, param: &Param) -> bool {
        let is_one = param.count == Count::One;
        let is_named =
            matches!(param.sort, Sort::String | Sort::Label | Sort::Named(_)) || is_place(param.sort);
        match role {
            // An array of numbers is a path of classes.
            CensusRole::Class => is_number(param.sort) || is_one && is_named,
            CensusRole::Value => is_one && is_number(param.sort),
        }
    }

    fn expected(role: CensusRole) -> &'static str {
        match role {
            CensusRole::Class => {
                "a `string`, a `label`, a `pointer`, an `addr`, an enum, or one or more unsigned integers"
            }
            CensusRole::Value => "a `word` or an unsigned integer",
        }
    }
}

fn is_place(sort: Sort) -> bool {
    matches!(sort, Sort::Pointer | Sort::Addr)
}

fn is_number(sort: Sort) -> bool {
    matches!(sort, Sort::Word | Sort::U8 | Sort::U16 | Sort::U32 | Sort::U64)
}

/// Checks `range` of an event.
pub(super) fn range(cx: &mut Check, event: &Fields, params: &[Param], sound: bool) -> Option<Range> {
    let (action, what, roles) = mark::<RangeAction>(cx, event, params, sound)?;
    Some(Range { action, what, roles })
}

/// Checks `census` of an event.
pub(super) fn census(cx: &mut Check, event: &Fields, params: &[Param], sound: bool) -> Option<Census> {
    let (step, what, roles) = mark::<CensusStep>(cx, event, params, sound)?;
    Some(Census { step, what, roles })
}

/// An action, what it is about, and the parameters with a role.
type Mark<F> = (F, String, Vec<(<F as Form>::Role, usize)>);

/// Checks a mark of an event, whose parameters are known by now. `sound` says whether their types
/// are.
fn mark<F: Form>(cx: &mut Check, event: &Fields, params: &[Param], sound: bool) -> Option<Mark<F>> {
    if cx.origin == Origin::File {
        return read(cx, event, params, sound);
    }
    // In a stream, a mark of another version does not affect the rest of its registry.
    let noted = std::mem::take(&mut cx.diags);
    let mark = read(cx, event, params, sound).filter(|_| cx.diags.is_empty());
    cx.diags = noted;
    mark
}

fn read<F: Form>(cx: &mut Check, event: &Fields, params: &[Param], sound: bool) -> Option<Mark<F>> {
    let table = event.table(cx, F::KEY)?;
    let what = format!("the {} of {}", F::KEY, event.what);
    let fields = Fields::new(cx, what, table.span(), table.get_ref(), F::KEYS);
    let actions: Vec<F> = F::ACTIONS.iter().copied().filter(|action| fields.has(action.name())).collect();
    let &[action] = actions.as_slice() else {
        let names: Vec<String> = actions.iter().map(|action| format!("`{}`", action.name())).collect();
        let found = if names.is_empty() { "no action".to_string() } else { names.join(" and ") };
        let expected = one_of(F::ACTIONS.iter().map(|action| action.name()));
        let message = format!("{} has {found}, expected {expected}", fields.what);
        cx.diags.error(fields.span.clone(), message).help("the key says what happens, its value to what");
        return None;
    };
    let name = fields.text(cx, action.name())?;
    if !cx.spelling(F::KEY, &name, Style::Snake) {
        return None;
    }
    let mut roles = Vec::new();
    for &role in F::ROLES {
        let Some(text) = fields.text(cx, F::role(role)) else { continue };
        roles.push((role, param::<F>(cx, event, &fields, params, role, &text, sound)?));
    }
    let fits = |needed: &[F::Role]| {
        needed.iter().all(|role| roles.iter().any(|(had, _)| had == role))
            && roles.iter().all(|(had, _)| needed.contains(had) || action.allows().contains(had))
    };
    if !action.needs().iter().any(|needed| fits(needed)) {
        let message = format!("{} has the wrong keys for `{}`", fields.what, action.name());
        cx.diags.error(fields.span.clone(), message).help(needs(action));
        return None;
    }
    Some((action, name.get_ref().to_string(), roles))
}

/// Returns what an action needs, in words.
fn needs<F: Form>(action: F) -> String {
    let list = |roles: &[F::Role], last: &str| {
        let names: Vec<String> = roles.iter().map(|role| format!("`{}`", F::role(*role))).collect();
        names.join(last)
    };
    let sets: Vec<String> = action.needs().iter().map(|roles| list(roles, " and ")).collect();
    let expected = match sets.join(", or ") {
        none if none.is_empty() => "no further key".to_string(),
        sets => sets,
    };
    match list(action.allows(), " and ") {
        none if none.is_empty() => format!("expected {expected}"),
        optional => format!("expected {expected}; {optional} may be there, too"),
    }
}

/// Returns the parameter that a role names.
fn param<F: Form>(
    cx: &mut Check,
    event: &Fields,
    fields: &Fields,
    params: &[Param],
    role: F::Role,
    name: &Text,
    sound: bool,
) -> Option<usize> {
    let (key, text) = (F::role(role), *name.get_ref());
    let Some(index) = params.iter().position(|param| param.name == text) else {
        let message = format!("`{key}` of {} names {}, which is not a parameter", fields.what, quote(text));
        let names = || params.iter().map(|param| param.name.as_str());
        cx.diags.error(name.span(), message).help(match nearest(text, names()) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None if params.is_empty() => format!("{} has no parameters", event.what),
            None => format!("expected {}", one_of(names())),
        });
        return None;
    };
    if sound && !F::takes(role, &params[index]) {
        let message = format!("`{key}` of {} names {}, which is of the wrong type", fields.what, quote(text));
        cx.diags.error(name.span(), message).help(format!("expected {}", F::expected(role)));
        return None;
    }
    Some(index)
}

/// Checks that each range and census that goes on or ends has an event that begins it.
pub(super) fn begun(cx: &mut Check, event: &Fields, key: &'static str, what: &str, begun: &[&str]) {
    if cx.origin != Origin::File || begun.contains(&what) {
        return;
    }
    let message = format!("no event of the registry begins the {key} {} of {}", quote(what), event.what);
    let help = match nearest(what, begun.iter().copied()) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => format!("mark an event with `{key} = {{ begin = {} }}`", quote(what).replace('`', "\"")),
    };
    cx.diags.error(event.place(key).unwrap_or(event.span.clone()), message).help(help);
}
