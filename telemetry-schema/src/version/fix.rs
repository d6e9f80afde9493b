//! Edits of a registry file that keep everything else: comments, layout, order.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::version::change::Thing;
use crate::version::judgement::Judgement;
use crate::version::registry_file::RegistryFile;
use crate::version::rule::Rule;

/// A range of the text and its replacement.
type Edit = (Range<usize>, String);

/// Returns the text of a registry file with the version that its changes demand, and with the right
/// `since` at every appended parameter. `None` if that changes nothing, or does not meet all
/// demands ([`Judgement::is_fixable`]).
#[must_use]
pub fn fixed(file: &RegistryFile, judgement: &Judgement) -> Option<String> {
    if !judgement.is_fixable() {
        return None;
    }
    let root = DeTable::parse(&file.text).ok()?;
    let target = judgement.target();
    let mut edits = Vec::new();
    let version = root.get_ref().get("registry")?.get_ref().get("version")?;
    if version.get_ref().is_str() {
        edits.push((version.span(), format!("\"{target}\"")));
    } else {
        for (key, number) in [("major", target.major), ("median", target.median), ("minor", target.minor)] {
            edits.push((version.get_ref().get(key)?.span(), number.to_string()));
        }
    }
    for judged in &judgement.changes {
        let change = &judged.change;
        let is_missing = change.rule == Rule::SinceMissing && !judged.is_met;
        if change.rule != Rule::ParamAppended && !is_missing {
            continue;
        }
        let Some(Thing::Param { code, name, .. }) = &change.new else { continue };
        let param = param(root.get_ref(), *code, name)?;
        let table = param.get_ref().as_table()?;
        match table.get("since") {
            Some(since) => edits.push((since.span(), format!("\"{target}\""))),
            None if is_missing => {
                let end = table.values().map(|value| value.span().end).max()?;
                let is_inline = file.text[param.span()].starts_with('{');
                let separator = if is_inline { ", " } else { "\n" };
                edits.push((end..end, format!("{separator}since = \"{target}\"")));
            }
            None => {}
        }
    }
    let text = edited(&file.text, edits);
    (text != file.text).then_some(text)
}

/// Returns the text of a registry file without its `[[allow]]`s, which are no longer needed after a
/// release.
#[must_use]
pub fn without_allows(file: &RegistryFile) -> String {
    let text = &file.text;
    let Ok(root) = DeTable::parse(text) else { return text.clone() };
    let Some((key, allows)) = root.get_ref().get_key_value("allow") else { return text.clone() };
    if !text[allows.span()].starts_with("[[") {
        // `allow = [{ ... }]`, in one piece.
        return edited(text, vec![(whole_lines(text, key.span().start..allows.span().end), String::new())]);
    }
    let elements = allows.get_ref().as_array().into_iter().flat_map(|allows| allows.iter());
    let edits = elements.filter_map(|allow| {
        let last = allow.get_ref().as_table()?.values().map(|value| value.span().end).max()?;
        Some((whole_lines(text, allow.span().start..last), String::new()))
    });
    let edits: Vec<Edit> = edits.collect();
    let was_last = edits.iter().any(|(span, _)| span.end == text.len());
    let mut out = edited(text, edits);
    if was_last {
        // The empty lines before it are the last ones now.
        let end = out.trim_end().len();
        out.truncate(out[end..].find('\n').map_or(out.len(), |newline| end + newline + 1));
    }
    out
}

/// Returns the range from the start of the first line to the end of the last one, with the empty
/// lines after it.
fn whole_lines(text: &str, span: Range<usize>) -> Range<usize> {
    let start = text[..span.start].rfind('\n').map_or(0, |newline| newline + 1);
    let end = text[span.end..].find('\n').map_or(text.len(), |newline| span.end + newline + 1);
    let blank = text[end..].split_inclusive('\n').take_while(|line| line.trim().is_empty());
    start..end + blank.map(str::len).sum::<usize>()
}

fn param<'a>(root: &'a DeTable<'a>, code: u16, name: &str) -> Option<&'a Spanned<DeValue<'a>>> {
    let events = root.get("event")?.get_ref().as_array()?;
    let has_code = |event: &&Spanned<DeValue>| {
        let int = event.get_ref().get("code").and_then(|code| code.get_ref().as_integer());
        int.and_then(|int| u16::from_str_radix(int.as_str(), int.radix()).ok()) == Some(code)
    };
    let params = events.iter().find(has_code)?.get_ref().get("params")?.get_ref().as_array()?;
    params
        .iter()
        .find(|param| param.get_ref().get("name").and_then(|name| name.get_ref().as_str()) == Some(name))
}

fn edited(text: &str, mut edits: Vec<Edit>) -> String {
    edits.sort_by_key(|(span, _)| span.start);
    let mut out = String::with_capacity(text.len() + 64);
    let mut at = 0;
    for (span, new) in edits {
        out.push_str(&text[at..span.start]);
        out.push_str(&new);
        at = span.end;
    }
    out.push_str(&text[at..]);
    out
}
