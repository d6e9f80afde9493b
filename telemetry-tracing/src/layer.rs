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
use crate::mapped::{self, Mapped, Mapping, MappingError, Target, Values};
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

/// Returns a layer as [`layer`] does, which makes events of the program's own registries, too.
///
/// An event with the mark `tracing` in its `events.toml` is made of the span or event of that name
/// and target. `TRACING` in the module of the registry has these events. With several registries,
/// chain them. Make the layer before the first span, at the start of `main`: a call site that was
/// used before stays as it is. The marks are those of the process, for all its layers.
///
/// Values are compared with the parameters of the event when a call site is used. See
/// [`mismatches`](crate::mismatches).
///
/// # Errors
/// Two events are made of the same span or event.
pub fn layer_for<S>(
    mappings: impl IntoIterator<Item = &'static Mapping>,
) -> Result<impl Layer<S> + Send + Sync, MappingError>
where
    S: Subscriber + for<'span> LookupSpan<'span>,
{
    mapped::add(&mut mappings.into_iter())?;
    Ok(layer())
}

struct Recording;

/// Lets spans and events pass while any event of the registry is on.
struct IsOn;

/// What a span keeps.
#[derive(Clone, Copy)]
struct Known {
    number: u64,
    name: Label,
    /// The events of other registries that it became.
    mapped: Option<&'static Mapped>,
}

impl Known {
    /// Of no span, and of a span that was made before the layer was there.
    const NONE: Known = Known { number: 0, name: Label::NONE, mapped: None };

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

    fn enabled(&self, metadata: &Metadata<'_>, _: &Context<'_, S>) -> bool {
        events::__emit::MASK.iter().any(|byte| byte.load(Ordering::Relaxed) != 0) || mapped::is_on(metadata)
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
        let &Callsite { name, target, level, site, ref mapped, .. } = callsite;
        let parent = Known::of(span.parent()).number;
        let record = |values: &mut Values| attributes.record(values);
        let mapped = mapped.as_ref().filter(|Mapped { new, .. }| {
            let metadata = attributes.metadata();
            new.as_ref().is_none_or(|new| become_event(new, metadata, record, number, parent))
        });
        span.extensions_mut().insert(Known { number, name, mapped });
        if let Some(Mapped { close, .. }) = mapped {
            if close.is_some() {
                // Values are formatted before anything of the span is locked.
                let values = Values::of(record);
                span.extensions_mut().insert(values);
            }
            return;
        }
        events::span_new!(number, parent, name, target, level, site);
        attributes.record(&mut Fields { callsite, owner: number });
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let callsite = Callsite::of(span.metadata());
        if Known::of(context.span(id)).mapped.is_some() {
            let later = Values::of(|kept| values.record(kept));
            if let Some(values) = span.extensions_mut().get_mut::<Values>() {
                values.update(later);
            }
            return;
        }
        values.record(&mut Fields { callsite, owner: Known::of(Some(span)).number });
    }

    fn on_follows_from(&self, id: &Id, follows: &Id, context: Context<'_, S>) {
        let [span, follows] = [id, follows].map(|id| Known::of(context.span(id)).number);
        events::span_follows!(span, follows);
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let callsite = Callsite::of(event.metadata());
        let span = Known::of(context.event_span(event)).number;
        if let Some(Mapped { new: Some(new), .. }) = &callsite.mapped
            && become_event(new, event.metadata(), |values| event.record(values), span, 0)
        {
            return;
        }
        let number = if callsite.has_fields() { number::next() } else { 0 };
        let mut log = Log { callsite, number, span };
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
        let Some(span) = context.span(&id) else { return };
        let known = Known::of(context.span(&id));
        let Some(Mapped { close, .. }) = known.mapped else {
            return events::span_close!(known.number);
        };
        if let Some(close) = close
            && close.is_on()
        {
            let values = span.extensions_mut().remove::<Values>().unwrap_or_default();
            close.emit(span.metadata(), &values, known.number, Known::of(span.parent()).number);
        }
    }
}

/// Emits the event of a mark, if it is on. False if a value does not fit.
fn become_event(
    target: &Target,
    metadata: &Metadata<'_>,
    record: impl FnOnce(&mut Values),
    span: u64,
    parent: u64,
) -> bool {
    // Nothing is formatted while the event is off.
    !target.is_on() || target.emit(metadata, &Values::of(record), span, parent)
}
