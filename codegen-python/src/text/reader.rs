//! The reader: the files of the Python package `telemetry_events`, joined to one text.

use std::collections::BTreeSet;

/// The files of the package that every module needs, each after those that it uses.
const FILES: &[&str] = &[
    include_str!("../../python/telemetry_events/base.py"),
    include_str!("../../python/telemetry_events/descriptions.py"),
    include_str!("../../python/telemetry_events/coverage.py"),
    include_str!("../../python/telemetry_events/toml.py"),
    include_str!("../../python/telemetry_events/registries.py"),
    include_str!("../../python/telemetry_events/versions.py"),
    include_str!("../../python/telemetry_events/inputs.py"),
    include_str!("../../python/telemetry_events/blocks.py"),
    include_str!("../../python/telemetry_events/sessions.py"),
    include_str!("../../python/telemetry_events/accounts.py"),
    include_str!("../../python/telemetry_events/hidden.py"),
    include_str!("../../python/telemetry_events/modules.py"),
    include_str!("../../python/telemetry_events/events.py"),
    include_str!("../../python/telemetry_events/own_registry.py"),
    include_str!("../../python/telemetry_events/contents.py"),
    include_str!("../../python/telemetry_events/parts.py"),
    include_str!("../../python/telemetry_events/orders.py"),
    include_str!("../../python/telemetry_events/native.py"),
    include_str!("../../python/telemetry_events/reader.py"),
    include_str!("../../python/telemetry_events/arrays.py"),
    include_str!("../../python/telemetry_events/shapes.py"),
    include_str!("../../python/telemetry_events/encoded.py"),
    include_str!("../../python/telemetry_events/pieces.py"),
    include_str!("../../python/telemetry_events/columns.py"),
    include_str!("../../python/telemetry_events/joined.py"),
    include_str!("../../python/telemetry_events/index.py"),
    include_str!("../../python/telemetry_events/load.py"),
    include_str!("../../python/telemetry_events/command.py"),
];

/// What begins the first section of a file, after its imports.
const SECTION: &str = "# --- ";

const HEAD: &str = "\
# The reader of telemetry streams: the files of the Python package `telemetry_events`, joined. The
# part after it is generated from the registry. docs/format.md of the project describes the bytes,
# docs/python.md the use. It needs Python 3.9, and only its standard library.
#
# Names of the registry are CamelCase (kinds, types, events) and snake_case without a leading
# underscore (parameters). So names here begin with an underscore, are in lower case, or are
# reserved. Modules are imported under names that no event can have.
from __future__ import annotations

";

/// Returns the reader as one text. Imports of other files of the package are left out.
pub(crate) fn joined() -> String {
    let (mut imports, mut sections) = (BTreeSet::new(), String::new());
    for file in FILES {
        let start = file.find(SECTION).unwrap_or_default();
        let (head, section) = file.split_at(start);
        imports.extend(head.lines().filter(|line| line.starts_with("import ")));
        sections += "\n\n";
        sections += section;
    }
    let imports: String = imports.into_iter().flat_map(|line| [line, "\n"]).collect();
    format!("{HEAD}{imports}{sections}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_file_has_imports_and_then_sections() {
        for file in FILES {
            assert!(file.starts_with("from __future__ import annotations\n\n"), "{file:.200}");
            assert!(file.contains(&format!("\n\n{SECTION}")), "{file:.200}");
        }
        let text = joined();
        assert!(!text.contains("\nfrom ."));
        assert_eq!(text.matches("from __future__").count(), 1);
    }

    /// No imports form a circle, not even those for types. Large files are hard to follow.
    #[test]
    fn each_file_uses_only_those_before_it() {
        for (number, file) in FILES.iter().enumerate() {
            let start = file.find(SECTION).unwrap_or_default();
            let imported = file[..start].lines().filter_map(|line| line.trim_start().strip_prefix("from ."));
            for name in imported.filter_map(|line| line.split(' ').next()) {
                let path = format!("{}/python/telemetry_events/{name}.py", env!("CARGO_MANIFEST_DIR"));
                let text = std::fs::read_to_string(&path).unwrap();
                assert!(FILES[..number].contains(&text.as_str()), "{name} comes later:\n{file:.400}");
            }
            assert!(file.lines().count() <= 400, "{file:.400}");
        }
    }
}
