//! A rule of a registry, with what a check counts of it.

use telemetry_schema::{CounterPer, Event, EventRule, Limit, Param, Registry, RuleForm};

/// A rule of a registry, and its counts so far.
#[derive(Debug)]
#[non_exhaustive]
pub struct CheckedRule {
    /// The name of the registry.
    pub registry: String,
    /// Its fingerprint.
    pub fingerprint: u64,
    /// The rule itself.
    pub rule: EventRule,
    /// The name of the event that the rule begins with: the begin of a span, or `after`.
    pub first: String,
    /// The name of the event that may break it, or that must come.
    pub second: String,
    /// The name of the span; empty for a rule without one.
    pub span: String,
    /// The parameter of `by`.
    pub by: Option<Param>,
    /// The number of times that the rule applied.
    pub checked: u64,
    /// The number of times that more was open than is kept, and the oldest was forgotten.
    pub given_up: u64,
    /// Bit of the kind of the event that, if it is missing, explains a broken rule.
    pub(crate) explaining_kind: u8,
    /// Index of that event.
    pub(crate) explaining: usize,
    /// True if that event must be of the same thread.
    pub(crate) is_of_thread: bool,
    /// The most spans of one key that are open at once. One more replaces the oldest.
    pub(crate) most_of_key: usize,
    /// How that event is limited.
    pub(crate) limit: LimitOf,
}

/// How the event is limited that explains a broken rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LimitOf {
    /// Not at all, or it is recorded whenever the first event of the rule is.
    None,
    /// It may be left out, and the stream tells since when.
    Rate,
    /// It may be left out at any time.
    Sample,
}

impl LimitOf {
    /// `key` is the parameter whose value the first event and the other one share.
    fn new(first: &Event, explaining: &Event, key: Option<&str>) -> LimitOf {
        let sampled_by = |event: &Event| match event.limit {
            Some(Limit::Sample { one_in, by: Some(by) }) => {
                event.params.get(by).map(|by| (one_in, by.name.clone()))
            }
            _ => None,
        };
        match explaining.limit {
            None => LimitOf::None,
            Some(Limit::Rate { .. }) => LimitOf::Rate,
            Some(Limit::Sample { .. }) => match (sampled_by(first), sampled_by(explaining)) {
                (Some(first), Some(other)) if first == other && key == Some(&*first.1) => LimitOf::None,
                _ => LimitOf::Sample,
            },
        }
    }
}

impl CheckedRule {
    pub(crate) fn new(registry: &Registry, fingerprint: u64, rule: &EventRule) -> CheckedRule {
        let (first, second, explaining, span) = match rule.form {
            RuleForm::Comes { after, comes, .. } => (after, comes, comes, None),
            RuleForm::Never { never, open } => {
                let span = &registry.spans[open];
                (span.begin, never, span.end, Some(span))
            }
            RuleForm::AtMost { open, .. } => {
                let span = &registry.spans[open];
                (span.begin, span.begin, span.end, Some(span))
            }
        };
        let key = span.map_or(rule.by.as_deref(), |span| span.key.as_deref());
        // Any thread may end a span with a key.
        let is_of_thread = rule.per == CounterPer::Thread && span.is_none_or(|span| span.key.is_none());
        let most_of_key = match rule.form {
            // The rule says how many spans of a key there may be.
            RuleForm::AtMost { at_most, .. } if key.is_some() && key == rule.by.as_deref() => {
                at_most as usize
            }
            _ => 1,
        };
        let by = rule
            .by
            .as_ref()
            .and_then(|name| registry.events[first].params.iter().find(|param| param.name == *name).cloned());
        CheckedRule {
            registry: registry.name.clone(),
            fingerprint,
            rule: rule.clone(),
            first: registry.events[first].name.clone(),
            second: registry.events[second].name.clone(),
            span: span.map_or(String::new(), |span| span.name.clone()),
            by,
            checked: 0,
            given_up: 0,
            explaining_kind: registry.kind_of(&registry.events[explaining]).bit,
            explaining,
            is_of_thread,
            most_of_key,
            limit: LimitOf::new(&registry.events[first], &registry.events[explaining], key),
        }
    }

    /// Returns the highest number of open spans.
    pub(crate) fn most(&self) -> u64 {
        match self.rule.form {
            RuleForm::AtMost { at_most, .. } => at_most.into(),
            RuleForm::Comes { .. } | RuleForm::Never { .. } => 0,
        }
    }
}
