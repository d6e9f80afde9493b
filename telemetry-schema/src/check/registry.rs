//! Checks a whole file, part by part.

use toml::de::DeTable;

use crate::check::context::{Check, Names, Origin};
use crate::check::emitters;
use crate::check::fields::Fields;
use crate::check::names::Style;
use crate::check::{allows, events, kinds, messages, naming, presets, rules, spans, types, versions};
use crate::model::registry::{Registry, Version};
use crate::text::diagnostic::{Diagnostics, Invalid};
use crate::text::{keys, limits, syntax};
use crate::version::allow::Allow;

/// Checks a text as [`crate::parse`] does. The `[[allow]]`s of the file come beside the registry.
pub(crate) fn check(text: &str, origin: Origin) -> Result<(Registry, Vec<Allow>), Invalid> {
    let (diags, names) = (Diagnostics::default(), Names::default());
    let mut cx = Check { text, origin, version: None, diags, names, spaces: Vec::new() };
    let most = match origin {
        Origin::File => limits::MAX_FILE_LEN,
        Origin::Embedded => limits::MAX_EMBEDDED_LEN,
    };
    let (root, sound) = if text.len() as u64 <= most {
        syntax::read(text, &mut cx.diags)
    } else {
        cx.diags.error(0..0, format!("the registry file has {} bytes, expected at most {most}", text.len()));
        (DeTable::new(), false)
    };
    // After a syntax error anything may be missing, and reports about that would mislead.
    let checked = sound.then(|| file(&mut cx, &root));
    match checked {
        Some(checked) if cx.diags.is_empty() => Ok(checked),
        _ => {
            let (diagnostics, omitted) = cx.diags.finish();
            let emitters = emitters::emitters(&root, (!sound).then_some(text));
            Err(Invalid { diagnostics, omitted, emitters })
        }
    }
}

/// Checks the whole file. The result counts only if no mistake was reported.
fn file(cx: &mut Check, root: &DeTable) -> (Registry, Vec<Allow>) {
    let file = Fields::new(cx, "the file", 0..0, root, keys::FILE);
    let (name, version, doc) = registry(cx, &file);
    let mut kinds = kinds::kinds(cx, &file);
    let mut types = types::types(cx, &file);
    let events = events::events(cx, &file, &mut kinds, &mut types);
    let spans = spans::spans(cx, &file, &events);
    let messages = messages::messages(cx, &file, &events);
    let rules = rules::rules(cx, &file, &events, &spans);
    let presets = presets::presets(cx, &file, &kinds.list, &events);
    let registry = Registry {
        name,
        version,
        doc,
        kinds: kinds.list,
        presets,
        types: types.list,
        events: events.rows.into_iter().map(|row| row.event).collect(),
        spans,
        messages,
        rules,
    };
    naming::spaces(cx, &registry);
    (registry, allows::allows(cx, &file))
}

/// Checks `[registry]`.
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
    cx.version = versions::version_of(cx, &registry);
    let doc = registry.need_doc(cx);
    (name.unwrap_or_default(), cx.version.unwrap_or(nothing.1), doc)
}
