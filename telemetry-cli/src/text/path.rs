//! Paths in messages.

use std::path::Path;

/// Returns a path as messages name it.
pub(crate) fn display(path: &Path) -> String {
    if path.as_os_str() == "-" { "standard input".to_string() } else { format!("`{}`", path.display()) }
}

/// Returns true if a path is the address of a lake.
pub(crate) fn is_lake(path: &Path) -> bool {
    const BEGINS: [&str; 4] = ["s3://", "file:///", "az://", "gs://"];
    path.to_str().is_some_and(|text| BEGINS.iter().any(|begin| text.starts_with(begin)))
}

/// The help for a lake in place of a stream.
pub(crate) const INSTEAD_OF_LAKE: &str =
    "help: `telemetry-lake stream ADDRESS` writes a stream of a lake, for a file or a pipe";

/// Says that the address of a lake is not an input here.
pub(crate) fn is_no_input(lake: &Path) -> String {
    format!("{} is the address of a lake, expected a stream or log; {INSTEAD_OF_LAKE}", display(lake))
}
