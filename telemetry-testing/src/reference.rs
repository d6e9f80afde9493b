//! The reference logs: logs of real programs, and the output of the real tools for them. They are
//! not part of the project. If they are absent, tests that need them say so and pass.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The variable that names the folder of the reference logs.
const VARIABLE: &str = "TELEMETRY_REFERENCE_LOGS";

/// Returns the folder of a system's reference logs: below `$TELEMETRY_REFERENCE_LOGS`, or below a
/// folder `shared/data` beside the repository.
pub fn folder(system: &str) -> Option<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let named = std::env::var_os(VARIABLE).map(PathBuf::from);
    let beside = here.ancestors().map(|folder| folder.join("shared/data"));
    let found =
        named.into_iter().chain(beside).map(|folder| folder.join(system)).find(|folder| folder.is_dir());
    if found.is_none() {
        eprintln!("SKIPPED: no reference logs of {system}; help: name their folder by ${VARIABLE}");
    }
    found
}

/// Returns the bytes of a file, or of its `.xz` form, decompressed. `None`, with a note, if `xz` is
/// missing.
pub fn read(path: &Path) -> Option<Vec<u8>> {
    if path.exists() {
        return Some(std::fs::read(path).expect("the file can be read"));
    }
    let packed = PathBuf::from(format!("{}.xz", path.display()));
    assert!(packed.exists(), "{} is not there", path.display());
    match Command::new("xz").arg("-dc").arg(&packed).output() {
        Ok(output) if output.status.success() => Some(output.stdout),
        _ => {
            eprintln!("SKIPPED: cannot unpack {}; help: install xz", packed.display());
            None
        }
    }
}

/// Returns the names of all files of a folder with this suffix, compressed or not, without the
/// suffix.
pub fn names(folder: &Path, end: &str) -> Vec<String> {
    let files = std::fs::read_dir(folder).expect("the folder can be read");
    let files = files.map(|file| file.expect("its files, too").file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> =
        files.filter_map(|name| Some(name.trim_end_matches(".xz").strip_suffix(end)?.to_string())).collect();
    names.sort();
    assert!(!names.is_empty(), "{} has no *{end}", folder.display());
    names
}
