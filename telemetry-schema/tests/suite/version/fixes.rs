//! The text that `telemetry check --fix` and `telemetry release` write into a registry file.

use proptest::prelude::*;
use telemetry_schema::RegistryFile;
use telemetry_schema::version::{Lock, fixed, judge, without_allows};

use super::cases::{CASES, RELEASED};
use super::{file, judged, rendered};
use crate::registries::registries;

#[test]
fn what_a_number_makes_good_is_made_good() {
    for case in CASES {
        let before = file(&case.text());
        let judgement = judged(&before);
        let after = fixed(&before, &judgement);
        assert_eq!(after.is_some(), judgement.is_fixable() && !judgement.is_met(), "{}", case.name);
        let Some(after) = after else { continue };
        let again = file(&after);
        assert!(judged(&again).is_met(), "{}: {}", case.name, rendered(&again));
        assert_eq!(again.registry.version, judgement.target(), "{}", case.name);
        assert_eq!(fixed(&again, &judged(&again)), None, "{}", case.name);
        // All lines but those of the version and of `since` are as they were.
        let lines = before.text.lines().zip(after.lines());
        let other = lines.filter(|(before, after)| before != after && !before.starts_with("version = "));
        let other: Vec<_> = other.collect();
        assert!(other.iter().all(|(_, after)| after.contains("since = ")), "{}: {other:?}", case.name);
        assert_eq!(before.text.lines().count(), after.lines().count(), "{}", case.name);
    }
}

/// Returns the changed lines of a fixed registry file.
#[track_caller]
fn check(edits: &[(&str, &str)], expected: &[&str]) {
    let mut text = RELEASED.to_string();
    for (from, to) in edits {
        assert!(text.contains(from), "the file does not have {from:?}");
        text = text.replacen(from, to, 1);
    }
    let before = file(&text);
    let after = fixed(&before, &judged(&before)).expect("there is something to put right");
    assert!(judged(&file(&after)).is_met(), "{after}");
    let changed = after.lines().filter(|line| !text.lines().any(|other| other == *line));
    assert_eq!(changed.collect::<Vec<_>>(), expected);
}

#[test]
fn comments_and_layout_stay() {
    let minor = "version = { major = 1, median = 2, minor = 6 } # the fifth since the last break";
    let median = "version = { major = 1, median = 3, minor = 0 } # the fifth since the last break";
    check(&[("max = 80", "max = 90")], &[minor]);
    check(&[("kind = \"Lookup\"", "kind = \"Evict\"")], &[median]);
    let appended = "max = 80 },\n  { name = \"tries\", sort = \"u8\", },  # so often";
    check(
        &[("max = 80 },", appended)],
        &[minor, "  { name = \"tries\", sort = \"u8\", since = \"1.2.6\", },  # so often"],
    );
    // A `since` of a version that is raised again follows it.
    check(
        &[
            ("minor = 5", "minor = 6"),
            ("max = 80 },", "max = 80 },\n  { name = \"tries\", sort = \"u8\", since = \"1.2.6\" },"),
            ("sort = \"W\"", "sort = \"u64\""),
        ],
        &[median, "  { name = \"tries\", sort = \"u8\", since = \"1.3.0\" },"],
    );
    // The version as a text.
    check(
        &[("{ major = 1, median = 2, minor = 5 }", "\"1.2.5\""), ("max = 80", "max = 90")],
        &["version = \"1.2.6\" # the fifth since the last break"],
    );
    // Tables of other forms.
    let tables = "[registry.version]\nmajor = 1\nmedian = 2\nminor = 0x5";
    check(
        &[
            ("version = { major = 1, median = 2, minor = 5 } # the fifth since the last break\n", ""),
            ("[kinds]", &format!("{tables}\n\n[kinds]")),
            ("max = 80", "max = 90"),
        ],
        &["minor = 6"],
    );
    check(
        &[(
            "params = [\n  { name = \"hash\", sort = \"u64\", doc = \"hash of the key\" },\n  { name = \"key\", sort = \"string\", max = 80 },\n]",
            "[[event.params]]\nname = \"hash\"\nsort = \"u64\"\n[[event.params]]\nname = \"key\"\nsort = \"string\"\nmax = 80\n\
                 [[event.params]]\nname = \"tries\" # so often\nsort = \"u8\"",
        )],
        &[minor, "since = \"1.2.6\""],
    );
}

#[test]
fn allows_go_and_nothing_else() {
    let entry = |reason: &str| {
        format!(
            "[[allow]] # for now\nchange = \"param-moved\"\nevent = \"Miss\"\nreason = {reason} # really\n\n"
        )
    };
    let check = |text: String| assert_eq!(without_allows(&file(&text)), RELEASED, "{text}");
    check(RELEASED.to_string());
    check(RELEASED.replace("[kinds]", &format!("{}[kinds]", entry("\"new\""))));
    check(RELEASED.replace(
        "[kinds]",
        &format!("{}{}[kinds]", entry("\"new\""), entry("\"\"\"\n[kinds]\n\nnew\"\"\"")),
    ));
    check(format!("{RELEASED}{}", entry("\"new\"").trim_end()));
    check(format!("{RELEASED}\n\n{}\n{}", entry("\"new\""), entry("\"newer\"")));
    // The last line is the author's, with the spaces at its end.
    let spaced = format!("{}  \n", RELEASED.trim_end());
    assert_eq!(without_allows(&file(&format!("{spaced}\n{}", entry("\"new\"")))), spaced);
    check(format!("allow = [\n  {{ change = \"max-changed\", reason = \"new\" }}, # so\n]\n{RELEASED}"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// Events and last parameters that came since the release, whatever else there is.
    #[test]
    fn additions_can_always_be_put_right(mut after in registries(), keep in any::<u64>()) {
        (after.spans, after.messages, after.rules) = (Vec::new(), Vec::new(), Vec::new());
        after.version.minor = after.version.minor.min(u32::MAX - 1);
        let mut before = after.clone();
        let mut bits = (0..64).map(|bit| keep >> bit & 1 == 1).cycle();
        before.events.retain(|_| bits.next() == Some(true) || bits.next() == Some(true));
        for event in &mut before.events {
            let gone = usize::from(bits.next() == Some(true));
            event.params.truncate(event.params.len().saturating_sub(gone));
        }
        let lock = Lock::of(&before, None);
        let now = file(&after.to_toml());
        let judgement = judge(&lock, &now.registry, &now.allows);
        prop_assert!(judgement.is_fixable(), "{:#?}", judgement);
        prop_assert_eq!(judgement.is_met(), before == after);
        if let Some(text) = fixed(&now, &judgement) {
            let again = RegistryFile::parse(text.as_str());
            prop_assert!(again.is_ok(), "{}", again.unwrap_err().render("events.toml", &text));
            let again = again.unwrap();
            let judgement = judge(&lock, &again.registry, &again.allows);
            prop_assert!(judgement.is_met(), "{:#?}", judgement);
        }
    }
}
