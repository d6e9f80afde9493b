//! A pair of registries for each rule: the released one, and one that has changed by that rule.

use telemetry_schema::version::{Change, Lock, Rule, compare};
use telemetry_schema::{Registry, Version, parse};

pub(crate) use telemetry_testing::version_cases::RELEASED;
use telemetry_testing::version_cases::{CASES, Case};

/// Returns the released registry with the first change that only this rule describes. It has the
/// version that the change needs.
pub(crate) fn changed_by(rule: Rule) -> String {
    let is_by =
        |case: &&Case| matches!(case.changes, [change] if change.split(' ').next() == Some(rule.name()));
    let case = CASES.iter().find(is_by).unwrap_or_else(|| panic!("no case of the rule `{}`", rule.name()));
    let needed = Version::from_text(case.needed).expect("a version");
    let version = |version: Version| {
        format!("{{ major = {}, median = {}, minor = {} }}", version.major, version.median, version.minor)
    };
    let found = registry(&case.text()).version;
    case.text().replacen(&version(found), &version(needed), 1)
}

/// What a registry says.
pub(crate) fn registry(text: &str) -> Registry {
    parse(text).unwrap_or_else(|invalid| panic!("{}", invalid.render("events.toml", text)))
}

/// The change by a rule between the released registry and another.
pub(crate) fn change(rule: Rule, new: &Registry) -> Change {
    let changes = compare(&Lock::of(&registry(RELEASED), None), new);
    assert!(matches!(&changes[..], [change] if change.rule == rule), "{changes:?}");
    changes.into_iter().next().expect("there is one")
}
