//! `release`.

use super::check;

const FULL: &str = r#"append events.toml | \n[[event]]\nname = "Full"\ncode = 3\nkind = "Lookup"\ndoc = "No room is left"\n"#;

#[test]
fn a_registry_is_released_again_and_again() {
    check(
        "release",
        &[
            "release --dry-run",
            "release",
            "cat events.lock",
            "release",
            FULL,
            "release",
            "edit events.toml | minor = 0 | minor = 1",
            "release --dry-run",
            "release",
            "check",
            "edit events.toml | No room is left | No room was left",
            "release",
            r#"edit events.toml | code = 3\n | code = 3\nused = false\n"#,
            "edit events.toml | minor = 1 | minor = 2",
            "release",
            r#"edit events.toml | \n[[event]]\nname = "Full"\ncode = 3\nused = false\nkind = "Lookup"\ndoc = "No room was left"\n | "#,
            "edit events.toml | median = 0, minor = 2 | median = 1, minor = 0",
            "release",
            "cat events.lock",
            // A code that only the lock knows.
            r#"append events.toml | \n[[event]]\nname = "Hit"\ncode = 3\nkind = "Lookup"\ndoc = "A key was found"\n"#,
            "edit events.toml | minor = 0 | minor = 1",
            "release",
        ],
    );
}

#[test]
fn what_allows_excused_is_released_with_them() {
    check(
        "release_allow",
        &[
            "release",
            "edit events.toml | name = \"Miss\" | name = \"Missed\"",
            r#"append events.toml | \n# No program had it yet.\n[[allow]]\nchange = "event-renamed"\nevent = "Missed"\nreason = "no stream has it"\n"#,
            "check",
            "release",
            "cat events.toml",
            "check",
        ],
    );
}

#[test]
fn nothing_is_released_over_what_is_not_understood() {
    check(
        "release_refused",
        &[
            "release missing.toml",
            "release",
            // A newer version.
            "edit events.toml | minor = 0 | minor = 3",
            "release",
            "edit events.toml | minor = 3 | minor = 0",
            "release",
            "check",
            // Another registry.
            "edit events.toml | name = \"cache\" | name = \"store\"",
            "release",
            "check",
            "edit events.toml | name = \"store\" | name = \"cache\"",
            // Edited by hand.
            "edit events.lock | Expired | TooOld",
            "release",
            "check",
            "check --fix",
            "edit events.lock | TooOld | Expired",
            // A newer format.
            "edit events.lock | telemetry-lock 1 | telemetry-lock 2",
            "release",
            "check",
            "edit events.lock | telemetry-lock 2 | telemetry-lock 1",
            // A careless merge.
            "edit events.lock | registry cache | <<<<<<< HEAD\\nregistry cache",
            "release",
            "rm events.lock",
            "check",
            // Missing, although there was a release.
            "edit events.toml | minor = 0 | minor = 1",
            "check",
            "check --github",
            "release",
            "check",
        ],
    );
}

/// A lock that was removed by mistake would lose its history.
#[test]
fn a_lock_that_git_has_is_not_made_again() {
    check(
        "release_deleted",
        &[
            "git init -q",
            "release",
            "commit first",
            "rm events.lock",
            "release",
            "git restore events.lock",
            "release",
            "rm events.lock",
            "commit without lock",
            "release",
        ],
    );
}
