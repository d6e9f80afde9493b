//! The fields of spans and events.

use std::error::Error;
use std::fmt::Debug;
use std::ops::Deref;

use tracing_core::field::{Field, Visit};

use crate::callsite::Callsite;
use crate::events;
use crate::text::Text;

/// Emits an event for each field, except for the message of an event.
pub(crate) struct Fields<'c> {
    pub(crate) callsite: &'c Callsite,
    /// Number of the span or event that has the fields.
    pub(crate) owner: u64,
}

impl Visit for Fields<'_> {
    fn record_u64(&mut self, field: &Field, value: u64) {
        events::field_u64!(self.owner, self.callsite.field(field), value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        events::field_i64!(self.owner, self.callsite.field(field), value);
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        events::field_f64!(self.owner, self.callsite.field(field), value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        events::field_bool!(self.owner, self.callsite.field(field), value);
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        if !self.callsite.is_message(field) {
            events::field_str!(self.owner, self.callsite.field(field), value);
        }
    }

    fn record_error(&mut self, field: &Field, value: &(dyn Error + 'static)) {
        self.record_debug(field, &format_args!("{value}"));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if !self.callsite.is_message(field) {
            // Nothing is formatted while the event is off.
            events::field_str!(self.owner, self.callsite.field(field), &*Text::of(value));
        }
    }
}

/// Emits the event of a call site, with its message.
pub(crate) struct Log<'c> {
    pub(crate) callsite: &'c Callsite,
    /// Number of the event; 0 if it has no fields.
    pub(crate) number: u64,
    /// Number of its span; 0 for none.
    pub(crate) span: u64,
}

impl Log<'_> {
    /// Emits the event. The message is only made if the event is on.
    pub(crate) fn emit<T: Deref<Target = str>>(&self, message: impl FnOnce() -> T) {
        let Callsite { level, target, site, .. } = *self.callsite;
        events::log_event!(self.number, self.span, level, target, site, &*message());
    }
}

impl Visit for Log<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        if self.callsite.is_message(field) {
            self.emit(|| value);
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if self.callsite.is_message(field) {
            self.emit(|| Text::of(value));
        }
    }
}
