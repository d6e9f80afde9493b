//! Rules about counters: `[[counter]]`, and the mark `counter` of events in canonical form.

use crate::check::codes::Codes;
use crate::check::context::{Check, Origin};
use crate::check::fields::Fields;
use crate::check::kinds::Kinds;
use crate::check::names::Style;
use crate::model::counter::{Counter, CounterForm, CounterPer};
use crate::model::registry::{Event, Param};
use crate::model::sort::Sort;
use crate::text::diagnostic::{one_of, quote};
use crate::text::keys;
use crate::text::words::nearest;

/// The name that a counter cannot have, because modules define a static for it.
const TAKEN: &str = "Tracing";

/// Checks `[[counter]]`. Returns the events that have the samples, one for each counter, and
/// whether all names are valid.
pub(super) fn counters(
    cx: &mut Check,
    file: &Fields,
    kinds: &mut Kinds,
    codes: &mut Codes,
) -> (Vec<Event>, bool) {
    let (tables, mut sound) = file.tables(cx, "counter");
    let mut events = Vec::with_capacity(tables.len());
    for table in tables {
        let text = table.get_ref().get("name").and_then(|name| name.get_ref().as_str());
        let what = text.map_or("a counter".to_string(), |name| format!("counter {}", quote(name)));
        let fields = Fields::new(cx, what, table.span(), table.get_ref(), keys::COUNTER);
        let name = fields.need_text(cx, "name");
        let spelled = name.as_ref().is_some_and(|name| cx.spelling("counter", name, Style::Camel));
        sound &= spelled;
        if let Some(name) = name.as_ref().filter(|_| spelled) {
            if *name.get_ref() == TAKEN && cx.origin == Origin::File {
                let message = format!("the counter name `{TAKEN}` is reserved");
                cx.diags
                    .error(name.span(), message)
                    .help("generated modules define it themselves: choose another");
            }
            cx.claim("counter", name);
        }
        let code = codes.of_event(cx, &fields);
        let counter = counter(cx, &fields);
        let unit = fields.text(cx, "unit").map_or(String::new(), |unit| {
            cx.unit(&unit);
            unit.into_inner().to_string()
        });
        events.push(Event {
            used: fields.flag(cx, "used", true),
            doc: fields.need_doc(cx),
            counter: Some(counter),
            params: params_of(counter, unit),
            ..Event::new(name.map_or("", |name| name.into_inner()), code, kinds.of_event(cx, &fields))
        });
    }
    (events, sound)
}

/// Checks the mark `counter` of an event, which has the parameters of samples.
pub(super) fn mark(cx: &mut Check, event: &Fields, params: &[Param], sound: bool) -> Option<Counter> {
    // In a stream, a mark of another version does not affect the rest of its registry.
    let noted = (cx.origin == Origin::Embedded).then(|| std::mem::take(&mut cx.diags));
    let mut counter = event.table(cx, "counter").map(|table| {
        let what = format!("the mark `counter` of {}", event.what);
        let fields = Fields::new(cx, what, table.span(), table.get_ref(), keys::EVENT_COUNTER);
        let counter = counter(cx, &fields);
        let form = |params: &[Param]| -> Vec<_> {
            params
                .iter()
                .map(|param| (param.name.clone(), param.sort, param.count, param.is_counter))
                .collect()
        };
        if sound && form(params) != form(&params_of(counter, String::new())) {
            let message = format!("{} is a counter, but has other parameters than samples have", event.what);
            cx.diags
                .error(table.span(), message)
                .help("define it as `[[counter]]`, which needs no parameters");
        }
        counter
    });
    if let Some(noted) = noted {
        counter = counter.filter(|_| cx.diags.is_empty());
        cx.diags = noted;
    }
    counter
}

/// Returns the parameters of samples: the thread, if each has a value, and the value.
fn params_of(counter: Counter, unit: String) -> Vec<Param> {
    let thread = Param { doc: "the system's number of the thread".into(), ..Param::new("thread", Sort::U64) };
    let (sort, doc) = match counter.form {
        CounterForm::Monotonic => (Sort::U64, "the sum so far"),
        CounterForm::Gauge => (Sort::I64, "the value"),
    };
    // Viewers draw one curve for the process, so the values of threads are no such readings.
    let is_counter = counter.per == CounterPer::Process;
    let value = Param { doc: doc.into(), unit, is_counter, ..Param::new("value", sort) };
    match counter.per {
        CounterPer::Process => vec![value],
        CounterPer::Thread => vec![thread, value],
    }
}

/// Returns the form of a counter, and what has a value of it.
fn counter(cx: &mut Check, fields: &Fields) -> Counter {
    let form = word(cx, fields, "form", CounterForm::ALL, CounterForm::name);
    let per = word(cx, fields, "per", CounterPer::ALL, CounterPer::name);
    Counter { form, per }
}

/// Returns the value of a key that is one of a few words. The default applies without the key.
pub(super) fn word<T: Copy + Default>(
    cx: &mut Check,
    fields: &Fields,
    key: &str,
    all: &[T],
    name: fn(T) -> &'static str,
) -> T {
    let Some(text) = fields.text(cx, key) else { return T::default() };
    let names = || all.iter().map(|&one| name(one));
    let found = all.iter().copied().find(|&one| name(one) == *text.get_ref());
    if found.is_none() {
        let message = format!("unknown `{key}` {} of {}", quote(text.get_ref()), fields.what);
        cx.diags.error(text.span(), message).help(match nearest(text.get_ref(), names()) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => format!("expected {}", one_of(names())),
        });
    }
    found.unwrap_or_default()
}
