//! Rules about messages.

use std::collections::HashMap;
use std::ops::Range;

use crate::check::context::{Check, Origin, Text};
use crate::check::events::Events;
use crate::check::fields::Fields;
use crate::check::names::{Once, Style};
use crate::check::spans::{end_point, key_in_both};
use crate::model::registry::Message;
use crate::model::sort::Sort;
use crate::text::diagnostic::quote;
use crate::text::keys;
use crate::text::limits::{DEFAULT_RUNNING, MAX_RUNNING};

/// Checks `[[message]]`. The result is ordered by name.
pub(super) fn messages(cx: &mut Check, file: &Fields, events: &Events) -> Vec<Message> {
    // In a stream, messages of another version do not affect the rest of its registry.
    let noted = (cx.origin == Origin::Embedded).then(|| std::mem::take(&mut cx.diags));
    let mut messages = each(cx, file, events);
    if let Some(noted) = noted
        && !std::mem::replace(&mut cx.diags, noted).is_empty()
    {
        messages.clear();
    }
    messages.sort_by(|a, b| a.name.cmp(&b.name));
    messages
}

fn each(cx: &mut Check, file: &Fields, events: &Events) -> Vec<Message> {
    let (tables, _) = file.tables(cx, "message");
    let (mut names, mut taken) = (Once::default(), Taken::default());
    let messages = tables.into_iter().map(|table| {
        let text = table.get_ref().get("name").and_then(|name| name.get_ref().as_str());
        let what = text.map_or("a message".to_string(), |name| format!("message {}", quote(name)));
        let fields = Fields::new(cx, what, table.span(), table.get_ref(), keys::MESSAGE);
        message(cx, &fields, &mut names, &mut taken, events)
    });
    messages.collect()
}

fn message(cx: &mut Check, fields: &Fields, names: &mut Once, taken: &mut Taken, events: &Events) -> Message {
    let name = fields.need_text(cx, "name");
    if let Some(name) = &name
        && cx.spelling("message", name, Style::Camel)
        && let Some(first) = names.again(name.get_ref(), name.span())
    {
        let message = format!("message `{}` is defined twice", name.get_ref());
        cx.diags.error(name.span(), message).label(first, "first used here").help("give each its own name");
    }
    let begin = end_point(cx, fields, "message", "begin", events);
    let end = if fields.has("end") { end_point(cx, fields, "message", "end", events) } else { None };
    let key = fields.text(cx, "key");
    for (text, index) in begin.iter().chain(&end) {
        taken.take(cx, fields, text, *index);
    }
    match (&key, &begin, &end) {
        (Some(key), ..) if !fields.has("end") => {
            let message = format!("{} has a `key`, but no `end`", fields.what);
            let help =
                "a key says which end belongs to which begin: remove it, or name the event that ends it";
            cx.diags.error(key.span(), message).help(help);
        }
        (Some(key), Some((_, begin)), Some((_, end))) if begin != end => {
            let help = "both events must have it; without a `key` there is one pair at a time, in one thread";
            let sort = key_in_both(cx, fields, key, (&events.rows[*begin], &events.rows[*end]), help);
            if matches!(sort, Some(Sort::String | Sort::Bytes)) {
                let message = format!("the key {} of {} is not a number", quote(key.get_ref()), fields.what);
                cx.diags.error(key.span(), message).help("use a number, a pointer, an enum or a label");
            }
        }
        _ => {}
    }
    Message {
        name: name.map_or(String::new(), |name| name.into_inner().to_string()),
        begin: begin.map_or(0, |(_, index)| index),
        end: end.map(|(_, index)| index),
        limit: limit(cx, fields),
        key: key.map(|key| key.into_inner().to_string()),
        doc: fields.need_doc(cx),
    }
}

/// Returns the limit of pairs that run at once.
fn limit(cx: &mut Check, fields: &Fields) -> u32 {
    let has_key = fields.has("key");
    match fields.int(cx, "limit", 1..=MAX_RUNNING.into()) {
        None => {
            if has_key {
                DEFAULT_RUNNING
            } else {
                1
            }
        }
        Some(limit) if !has_key => {
            let message = format!("{} has a `limit`, but no `key`", fields.what);
            let help = "only a key distinguishes several running pairs: name it, or remove the limit";
            cx.diags.error(limit.span(), message).help(help);
            1
        }
        Some(limit) => limit.into_inner() as u32,
    }
}

/// The events that are in a message.
#[derive(Default)]
struct Taken {
    places: HashMap<usize, Range<usize>>,
}

impl Taken {
    /// Takes an event for a message: its emitter posts at most one.
    fn take(&mut self, cx: &mut Check, fields: &Fields, text: &Text, index: usize) {
        if let Some(first) = self.places.get(&index) {
            let message =
                format!("event {} of {} is in a message already", quote(text.get_ref()), fields.what);
            let help = "an emitter posts one message: remove one of them, or add an event";
            cx.diags.error(text.span(), message).label(first.clone(), "first used here").help(help);
        } else {
            self.places.insert(index, text.span());
        }
    }
}
