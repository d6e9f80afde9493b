//! A change of a registry, as JSON and text.

use std::collections::BTreeMap;

use serde::Serialize;
use telemetry_schema::version::{Change, Demand, MEDIAN, Rule, Target};

use crate::text::grouped;

/// The JSON form of a change, described in docs/cli.md.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct ChangeReport {
    /// Name of the rule, as in `[[allow]]` and docs/versions.md.
    rule: &'static str,
    /// The number that must rise, `none`, `minor` or `median`; or `refused`.
    demand: &'static str,
    #[serde(flatten)]
    thing: ThingReport,
    #[serde(skip_serializing_if = "str::is_empty")]
    key: &'static str,
    #[serde(skip_serializing_if = "String::is_empty")]
    was: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    is: String,
    pub(crate) message: String,
}

/// The changed item, by the keys of `[[allow]]`; none if the registry itself changed.
#[derive(Debug, Clone, Serialize)]
struct ThingReport {
    #[serde(skip_serializing_if = "Option::is_none")]
    event: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    param: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    ty: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    span: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    preset: Option<String>,
    #[serde(rename = "message", skip_serializing_if = "Option::is_none")]
    of_message: Option<String>,
}

/// The maximum of lines for a rule that demands nothing, since every parameter may have such a
/// change. The rest is counted.
const MAX_LINES: usize = 5;

/// Lists changes, each with the reason why it is allowed.
pub(crate) fn lines<'c>(
    changes: impl Iterator<Item = (&'c ChangeReport, Option<&'c str>)> + Clone,
) -> String {
    // The number of changes, and of printed ones, for rules that demand nothing.
    let mut numbers = BTreeMap::<&str, (usize, usize)>::new();
    for (change, _) in changes.clone().filter(|(change, _)| change.demand == Demand::Nothing.name()) {
        numbers.entry(change.rule).or_default().0 += 1;
    }
    let (mut out, mut has_median) = (String::new(), false);
    for (change, allowed) in changes {
        has_median |= change.demand == Demand::Median.name() && allowed.is_none();
        match numbers.get_mut(change.rule) {
            // If only one change is left, its line replaces the line that counts the rest.
            Some((number, told)) if *number > MAX_LINES + 1 => {
                *told += 1;
                if *told <= MAX_LINES {
                    out += &change.line(allowed);
                } else if *told == MAX_LINES + 1 {
                    let more = grouped((*number - MAX_LINES) as u64);
                    out += &format!("  {:7}  and {more} more of `{}`\n", change.demand, change.rule);
                }
            }
            _ => out += &change.line(allowed),
        }
    }
    if has_median {
        out += &format!("  the median is {MEDIAN}\n");
    }
    out
}

impl ChangeReport {
    /// Formats the change as a line of a list.
    fn line(&self, allowed: Option<&str>) -> String {
        let allowed = allowed.map_or(String::new(), |reason| format!("; allowed: {reason}"));
        format!("  {:7}  {}{allowed}\n", self.demand, self.message)
    }

    /// Returns true if only a doc changed.
    pub(crate) fn is_of_docs(&self) -> bool {
        self.rule == Rule::DocsChanged.name()
    }

    /// Returns true if an event had the name before this change.
    pub(crate) fn was_named(&self, name: &str) -> bool {
        self.rule == Rule::EventRenamed.name() && self.was == name
    }

    pub(crate) fn new(change: &Change) -> ChangeReport {
        let Target { kind, ty, value, event, param, span, preset, message } = Target::of(change.thing());
        ChangeReport {
            rule: change.rule.name(),
            demand: change.rule.demand().name(),
            thing: ThingReport { event, param, kind, ty, value, span, preset, of_message: message },
            key: change.key,
            was: change.was.clone(),
            is: change.is.clone(),
            message: change.message(),
        }
    }
}
