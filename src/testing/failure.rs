//! The message of an expectation that fails: what was expected, and what there is.

use std::fmt;

use telemetry_decode::rules::{Broken, CheckedRule};
use telemetry_decode::{OwnedEvent, Value};
use telemetry_runtime::__private::testing::Grouped;

/// Number of events that are shown before and after the place of the failure.
const SHOWN: usize = 20;

/// A message. It is a list of events with marks at their lines, as in a diff.
pub(super) struct Failure {
    text: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The mark at a line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    None,
    /// An event of the sequence that was found.
    Found,
    /// An event that was not expected, or that does not pass.
    Wrong,
}

impl Failure {
    /// Lists all events.
    pub(super) fn all(events: &[OwnedEvent]) -> Failure {
        let mut lines = Lines::new(events);
        lines.events(0..events.len(), |_| Mark::None);
        Failure { text: lines.text.split_off(usize::from(!events.is_empty())) }
    }

    /// No event of this name came.
    pub(super) fn absent(events: &[OwnedEvent], before: &[usize], from: usize, name: &str) -> Failure {
        let what = match before.last() {
            Some(last) => format!("expected `{name}` after `{}`, and it did not come", events[*last].name()),
            None => format!("expected `{name}`, and it did not come"),
        };
        Failure::missing(what, events, before, from, name, |_| false)
    }

    /// Events of this name came, and none passes.
    pub(super) fn failing(
        events: &[OwnedEvent],
        before: &[usize],
        from: usize,
        name: &str,
        is_close: impl Fn(&OwnedEvent) -> bool,
    ) -> Failure {
        let count = events[from..].iter().filter(|event| is_close(event)).count();
        let (after, passes) = (
            before.last().map_or(String::new(), |last| format!(" after `{}`", events[*last].name())),
            if count == 1 { "the one that came does not" } else { "none of those that came does" },
        );
        let what = format!("expected `{name}`{after} that passes the test, and {passes} ({count})");
        Failure::missing(what, events, before, from, name, is_close)
    }

    fn missing(
        what: String,
        events: &[OwnedEvent],
        before: &[usize],
        from: usize,
        name: &str,
        is_close: impl Fn(&OwnedEvent) -> bool,
    ) -> Failure {
        let mut lines = Lines::new(events);
        lines.head(what);
        lines.events(0..from, |index| if before.contains(&index) { Mark::Found } else { Mark::None });
        lines.text.push_str("\n- ");
        lines.columns("", "", "", name);
        lines.text.truncate(lines.text.trim_end().len());
        lines.events(from..events.len(), |index| match is_close(&events[index]) {
            true => Mark::Wrong,
            false => Mark::None,
        });
        Failure { text: lines.text }
    }

    /// An event of this name came.
    pub(super) fn unexpected(
        events: &[OwnedEvent],
        before: &[usize],
        from: usize,
        name: &str,
        is_wrong: impl Fn(&OwnedEvent) -> bool,
    ) -> Failure {
        let count = events[from..].iter().filter(|event| is_wrong(event)).count();
        let after = before.last().map_or(String::new(), |last| format!(" after `{}`", events[*last].name()));
        let mut lines = Lines::new(events);
        lines.head(format!("expected no `{name}`{after}, and {count} came"));
        lines.events(0..from, |index| if before.contains(&index) { Mark::Found } else { Mark::None });
        lines.events(from..events.len(), |index| match is_wrong(&events[index]) {
            true => Mark::Wrong,
            false => Mark::None,
        });
        Failure { text: lines.text }
    }

    /// Rules are broken.
    pub(super) fn broken(events: &[OwnedEvent], rules: &[CheckedRule], broken: &[Broken]) -> Failure {
        let mut lines = Lines::new(events);
        for (index, one) in broken.iter().take(SHOWN).enumerate() {
            let rule = &rules[one.rule];
            let first = &events[one.first.number as usize];
            let by = rule.rule.by.as_deref();
            let place = by.and_then(|by| first.schema().params.iter().position(|param| param.name == by));
            let key = place.and_then(|place| Some((place, first.value(place)?)));
            let key = key.map_or(String::new(), |(place, value)| {
                format!(" for {} {}", by.unwrap_or_default(), shown(first, place, &value))
            });
            let line_end = if index == 0 { "" } else { "\n" };
            lines.text += &format!("{line_end}rule `{}` is broken{key}: {}", rule.rule.name, one.text(rule));
        }
        if broken.len() > SHOWN {
            lines.text += &format!("\n... {} more", Grouped::from((broken.len() - SHOWN) as u64));
        }
        let shown = &broken[..broken.len().min(SHOWN)];
        lines.events(0..events.len(), |index| {
            let is = |number: u64| number == index as u64;
            if shown.iter().any(|one| one.second.is_some_and(|second| is(second.number))) {
                Mark::Wrong
            } else if shown.iter().any(|one| is(one.first.number)) {
                Mark::Found
            } else {
                Mark::None
            }
        });
        Failure { text: lines.text }
    }
}

/// Lines of events, in the columns of `telemetry print`.
struct Lines<'e> {
    text: String,
    events: &'e [OwnedEvent],
    widths: [usize; 4],
}

impl<'e> Lines<'e> {
    fn new(events: &'e [OwnedEvent]) -> Self {
        let mut widths = [0; 4];
        for event in events {
            for (width, text) in widths.iter_mut().zip(columns(event)) {
                *width = (*width).max(text.chars().count());
            }
        }
        Lines { text: String::new(), events, widths }
    }

    fn head(&mut self, what: String) {
        self.text += &what;
        if self.events.is_empty() {
            self.text += "; the capture has no event";
        }
    }

    /// Adds the lines of some events: the first and last ones, those with a mark, and how many are
    /// left out between them.
    fn events(&mut self, range: std::ops::Range<usize>, mark: impl Fn(usize) -> Mark) {
        let near = |index: usize| {
            let (from, to) = (index - range.start, range.end - index);
            mark(index) != Mark::None || from < SHOWN || to <= SHOWN
        };
        let mut left_out = 0_usize;
        for index in range.clone() {
            if range.len() > 2 * SHOWN && !near(index) {
                left_out += 1;
                continue;
            }
            self.left_out(&mut left_out);
            self.text += match mark(index) {
                Mark::None => "\n  ",
                Mark::Found => "\n= ",
                Mark::Wrong => "\n+ ",
            };
            self.event(&self.events[index]);
        }
        self.left_out(&mut left_out);
    }

    fn left_out(&mut self, count: &mut usize) {
        if *count > 0 {
            self.text += &format!("\n  ... {} more", Grouped::from(*count as u64));
            *count = 0;
        }
    }

    fn event(&mut self, event: &OwnedEvent) {
        let [time, thread, kind, name] = columns(event);
        self.columns(&time, &thread, &kind, &name);
        for (index, param) in event.params().enumerate() {
            let value = shown(event, index, &param.value);
            let (name, unit) = (&param.schema.name, &param.schema.unit);
            let space = if unit.is_empty() { "" } else { " " };
            self.text += &format!("  {name}:{value}{space}{unit}");
        }
    }

    fn columns(&mut self, time: &str, thread: &str, kind: &str, name: &str) {
        let [time_width, thread_width, kind_width, name_width] = self.widths;
        let line =
            format!("{time:>time_width$}  {thread:<thread_width$}  {kind:<kind_width$}  {name:<name_width$}");
        self.text += &line;
    }
}

/// Time, thread, kind and name of an event.
fn columns(event: &OwnedEvent) -> [String; 4] {
    let thread = event.thread_name().map_or_else(|| event.thread().to_string(), str::to_string);
    let time = Grouped::from(event.time_ns().unsigned_abs()).to_string();
    [time, thread, event.kind().name.clone(), event.name().to_string()]
}

fn shown(event: &OwnedEvent, index: usize, value: &Value<'_>) -> String {
    match value {
        Value::String(text) => format!("{:?}", text.to_string()),
        Value::Label(number) => match event.label(*number) {
            Some(text) => format!("{text:?}"),
            None => number.to_string(),
        },
        _ => match event.string_of(index, value) {
            Some(text) => format!("{text:?}"),
            None => value.to_string(),
        },
    }
}
