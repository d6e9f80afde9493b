//! Rules and what breaks them, as text and JSON.

use serde::Serialize;
use serde_json::Value as Json;
use telemetry_decode::rules::{Broken, CheckedRule, Moment};
use telemetry_decode::{KnownRegistry, Session};

use super::checked::Rules;
use crate::input::events::Opened;
use crate::input::inputs::Inputs;
use crate::term::message::warning;
use crate::text::print::thread_name;
use crate::text::table::Table;
use crate::text::{count, grouped, scalar, signed_grouped};

/// All rules of the input, for people and for JSON.
pub(crate) struct ShownRules {
    pub(crate) rules: Vec<RuleStats>,
    pub(crate) broken: Vec<BrokenRule>,
}

#[derive(Serialize)]
pub(crate) struct RuleStats {
    rule: String,
    registry: String,
    /// Of the registry, as a stream may have several versions of it.
    fingerprint: String,
    checked: u64,
    broken: u64,
    undecided: u64,
    given_up: u64,
}

/// A rule that is broken, or not decided.
#[derive(Serialize)]
pub(crate) struct BrokenRule {
    rule: String,
    registry: String,
    session: String,
    how: &'static str,
    text: String,
    by: Option<String>,
    key: Json,
    certain: bool,
    first: Place,
    second: Option<Place>,
    #[serde(skip)]
    key_text: String,
    /// Why it is not decided.
    #[serde(skip)]
    excuse: &'static str,
}

/// The place of an event.
#[derive(Serialize)]
struct Place {
    event: String,
    at_ns: i64,
    thread: u32,
    thread_name: String,
    input: String,
    /// Where it begins in that input, in bytes.
    offset: u64,
}

/// What is known of the sessions and registries of the input.
pub(crate) struct Known<'a> {
    pub(crate) sessions: &'a [Session],
    pub(crate) registries: &'a [KnownRegistry],
    pub(crate) inputs: &'a Inputs,
}

impl ShownRules {
    pub(crate) fn new(rules: &Rules, opened: &Opened) -> ShownRules {
        let all = rules.checker().rules();
        let stats = |(index, rule): (usize, &CheckedRule)| {
            let counts = rules.counts(index);
            RuleStats {
                rule: rule.rule.name.clone(),
                registry: rule.registry.clone(),
                fingerprint: format!("{:016x}", rule.fingerprint),
                checked: rule.checked,
                broken: counts.broken,
                undecided: counts.undecided,
                given_up: rule.given_up,
            }
        };
        let known =
            Known { sessions: opened.sessions(), registries: opened.registries(), inputs: &opened.inputs };
        let broken = rules.listed().iter();
        let broken = broken
            .map(|(broken, is_certain)| BrokenRule::new(broken, &all[broken.rule], *is_certain, &known));
        ShownRules { broken: broken.collect(), rules: all.iter().enumerate().map(stats).collect() }
    }

    /// Appends the rules, and at most `most` findings.
    pub(crate) fn append_text(&self, out: &mut Vec<u8>, most: usize) {
        if self.rules.is_empty() {
            return;
        }
        let mut table = Table::new(2, &["rule", "registry", "checked", "broken", "not decided"]);
        for rule in &self.rules {
            let numbers = [rule.checked, rule.broken, rule.undecided].map(grouped);
            table.row([rule.rule.clone(), rule.registry.clone()].into_iter().chain(numbers));
        }
        table.append_if_any(out);
        for broken in self.broken.iter().take(most) {
            out.push(b'\n');
            broken.append_text(out);
        }
    }

    /// Reports broken rules, and warns about what was not decided.
    pub(crate) fn report(&self, mut broken: impl FnMut(String)) {
        for rule in &self.rules {
            let RuleStats { rule: name, broken: times, undecided, given_up, .. } = rule;
            if *times > 0 {
                broken(format!("rule `{name}` is broken {}", count(*times, "time")));
            }
            if *undecided > 0 {
                warning(format!("rule `{name}` is not decided {}", count(*undecided, "time")));
            }
            if *given_up > 0 {
                warning(format!(
                    "rule `{name}` was not checked {}, because more than --max-open were open at once",
                    count(*given_up, "time")
                ));
            }
        }
    }
}

impl BrokenRule {
    pub(crate) fn new(
        broken: &Broken,
        rule: &CheckedRule,
        is_certain: bool,
        known: &Known<'_>,
    ) -> BrokenRule {
        let session = known.sessions.iter().find(|session| session.id == broken.session);
        let registry = known.registries.iter().find(|known| known.fingerprint == rule.fingerprint);
        let param = registry.zip(rule.by.as_ref().map(|param| param.sort));
        let (key, key_text) = scalar::key(&broken.key, param, session);
        let place = |event: &str, moment: &Moment| {
            let (input, offset) = known.inputs.place(moment.offset);
            let thread = moment.thread;
            let thread_name =
                session.map_or_else(|| format!("#{thread}"), |session| thread_name(session, thread));
            Place { event: event.to_string(), at_ns: moment.ns, thread, thread_name, input, offset }
        };
        BrokenRule {
            rule: rule.rule.name.clone(),
            registry: rule.registry.clone(),
            session: format!("{:016x}", broken.session),
            how: broken.how.name(),
            text: broken.text(rule),
            by: rule.rule.by.clone(),
            key,
            certain: is_certain,
            first: place(&rule.first, &broken.first),
            second: broken.second.as_ref().map(|second| place(&rule.second, second)),
            key_text,
            excuse: match (is_certain, broken.was_off, broken.was_left_out) {
                (true, ..) => "",
                (false, true, _) => ", but an event that may explain it was off meanwhile",
                (false, false, true) => ", but a limit may have left out an event that explains it",
                (false, false, false) => ", but events are missing meanwhile",
            },
        }
    }

    /// Appends it as JSON on one line, or as text.
    #[cfg(unix)]
    pub(crate) fn append_line(&self, out: &mut Vec<u8>, is_json: bool) {
        if !is_json {
            return self.append_text(out);
        }
        // A vector takes everything.
        let _ = serde_json::to_writer(&mut *out, self);
        out.push(b'\n');
    }

    /// Appends a line that says what happened, and a line for each event.
    pub(crate) fn append_text(&self, out: &mut Vec<u8>) {
        let verdict = if self.certain { "is broken" } else { "is not decided" };
        let key = match &self.by {
            Some(by) => format!(" for {by} {}", self.key_text),
            None => String::new(),
        };
        let line = format!("rule `{}` {verdict}{key}: {}{}\n", self.rule, self.text, self.excuse);
        out.extend_from_slice(line.as_bytes());
        for Place { event, at_ns, thread_name, input, offset, .. } in
            [&self.first].into_iter().chain(&self.second)
        {
            let at = signed_grouped(*at_ns);
            let line = format!("{at:>17}  {thread_name:<14}  {event:<20}  {input}: byte {offset}\n");
            out.extend_from_slice(line.as_bytes());
        }
    }
}
