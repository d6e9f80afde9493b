//! The archive in `tests/golden`: streams of every format and of a chain of versions of one
//! registry, which are never written again, and the results of every reader.

mod archive;
mod matrix;
pub mod readers;
mod snapshots_of_each;

use std::fs;
use std::path::{Path, PathBuf};

/// Returns its path.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden")
}

/// Returns all streams: format and name, as in `1/heap-1.0.0`, and bytes.
fn streams() -> Vec<(String, Vec<u8>)> {
    let streams = folder().join("streams");
    let mut all = Vec::new();
    for format in names(&streams) {
        for file in names(&streams.join(&format)) {
            let bytes = fs::read(streams.join(&format).join(&file)).unwrap();
            let name = file.strip_suffix(".tel").expect("a stream");
            all.push((format!("{format}/{name}"), bytes));
        }
    }
    assert!(!all.is_empty());
    all
}

/// Returns the entries of a folder by name.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Compares the result of a reader with the reviewed one.
#[track_caller]
fn check(name: &str, text: &str) {
    insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!(name, text);
    });
}
