//! Rules about spans.

use std::collections::HashMap;

use super::events::Row;
use super::fields::Fields;
use super::names::{Once, Style};
use super::{Check, Origin, Text, quote};
use crate::words::nearest;
use crate::{Count, Event, Sort, Span, keys};

/// `[[span]]`, ordered by name.
pub(super) fn spans(cx: &mut Check, file: &Fields, rows: &[Row]) -> Vec<Span> {
    let index: HashMap<&str, usize> =
        rows.iter().enumerate().map(|(index, row)| (row.event.name.as_str(), index)).collect();
    let mut names = Once::default();
    let mut spans = Vec::new();
    for table in file.tables(cx, "span") {
        let text = table.get_ref().get("name").and_then(|name| name.get_ref().as_str());
        let what = text.map_or("a span".to_string(), |name| format!("span {}", quote(name)));
        let fields = Fields::new(cx, what, table.span(), table.get_ref(), keys::SPAN);
        let name = fields.need_text(cx, "name");
        if let Some(name) = &name
            && cx.spelling("span", name, Style::Camel)
            && let Some(first) = names.again(name.get_ref(), name.span())
        {
            let message = format!("span `{}` is defined twice", name.get_ref());
            cx.diags
                .error(name.span(), message)
                .label(first, "first used here")
                .help("give each its own name");
        }
        let begin = end_point(cx, &fields, "begin", rows, &index);
        let end = end_point(cx, &fields, "end", rows, &index);
        if let (Some(begin), Some(end)) = (&begin, &end)
            && begin.index == end.index
        {
            let message = format!("{} begins and ends with the same event", fields.what);
            cx.diags.error(end.text.span(), message).help("a span is a pair of events; one alone needs none");
        }
        let key = fields.text(cx, "key");
        if let (Some(key), Some(begin), Some(end)) = (&key, &begin, &end)
            && begin.index != end.index
        {
            key_in_both(cx, &fields, key, &rows[begin.index], &rows[end.index]);
        }
        spans.push(Span {
            name: name.map_or(String::new(), |name| name.into_inner().to_string()),
            begin: begin.map_or(0, |begin| begin.index),
            end: end.map_or(0, |end| end.index),
            key: key.map(|key| key.into_inner().to_string()),
            doc: fields.need_doc(cx),
        });
    }
    spans.sort_by(|a, b| a.name.cmp(&b.name));
    spans
}

struct EndPoint<'a> {
    text: Text<'a>,
    index: usize,
}

/// The event that begins or ends a span.
fn end_point<'a>(
    cx: &mut Check,
    span: &Fields<'a>,
    key: &str,
    rows: &[Row],
    index: &HashMap<&str, usize>,
) -> Option<EndPoint<'a>> {
    let text = span.need_text(cx, key)?;
    let name = *text.get_ref();
    let Some(&index) = index.get(name) else {
        if !cx.diags.is_full() {
            let meant = nearest(name, rows.iter().map(|row| row.event.name.as_str()));
            let message = format!("unknown event {} as the {key} of {}", quote(name), span.what);
            let diagnostic = cx.diags.error(text.span(), message);
            diagnostic.help(match meant {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => "name an event of this file".to_string(),
            });
        }
        return None;
    };
    if !rows[index].event.used && cx.origin == Origin::File {
        let message = format!("event `{name}`, the {key} of {}, is retired", span.what);
        cx.diags.error(text.span(), message).help("take the span out, or name the event that came after");
    }
    Some(EndPoint { text, index })
}

/// The key tells running spans apart, so both events must have it, in the same form.
fn key_in_both(cx: &mut Check, span: &Fields, key: &Text, begin: &Row, end: &Row) {
    let name = *key.get_ref();
    let find = |event: &'_ Event| event.params.iter().find(|param| param.name == name).cloned();
    let (in_begin, in_end) = (find(&begin.event), find(&end.event));
    let (Some(in_begin), Some(in_end)) = (&in_begin, &in_end) else {
        let mut lacking = Vec::new();
        for (row, param) in [(begin, in_begin), (end, in_end)] {
            if param.is_none() {
                lacking.push(format!("`{}`", row.event.name));
            }
        }
        let message =
            format!("the key {} of {} is no parameter of {}", quote(name), span.what, lacking.join(" and "));
        let both = begin.event.params.iter().filter(|param| {
            find(&end.event).is_none_or(|_| true)
                && end.event.params.iter().any(|other| other.name == param.name)
        });
        let both: Vec<&str> = both.map(|param| param.name.as_str()).collect();
        let diagnostic = cx.diags.error(key.span(), message);
        diagnostic.help(if both.is_empty() {
            "both events must have it; without `key` spans nest per thread".to_string()
        } else {
            format!("both events have {}", super::one_of(both))
        });
        return;
    };
    if !begin.sound || !end.sound {
        return;
    }
    if (in_begin.sort, in_begin.count) != (in_end.sort, in_end.count) {
        let message = format!(
            "the key {} of {} is not of the same sort in `{}` and `{}`",
            quote(name),
            span.what,
            begin.event.name,
            end.event.name
        );
        cx.diags.error(key.span(), message).help("give it one sort in both events");
    } else if in_begin.count != Count::One || matches!(in_begin.sort, Sort::F32 | Sort::F64) {
        let message = format!("the key {} of {} is an array or a float", quote(name), span.what);
        cx.diags.error(key.span(), message).help("a key is compared: use a number, a pointer or a string");
    }
}
