//! `check` against a lock or another file, and `--fix`.

use serde_json::Value;

use super::{CACHE, Steps, check};
use crate::registries::released;
use crate::run::Folder;

/// An appended parameter, a new event, a changed doc.
const CHANGED: [(&str, &str); 3] = [
    ("doc = \"hash of the key\" }", "doc = \"a hash\" }, { name = \"depth\", sort = \"u8\" }"),
    ("{ Full = 1, Expired = 2 }", "{ Full = 1, Expired = 2, Dropped = 3 }"),
    ("unit = \"bytes\"", "unit = \"KiB\""),
];

fn changed() -> String {
    CHANGED.iter().fold(CACHE.to_string(), |text, (old, new)| {
        assert_eq!(text.matches(old).count(), 1);
        text.replace(old, new)
    })
}

/// Makes a folder with a lock, and a registry that has changed since.
fn folder() -> Folder {
    Folder::new().with("events.toml", changed()).with("events.lock", released(CACHE)).with("old.toml", CACHE)
}

#[test]
fn a_missing_bump_is_told() {
    folder().check(
        "versions_check",
        &[
            "check",
            "check --github",
            "check --json",
            "check --against old.toml",
            "check events.toml old.toml",
        ],
    );
}

#[test]
fn what_changed_is_told_if_the_version_is_right() {
    check(
        "versions_right",
        &[
            "check",
            "release",
            "check",
            "edit events.toml | minor = 0 | minor = 1",
            r#"append events.toml | \n[[event]]\nname = "Full"\ncode = 3\nkind = "Lookup"\ndoc = "No room is left"\n"#,
            "check",
            "check --github",
            "check --json",
            // Retired, and removed too early.
            r#"edit events.toml | [[event]]\nname = "Full"\ncode = 3\nkind = "Lookup"\ndoc = "No room is left"\n | "#,
            r#"edit events.toml | code = 1\n | code = 1\nused = false\n"#,
            "check",
            "check --against missing.toml",
            // Too many lines of one rule that demands nothing.
            r#"edit events.toml | doc = "A cache's view of itself"\n\n[kinds]\nLookup = { bit = 0, doc = "per lookup" }\nEvict = { bit = 1, doc = "per eviction" } | doc = "What a cache sees"\n\n[kinds]\nLookup = { bit = 0, doc = "for each lookup" }\nEvict = { bit = 1, doc = "for each eviction" }"#,
            r#"edit events.toml | doc = "An entry was evicted"\nparams = [\n  { name = "entry", sort = "P", doc = "the entry" },\n  { name = "size", sort = "W", unit = "bytes", doc = "what it frees" } | doc = "An entry went"\nparams = [\n  { name = "entry", sort = "P", align = 16, doc = "which" },\n  { name = "size", sort = "W", unit = "bytes", doc = "how large" }"#,
            "check",
            r#"edit events.toml | doc = "what it had to go for" | doc = "why""#,
            "check",
            "release --dry-run",
        ],
    );
}

#[test]
fn mistakes_come_first() {
    check(
        "versions_mistakes",
        &[
            "release",
            "edit events.toml | sort = \"u64\" | sort = \"u65\"",
            "check --github",
            "check --fix",
            "check --json",
        ],
    );
}

/// Only numbers and `since`s change: comments, order and layout are the user's.
#[test]
fn a_fix_keeps_everything_else() {
    check(
        "versions_fix",
        &[
            "release",
            "edit events.toml | version = { major = 1, median = 0, minor = 0 } | version = { minor = 0x0, major = 1 , median = 0 } # the first",
            "edit events.toml | doc = \"hash of the key\" } | doc = \"hash of the key\" }, # long\\n  { name = \"depth\", sort = \"u8\" } # new\n",
            r#"append events.toml | \n[[event]] # more\nname = "Full"\ncode = 3\nkind = "Lookup"\ndoc = "No room is left"\n"#,
            "check --fix",
            "cat events.toml",
            "check --fix",
            "release",
            "edit events.toml | sort = \"u64\" | sort = \"u32\"",
            "check --fix --json",
            "cat events.toml",
        ],
    );
}

#[test]
fn a_fix_is_refused_where_no_number_makes_up() {
    check(
        "versions_no_fix",
        &[
            "release",
            // A code that is given to another event.
            "edit events.toml | name = \"Evicted\" | name = \"Grown\"",
            r#"edit events.toml | params = [\n  { name = "entry", sort = "P", doc = "the entry" },\n  { name = "size", sort = "W", unit = "bytes", doc = "what it frees" },\n  { name = "why", sort = "Why", doc = "what it had to go for" },\n] | params = [{ name = "by", sort = "u64" }]"#,
            "check --fix",
            "cat events.toml",
            "check --fix events.toml -",
        ],
    );
}

/// Each `[[allow]]` is about the last release, so it is not an error in another comparison.
#[test]
fn allows_are_about_the_last_release() {
    check(
        "versions_allow",
        &[
            "release",
            "edit events.toml | name = \"Miss\" | name = \"Missed\"",
            r#"append events.toml | \n[[allow]]\nchange = "event-renamed"\nevent = "Missed"\nreason = "no stream has it"\n"#,
            "git init -q",
            "commit allowed",
            "check",
            "check --against HEAD",
            "check --against HEAD:events.lock",
            "edit events.toml | name = \"Missed\" | name = \"Miss\"",
            "check --github",
        ],
    );
}

/// Several outputs do not affect each other: the fixed file, the witness, and the report.
#[test]
fn several_files_are_written_at_once() {
    let folder = folder();
    let run = folder.run("check --fix --witness break.tel -o said.txt");
    assert_eq!((run.code, &*run.stderr), (Some(0), ""));
    let said = std::fs::read_to_string(folder.path("said.txt")).unwrap();
    assert!(
        said.contains("in break.tel\n") && said.contains("4 changes since 1.0.0 of events.lock\n"),
        "{said}"
    );
    let mut names: Vec<_> = std::fs::read_dir(folder.path("."))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["break.tel", "events.lock", "events.toml", "old.toml", "said.txt"]);
}

/// For every file, the JSON form says what the text does.
#[test]
fn json_says_as_much() {
    let run = folder().run("check --json");
    let json: Value = serde_json::from_slice(&run.stdout).unwrap();
    assert_eq!((run.code, &json["version"]), (Some(1), &1.into()));
    let file = &json["files"][0];
    assert_eq!((&file["verdict"], &file["needed"]), (&"bump missing".into(), &"1.1.0".into()));
    let changes = file["changes"].as_array().unwrap();
    for change in changes.iter().filter(|change| !change["met"].as_bool().unwrap()) {
        let message = change["message"].as_str().unwrap();
        let place = format!("--> events.toml:{}:{}", change["line"], change["column"]);
        assert!(run.stderr.contains(&format!("error: {message}\n")), "{message}");
        assert!(run.stderr.contains(&place), "{place}");
    }
    assert!(changes.iter().any(|change| change["rule"] == "docs-changed" && change["met"] == true));
}

/// Paths of annotations begin at the root of the repository, and no text ends a workflow command
/// early.
#[test]
fn annotations_are_where_github_looks() {
    let mut steps = Steps::new();
    for step in [
        "mv events.toml a%b/c,d:e/events.toml",
        "in a%b/c,d:e",
        "release",
        "edit events.toml | A cache's view of itself | 100 %, or ::error::",
        "edit events.toml | name = \"Miss\" | name = \"Gone\"",
        "env GITHUB_WORKSPACE=DIR",
        "check --github",
    ] {
        steps.take(step);
    }
    let line = steps.transcript.lines().find(|line| line.starts_with("::error")).unwrap();
    assert!(
        line.starts_with(
            "::error file=a%25b/c%2Cd%3Ae/events.toml,line=16,col=8,title=version::event `Gone`"
        ),
        "{line}"
    );
    assert_eq!(line.matches("::").count(), 2, "{line}");
}
