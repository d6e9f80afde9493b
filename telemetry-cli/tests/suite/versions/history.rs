//! `history`.

use std::fmt::Write;
use std::process::{Command, Stdio};

use super::{CACHE, Steps, check, has_git};

const FULL: &str = r#"append events.toml | \n[[event]]\nname = "Full"\ncode = 3\nkind = "Lookup"\ndoc = "No room is left"\n"#;

#[test]
fn events_come_and_change_and_go() {
    check(
        "history",
        &[
            "git init -q",
            "commit first",
            FULL,
            "edit events.toml | minor = 0 | minor = 1",
            "commit add Full",
            "append events.toml | [[",
            "commit break it",
            "edit events.toml | [[event]]\\nname = \"Full\" | [[event]]\\nname = \"Filled\"",
            "edit events.toml | left\"\\n[[ | left\"\\n",
            "edit events.toml | median = 0, minor = 1 | median = 1, minor = 0",
            "edit events.toml | sort = \"u64\" | sort = \"u32\"",
            "edit events.toml | Expired = 2 | TooOld = 2",
            "mv events.toml registries/cache.toml",
            "commit mend, rename and move",
            // Changes on a branch belong to the merge.
            "git checkout -q -b side",
            "edit registries/cache.toml | minor = 0 | minor = 1",
            "edit registries/cache.toml | code = 2\\n | code = 2\\nused = false\\n",
            "commit retire Evicted",
            "edit registries/cache.toml | per eviction | per entry that goes",
            "commit reword a doc",
            "git checkout -q main",
            "append other.txt | text",
            "commit something else",
            "git merge -q --no-ff -m merge side",
            "history registries/cache.toml",
            // User settings do not change the result.
            "git config log.showRoot false",
            "git config log.showSignature true",
            "git config diff.relative true",
            "git config diff.renames false",
            "git config color.ui always",
            "git config core.abbrev 4",
            "in registries",
            "history cache.toml --event Full --event Evicted",
            "history cache.toml --event 2",
            "history cache.toml --event Nothing",
            "history cache.toml --json --event Miss",
        ],
    );
}

const REUSED: &[&str] = &[
    "edit events.toml | name = \"Full\" | name = \"Grown\"",
    "edit events.toml | doc = \"No room is left\"\\n | doc = \"It grew\"\\nparams = [{ name = \"by\", sort = \"u64\" }]\\n",
    "commit give it to another",
];

#[test]
fn a_code_that_is_used_again_is_told() {
    let before: &[&str] = &["git init -q", "commit first", FULL, "commit add Full"];
    check("history_reused", &[before, REUSED, &["history", "history --json --event Grown"]].concat());
    // Full was added after the release, so no stream can have it.
    let before: &[&str] = &[
        "git init -q",
        "release",
        "commit release",
        FULL,
        "edit events.toml | minor = 0 | minor = 1",
        "commit add Full",
    ];
    check("history_unreleased", &[before, REUSED, &["history"]].concat());
    // The lock had it at that time.
    let lock: &[&str] = &["release", "commit release"];
    check(
        "history_released",
        &[before, lock, REUSED, &["rm events.lock", "commit forget", "history"]].concat(),
    );
}

#[test]
fn histories_of_nothing() {
    check(
        "history_none",
        &[
            "history",
            "git init -q",
            "history",
            "commit empty",
            "history",
            "history other.toml",
            "history nowhere/events.toml",
            "rm events.toml",
            "commit gone",
            "history",
            // Its codes are not those of the other registry.
            "append events.toml | [registry]\\nname = \"new\"\\nversion = { major = 1, median = 0, minor = 0 }\\ndoc = \"another\"\\n[kinds]\\nAll = { bit = 0, doc = \"all\" }\\n[[event]]\\nname = \"Other\"\\ncode = 1\\nkind = \"All\"\\ndoc = \"another one\"\\n",
            "commit another registry",
            "history",
        ],
    );
}

/// One `git log` and one `git cat-file`, for any number of revisions.
#[test]
fn a_thousand_revisions() {
    if !has_git() {
        eprintln!("SKIPPED: there is no git here");
        return;
    }
    let mut steps = Steps::new();
    steps.take("git init -q");
    let mut import = String::new();
    for revision in 0..1000 {
        let mut text = CACHE.replace("minor = 0", &format!("minor = {revision}"));
        for code in 0..=revision % 50 {
            write!(
                text,
                "\n[[event]]\nname = \"Event{code}\"\ncode = {}\nkind = \"Lookup\"\ndoc = \"d{revision}\"\n",
                code + 10
            )
            .unwrap();
        }
        write!(
            import,
            "commit refs/heads/main\ncommitter Ada <ada@example.org> {} +0000\ndata 1\nx\n\
             M 100644 inline events.toml\ndata {}\n{text}\n",
            1_767_225_600 + revision * 3600,
            text.len()
        )
        .unwrap();
    }
    let mut git = Command::new("git");
    git.args(["fast-import", "--quiet"]).current_dir(&steps.dir).stdin(Stdio::piped());
    let mut child = git.spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), import.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
    steps.take("env GIT_TRACE=DIR/trace");
    steps.take("history");
    let expected = "events.toml: cache, 1,000 revisions, version 1.0.0 to 1.0.999\n";
    assert!(steps.transcript.contains(expected), "{}", &steps.transcript[..1000]);
    let trace = steps.read("trace");
    let runs = |command: &str| trace.matches(&format!("built-in: git {command}")).count();
    // `rev-parse` finds the repository, and its HEAD.
    assert_eq!(["log", "cat-file", "rev-parse"].map(runs), [1, 1, 2]);
}
