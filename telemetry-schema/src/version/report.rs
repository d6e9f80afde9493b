//! Describes a judgement in the terms of the files: what changed, where, the old value, the demand
//! of the rule, and the remedy.

use std::ops::Range;

use annotate_snippets::AnnotationKind::{self, Context, Primary};
use annotate_snippets::Level;

use crate::model::registry::Version;
use crate::text::limits::MAX_DIAGNOSTICS;
use crate::text::snippet;
use crate::text::snippet::{Mark, Section};
use crate::version::allow::{Allow, Target};
use crate::version::change::{Change, Thing};
use crate::version::judgement::{Judged, Judgement};
use crate::version::lock::Lock;
use crate::version::places::Places;
use crate::version::rule::{Demand, MEDIAN, Rule};

/// One of the two compared files.
pub struct Side<'a> {
    /// Printed as it is.
    path: &'a str,
    text: &'a str,
    places: Places,
}

/// Describes a [`Judgement`].
pub struct Report<'a> {
    judgement: &'a Judgement,
    old: Side<'a>,
    new: Side<'a>,
}

impl<'a> Side<'a> {
    /// Returns the text of a valid `events.toml`.
    pub fn registry(path: &'a str, text: &'a str) -> Side<'a> {
        Side { path, text, places: Places::of_registry(text) }
    }

    /// Returns a lock with its text.
    pub fn lock(path: &'a str, lock: &Lock, text: &'a str) -> Side<'a> {
        Side { path, text, places: Places::of_lock(lock, text) }
    }

    fn section<'s>(
        &'s self,
        thing: &Thing,
        key: &'static str,
        kind: AnnotationKind,
        label: &'s str,
    ) -> Section<'s> {
        let span = self.places.find(thing, key);
        Section { path: self.path, text: self.text, marks: vec![Mark { span, kind, label }] }
    }
}

impl<'a> Report<'a> {
    /// Returns a report for the judgement of a release and the present registry.
    pub fn new(judgement: &'a Judgement, old: Side<'a>, new: Side<'a>) -> Report<'a> {
        Report { judgement, old, new }
    }

    /// Returns all unmet demands as rustc would print them, each after the word `error`, with an
    /// empty line between two; empty if there are none. Beyond [`MAX_DIAGNOSTICS`] changes, the
    /// others are counted.
    #[must_use]
    pub fn render(&self) -> String {
        let unmet = || self.judgement.changes.iter().filter(|judged| !judged.is_met);
        let changes = unmet().take(MAX_DIAGNOSTICS).map(|judged| self.change(judged));
        let omitted = unmet().count().saturating_sub(MAX_DIAGNOSTICS);
        let omitted = (omitted > 0).then(|| format!("{omitted} more changes in {}", self.new.path));
        let idle = self.judgement.idle.iter().take(MAX_DIAGNOSTICS).map(|allow| self.idle(allow));
        let all = changes.chain(omitted).chain(idle).chain(self.version());
        all.map(|text| format!("error: {text}\n")).collect::<Vec<_>>().join("\n")
    }

    /// Returns a change with its new place and its old value, the demand of its rule and the
    /// reason; without the word `error`.
    pub fn change(&self, judged: &Judged) -> String {
        let change = &judged.change;
        let label = format!("as of {}", self.judgement.released);
        let mut sections = Vec::new();
        if let Some(new) = &change.new {
            sections.push(self.new.section(new, change.key, Primary, ""));
        }
        if let Some(old) = &change.old
            && change.rule != Rule::DocsChanged
        {
            let kind = if sections.is_empty() { Primary } else { Context };
            sections.push(self.old.section(old, change.key, kind, &label));
        }
        let note = self.note(judged);
        let explained = format!("the median is {MEDIAN}");
        let mut remarks = vec![(Level::NOTE, note.as_str())];
        remarks.extend(self.is_first_median(judged).then_some((Level::NOTE, explained.as_str())));
        let help = (!judged.is_met).then(|| self.help(change)).flatten();
        remarks.extend(help.as_deref().map(|help| (Level::HELP, help)));
        snippet::draw(&change.message(), &sections, &remarks)
    }

    /// Returns line and column, from 1, of a change in the new file; in the old file if it is only
    /// there, which the second result says.
    pub fn position(&self, change: &Change) -> ((usize, usize), bool) {
        let (side, thing, is_old) = match (&change.new, &change.old) {
            (Some(new), _) => (&self.new, new, false),
            (None, Some(old)) => (&self.old, old, true),
            (None, None) => (&self.new, &Thing::Registry, false),
        };
        (snippet::position(side.text, side.places.find(thing, change.key).start), is_old)
    }

    /// Returns line and column of the version in the new file, from 1.
    pub fn version_position(&self) -> (usize, usize) {
        snippet::position(self.new.text, self.new.places.find(&Thing::Registry, "version").start)
    }

    /// Returns the demand of a change's rule and the reason, or the reason why it is allowed.
    pub fn note(&self, judged: &Judged) -> String {
        let row = judged.change.rule.row();
        match (&judged.allowed, row.demand) {
            (Some(reason), _) => format!("`{}` is allowed: {reason}", row.name),
            (None, Demand::Nothing) => format!("`{}` demands nothing: {}", row.name, row.why),
            (None, Demand::Refused) => format!("`{}` is refused: {}", row.name, row.why),
            (None, demand) => format!("`{}` demands a higher {}: {}", row.name, demand.name(), row.why),
        }
    }

    /// Returns the remedy for a refused change; for others the version says it.
    pub fn help(&self, change: &Change) -> Option<String> {
        let target = self.judgement.target();
        Some(match change.rule {
            Rule::EventRemoved => {
                "keep the event with `used = false`; after a release it may be removed".to_string()
            }
            Rule::CodeReused => match self.judgement.free_code {
                Some(code) => format!("the next code that was never used is {code:#06x}"),
                None => "give it a code that was never used".to_string(),
            },
            Rule::SinceMissing | Rule::SinceWrong => {
                format!("write `since = \"{target}\"`, or run `telemetry check --fix`")
            }
            Rule::VersionLowered => self.help_to_raise(target),
            Rule::RegistryRenamed => {
                "restore the name; if it is another registry, delete the lock and release it".to_string()
            }
            _ => return None,
        })
    }

    /// Returns the text about the version, unless it is high enough.
    pub fn version(&self) -> Option<String> {
        let Judgement { released, version, .. } = self.judgement;
        let target = self.judgement.target();
        // A lower one is a change of its own.
        if target == *version || version < released || self.judgement.is_of_another_registry() {
            return None;
        }
        let section = self.new.section(&Thing::Registry, "version", Primary, "");
        let message =
            format!("the version is {version}, but what changed since {released} demands {target} or higher");
        let help = self.help_to_raise(target);
        Some(snippet::draw(&message, &[section], &[(Level::HELP, &help)]))
    }

    /// Returns the remedy for a version that is too low, in the notation of the file.
    fn help_to_raise(&self, target: Version) -> String {
        let place = self.new.places.find(&Thing::Registry, "version");
        let written = match self.new.text[place].starts_with(['"', '\'']) {
            true => format!("\"{target}\""),
            false => {
                let Version { major, median, minor } = target;
                format!("{{ major = {major}, median = {median}, minor = {minor} }}")
            }
        };
        format!("run `telemetry check --fix`, or write `version = {written}`")
    }

    /// Returns true for the change that explains the word.
    fn is_first_median(&self, judged: &Judged) -> bool {
        let is_median =
            |judged: &&Judged| judged.allowed.is_none() && judged.change.rule.demand() == Demand::Median;
        self.judgement.changes.iter().find(is_median) == Some(judged)
    }

    /// Returns the text about an allow that allows no change.
    pub fn idle(&self, allow: &Allow) -> String {
        let name = allow.rule.name();
        let same = || self.judgement.changes.iter().filter(|judged| judged.change.rule == allow.rule);
        let is_double = same().any(|judged| allow.matches(&judged.change));
        let message = match is_double {
            true => format!("this allow of `{name}` repeats another one"),
            false => format!("this allow of `{name}` matches no change since {}", self.judgement.released),
        };
        let others: Vec<String> = same().take(MAX_PROPOSED).map(|judged| written(&judged.change)).collect();
        let help = match is_double || others.is_empty() {
            true => "remove it".to_string(),
            false => format!("there is such a change with {}", others.join(", or with ")),
        };
        let span: Range<usize> = allow.span.clone();
        let marks = vec![Mark { span, kind: Primary, label: "" }];
        let section = Section { path: self.new.path, text: self.new.text, marks };
        snippet::draw(&message, &[section], &[(Level::HELP, &help)])
    }
}

/// Changes that the help of an idle allow names.
const MAX_PROPOSED: usize = 3;

/// Returns the form of a change's item in an allow.
fn written(change: &Change) -> String {
    let target = Target::of(change.thing());
    let keys: Vec<String> = target.keys().map(|(key, value)| format!("`{key} = \"{value}\"`")).collect();
    if keys.is_empty() { "no names".to_string() } else { keys.join(" and ") }
}
