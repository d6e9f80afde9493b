//! Rules about `[[rule]]`.

use toml::Spanned;

use crate::check::context::{Check, Origin, Text};
use crate::check::counters::word;
use crate::check::events::{Events, Row};
use crate::check::fields::Fields;
use crate::check::names::{Once, Style};
use crate::check::spans::{end_point, key_in_both};
use crate::model::counter::CounterPer;
use crate::model::registry::Span;
use crate::model::rule::{EventRule, RuleForm, ns_of};
use crate::text::diagnostic::{one_of, quote};
use crate::text::keys;
use crate::text::limits::MAX_OPEN_AT_MOST;
use crate::text::words::nearest;

/// The keys of which a rule has exactly one. It decides the form.
const FORMS: [&str; 3] = ["after", "never", "at_most"];

/// Checks `[[rule]]`. The result is ordered by name. `spans` are those of the registry.
pub(super) fn rules(cx: &mut Check, file: &Fields, events: &Events, spans: &[Span]) -> Vec<EventRule> {
    let mut names = Once::default();
    let (mut rules, is_sound) = (Vec::new(), cx.diags.is_empty());
    // In a stream, a rule of another version does not affect the rest of its registry.
    let noted = (cx.origin == Origin::Embedded).then(|| std::mem::take(&mut cx.diags));
    for table in file.tables(cx, "rule").0 {
        let text = table.get_ref().get("name").and_then(|name| name.get_ref().as_str());
        let what = text.map_or("a rule".to_string(), |name| format!("rule {}", quote(name)));
        let fields = Fields::new(cx, what, table.span(), table.get_ref(), keys::RULE);
        let before = cx.diags.len();
        let rule = rule(cx, &fields, &mut names, events, (spans, is_sound));
        // A key that this version does not know may limit the rule.
        let is_known = table.get_ref().keys().all(|key| keys::RULE.contains(&key.get_ref().as_ref()));
        rules.extend(rule.filter(|_| is_known && cx.diags.len() == before));
    }
    if let Some(noted) = noted {
        cx.diags = noted;
    }
    rules.sort_by(|a: &EventRule, b| a.name.cmp(&b.name));
    rules
}

fn rule(
    cx: &mut Check,
    fields: &Fields,
    names: &mut Once,
    events: &Events,
    spans: (&[Span], bool),
) -> Option<EventRule> {
    let name = fields.need_text(cx, "name");
    if let Some(name) = &name
        && cx.spelling("rule", name, Style::Camel)
        && let Some(first) = names.again(name.get_ref(), name.span())
    {
        let message = format!("rule `{}` is defined twice", name.get_ref());
        cx.diags.error(name.span(), message).label(first, "first used here").help("give each its own name");
    }
    let doc = fields.need_doc(cx);
    let per = word(cx, fields, "per", CounterPer::ALL, CounterPer::name);
    let (form, rows) = form(cx, fields, events, spans)?;
    let by = fields.text(cx, "by");
    if let (Some(by), Some(rows)) = (&by, rows) {
        let help =
            "all events that the rule compares must have it; without `by` the rule holds for all at once";
        key_in_both(cx, fields, by, rows, help);
    }
    let name = name?.into_inner().to_string();
    Some(EventRule { name, form: form?, by: by.map(|by| by.into_inner().to_string()), per, doc })
}

/// The two events that a rule compares.
type Rows<'e> = Option<(&'e Row, &'e Row)>;

/// Returns the form of a rule, if it is known, and the events that it compares.
fn form<'e>(
    cx: &mut Check,
    fields: &Fields,
    events: &'e Events,
    (spans, is_sound): (&[Span], bool),
) -> Option<(Option<RuleForm>, Rows<'e>)> {
    let given: Vec<&str> = FORMS.into_iter().filter(|key| fields.has(key)).collect();
    let [given] = given[..] else {
        let message = match given.len() {
            0 => format!("{} has none of the keys {}", fields.what, one_of(FORMS)),
            _ => format!("{} has several of the keys {}", fields.what, one_of(FORMS)),
        };
        let help = "a rule says one thing: what comes `after` an event, what comes `never` while a span is \
                    open, or how many are open `at_most`";
        cx.diags.error(fields.span.clone(), message).help(help);
        return None;
    };
    let allowed: &[&str] = match given {
        "after" => &["comes", "within"],
        _ => &["open"],
    };
    for key in ["comes", "within", "open"].into_iter().filter(|key| !allowed.contains(key)) {
        if let Some(place) = fields.place(key) {
            let message = format!("unexpected key `{key}` in {}, which has `{given}`", fields.what);
            cx.diags
                .error(place, message)
                .help(format!("with `{given}`, a rule has {}", one_of(allowed.iter().copied())));
        }
    }
    let row = |index: usize| &events.rows[index];
    // After another mistake, a span may lack its events.
    let begin = |open: usize| is_sound.then(|| row(spans[open].begin));
    Some(match given {
        "after" => {
            let after = end_point(cx, fields, "rule", "after", events);
            let comes = end_point(cx, fields, "rule", "comes", events);
            let within_ns = within(cx, fields);
            let (Some((_, after)), Some((text, comes))) = (after, comes) else { return Some((None, None)) };
            if after == comes {
                let message = format!("{} has the same event as `after` and as `comes`", fields.what);
                cx.diags.error(text.span(), message).help("name the event that must follow");
            }
            (Some(RuleForm::Comes { after, comes, within_ns }), Some((row(after), row(comes))))
        }
        "never" => {
            let never = end_point(cx, fields, "rule", "never", events);
            let open = open(cx, fields, spans);
            let (Some((_, never)), Some(open)) = (never, open) else { return Some((None, None)) };
            let begin = begin(open);
            (Some(RuleForm::Never { never, open }), begin.map(|begin| (row(never), begin)))
        }
        _ => {
            let at_most = fields.int(cx, "at_most", 1..=MAX_OPEN_AT_MOST.into()).map(Spanned::into_inner);
            let open = open(cx, fields, spans);
            let (Some(at_most), Some(open)) = (at_most, open) else { return Some((None, None)) };
            let begin = begin(open);
            (Some(RuleForm::AtMost { at_most: at_most as u32, open }), begin.map(|begin| (begin, begin)))
        }
    })
}

/// Returns the longest time between two events.
fn within(cx: &mut Check, fields: &Fields) -> Option<u64> {
    let text = fields.text(cx, "within")?;
    let ns = ns_of(text.get_ref());
    if ns.is_none() {
        let message = format!("{} is not a time, in `within` of {}", quote(text.get_ref()), fields.what);
        let help = "for instance `within = \"10 ms\"`: up to nine digits, and `ns`, `us`, `ms` or `s`";
        cx.diags.error(text.span(), message).help(help);
    }
    ns
}

/// Returns the span that is open, by its index.
fn open(cx: &mut Check, fields: &Fields, spans: &[Span]) -> Option<usize> {
    let text: Text = fields.need_text(cx, "open")?;
    let name = *text.get_ref();
    let found = spans.binary_search_by(|span| span.name.as_str().cmp(name)).ok();
    // A forged registry may have as many rules as spans.
    if found.is_none() && !cx.diags.is_full() {
        let message = format!("unknown span {} as `open` of {}", quote(name), fields.what);
        cx.diags.error(text.span(), message).help(
            match nearest(name, spans.iter().map(|span| &*span.name)) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => "name a `[[span]]` of this file".to_string(),
            },
        );
    }
    found
}
