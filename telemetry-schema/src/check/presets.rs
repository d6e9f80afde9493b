//! Rules about presets.

use std::ops::Range;

use telemetry_format::control;

use crate::check::context::{Check, Origin, Text, described};
use crate::check::events::Events;
use crate::check::fields::{Fields, in_file_order};
use crate::check::names::Style;
use crate::model::registry::{Kind, Preset};
use crate::text::diagnostic::quote;
use crate::text::words::nearest;

/// Checks `[presets]`. The result is ordered by name.
pub(super) fn presets(cx: &mut Check, file: &Fields, kinds: &[Kind], events: &Events) -> Vec<Preset> {
    let Some(table) = file.table(cx, "presets") else { return Vec::new() };
    let entries = in_file_order(table.get_ref());
    let mut presets = Vec::new();
    for (name, value) in &entries {
        if cx.spelling("preset", name, Style::Snake) {
            is_free(cx, name, kinds, events);
        }
        let Some(words) = value.get_ref().as_str() else {
            let (found, what) = (described(value.get_ref()), quote(name.get_ref()));
            let message = format!("expected a string for preset {what}, found {found}");
            cx.diags.error(value.span(), message).help("for instance `gc = \"Trace Pool -TraceTick\"`");
            continue;
        };
        let others: Vec<&str> = entries.iter().map(|(name, _)| *name.get_ref()).collect();
        let known = Known { preset: name.get_ref(), others: &others, kinds, events };
        for word in words.split_ascii_whitespace() {
            known.check(cx, word, value.span());
        }
        if words.split_ascii_whitespace().all(|word| !control::sign(word).1) && cx.origin == Origin::File {
            let message = format!("preset {} names no event", quote(name.get_ref()));
            cx.diags.error(value.span(), message).help("begin with the kinds and events that it switches");
        }
        let words: Vec<&str> = words.split_ascii_whitespace().collect();
        presets.push(Preset { name: name.get_ref().to_string(), words: words.join(" ") });
    }
    presets.sort_by(|a, b| a.name.cmp(&b.name));
    presets
}

/// Words are matched without case, so a preset must differ from all other words.
fn is_free(cx: &mut Check, name: &Text, kinds: &[Kind], events: &Events) {
    if cx.origin == Origin::Embedded {
        return;
    }
    let text = *name.get_ref();
    if text.eq_ignore_ascii_case(control::ALL) {
        let message = format!("the preset name `{text}` is reserved");
        cx.diags.error(name.span(), message).help("`all` switches every kind and event: choose another");
        return;
    }
    let kind = kinds.iter().map(|kind| ("kind", kind.name.as_str()));
    let event = events.rows.iter().map(|row| ("event", row.event.name.as_str()));
    if let Some((role, taken)) = kind.chain(event).find(|(_, taken)| taken.eq_ignore_ascii_case(text)) {
        let message = format!("preset `{text}` has the name of {role} `{taken}`");
        cx.diags
            .error(name.span(), message)
            .help("words are matched without case, so they would switch either: choose another");
    }
}

/// What the words of a preset may name.
struct Known<'a> {
    preset: &'a str,
    others: &'a [&'a str],
    kinds: &'a [Kind],
    events: &'a Events,
}

impl Known<'_> {
    fn check(&self, cx: &mut Check, word: &str, span: Range<usize>) {
        let (name, _) = control::sign(word);
        let is = |other: &str| other.eq_ignore_ascii_case(name);
        if cx.origin == Origin::Embedded || is(control::ALL) || self.kinds.iter().any(|kind| is(&kind.name)) {
            return;
        }
        let preset = quote(self.preset);
        if let Some(row) = self.events.rows.iter().find(|row| is(&row.event.name)) {
            if !row.event.used {
                let message = format!("event `{}`, a word of preset {preset}, is retired", row.event.name);
                cx.diags.error(span, message).help("remove the word, or name the event that replaced it");
            }
            return;
        }
        if self.others.iter().any(|other| is(other)) {
            let message = format!("preset {preset} names preset {}", quote(name));
            cx.diags.error(span, message).help("presets do not nest: write the words of the other one");
            return;
        }
        if control::bitmap(name).is_some() || name.contains(':') {
            let message = format!("unexpected word {} in preset {preset}", quote(word));
            cx.diags.error(span, message).help("use names of kinds and events of this file");
            return;
        }
        if !self.events.sound || cx.diags.is_full() {
            return;
        }
        let kinds = self.kinds.iter().map(|kind| kind.name.as_str());
        let names = kinds.chain(self.events.rows.iter().map(|row| row.event.name.as_str()));
        let message = format!("unknown word {} in preset {preset}", quote(word));
        cx.diags.error(span, message).help(match nearest(name, names) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => "name a kind or an event of this file, or `all`".to_string(),
        });
    }
}
