//! The lines of a lock file and their fields: one table that defines, writes and parses them.
//!
//! An item is a line: its word, then its fields in this order. The items of a list follow it as
//! lines of their own.

use crate::model::registry::{Clock, TypeForm, Version};
use crate::model::sort::Sort;
use crate::version::lock::field::{
    CAMEL, CLOCK, CODE, Docs, EventState, FORM, Line, QUOTED, REPR, SNAKE, State, TEXT, VERSION, YES, docs,
    keyed, lines, number, optional, word,
};
use crate::version::lock::words::{Expected, Words};

/// Defines items with the fields of their lines.
macro_rules! items {
    ($($(#[$doc:meta])* $item:ident is $word:literal {
        $($(#[$field_doc:meta])* $field:ident: $type:ty = $form:expr,)+
    })+) => { $(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq)]
        #[allow(missing_docs)]
        #[non_exhaustive]
        pub struct $item {
            $($(#[$field_doc])* pub $field: $type,)+
        }

        impl Line for $item {
            const WORD: &'static str = $word;

            fn write(&self, out: &mut String) {
                out.push_str($word);
                $($form.write(&self.$field, out);)+
            }

            fn parse_line(words: &mut Words) -> Result<Self, Expected> {
                Ok($item { $($field: $form.parse(words)?),+ })
            }
        }
    )+ };
}

items! {
    /// The content of an `events.lock`: a registry as it was released, and the codes of all events
    /// that ever existed. Docs are kept as hashes, everything else as in the registry file.
    Lock is "registry" {
        /// Name of the registry.
        registry: String = word(SNAKE, "the name of the registry"),
        /// The released version.
        version: Version = word(VERSION, "its version"),
        /// Hash of its doc.
        docs: Docs = docs(),
        /// Ordered by bit.
        kinds: Vec<LockKind> = lines("", |last: &LockKind, next| last.bit < next.bit),
        /// Ordered by name.
        types: Vec<LockType> = lines("", |last: &LockType, next| last.name < next.name),
        /// Ordered by code, with those that are no longer in the registry.
        events: Vec<LockEvent> = lines("", |last: &LockEvent, next| last.code < next.code),
        /// Ordered by name.
        spans: Vec<LockSpan> = lines("", |last: &LockSpan, next| last.name < next.name),
        /// Ordered by name.
        presets: Vec<LockPreset> = lines("", |last: &LockPreset, next| last.name < next.name),
        /// Ordered by name.
        messages: Vec<LockMessage> = lines("", |last: &LockMessage, next| last.name < next.name),
    }

    /// A kind.
    LockKind is "kind" {
        bit: u8 = word(number(), "a bit"),
        name: String = word(CAMEL, "the name of a kind"),
        clock: Clock = word(CLOCK, "a clock"),
        docs: Docs = docs(),
    }

    /// A type.
    LockType is "type" {
        name: String = word(CAMEL, "the name of a type"),
        /// The integer that encodes it.
        repr: Sort = word(REPR, "a repr"),
        form: TypeForm = word(FORM, "`enum` or `flags`"),
        docs: Docs = docs(),
        /// Ordered by number.
        values: Vec<LockValue> = lines("  ", |last: &LockValue, next| last.number < next.number),
    }

    /// A value of a type.
    LockValue is "value" {
        number: i128 = word(number(), "a number"),
        name: String = word(CAMEL, "the name of a value"),
        docs: Docs = docs(),
    }

    /// An event.
    LockEvent is "event" {
        code: u16 = word(CODE, "a code"),
        name: String = word(CAMEL, "the name of an event"),
        /// Name of its kind.
        kind: String = word(CAMEL, "the name of its kind"),
        always: bool = keyed("always", YES, false, "`always`"),
        /// As [`crate::Event::replay_text`] writes it; empty without a mark.
        replay: String = keyed("replay=", QUOTED, String::new(), "a mark in quotes"),
        /// As [`crate::Event::range_text`] writes it; empty without a mark.
        range: String = keyed("range=", QUOTED, String::new(), "a mark in quotes"),
        /// As [`crate::Event::census_text`] writes it; empty without a mark.
        census: String = keyed("census=", QUOTED, String::new(), "a mark in quotes"),
        /// Name of the parameter with the time of the event; empty without one.
        time: String = keyed("time=", SNAKE, String::new(), "the name of a parameter"),
        state: State = EventState,
        docs: Docs = docs(),
        /// In wire order.
        params: Vec<LockParam> = lines("  ", |_, _| true),
    }

    /// A parameter.
    LockParam is "param" {
        name: String = word(SNAKE, "the name of a parameter"),
        /// As [`crate::Registry::sort_text`] writes it, or the name of its [`crate::Role`].
        sort: String = word(TEXT, "a sort"),
        /// As in [`crate::Param::max`].
        max: Option<u32> = optional("max=", number(), "a number"),
        /// As in [`crate::Param::align`].
        align: u32 = keyed("align=", number(), 1, "a number"),
        /// Empty without one.
        unit: String = keyed("unit=", QUOTED, String::new(), "a unit in quotes"),
        is_counter: bool = keyed("counter", YES, false, "`counter`"),
        /// Name of the parameter that it names; empty without one.
        names: String = keyed("names=", SNAKE, String::new(), "the name of a parameter"),
        /// The space of its numbers; empty without such a mark.
        numbers: String = keyed("numbers=", SNAKE, String::new(), "the name of a parameter"),
        /// The word of [`crate::Sensitive`]; empty without one.
        sensitive: String = keyed("sensitive=", SNAKE, String::new(), "`personal` or `secret`"),
        since: Option<Version> = optional("since=", VERSION, "a version"),
        docs: Docs = docs(),
    }

    /// A span.
    LockSpan is "span" {
        name: String = word(CAMEL, "the name of a span"),
        /// Name of the event.
        begin: String = word(CAMEL, "the event that begins it"),
        /// Name of the event.
        end: String = word(CAMEL, "the event that ends it"),
        key: Option<String> = optional("key=", SNAKE, "the name of a parameter"),
        named_by: Option<String> = optional("named_by=", SNAKE, "the name of a parameter"),
        is_pause: bool = keyed("pause", YES, false, "`pause`"),
        docs: Docs = docs(),
    }

    /// A preset.
    LockPreset is "preset" {
        name: String = word(SNAKE, "the name of a preset"),
        /// As in [`crate::Preset::words`].
        words: String = word(QUOTED, "its words in quotes"),
    }

    /// A message.
    LockMessage is "message" {
        name: String = word(CAMEL, "the name of a message"),
        /// Name of the event.
        begin: String = word(CAMEL, "its event, or the one that begins it"),
        /// Name of the event. `None` for a message without an end.
        end: Option<String> = optional("end=", CAMEL, "the event that ends it"),
        key: Option<String> = optional("key=", SNAKE, "the name of a parameter"),
        /// The most that may run at once; 0 without a key.
        limit: u32 = keyed("limit=", number(), 0, "a number"),
        docs: Docs = docs(),
    }
}
