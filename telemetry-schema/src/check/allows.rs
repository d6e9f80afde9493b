//! Rules about `[[allow]]`. [`crate::version::judge`] decides whether there is such a change.

use crate::check::context::{Check, Origin};
use crate::check::fields::Fields;
use crate::text::diagnostic::quote;
use crate::text::keys;
use crate::text::words::nearest;
use crate::version::allow::{Allow, Target};
use crate::version::rule::{Demand, Rule};

/// Checks `[[allow]]`, in the order of the file. A stream has none.
pub(super) fn allows(cx: &mut Check, file: &Fields) -> Vec<Allow> {
    if cx.origin == Origin::Embedded {
        return Vec::new();
    }
    let (tables, _) = file.tables(cx, "allow");
    let allows = tables.into_iter().filter_map(|table| {
        let fields = Fields::new(cx, "an allow", table.span(), table.get_ref(), keys::ALLOW);
        let (rule, target) = (rule(cx, &fields), target(cx, &fields));
        let reason = fields.need_text(cx, "reason")?;
        if reason.get_ref().trim().is_empty() {
            cx.diags
                .error(reason.span(), "the reason of an allow is empty")
                .help("say why this change does no harm to old and new readers");
        }
        Some(Allow {
            rule: rule?,
            target: target?,
            reason: reason.into_inner().trim().to_string(),
            span: table.span(),
        })
    });
    allows.collect()
}

fn rule(cx: &mut Check, allow: &Fields) -> Option<Rule> {
    let text = allow.need_text(cx, "change")?;
    let Some(rule) = Rule::from_name(text.get_ref()) else {
        let names = Rule::ALL.iter().filter(|rule| rule.can_be_allowed()).map(|rule| rule.name());
        let help = match nearest(text.get_ref(), names) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => "expected the name of a rule as the message about the change has it, \
                     such as `param-retyped`"
                .to_string(),
        };
        cx.diags.error(text.span(), format!("unknown change {}", quote(text.get_ref()))).help(help);
        return None;
    };
    if !rule.can_be_allowed() {
        let message = format!("the change `{}` cannot be allowed", rule.name());
        cx.diags.error(text.span(), message).help(match rule {
            _ if rule.demand() == Demand::Nothing => "it demands nothing: remove the allow",
            Rule::CodeReused => "a reason does not change old streams: give the event a new code",
            _ => "correct the change instead",
        });
        return None;
    }
    Some(rule)
}

/// Returns the named item, or nothing.
fn target(cx: &mut Check, allow: &Fields) -> Option<Target> {
    let mut name = |key| allow.text(cx, key).map(|name| name.into_inner().to_string());
    let target = Target {
        event: name("event"),
        param: name("param"),
        kind: name("kind"),
        ty: name("type"),
        value: name("value"),
        span: name("span"),
        preset: name("preset"),
        message: name("message"),
    };
    let things = [&target.event, &target.kind, &target.ty, &target.span, &target.preset, &target.message];
    for (part, whole) in [("param", "event"), ("value", "type")] {
        if allow.has(part) && !allow.has(whole) {
            let message = format!("an allow has `{part}`, but no `{whole}`");
            cx.diags.error(allow.span.clone(), message).help(format!("add the `{whole}` that it is of"));
            return None;
        }
    }
    if things.into_iter().flatten().count() > 1 {
        cx.diags
            .error(allow.span.clone(), "an allow names several things")
            .help("write one allow for each change, with a reason of its own");
        return None;
    }
    Some(target)
}
