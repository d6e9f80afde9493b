//! Rules about kinds.

use std::collections::HashMap;

use toml::Spanned;

use super::fields::Fields;
use super::names::Style;
use super::{Check, one_of, quote};
use crate::limits::MAX_KINDS;
use crate::words::nearest;
use crate::{Clock, Kind, keys};

/// The kinds ordered by bit, and whether events may be measured against them.
pub(super) struct Kinds {
    pub(super) list: Vec<Kind>,
    index: HashMap<String, usize>,
    /// False if the table is missing or no table: then every event's kind would be unknown.
    sound: bool,
    /// Unknown kinds that were noted and resemble no other.
    noted: std::collections::HashSet<String>,
}

/// `[kinds]`.
pub(super) fn kinds(cx: &mut Check, file: &Fields) -> Kinds {
    let table = file.need_table(cx, "kinds");
    let sound = table.is_some();
    let mut list = Vec::new();
    if let Some(table) = table {
        let count = table.get_ref().len();
        if count > MAX_KINDS {
            let message = format!("the registry has {count} kinds, expected at most {MAX_KINDS}");
            cx.diags
                .error(table.span(), message)
                .help("kinds are the bits of one word; merge the finest ones");
        }
        if count == 0 {
            cx.diags.error(table.span(), "the registry has no kinds").help("every event belongs to a kind");
        }
        let mut bits: HashMap<u8, std::ops::Range<usize>> = HashMap::new();
        for (key, value) in table.get_ref().iter() {
            let name = Spanned::new(key.span(), key.get_ref().as_ref());
            if cx.spelling("kind", &name, Style::Camel) {
                cx.claim("kind", &name);
            }
            let what = format!("kind {}", quote(key.get_ref()));
            let Some(table) = value.get_ref().as_table() else {
                let found = super::described(value.get_ref());
                let message = format!("expected a table for {what}, found {found}");
                cx.diags.error(value.span(), message).help("for instance `{ bit = 1, doc = \"per pool\" }`");
                list.push(Kind {
                    name: key.get_ref().to_string(),
                    bit: 0,
                    doc: String::new(),
                    clock: Clock::Precise,
                });
                continue;
            };
            let fields = Fields::new(cx, what, key.span(), table, keys::KIND);
            let bit =
                if count > MAX_KINDS { None } else { fields.need_int(cx, "bit", 0..=MAX_KINDS as i128 - 1) };
            if let Some(bit) = &bit {
                // Fits: it was checked to be below 64.
                let number = *bit.get_ref() as u8;
                if let Some(first) = bits.get(&number) {
                    let message = format!("bit {number} of {} is taken", fields.what);
                    let diagnostic =
                        cx.diags.error(bit.span(), message).label(first.clone(), "first used here");
                    if let Some(free) = (0..MAX_KINDS as u8).find(|bit| !bits.contains_key(bit)) {
                        diagnostic.help(format!("bit {free} is free"));
                    }
                } else {
                    bits.insert(number, bit.span());
                }
            }
            list.push(Kind {
                name: key.get_ref().to_string(),
                bit: bit.map_or(0, |bit| bit.into_inner() as u8),
                doc: fields.need_doc(cx),
                clock: clock(cx, &fields),
            });
        }
    }
    list.sort_by_key(|kind| kind.bit);
    let index = list.iter().enumerate().map(|(index, kind)| (kind.name.clone(), index)).collect();
    Kinds { list, index, sound, noted: Default::default() }
}

fn clock(cx: &mut Check, fields: &Fields) -> Clock {
    let Some(clock) = fields.text(cx, "clock") else { return Clock::default() };
    match Clock::from_text(clock.get_ref()) {
        Some(clock) => clock,
        None => {
            let message = format!("unknown clock {} of {}", quote(clock.get_ref()), fields.what);
            let names = one_of(Clock::ALL.iter().map(|clock| clock.name()));
            cx.diags.error(clock.span(), message).help(format!("expected {names}"));
            Clock::default()
        }
    }
}

impl Kinds {
    /// The kind of an event.
    pub(super) fn of_event(&mut self, cx: &mut Check, event: &Fields) -> usize {
        let Some(name) = event.need_text(cx, "kind") else { return 0 };
        let text = *name.get_ref();
        if let Some(&index) = self.index.get(text) {
            return index;
        }
        if self.sound && !cx.diags.is_full() {
            let known = || self.list.iter().map(|kind| kind.name.as_str());
            let meant = nearest(text, known());
            // A kind that was forgotten is one mistake, however many events are of it.
            if meant.is_none() && !self.noted.insert(text.to_string()) {
                return 0;
            }
            let help = match meant {
                Some(meant) => format!("did you mean `{meant}`?"),
                None if self.list.is_empty() => "define it in `[kinds]`".to_string(),
                None => format!("define it in `[kinds]`, or use {}", one_of(known())),
            };
            let message = format!("unknown kind {} of {}", quote(text), event.what);
            cx.diags.error(name.span(), message).help(help);
        }
        0
    }
}
