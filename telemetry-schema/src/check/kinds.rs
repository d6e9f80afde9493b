//! Rules about kinds.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use toml::Spanned;
use toml::de::DeValue;

use crate::check::context::{Check, Text, described};
use crate::check::fields::{Fields, in_file_order};
use crate::check::names::Style;
use crate::model::registry::{Clock, Kind};
use crate::model::sensitive::Network;
use crate::text::diagnostic::{one_of, quote};
use crate::text::keys;
use crate::text::limits::MAX_KINDS;
use crate::text::words::nearest;

/// The kinds ordered by bit, and whether events can be checked against them.
pub(super) struct Kinds {
    pub(super) list: Vec<Kind>,
    index: HashMap<String, usize>,
    /// False if the table or a name in it is invalid: then unknown kinds are not reported.
    sound: bool,
    /// Unknown kinds that were reported and resemble no other.
    noted: HashSet<String>,
}

/// Checks `[kinds]`.
pub(super) fn kinds(cx: &mut Check, file: &Fields) -> Kinds {
    let mut kinds = Kinds { list: Vec::new(), index: HashMap::new(), sound: false, noted: HashSet::new() };
    let Some(table) = file.need_table(cx, "kinds") else { return kinds };
    let count = table.get_ref().len();
    kinds.sound = count > 0;
    if count == 0 {
        cx.diags.error(table.span(), "the registry has no kinds").help("every event belongs to a kind");
    }
    if count > MAX_KINDS {
        let message = format!("the registry has {count} kinds, expected at most {MAX_KINDS}");
        cx.diags.error(table.span(), message).help("each is a bit of one word: merge the finest ones");
    }
    let mut bits = Bits { seen: HashMap::new(), readable: count <= MAX_KINDS };
    for (name, value) in in_file_order(table.get_ref()) {
        let spelled = cx.spelling("kind", &name, Style::Camel);
        kinds.sound &= spelled;
        if spelled {
            cx.claim("kind", &name);
        }
        kinds.list.push(kind(cx, &name, value, &mut bits));
    }
    kinds.list.sort_by_key(|kind| kind.bit);
    kinds.index = kinds.list.iter().enumerate().map(|(index, kind)| (kind.name.clone(), index)).collect();
    kinds
}

fn kind(cx: &mut Check, name: &Text, value: &Spanned<DeValue>, bits: &mut Bits) -> Kind {
    let mut kind = Kind {
        name: name.get_ref().to_string(),
        bit: 0,
        doc: String::new(),
        clock: Clock::default(),
        priority: Kind::DEFAULT_PRIORITY,
        network: Network::default(),
    };
    let what = format!("kind {}", quote(name.get_ref()));
    let Some(table) = value.get_ref().as_table() else {
        let message = format!("expected a table for {what}, found {}", described(value.get_ref()));
        cx.diags.error(value.span(), message).help("for instance `{ bit = 1, doc = \"per pool\" }`");
        return kind;
    };
    let fields = Fields::new(cx, what, name.span(), table, keys::KIND);
    kind.bit = bits.of_kind(cx, &fields);
    kind.doc = fields.need_doc(cx);
    kind.clock = clock(cx, &fields);
    if let Some(priority) = fields.int(cx, "priority", 0..=9) {
        // It fits: it was checked.
        kind.priority = *priority.get_ref() as u8;
    }
    kind.network = network(cx, &fields);
    kind
}

/// The bits so far.
struct Bits {
    seen: HashMap<u8, Range<usize>>,
    /// False if there are more kinds than bits, which is reported once.
    readable: bool,
}

impl Bits {
    fn of_kind(&mut self, cx: &mut Check, kind: &Fields) -> u8 {
        if !self.readable {
            return 0;
        }
        let Some(bit) = kind.need_int(cx, "bit", 0..=MAX_KINDS as i128 - 1) else { return 0 };
        // It fits: it was checked.
        let number = *bit.get_ref() as u8;
        if let Some(first) = self.seen.get(&number) {
            let message = format!("bit {number} of {} is taken", kind.what);
            let diagnostic = cx.diags.error(bit.span(), message).label(first.clone(), "first used here");
            if let Some(free) = (0..MAX_KINDS as u8).find(|bit| !self.seen.contains_key(bit)) {
                diagnostic.help(format!("bit {free} is free"));
            }
        } else {
            self.seen.insert(number, bit.span());
        }
        number
    }
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

fn network(cx: &mut Check, fields: &Fields) -> Network {
    let Some(network) = fields.text(cx, "network") else { return Network::default() };
    Network::from_text(network.get_ref()).unwrap_or_else(|| {
        let message = format!("unknown network {} of {}", quote(network.get_ref()), fields.what);
        cx.diags
            .error(network.span(), message)
            .help(format!("expected {}", one_of(Network::WORDS.iter().copied())));
        Network::default()
    })
}

impl Kinds {
    /// Returns the kind of an event.
    pub(super) fn of_event(&mut self, cx: &mut Check, event: &Fields) -> usize {
        let Some(name) = event.need_text(cx, "kind") else { return 0 };
        let text = *name.get_ref();
        if let Some(&index) = self.index.get(text) {
            return index;
        }
        if self.sound && !cx.diags.is_full() {
            let known = || self.list.iter().map(|kind| kind.name.as_str());
            let meant = nearest(text, known());
            // A forgotten kind is one mistake, however many events name it.
            if meant.is_none() && !self.noted.insert(text.to_string()) {
                return 0;
            }
            let help = match meant {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => format!("define it in `[kinds]`, or use {}", one_of(known())),
            };
            let message = format!("unknown kind {} of {}", quote(text), event.what);
            cx.diags.error(name.span(), message).help(help);
        }
        0
    }
}
