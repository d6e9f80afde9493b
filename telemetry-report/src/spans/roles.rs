//! The spans that registries declare, and the parts that events have in them.

use telemetry_decode::{Event, KnownRegistry};
use telemetry_schema::{Message, Registry, Sensitive, Span};

/// A span of a registry, or a message that is a pair.
pub struct Def {
    pub registry: String,
    pub fingerprint: u64,
    /// For a message, the span that its events would be.
    pub span: Span,
    /// The value behind the name, which the parameter `named_by` of the begin has. The name in
    /// `span` includes it.
    pub detail: Option<String>,
    /// The message with these pairs, which the program itself may receive.
    pub message: Option<String>,
    /// Bits of the kinds of both events.
    pub kinds: [u8; 2],
    /// False if only other spans were asked for.
    pub is_wanted: bool,
}

/// The role of an event in a span.
pub(super) struct Role {
    pub(super) def: u32,
    pub(super) is_end: bool,
    pub(super) begins_pause: bool,
    /// Index of the parameter that is the key.
    pub(super) key: Option<usize>,
    /// Index of the parameter of a begin that has the value behind the name.
    pub(super) named_by: Option<usize>,
    /// What is there in place of the value, if that is not shown.
    pub(super) hidden: Option<&'static str>,
}

impl Def {
    /// Returns the name in the registry.
    pub fn declared_name(&self) -> &str {
        match &self.detail {
            Some(detail) => &self.span.name[..self.span.name.len() - detail.len() - " []".len()],
            None => &self.span.name,
        }
    }

    /// Returns true if no value is shown behind the name of the span.
    pub fn is_plain(&self) -> bool {
        self.span.named_by.is_none()
    }

    /// Returns the span with a value behind its name.
    pub(super) fn with_detail(&self, detail: &str) -> Def {
        let mut span = self.span.clone();
        span.name = format!("{} [{detail}]", span.name);
        Def {
            registry: self.registry.clone(),
            span,
            detail: Some(detail.to_string()),
            message: self.message.clone(),
            ..*self
        }
    }
}

/// Returns the roles of an event in the spans of its registry: ends first, for an event that ends a
/// span and begins the next.
///
/// If `hides`, the values of sensitive parameters are not shown.
pub(super) fn roles(event: &Event<'_>, names: &[String], hides: bool, defs: &mut Vec<Def>) -> Vec<Role> {
    let registry: &Registry = event.registry();
    let marked = (hides && registry.is_sensitive()).then(|| marked(registry));
    let mut roles = Vec::new();
    let Some(index) = registry.event_index(event.schema().code) else { return roles };
    // Spans that are not wanted are inside of others, too, and take from their self time.
    for (span, message) in spans(registry) {
        for (is_end, of) in [(true, span.end), (false, span.begin)] {
            if of != index {
                continue;
            }
            let param = |name: &String| event.schema().params.iter().position(|param| param.name == *name);
            let key = span.key.as_ref().and_then(param);
            let named_by = span.named_by.as_ref().filter(|_| !is_end).and_then(param);
            let marked = marked.as_ref().zip(named_by);
            let sensitive = marked.and_then(|(marked, param)| marked.events[index].params[param].sensitive);
            let hidden = sensitive.map(Sensitive::shown);
            let begins_pause = span.is_pause && !is_end;
            roles.push(Role {
                def: def(event.known_registry(), &span, message, names, defs),
                is_end,
                begins_pause,
                key,
                named_by,
                hidden,
            });
        }
    }
    roles.sort_by_key(|role| !role.is_end);
    roles
}

/// Returns a registry with a mark of each parameter that tells something sensitive.
fn marked(registry: &Registry) -> Registry {
    let mut marked = registry.clone();
    marked.mark_numbered();
    if marked.sensitive_labels().is_some() {
        marked.mark_interned();
    }
    marked
}

/// Returns false if an event has no role in any span of its registry.
pub fn may_have_role(registry: &Registry, event: usize) -> bool {
    registry.spans.iter().any(|span| span.begin == event || span.end == event)
        || registry.messages.iter().any(|message| message.begin == event || message.end == Some(event))
}

/// Returns true if the pairs of a message are those of a span.
fn is_of(message: &Message, span: &Span) -> bool {
    (message.begin, message.end, &message.key) == (span.begin, Some(span.end), &span.key)
}

fn is_span(registry: &Registry, message: &Message) -> bool {
    registry.spans.iter().any(|span| is_of(message, span))
}

/// Returns the span of a message's events; none for a message without a pair.
fn span_of(message: &Message) -> Option<Span> {
    let mut span = Span::new(&message.name, message.begin, message.end?);
    (span.key, span.doc) = (message.key.clone(), message.doc.clone());
    Some(span)
}

/// Returns the spans of a registry, each with the message that has these pairs, and the messages
/// that are pairs and no span.
fn spans(registry: &Registry) -> impl Iterator<Item = (Span, Option<&Message>)> {
    let messages = registry.messages.iter().filter(|message| !is_span(registry, message));
    let messages = messages.filter_map(|message| Some((span_of(message)?, Some(message))));
    let spans = registry
        .spans
        .iter()
        .map(|span| (span.clone(), registry.messages.iter().find(|message| is_of(message, span))));
    spans.chain(messages)
}

/// Returns the number of the span with a name of the registry, if the registry has it. If `hides`,
/// also returns what is there in place of a sensitive value behind the name.
pub(super) fn def_named(
    known: &KnownRegistry,
    name: &str,
    names: &[String],
    hides: bool,
    defs: &mut Vec<Def>,
) -> Option<(u32, Option<&'static str>)> {
    let registry = &known.registry;
    let (span, message) = spans(registry).find(|(span, _)| span.name == name)?;
    let param =
        |name: &String| registry.events[span.begin].params.iter().position(|param| param.name == *name);
    let named_by = span.named_by.as_ref().filter(|_| hides && registry.is_sensitive()).and_then(param);
    let sensitive = named_by.and_then(|param| marked(registry).events[span.begin].params[param].sensitive);
    Some((def(known, &span, message, names, defs), sensitive.map(Sensitive::shown)))
}

/// Returns the number of a span among the known ones, and adds a new one.
fn def(
    known: &KnownRegistry,
    span: &Span,
    message: Option<&Message>,
    names: &[String],
    defs: &mut Vec<Def>,
) -> u32 {
    let KnownRegistry { fingerprint, ref registry, .. } = *known;
    let known = defs.iter().position(|def| def.fingerprint == fingerprint && def.span == *span);
    let index = known.unwrap_or_else(|| {
        let kinds = [span.begin, span.end].map(|index| registry.kind_of(&registry.events[index]).bit);
        let (registry, span) = (registry.name.clone(), span.clone());
        let message = message.map(|message| message.name.clone());
        let is_wanted =
            names.is_empty() || names.iter().any(|wanted| wanted.eq_ignore_ascii_case(&span.name));
        defs.push(Def { registry, fingerprint, span, detail: None, message, kinds, is_wanted });
        defs.len() - 1
    });
    index as u32
}
