//! The archive stays as it is.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use sha2::{Digest, Sha256};
use telemetry_format::{FORMAT_VERSION, Header};

use super::{folder, names};

/// Returns the problems of an archive: files that changed, are missing, or are not in its list.
fn problems(archive: &Path) -> Vec<String> {
    let mut files: BTreeSet<String> =
        names(&archive.join("registries")).iter().map(|name| format!("registries/{name}")).collect();
    for format in names(&archive.join("streams")) {
        let streams = names(&archive.join("streams").join(&format));
        files.extend(streams.iter().map(|name| format!("streams/{format}/{name}")));
    }
    let mut problems = Vec::new();
    for line in fs::read_to_string(archive.join("SHA256SUMS")).unwrap().lines() {
        let (expected, name) = line.split_once("  ").expect("as sha256sum writes it");
        if !files.remove(name) {
            problems.push(format!("{name} is gone"));
            continue;
        }
        let found = Sha256::digest(fs::read(archive.join(name)).unwrap());
        let found: String = found.iter().map(|byte| format!("{byte:02x}")).collect();
        if found != expected {
            problems.push(format!("{name} was changed"));
        }
    }
    problems.extend(files.iter().map(|name| format!("{name} is not in the list")));
    problems
}

#[test]
fn nothing_in_it_changes() {
    assert_eq!(problems(&folder()), [""; 0], "see tests/golden/README.md");
}

/// A changed archive is detected.
#[test]
fn changes_are_seen() {
    let copy = tempfile::tempdir().unwrap();
    for part in ["registries", "streams/1"] {
        fs::create_dir_all(copy.path().join(part)).unwrap();
        for name in names(&folder().join(part)) {
            fs::copy(folder().join(part).join(&name), copy.path().join(part).join(&name)).unwrap();
        }
    }
    fs::copy(folder().join("SHA256SUMS"), copy.path().join("SHA256SUMS")).unwrap();
    assert_eq!(problems(copy.path()), [""; 0]);

    let stream = copy.path().join("streams/1/heap-1.0.0.tel");
    let mut bytes = fs::read(&stream).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&stream, bytes).unwrap();
    fs::remove_file(copy.path().join("streams/1/heap-1.0.1.tel")).unwrap();
    fs::write(copy.path().join("streams/1/other.tel"), "").unwrap();
    fs::write(copy.path().join("registries/heap-1.0.0.toml"), "").unwrap();
    let mut found = problems(copy.path());
    found.sort();
    assert_eq!(
        found,
        [
            "registries/heap-1.0.0.toml was changed",
            "streams/1/heap-1.0.0.tel was changed",
            "streams/1/heap-1.0.1.tel is gone",
            "streams/1/other.tel is not in the list",
        ]
    );
}

#[test]
fn every_format_has_a_stream_of_every_registry() {
    let registries: Vec<String> =
        names(&folder().join("registries")).iter().map(|name| name.replace(".toml", ".tel")).collect();
    assert!(registries.len() >= 6, "{registries:?}");
    for format in 1..=FORMAT_VERSION {
        let streams = folder().join(format!("streams/{format}"));
        let found = names(&streams);
        // Later registries have no streams of formats that are not written any more.
        let is_current = format == FORMAT_VERSION;
        assert!(
            if is_current { found == registries } else { !found.is_empty() },
            "format {format}: {found:?}"
        );
        for name in found {
            let bytes = fs::read(streams.join(&name)).unwrap();
            let header = Header::decode(&bytes, crc32c::crc32c).expect("a block");
            assert_eq!(bytes[8], format, "{name}: {header:?}");
        }
    }
}
