//! Registries and facts for `info`.

use serde::Serialize;
use telemetry_decode::KnownRegistry;

use crate::text::{count, escaped_text};

#[derive(Serialize)]
pub(super) struct RegistryInfo<'a> {
    pub(super) name: &'a str,
    pub(super) version: String,
    pub(super) fingerprint: String,
    pub(super) kinds: usize,
    pub(super) events: usize,
    pub(super) doc: &'a str,
    /// False if `--registry` gave it.
    pub(super) in_stream: bool,
}

impl<'a> RegistryInfo<'a> {
    pub(super) fn new(known: &'a KnownRegistry) -> Self {
        let registry = &known.registry;
        RegistryInfo {
            name: &registry.name,
            version: registry.version.to_string(),
            fingerprint: format!("{:016x}", known.fingerprint),
            kinds: registry.kinds.len(),
            events: registry.events.len(),
            doc: &registry.doc,
            in_stream: known.at.is_some(),
        }
    }

    pub(super) fn line(&self) -> String {
        let RegistryInfo { name, version, fingerprint, kinds, events, in_stream, .. } = self;
        let (kinds, events) = (count(*kinds as u64, "kind"), count(*events as u64, "event"));
        let given = if *in_stream { "" } else { ", given by --registry" };
        format!("registry {name} {version}, fingerprint {fingerprint}: {kinds}, {events}{given}\n")
    }
}

pub(super) fn fact_text(text: Option<&str>, value: &impl ToString) -> String {
    // Strings in a list or a table have quotes and are already escaped.
    text.map_or_else(|| shown_quoted(&value.to_string()), escaped_text)
}

/// Escapes only the control characters of text that is already quoted.
fn shown_quoted(text: &str) -> String {
    let parts = text.split_inclusive(['"', '\\']).map(|part| {
        let (rest, last) = part.split_at(part.trim_end_matches(['"', '\\']).len());
        escaped_text(rest) + last
    });
    parts.collect()
}

#[cfg(test)]
mod tests {
    use super::fact_text;

    #[test]
    fn facts_read_well_and_do_no_harm_to_a_terminal() {
        let check = |toml: &str, expected: &str| {
            let table: toml::Table = toml.parse().unwrap();
            let value = &table["fact"];
            assert_eq!(fact_text(value.as_str(), value), expected);
        };
        check(r#"fact = "plain""#, "plain");
        check(r#"fact = "say \"no\"""#, r#"say \"no\""#);
        check("fact = 17", "17");
        check(r#"fact = ["./run", "--all"]"#, r#"["./run", "--all"]"#);
        check(r#"fact = { HOME = "/root" }"#, r#"{ HOME = "/root" }"#);
        check("fact = [\"\u{202e}\u{9b}31m\"]", r#"["\u{202e}\u{9b}31m"]"#);
        check(r#"fact = ["\u001b[31m"]"#, r#"["\u001B[31m"]"#);
    }
}
