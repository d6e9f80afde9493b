//! `check --against` a revision.

use super::{Steps, check, has_git};

#[test]
fn revisions_are_compared() {
    check(
        "git_revisions",
        &[
            "git init -q",
            "commit first",
            "git tag v1",
            "edit events.toml | name = \"Miss\" | name = \"Missed\"",
            "check --against v1",
            "check --against v1 --fix",
            "check --against main",
            "check --against v1:events.toml",
            "commit second",
            "release",
            "commit lock",
            "check --against HEAD",
            "check --against HEAD:events.lock",
            "check --against v1",
            // A directory with the name of a revision is not compared with.
            "git branch docs v1",
            "mv events.lock docs/x.lock",
            "check --against docs",
            "mv docs/x.lock events.lock",
            // Moved since.
            "mv events.toml registries/cache.toml",
            "commit moved",
            "check registries/cache.toml --against v1",
            "check registries/cache.toml --against v1:events.toml",
            "in registries",
            "check cache.toml --against v1:events.toml",
            // The variables that git sets for hooks do not select another repository.
            "env GIT_DIR=/nowhere",
            "env GIT_WORK_TREE=/nowhere",
            "env LC_ALL=de_DE.UTF-8",
            "check cache.toml --against HEAD",
        ],
    );
}

#[test]
fn what_cannot_be_compared_is_told() {
    check(
        "git_refused",
        &[
            "check --against HEAD",
            "git init -q",
            "check --against HEAD",
            "append other.txt | text",
            "commit first",
            "git tag v1",
            "check --against nowhere",
            "check --against=--all",
            "check --against 0123456789012345678901234567890123456789",
            "check --against v1:nothing.toml",
            "check --against v1:other.txt",
            "check missing.toml --against v1",
            "append new.toml | x",
            "check new.toml --against v1",
            "mv events.toml a/events.toml",
            "commit moved",
            "check a/events.toml --against HEAD:a",
            "env PATH=/nowhere",
            "check a/events.toml --against HEAD",
            "history a/events.toml",
        ],
    );
}

#[test]
fn a_shallow_clone_is_told() {
    check(
        "git_shallow",
        &[
            "git init -q",
            "commit first",
            "git tag v1",
            "edit events.toml | name = \"Miss\" | name = \"Missed\"",
            "commit second",
            "git clone -q --depth 1 file://DIR clone",
            "in clone",
            "check --against v1",
            "check --against HEAD~1",
            "history",
            "git fetch -q --unshallow --tags",
            "check --against v1",
            "history",
        ],
    );
}

#[test]
fn a_submodule_has_revisions_of_its_own() {
    check(
        "git_submodule",
        &[
            "mv events.toml inner/events.toml",
            "in inner",
            "git init -q",
            "commit first",
            "in ..",
            "git init -q outer",
            "in outer",
            "git submodule -q add file://DIR/inner inner",
            "commit submodule",
            "git tag outer",
            "check inner/events.toml --against HEAD",
            "check inner/events.toml --against outer",
            "history inner/events.toml",
        ],
    );
}

/// Root may give files away, which git refuses to read.
#[cfg(unix)]
#[test]
fn a_repository_of_another_user_is_told() {
    let is_root = std::process::Command::new("id").arg("-u").output().is_ok_and(|id| id.stdout == b"0\n");
    if !is_root || !has_git() {
        eprintln!("SKIPPED: only root can give a repository to another user");
        return;
    }
    let mut steps = Steps::new();
    steps.take("git init -q");
    steps.take("commit first");
    std::os::unix::fs::chown(steps.dir.join(".git"), Some(65534), None).unwrap();
    std::os::unix::fs::chown(&steps.dir, Some(65534), None).unwrap();
    steps.take("check --against HEAD");
    let expected = "! error: `HEAD` is not a file or a revision: the repository `DIR` is another user's, and git does \
                    not trust it; help: git config --global --add safe.directory DIR\n";
    assert!(steps.transcript.contains(expected), "{}", steps.transcript);
}
