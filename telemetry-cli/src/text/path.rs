//! Paths in messages.

use std::path::Path;

/// Returns a path as messages name it.
pub(crate) fn display(path: &Path) -> String {
    if path.as_os_str() == "-" { "standard input".to_string() } else { format!("`{}`", path.display()) }
}
