//! Rules about `replay`, the mark of events that can be replayed.

use crate::check::context::{Check, Origin, Text};
use crate::check::fields::Fields;
use crate::model::registry::{Count, Param};
use crate::model::replay::{Replay, ReplayAction, ReplayRole};
use crate::text::diagnostic::{Diagnostics, one_of, quote};
use crate::text::keys;
use crate::text::words::nearest;

/// Checks `replay` of an event, whose parameters are known by now. `sound` says whether their types
/// are.
pub(super) fn replay(cx: &mut Check, event: &Fields, params: &[Param], sound: bool) -> Option<Replay> {
    if cx.origin == Origin::File {
        return mark(cx, event, params, sound);
    }
    // In a stream, a mark of another version does not affect the rest of its registry.
    let noted = std::mem::take(&mut cx.diags);
    let replay = mark(cx, event, params, sound).filter(|_| cx.diags.is_empty());
    cx.diags = noted;
    replay
}

fn mark(cx: &mut Check, event: &Fields, params: &[Param], sound: bool) -> Option<Replay> {
    let table = event.table(cx, "replay")?;
    let what = format!("the replay of {}", event.what);
    let fields = Fields::new(cx, what, table.span(), table.get_ref(), keys::REPLAY);
    let action = action(cx, &fields)?;
    let roles = ReplayRole::ALL.iter().filter_map(|&role| {
        let belongs = action.needs().contains(&role) || action.allows().contains(&role);
        let name = match action.needs().contains(&role) {
            true => fields.need_text(cx, role.name()),
            false => fields.text(cx, role.name()),
        }?;
        if !belongs {
            misplaced(&mut cx.diags, &fields, action, role, &name);
            return None;
        }
        let index = param(cx, event, &fields, params, role, &name)?;
        if sound {
            form(cx, &fields, &params[index], role, &name);
        }
        Some((role, (index, name)))
    });
    let roles: Vec<_> = roles.collect();
    for (at, (_, (index, name))) in roles.iter().enumerate() {
        if let Some((first, (_, place))) = roles[..at].iter().find(|(_, (other, _))| other == index) {
            let message = format!("parameter {} has two roles in {}", quote(name.get_ref()), fields.what);
            let label = format!("`{}` here", first.name());
            cx.diags
                .error(name.span(), message)
                .label(place.span(), label)
                .help("name a parameter for each role");
        }
    }
    Some(Replay { action, roles: roles.into_iter().map(|(role, (index, _))| (role, index)).collect() })
}

fn action(cx: &mut Check, fields: &Fields) -> Option<ReplayAction> {
    let text = fields.need_text(cx, "action")?;
    let action = ReplayAction::from_text(text.get_ref());
    if action.is_none() {
        let names = || ReplayAction::ALL.iter().map(|action| action.name());
        let message = format!("unknown action {} of {}", quote(text.get_ref()), fields.what);
        cx.diags.error(text.span(), message).help(match nearest(text.get_ref(), names()) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => format!("expected {}", one_of(names())),
        });
    }
    action
}

/// Reports a role that the action does not use.
fn misplaced(diags: &mut Diagnostics, fields: &Fields, action: ReplayAction, role: ReplayRole, name: &Text) {
    let message = format!("{} has `{}`, which `{}` does not take", fields.what, role.name(), action.name());
    let roles = action.needs().iter().chain(action.allows()).map(|role| role.name());
    let others: Vec<&str> = roles.collect();
    diags.error(name.span(), message).help(match others.as_slice() {
        [] => "leave it out".to_string(),
        others => format!("expected {}", one_of(others.iter().copied())),
    });
}

/// Returns the parameter that a role names.
fn param(
    cx: &mut Check,
    event: &Fields,
    fields: &Fields,
    params: &[Param],
    role: ReplayRole,
    name: &Text,
) -> Option<usize> {
    let index = params.iter().position(|param| param.name == *name.get_ref());
    if index.is_none() && !cx.diags.is_full() {
        let message = format!(
            "`{}` of {} names {}, which is not a parameter",
            role.name(),
            fields.what,
            quote(name.get_ref())
        );
        let names = || params.iter().map(|param| param.name.as_str());
        cx.diags.error(name.span(), message).help(match nearest(name.get_ref(), names()) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None if params.is_empty() => format!("{} has no parameters", event.what),
            None => format!("expected {}", one_of(names())),
        });
    }
    index
}

/// Returns a replayer must be able to use the value in its role.
fn form(cx: &mut Check, fields: &Fields, param: &Param, role: ReplayRole, name: &Text) {
    let mut refuse = |found: &str, help: String| {
        let message =
            format!("`{}` of {} names {}, which is {found}", role.name(), fields.what, quote(&param.name));
        cx.diags.error(name.span(), message).help(help);
    };
    if param.count != Count::One {
        refuse("an array", "name a parameter with one value".to_string());
    } else if !role.takes(param.sort) {
        refuse("of the wrong type", format!("expected {}", role.sorts()));
    } else if !matches!(param.unit.as_str(), "" | "bytes") {
        refuse(&format!("in {}", quote(&param.unit)), "expected bytes".to_string());
    }
}
