//! The parts that the events of a registry have in its rules.

use telemetry_schema::{Event, Registry, RuleForm};

/// The part of an event in a rule. An event that has several parts does these in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    /// It ends the span.
    End,
    /// It must come.
    Comes,
    /// It must not come.
    Never,
    /// It begins the span.
    Begin,
    /// Another event must come after it.
    After,
}

/// The role of an event in a rule.
#[derive(Debug, Clone)]
pub(super) struct Role {
    /// The rule, by its index in the registry.
    pub(super) rule: usize,
    pub(super) part: Part,
    /// Index of the parameter that is the rule's `by`.
    pub(super) by: Option<usize>,
    /// Index of the parameter that is the span's key.
    pub(super) key: Option<usize>,
}

/// Returns the roles of each event of a registry, in the rules all of whose events are followed.
pub(super) fn roles(registry: &Registry, is_followed: impl Fn(usize) -> bool) -> Vec<Vec<Role>> {
    let mut roles = vec![Vec::new(); registry.events.len()];
    for (index, rule) in registry.rules.iter().enumerate() {
        let parts = parts(registry, rule.form);
        if !parts.iter().all(|(event, ..)| is_followed(*event)) {
            continue;
        }
        for (event, part, key) in parts {
            let schema = &registry.events[event];
            // The end of a span may lack the parameter. Its begin is known by the key.
            let by = rule.by.as_ref().filter(|_| part != Part::End).and_then(|name| param(schema, name));
            let key = key.and_then(|name| param(schema, name));
            roles[event].push(Role { rule: index, part, by, key });
        }
    }
    roles.iter_mut().for_each(|roles| roles.sort_by_key(|role| role.part));
    roles
}

/// Returns true if a rule of the registry is about an event.
pub(super) fn has_role(registry: &Registry, event: usize) -> bool {
    let is_end = |open: usize| {
        let span = &registry.spans[open];
        span.begin == event || span.end == event
    };
    registry.rules.iter().any(|rule| match rule.form {
        RuleForm::Comes { after, comes, .. } => after == event || comes == event,
        RuleForm::Never { never, open } => never == event || is_end(open),
        RuleForm::AtMost { open, .. } => is_end(open),
    })
}

/// Returns the events of a rule, each with its part, and the name of the span's key.
fn parts(registry: &Registry, form: RuleForm) -> Vec<(usize, Part, Option<&String>)> {
    let ends = |open: usize| {
        let span = &registry.spans[open];
        let key = span.key.as_ref();
        [(span.begin, Part::Begin, key), (span.end, Part::End, key)]
    };
    match form {
        RuleForm::Comes { after, comes, .. } => {
            vec![(after, Part::After, None), (comes, Part::Comes, None)]
        }
        RuleForm::Never { never, open } => {
            let [begin, end] = ends(open);
            vec![begin, end, (never, Part::Never, None)]
        }
        RuleForm::AtMost { open, .. } => ends(open).into(),
    }
}

fn param(event: &Event, name: &str) -> Option<usize> {
    event.params.iter().position(|param| param.name == name)
}
