//! Rules about spans.

use crate::check::context::{Check, Origin, Text};
use crate::check::events::{Events, Row};
use crate::check::fields::Fields;
use crate::check::names::{Once, Style};
use crate::model::registry::{Count, Param, Span};
use crate::model::sort::Sort;
use crate::text::diagnostic::{one_of, quote};
use crate::text::keys;
use crate::text::words::nearest;

/// Checks `[[span]]`. The result is ordered by name.
pub(super) fn spans(cx: &mut Check, file: &Fields, events: &Events) -> Vec<Span> {
    let mut names = Once::default();
    let (tables, _) = file.tables(cx, "span");
    let spans = tables.into_iter().map(|table| {
        let text = table.get_ref().get("name").and_then(|name| name.get_ref().as_str());
        let what = text.map_or("a span".to_string(), |name| format!("span {}", quote(name)));
        let fields = Fields::new(cx, what, table.span(), table.get_ref(), keys::SPAN);
        span(cx, &fields, &mut names, events)
    });
    let mut spans: Vec<Span> = spans.collect();
    spans.sort_by(|a, b| a.name.cmp(&b.name));
    spans
}

fn span(cx: &mut Check, fields: &Fields, names: &mut Once, events: &Events) -> Span {
    let name = fields.need_text(cx, "name");
    if let Some(name) = &name
        && cx.spelling("span", name, Style::Camel)
        && let Some(first) = names.again(name.get_ref(), name.span())
    {
        let message = format!("span `{}` is defined twice", name.get_ref());
        cx.diags.error(name.span(), message).label(first, "first used here").help("give each its own name");
    }
    let begin = end_point(cx, fields, "span", "begin", events);
    let end = end_point(cx, fields, "span", "end", events);
    let key = fields.text(cx, "key");
    if let (Some((_, begin)), Some((end_text, end))) = (&begin, &end) {
        if begin == end {
            let message = format!("{} begins and ends with the same event", fields.what);
            cx.diags.error(end_text.span(), message).help("a span is a pair of events; one alone needs none");
        } else if let Some(key) = &key {
            let help = "both events must have it; without a `key` spans nest per thread";
            let rows = (&events.rows[*begin], &events.rows[*end]);
            key_in_both(cx, fields, key, rows, help);
        }
    }
    let named_by = fields.text(cx, "named_by");
    if let (Some(named_by), Some((_, begin))) = (&named_by, &begin) {
        can_name(cx, fields, named_by, &events.rows[*begin]);
    }
    Span {
        name: name.map_or(String::new(), |name| name.into_inner().to_string()),
        begin: begin.map_or(0, |(_, index)| index),
        end: end.map_or(0, |(_, index)| index),
        key: key.map(|key| key.into_inner().to_string()),
        named_by: named_by.map(|param| param.into_inner().to_string()),
        is_pause: fields.flag(cx, "pause", false),
        doc: fields.need_doc(cx),
    }
}

/// The value that is shown with the name of a span is a text of its begin.
fn can_name(cx: &mut Check, span: &Fields, named_by: &Text, begin: &Row) {
    let is_text = |param: &Param| {
        param.count == Count::One && matches!(param.sort, Sort::Label | Sort::String | Sort::Named(_))
    };
    let params = &begin.event.params;
    let message = match params.iter().find(|param| param.name == *named_by.get_ref()) {
        Some(param) if is_text(param) || !begin.sound => return,
        Some(_) => "is neither a label, a string nor an enum".to_string(),
        None if !begin.sound => return,
        None => format!("`{}` does not have", begin.event.name),
    };
    let (name, event) = (quote(named_by.get_ref()), &begin.event.name);
    let message = format!("{} is named by {name}, which {message}", span.what);
    let texts: Vec<&str> = params.iter().filter(|param| is_text(param)).map(|param| &*param.name).collect();
    cx.diags.error(named_by.span(), message).help(match texts.is_empty() {
        true => format!("`{event}` needs a label, a string or an enum for it"),
        false => format!("`{event}` has {}", one_of(texts)),
    });
}

/// Returns the event that begins or ends a span or a message: its name and its index.
pub(super) fn end_point<'a>(
    cx: &mut Check,
    span: &Fields<'a>,
    noun: &str,
    key: &str,
    events: &Events,
) -> Option<(Text<'a>, usize)> {
    let text = span.need_text(cx, key)?;
    let name = *text.get_ref();
    let role = if matches!(key, "begin" | "end") { format!("the {key}") } else { format!("`{key}`") };
    let Some(&index) = events.index.get(name) else {
        if events.sound && !cx.diags.is_full() {
            let meant = nearest(name, events.rows.iter().map(|row| row.event.name.as_str()));
            let message = format!("unknown event {} as {role} of {}", quote(name), span.what);
            cx.diags.error(text.span(), message).help(match meant {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => "name an event of this file".to_string(),
            });
        }
        return None;
    };
    if events.rows[index].event.counter.is_some() && cx.origin == Origin::File {
        let message = format!("`{name}`, {role} of {}, is a counter", span.what);
        cx.diags.error(text.span(), message).help("name an event that the program emits");
    } else if !events.rows[index].event.used && cx.origin == Origin::File {
        let message = format!("event `{name}`, {role} of {}, is retired", span.what);
        cx.diags
            .error(text.span(), message)
            .help(format!("remove the {noun}, or name the event that replaced it"));
    }
    Some((text, index))
}

/// Returns the key distinguishes running spans or messages, so both events must have it in the same
/// form. Returns its type, if that is allowed. `help` says what applies if the events share no
/// parameter.
pub(super) fn key_in_both<'a>(
    cx: &mut Check,
    span: &Fields,
    key: &Text,
    (begin, end): (&'a Row, &'a Row),
    help: &str,
) -> Option<Sort> {
    let name = *key.get_ref();
    let find = |row: &'a Row| row.event.params.iter().find(|param| param.name == name);
    let (Some(in_begin), Some(in_end)) = (find(begin), find(end)) else {
        let lacking = [begin, end].into_iter().filter(|row| find(row).is_none());
        let mut lacking: Vec<String> = lacking.map(|row| format!("`{}`", row.event.name)).collect();
        lacking.dedup();
        let message = format!(
            "the key {} of {} is not a parameter of {}",
            quote(name),
            span.what,
            lacking.join(" and ")
        );
        let names = |row: &'a Row| row.event.params.iter().map(|param| param.name.as_str());
        let shared: Vec<&str> = names(begin).filter(|name| names(end).any(|other| other == *name)).collect();
        cx.diags.error(key.span(), message).help(if shared.is_empty() {
            help.to_string()
        } else if begin.event.name == end.event.name {
            format!("`{}` has {}", begin.event.name, one_of(shared))
        } else {
            format!("both events have {}", one_of(shared))
        });
        return None;
    };
    if !begin.sound || !end.sound {
        return None;
    }
    if (in_begin.sort, in_begin.count) != (in_end.sort, in_end.count) {
        let message = format!(
            "the key {} of {} has different types in `{}` and `{}`",
            quote(name),
            span.what,
            begin.event.name,
            end.event.name
        );
        cx.diags.error(key.span(), message).help("give it one type in both events");
    } else if in_begin.count != Count::One || matches!(in_begin.sort, Sort::F32 | Sort::F64) {
        let message = format!("the key {} of {} is an array or a float", quote(name), span.what);
        cx.diags.error(key.span(), message).help("a key is compared: use a number, a pointer or a string");
    } else if [in_begin, in_end].iter().any(|param| param.role.is_some()) {
        let message = format!("the key {} of {} is a stack", quote(name), span.what);
        cx.diags.error(key.span(), message).help("each event has its own stack: use a number or a pointer");
    } else if [in_begin, in_end].iter().any(|param| param.sensitive.is_some()) {
        let message = format!("the key {} of {} is sensitive", quote(name), span.what);
        cx.diags
            .error(key.span(), message)
            .help("tools show keys: use a number that means nothing outside of the program");
    } else {
        return Some(in_begin.sort);
    }
    None
}
