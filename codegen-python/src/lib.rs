//! A Python module for a relation: for now the tables that a script needs to name what it reads.

use std::fmt::Write;

use telemetry_schema::Registry;

/// The source of the module: its version, and dictionaries of kinds and events by number.
pub fn module(registry: &Registry) -> String {
    let version = registry.version;
    let mut out = format!(
        "\"\"\"Registry {}: {}.\"\"\"\n\n__version__ = {}, {}, {}\n",
        registry.name,
        escaped(&registry.doc),
        version.major,
        version.median,
        version.minor
    );
    out += "\n#: Kinds by bit number.\nKIND = {\n";
    for kind in &registry.kinds {
        let _ = writeln!(out, "    {}: \"{}\",", kind.bit, kind.name);
    }
    out += "}\n\n#: Events by code: name, kind, and parameters with their sorts.\nEVENT = {\n";
    for event in &registry.events {
        let kind = &registry.kind_of(event).name;
        let params = event
            .params
            .iter()
            .map(|param| format!("(\"{}\", \"{}\")", param.name, registry.sort_text(param)));
        let params: Vec<String> = params.collect();
        let comma = if params.len() == 1 { "," } else { "" };
        let _ = writeln!(
            out,
            "    {:#06x}: (\"{}\", \"{kind}\", ({}{comma})),",
            event.code,
            event.name,
            params.join(", ")
        );
    }
    out += "}\n";
    out
}

/// A doc inside of a string in three quotes.
fn escaped(doc: &str) -> String {
    doc.replace('\\', "\\\\").replace('"', "\\\"")
}

#[cfg(test)]
mod tests {
    #[test]
    fn module_of_a_small_registry() {
        let text = "[registry]\nname = \"gc\"\nversion = { major = 1, median = 0, minor = 0 }\n\
                    doc = \"A \\\"small\\\" collector\"\n\
                    [kinds]\nTrace = { bit = 2, doc = \"per trace\" }\n\
                    [[event]]\nname = \"TraceEnd\"\ncode = 0x11\nkind = \"Trace\"\ndoc = \"ended\"\n\
                    params = [{ name = \"trace\", sort = \"P\" }]\n";
        let registry = telemetry_schema::parse(text).unwrap();
        insta::assert_snapshot!(super::module(&registry));
    }
}
