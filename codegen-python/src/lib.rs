//! A Python module for a relation: descriptions of its events, classes of them, and a reader of
//! streams that gives their objects.
//!
//! The reader is [`SUPPORT`], a file of its own that every module begins with. What is generated
//! behind it says only what the relation says.

mod classes;
mod descriptions;
mod python;

use telemetry_schema::Registry;

use crate::python::{comment, docstring, quoted_block};

/// What every module has: the reader, written by hand.
pub const SUPPORT: &str = include_str!("support.py");

/// The source of the module, for Python 3.9 and later. The same for the same registry always.
pub fn module(registry: &Registry) -> String {
    let mut out = header(registry);
    out += SUPPORT;
    out += "\n\n";
    out += &generated(registry);
    out
}

/// What of the module is made from the relation, behind the support.
fn generated(registry: &Registry) -> String {
    let version = registry.version;
    let mut out = format!("# --- Registry {} {version}, made from its relation.\n\n", registry.name);
    out += &format!(
        "#: Of the relation.\n__version__ = {}, {}, {}\n",
        version.major, version.median, version.minor
    );
    out += &format!(
        "#: What streams name the relation by.\nREGISTRY_FINGERPRINT = {:#018x}\n",
        registry.fingerprint()
    );
    let doc = "The relation in its canonical form, as streams carry it.";
    out += &format!("#: {doc}\nREGISTRY_TOML = {}\n", quoted_block(&registry.to_toml()));
    out += &descriptions::kinds(registry);
    out += &classes::types(registry);
    out += &descriptions::events(registry);
    out += &classes::events(registry);
    out += &classes::module(registry);
    out
}

fn header(registry: &Registry) -> String {
    let title = format!("Registry {} {}: {}.", registry.name, registry.version, comment(&registry.doc));
    let body = format!(
        "Made by `telemetry py` from the relation: change that, and make this again.\n\n    \
         import {0}\n    for event in {0}.read(\"telemetry.tel\"):\n        print(event.time_ns, event)\n",
        registry.name
    );
    docstring("", &format!("{title}\n\n{body}"))
}

#[cfg(test)]
mod tests {
    /// A relation, as the snapshot that its module's generated half is.
    fn check(name: &str, relation: &str) {
        let registry = telemetry_schema::parse(relation)
            .unwrap_or_else(|invalid| panic!("{}", invalid.render(name, relation)));
        let module = super::module(&registry);
        assert_eq!(module, super::module(&registry), "the same registry gives the same module");
        let (before, behind) = module.split_once(super::SUPPORT).expect("the support is copied as it is");
        insta::assert_snapshot!(name, format!("{before}... support.py ...{behind}"));
    }

    #[test]
    fn module_of_a_small_registry() {
        check("small", include_str!("../tests/small.toml"));
    }

    #[test]
    fn module_of_every_sort() {
        check("every_sort", include_str!("../../telemetry-decode/tests/relation.toml"));
    }

    #[test]
    fn module_of_awkward_names() {
        check("names", include_str!("../tests/names.toml"));
    }

    #[test]
    fn module_of_events_as_the_mps_has_them() {
        check("mps", include_str!("../tests/mps.toml"));
    }
}
