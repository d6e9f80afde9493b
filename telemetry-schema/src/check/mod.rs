//! All rules about a registry, one file for each part of it.
//!
//! [`check`] walks the file once from top to bottom. A value that breaks a rule is noted and
//! replaced by a harmless one, so that everything else is checked too; what could only be a
//! consequence of a noted mistake is not noted again.

mod allows;
mod events;
mod fields;
mod kinds;
mod messages;
mod names;
mod naming;
mod params;
mod prose;
mod replay;
mod since;
mod spans;
mod types;

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use self::fields::Fields;
use self::names::{Names, Style};
use crate::diagnostic::{Diagnostics, quote};
use crate::version::Allow;
use crate::{Invalid, Registry, Version, emitters, keys, limits, syntax};

/// Where a text comes from, which decides how strict the rules are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// A file that people write.
    File,
    /// A stream, or another place that it got into after it was checked once.
    Embedded,
}

/// See [`crate::parse`]. What the file allows comes beside the registry.
pub(crate) fn check(text: &str, origin: Origin) -> Result<(Registry, Vec<Allow>), Invalid> {
    let (diags, names) = (Diagnostics::default(), Names::default());
    let mut cx = Check { text, origin, version: None, diags, names };
    let most = match origin {
        Origin::File => limits::MAX_FILE_LEN,
        Origin::Embedded => limits::MAX_EMBEDDED_LEN,
    };
    let (root, sound) = if text.len() as u64 <= most {
        syntax::read(text, &mut cx.diags)
    } else {
        cx.diags.error(0..0, format!("the relation has {} bytes, expected at most {most}", text.len()));
        (DeTable::new(), false)
    };
    // After a syntax error anything may be missing: complaints about that would only mislead.
    let relation = sound.then(|| file(&mut cx, &root));
    match relation {
        Some(relation) if cx.diags.is_empty() => Ok(relation),
        _ => {
            let (diagnostics, omitted) = cx.diags.finish();
            let emitters = emitters::emitters(&root, (!sound).then_some(text));
            Err(Invalid { diagnostics, omitted, emitters })
        }
    }
}

/// What is needed while checking.
struct Check<'a> {
    text: &'a str,
    origin: Origin,
    /// The registry's, if it is what was meant.
    version: Option<Version>,
    diags: Diagnostics,
    names: Names,
}

impl Check<'_> {
    /// A piece of the text as a message quotes it.
    fn quote(&self, span: &Range<usize>) -> String {
        quote(self.text.get(span.clone()).unwrap_or(""))
    }
}

/// The whole file. What it returns counts only if nothing was noted.
fn file(cx: &mut Check, root: &DeTable) -> (Registry, Vec<Allow>) {
    let file = Fields::new(cx, "the file", 0..0, root, keys::FILE);
    let (name, version, doc) = registry(cx, &file);
    let mut kinds = kinds::kinds(cx, &file);
    let mut types = types::types(cx, &file);
    let events = events::events(cx, &file, &mut kinds, &mut types);
    let spans = spans::spans(cx, &file, &events);
    let messages = messages::messages(cx, &file, &events);
    let registry = Registry {
        name,
        version,
        doc,
        kinds: kinds.list,
        types: types.list,
        events: events.rows.into_iter().map(|row| row.event).collect(),
        spans,
        messages,
    };
    (registry, allows::allows(cx, &file))
}

/// `[registry]`.
fn registry(cx: &mut Check, file: &Fields) -> (String, Version, String) {
    let nothing = (String::new(), Version { major: 0, median: 0, minor: 0 }, String::new());
    let Some(table) = file.need_table(cx, "registry") else { return nothing };
    let registry = Fields::new(cx, "the registry", table.span(), table.get_ref(), keys::REGISTRY);
    let name = registry.need_text(cx, "name").map(|name| {
        if cx.spelling("registry", &name, Style::Snake) {
            cx.registry_name(&name);
        }
        name.into_inner().to_string()
    });
    let version = registry.need_table(cx, "version").map(|table| {
        let version = Fields::new(cx, "the version", table.span(), table.get_ref(), keys::VERSION);
        let mut part = |key| version.need_int(cx, key, 0..=u32::MAX.into());
        let [major, median, minor] =
            ["major", "median", "minor"].map(|key| Some(part(key)?.into_inner() as u32));
        Some(Version { major: major?, median: median?, minor: minor? })
    });
    cx.version = version.flatten();
    let doc = registry.need_doc(cx);
    (name.unwrap_or_default(), cx.version.unwrap_or(nothing.1), doc)
}

/// What a TOML value is, with its article.
fn described(value: &DeValue) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "an integer",
        DeValue::Float(_) => "a float",
        DeValue::Boolean(_) => "a boolean",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "an array",
        DeValue::Table(_) => "a table",
    }
}

/// A text of the file with its place.
type Text<'a> = Spanned<&'a str>;
