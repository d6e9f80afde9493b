//! Rules about versions, which have two notations: `"1.0.0"`, and a table of three numbers.

use toml::de::DeValue;

use crate::check::context::{Check, Text, described};
use crate::check::fields::Fields;
use crate::model::registry::Version;
use crate::text::diagnostic::quote;
use crate::text::keys;

/// Returns the version of the registry.
pub(super) fn version_of(cx: &mut Check, registry: &Fields) -> Option<Version> {
    let value = registry.need_value(cx, "version")?;
    match value.get_ref() {
        DeValue::String(text) => {
            let text = Text::new(value.span(), text.as_ref());
            let version = Version::from_text(text.get_ref());
            if version.is_none() {
                not_a_version(cx, "version", &format!("`version` of {}", registry.what), &text);
            }
            version
        }
        DeValue::Table(table) => {
            let version = Fields::new(cx, "the version", value.span(), table, keys::VERSION);
            let mut part = |key| version.need_int(cx, key, 0..=u32::MAX.into());
            let [major, median, minor] =
                ["major", "median", "minor"].map(|key| Some(part(key)?.into_inner() as u32));
            Some(Version { major: major?, median: median?, minor: minor? })
        }
        other => {
            let found = described(other);
            let message =
                format!("expected a string or a table for `version` of {}, found {found}", registry.what);
            let help = match proposal(&cx.text[value.span()]) {
                Some(version) => format!("write `version = \"{version}\"`"),
                None => "for instance `version = \"1.0.0\"`".to_string(),
            };
            cx.diags.error(value.span(), message).help(help);
            None
        }
    }
}

/// Reports a text that is not a version, as the value of a key.
pub(super) fn not_a_version(cx: &mut Check, key: &str, what: &str, text: &Text) {
    let message = format!("expected major.median.minor for {what}, found {}", quote(text.get_ref()));
    let help = match proposal(text.get_ref()) {
        Some(version) => format!("write `{key} = \"{version}\"`"),
        None => format!("write three numbers up to {}, for instance `{key} = \"1.2.0\"`", u32::MAX),
    };
    cx.diags.error(text.span(), message).help(help);
}

/// Returns the version that a text probably means: `v1.0`, `1.00.0` and `1.0.0-beta` are 1.0.0.
fn proposal(text: &str) -> Option<Version> {
    let text = text.trim().trim_start_matches(['v', 'V']);
    let text = text.split(['-', '+']).next().unwrap_or_default();
    let mut numbers = text.split('.').map(|part| part.parse::<u32>().ok());
    let first = numbers.next()??;
    let mut next = || numbers.next().unwrap_or(Some(0));
    let (median, minor) = (next()?, next()?);
    numbers.next().is_none().then_some(Version { major: first, median, minor })
}
