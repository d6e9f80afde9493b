//! The layer: what it hears of `tracing`, as events.

use std::sync::atomic::Ordering;

use telemetry::Label;
use tracing_core::span::{Attributes, Id, Record};
use tracing_core::{Event, Interest, Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context, Filter};
use tracing_subscriber::registry::{LookupSpan, SpanRef};

use crate::callsite::Callsite;
use crate::events;
use crate::fields::{Fields, Log};
use crate::number;

/// Returns a layer that records spans and events as telemetry.
///
/// While all events of the registry `tracing` are off, it asks for no span and no event, and other
/// layers get theirs. A span that was made then stays unknown. To choose further, give it a filter
/// of `tracing_subscriber`:
///
/// ```
/// use tracing_subscriber::filter::LevelFilter;
/// use tracing_subscriber::prelude::*;
///
/// let layer = telemetry_tracing::layer().with_filter(LevelFilter::INFO);
/// let subscriber = tracing_subscriber::registry().with(layer);
/// ```
pub fn layer<S>() -> impl Layer<S> + Send + Sync
where
    S: Subscriber + for<'span> LookupSpan<'span>,
{
    Recording.with_filter(IsOn)
}

struct Recording;

/// Lets spans and events pass while any event of the registry is on.
struct IsOn;

/// What a span keeps.
#[derive(Clone, Copy)]
struct Known {
    number: u64,
    name: Label,
}

impl Known {
    /// Of no span, and of a span that was made before the layer was there.
    const NONE: Known = Known { number: 0, name: Label::NONE };

    fn of<'span>(span: Option<SpanRef<'span, impl LookupSpan<'span>>>) -> Known {
        span.and_then(|span| span.extensions().get().copied()).unwrap_or(Known::NONE)
    }
}

/// The target of events of telemetry that became events of `tracing`. The stream has them already.
pub(crate) const FORWARDED: &str = "telemetry::forward";

impl<S> Filter<S> for IsOn {
    fn callsite_enabled(&self, metadata: &'static Metadata<'static>) -> Interest {
        if metadata.target() == FORWARDED { Interest::never() } else { Interest::sometimes() }
    }

    fn enabled(&self, _: &Metadata<'_>, _: &Context<'_, S>) -> bool {
        events::__emit::MASK.iter().any(|byte| byte.load(Ordering::Relaxed) != 0)
    }
}

impl<S> Layer<S> for Recording
where
    S: Subscriber + for<'span> LookupSpan<'span>,
{
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let number = number::next();
        let callsite = Callsite::of(attributes.metadata());
        let &Callsite { name, target, level, site, .. } = callsite;
        span.extensions_mut().insert(Known { number, name });
        events::span_new!(number, Known::of(span.parent()).number, name, target, level, site);
        attributes.record(&mut Fields { callsite, owner: number });
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let callsite = Callsite::of(span.metadata());
        values.record(&mut Fields { callsite, owner: Known::of(Some(span)).number });
    }

    fn on_follows_from(&self, id: &Id, follows: &Id, context: Context<'_, S>) {
        let [span, follows] = [id, follows].map(|id| Known::of(context.span(id)).number);
        events::span_follows!(span, follows);
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let callsite = Callsite::of(event.metadata());
        let number = if callsite.has_fields() { number::next() } else { 0 };
        let mut log = Log { callsite, number, span: Known::of(context.event_span(event)).number };
        match callsite.has_message() {
            true => event.record(&mut log),
            false => log.emit(|| ""),
        }
        if callsite.has_fields() {
            event.record(&mut Fields { callsite, owner: number });
        }
    }

    fn on_enter(&self, id: &Id, context: Context<'_, S>) {
        let known = Known::of(context.span(id));
        events::span_enter!(known.number, known.name);
    }

    fn on_exit(&self, id: &Id, context: Context<'_, S>) {
        events::span_exit!(Known::of(context.span(id)).number);
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        events::span_close!(Known::of(context.span(&id)).number);
    }
}
