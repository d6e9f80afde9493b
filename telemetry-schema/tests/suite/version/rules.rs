//! Every change is found, as what it is, and demands what its rule says.

use std::collections::HashSet;

use telemetry_schema::Version;
use telemetry_schema::version::{Change, Demand, Rule, Target, compare};

use super::cases::CASES;
use super::{file, judged, lock, with_version};
use crate::registry;

/// The rule and the names of the thing, as the cases write them.
fn short(change: &Change) -> String {
    let target = Target::of(change.thing());
    let names: Vec<&str> = target.keys().map(|(_, name)| name).collect();
    // Types come before their values, events before their parameters.
    format!("{} {}", change.rule.name(), names.join(".")).trim_end().to_string()
}

#[test]
fn every_change_is_found_and_nothing_else() {
    for case in CASES {
        let found: Vec<String> = compare(&lock(), &registry(&case.text())).iter().map(short).collect();
        assert_eq!(found, case.changes, "{}", case.name);
    }
}

#[test]
fn every_rule_has_a_case() {
    let found: HashSet<&str> =
        CASES.iter().flat_map(|case| case.changes).filter_map(|change| change.split(' ').next()).collect();
    for rule in Rule::ALL {
        assert!(found.contains(rule.name()), "{} has no case", rule.name());
    }
}

#[test]
fn the_version_is_enough_from_the_needed_one_on() {
    for case in CASES {
        let judgement = judged(&file(&case.text()));
        assert_eq!(judgement.needed.to_string(), case.needed, "{}", case.name);
        let lowered = judgement.changes.iter().any(|judged| judged.change.rule == Rule::VersionLowered);
        let refused = |judgement: &telemetry_schema::version::Judgement| {
            judgement.changes.iter().any(|judged| judged.change.rule.demand() == Demand::Refused)
        };
        for (version, enough) in [
            ("1.2.5", case.needed == "1.2.5"),
            ("1.2.6", case.needed != "1.3.0"),
            ("1.2.99", case.needed != "1.3.0"),
            ("1.3.0", true),
            ("1.3.1", true),
            ("2.0.0", true),
            ("2.7.1", true),
        ] {
            let text = case.text().replace("since = \"1.2.6\"", &format!("since = \"{version}\""));
            let text = with_version(&text, Version::from_text(version).unwrap());
            // Another major has no older `since`.
            let text = match version.starts_with('2') {
                true => text
                    .replace(", since = \"1.2.3\"", "")
                    .replace(", since = \"1.2.4\"", "")
                    .replace(", since = \"1.2.5\"", ""),
                false => text,
            };
            let judgement = judged(&file(&text));
            let expected = (enough || lowered) && !refused(&judgement);
            assert_eq!(judgement.is_met(), expected, "{} in {version}: {:#?}", case.name, judgement);
        }
    }
}

#[test]
fn versions_rise_by_one_and_what_is_behind_is_zero() {
    let version = |text| Version::from_text(text).unwrap();
    for (released, demand, lowest) in [
        ("1.2.5", Demand::Nothing, "1.2.5"),
        ("1.2.5", Demand::Minor, "1.2.6"),
        ("1.2.5", Demand::Median, "1.3.0"),
        ("0.0.0", Demand::Minor, "0.0.1"),
        ("1.2.4294967295", Demand::Minor, "1.3.0"),
        ("1.4294967295.4294967295", Demand::Minor, "2.0.0"),
        ("1.4294967295.7", Demand::Median, "2.0.0"),
        ("4294967295.4294967295.4294967294", Demand::Minor, "4294967295.4294967295.4294967295"),
    ] {
        let (released, lowest) = (version(released), version(lowest));
        assert_eq!(demand.lowest(released), lowest, "{released}");
        assert!(demand.is_met(released, lowest), "{released}");
    }
}

/// With a similar name and another code, an event is another one if its parameters are others.
#[test]
fn other_parameters_make_another_event() {
    let text = super::cases::RELEASED
        .replace("name = \"Miss\"\ncode = 0x0001", "name = \"Misses\"\ncode = 0x0011")
        .replace("name = \"hash\", sort = \"u64\"", "name = \"digest\", sort = \"u32\"");
    let found: Vec<String> = compare(&lock(), &registry(&text)).iter().map(short).collect();
    assert_eq!(found, ["event-added Misses", "event-removed Miss"]);
}

#[test]
fn a_major_without_old_streams_needs_no_since() {
    let text = super::cases::RELEASED
        .replace("major = 1, median = 2, minor = 5", "major = 2, median = 0, minor = 0")
        .replace(", since = \"1.2.3\"", "")
        .replace("max = 80 },", "max = 80 },\n  { name = \"tries\", sort = \"u8\" },");
    let judgement = judged(&file(&text));
    assert!(judgement.is_met(), "{judgement:#?}");
    let found: Vec<String> = judgement.changes.iter().map(|judged| short(&judged.change)).collect();
    assert_eq!(found, ["param-appended Miss.tries"]);
}

#[test]
fn a_code_is_remembered_through_any_number_of_releases() {
    use telemetry_schema::version::{Lock, State};
    let mut lock = lock();
    for minor in 6..20 {
        let registry =
            registry(&with_version(super::cases::RELEASED, Version { major: 1, median: 2, minor }));
        lock = Lock::of(&registry, Some(&lock));
        let text = lock.to_text();
        lock = Lock::parse(&text).expect("what was written");
    }
    let last = Version { major: 1, median: 2, minor: 4 };
    assert_eq!(lock.event(9).map(|event| event.state), Some(State::Gone(last)));
    let reused = super::cases::RELEASED.replace("code = 0x0003", "code = 0x0009");
    let found: Vec<String> = compare(&lock, &registry(&reused)).iter().map(short).collect();
    assert_eq!(found, ["version-lowered", "code-reused Grown"]);
}
