//! `init`: the file, the next steps, and what is refused.

use std::path::Path;

use telemetry_schema::version::Lock;

use crate::run::{Folder, snapshot};

const MANIFEST: &str = "[package]\nname = \"my-cache\"\nversion = \"0.1.0\"\nedition = \"2024\"\n";

/// Returns a transcript in which the path of this clone is `CLONE`.
fn transcript(folder: &Folder, line: &str) -> String {
    let clone = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    folder.transcript(line).replace(clone.to_str().unwrap(), "CLONE")
}

#[test]
fn a_first_registry_file() {
    let folder = Folder::new().with("Cargo.toml", MANIFEST);
    let said = transcript(&folder, "init");
    let text = std::fs::read_to_string(folder.path("events.toml")).unwrap();
    snapshot("init", &format!("{said}{text}"));
    // It can be released as it is.
    let checked = folder.run("check");
    assert_eq!(checked.code, Some(0), "{}", checked.stderr);
    assert_eq!(folder.run("release").code, Some(0));
    let lock = std::fs::read_to_string(folder.path("events.lock")).unwrap();
    assert_eq!(Lock::parse(&lock).unwrap().registry, "my_cache");
}

#[test]
fn a_library_and_a_directory() {
    let folder = Folder::new();
    std::fs::create_dir_all(folder.path("cache/src")).unwrap();
    let folder = folder.with("cache/Cargo.toml", MANIFEST).with("cache/src/lib.rs", "");
    snapshot("init_library", &transcript(&folder, "init cache"));
    assert!(folder.path("cache/events.toml").exists() && !folder.path("events.toml").exists());
}

#[test]
fn what_is_refused() {
    let folder = Folder::new().with("file", "").with("events.toml", "mine").with("Cargo.toml", MANIFEST);
    for name in ["empty", "workspace", "broken", "unreadable"] {
        std::fs::create_dir(folder.path(name)).unwrap();
    }
    std::fs::create_dir(folder.path("unreadable/Cargo.toml")).unwrap();
    let folder = folder
        .with("workspace/Cargo.toml", "[workspace]\nmembers = []\n")
        .with("broken/Cargo.toml", "[package]\nname = cache\n");
    folder.check(
        "init_refused",
        &[
            "init",
            "init empty",
            "init nowhere",
            "init file",
            "init workspace",
            "init broken",
            "init unreadable",
        ],
    );
    assert_eq!(std::fs::read_to_string(folder.path("events.toml")).unwrap(), "mine");
    for name in ["empty", "workspace", "broken", "unreadable"] {
        assert!(!folder.path(name).join("events.toml").exists(), "{name}");
    }
}

/// A link that leads nowhere is not followed.
#[cfg(unix)]
#[test]
fn a_link_is_not_followed() {
    let folder = Folder::new().with("Cargo.toml", MANIFEST);
    std::os::unix::fs::symlink("elsewhere.toml", folder.path("events.toml")).unwrap();
    let run = folder.run("init");
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.contains("`events.toml` exists"), "{}", run.stderr);
    assert!(!folder.path("elsewhere.toml").exists());
}
