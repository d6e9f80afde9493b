//! Reading a registry from disk.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use telemetry_schema::limits::MAX_FILE_LEN;
use telemetry_schema::{load, load_lock};

use crate::{SMALL, registry};

/// A file of this test with some content.
fn file(name: &str, content: &[u8]) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&path, content).expect("the folder of the test can be written");
    path
}

/// Returns the error for a file that is not a registry file, with its path as `PATH`.
fn refused(path: &Path) -> String {
    let error = load(path).expect_err("the file is not a registry file");
    let error: Box<dyn Error> = Box::new(error);
    error.to_string().replace(&path.display().to_string(), "PATH")
}

#[test]
fn a_registry_file_is_loaded_with_its_text() {
    let path = file("small.toml", SMALL.as_bytes());
    let file = load(&path).expect("the file is a registry file");
    assert_eq!((file.registry, file.text.as_str()), (registry(SMALL), SMALL));
}

#[test]
fn files_that_are_no_registry_file_are_explained() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    assert_eq!(refused(&folder.join("missing.toml")), "error: no file `PATH`, expected a registry file");
    assert_eq!(refused(folder), "error: `PATH` is a directory, expected a registry file");
    assert_eq!(
        refused(&file("binary.toml", b"# caf\xc3\xa9\n  \xff\xfe")),
        "error: PATH:2:3: not UTF-8 at byte 10, expected a registry file"
    );
    let large = vec![b'#'; MAX_FILE_LEN as usize + 1];
    assert_eq!(
        refused(&file("large.toml", &large)),
        "error: `PATH` is larger than 4 MiB, expected a registry file"
    );
    insta::assert_snapshot!(refused(&file("wrong.toml", SMALL.replace("bit = 2", "bit = 1").as_bytes())), @r#"
    error: bit 1 of kind `Trace` is taken
     --> PATH:8:17
      |
    7 | Pool = { bit = 1, doc = "per pool" }
      |                - first used here
    8 | Trace = { bit = 1, doc = "per trace or scan" }
      |                 ^
      |
      = help: bit 0 is free
    "#);
}

#[test]
fn only_a_missing_lock_is_none() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    assert!(load_lock(&folder.join("missing.lock")).expect("no lock").is_none());
    assert!(load_lock(folder).is_err());
}

#[cfg(unix)]
#[test]
fn a_path_through_a_file_is_explained() {
    let inside = file("plain.toml", SMALL.as_bytes()).join("events.toml");
    assert!(refused(&inside).starts_with("error: cannot read `PATH`: "), "{}", refused(&inside));
}

#[test]
fn a_text_that_no_file_may_be_is_refused_too() {
    let text = "#".repeat(MAX_FILE_LEN as usize + 1);
    let invalid = crate::invalid(&text);
    assert_eq!(
        invalid.diagnostics[0].message,
        "the registry file has 4194305 bytes, expected at most 4194304"
    );
    // A broken text of any size names its first error.
    let text = format!("{}\na b\n{}", "#".repeat(2 << 20), "x y\n".repeat(1000));
    assert_eq!(crate::invalid(&text).render("big.toml", &text).lines().nth(1), Some(" --> big.toml:2:3"));
}

#[test]
fn mistakes_are_an_error_with_all_messages() {
    let invalid = telemetry_schema::parse("[registry]\nname = 1\n").expect_err("a registry with mistakes");
    let error: Box<dyn std::error::Error> = Box::new(invalid.clone());
    let messages: Vec<_> = invalid.diagnostics.iter().map(|diagnostic| diagnostic.message.clone()).collect();
    assert!(messages.len() > 1);
    assert_eq!(error.to_string(), messages.join("\n"));
    let mut more = invalid;
    more.omitted = 2;
    assert!(more.to_string().ends_with("\n2 more mistakes"));
}
