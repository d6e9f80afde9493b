//! A Python module for a relation: descriptions of its events, classes of them, and a reader of
//! streams that gives their objects.
//!
//! The reader is [`SUPPORT`], with which every module begins. It is written by hand, in `support/`: one file
//! for each section, joined in their order. The generated text behind it has the facts of the registry.

mod output;
mod text;

use telemetry_schema::Registry;

use crate::text::python::{comment, docstring, quoted_block};

/// The reader, which every module has.
pub const SUPPORT: &str = concat!(
    include_str!("support/base.py"),
    include_str!("support/descriptions.py"),
    include_str!("support/relations.py"),
    include_str!("support/versions.py"),
    include_str!("support/events.py"),
    include_str!("support/blocks.py"),
    include_str!("support/accounts.py"),
    include_str!("support/sessions.py"),
    include_str!("support/reader.py"),
    include_str!("support/columns.py"),
    include_str!("support/command.py"),
);

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
    out += &output::descriptions::kinds(registry);
    out += &output::classes::types(registry);
    out += &output::descriptions::events(registry);
    out += &output::classes::events(registry);
    out += &output::classes::module(registry);
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

    /// The support reads registries that are in streams, so it has the list of parameter types, too.
    #[test]
    fn the_support_has_every_encoding() {
        use telemetry_schema::{Encoding, Sort};
        let mut table = String::from("_PACKED = {\n");
        for sort in Sort::ALL {
            let encoding = match sort.encoding().expect("only named types have none") {
                Encoding::Delta => "delta",
                Encoding::Byte => "u8",
                Encoding::SignedByte => "i8",
                Encoding::Bool => "bool",
                Encoding::Unsigned16 => "u16",
                Encoding::Unsigned32 => "u32",
                Encoding::Unsigned64 => "u64",
                Encoding::Signed16 => "i16",
                Encoding::Signed32 => "i32",
                Encoding::Signed64 => "i64",
                Encoding::F32 => "f32",
                Encoding::F64 => "f64",
                // A string is checked for UTF-8.
                Encoding::Run => sort.name().expect("only named types have none"),
            };
            table +=
                &format!("    \"{}\": \"{encoding}\",\n", sort.name().expect("only named types have none"));
        }
        assert!(super::SUPPORT.contains(&(table + "}\n")));
    }

    #[test]
    fn module_of_a_small_registry() {
        check("small", include_str!("../tests/small.toml"));
    }

    #[test]
    fn module_of_every_sort() {
        check("every_sort", telemetry_testing::made::RELATION);
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
