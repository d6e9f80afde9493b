//! How much of everything there can be. The rules, the sizes and the JSON Schema all take these.

/// Kinds of a registry: their switches are the bits of one word.
pub const MAX_KINDS: usize = 64;

/// Parameters of an event.
pub const MAX_PARAMS: usize = 64;

/// Bytes of an event's parameters on the wire, so that an event fits every block.
pub const MAX_EVENT_LEN: usize = 32_768;

/// Most bytes that `max` may give a string or byte string.
pub const MAX_RUN_LEN: u32 = 16_384;

/// Bytes of a string or byte string without `max`.
pub const DEFAULT_RUN_LEN: u32 = 1024;

/// Most elements of an array; the event's size usually allows fewer.
pub const MAX_ELEMENTS: u32 = 32_768;

/// Elements of an array `[sort]` without `max`.
pub const DEFAULT_ELEMENTS: u32 = 64;

/// What values can be multiples of: a large page.
pub const MAX_ALIGN: u32 = 1 << 30;

/// Characters of a name.
pub const MAX_NAME_LEN: usize = 64;

/// Characters of a unit.
pub const MAX_UNIT_LEN: usize = 16;

/// Most messages of one name that may run at once: a program keeps so many pairs ready.
pub const MAX_RUNNING: u32 = 256;

/// Messages of one name that may run at once where a relation with a `key` does not say.
pub const DEFAULT_RUNNING: u32 = 8;

/// Bytes of an `events.toml`.
pub const MAX_FILE_LEN: u64 = 4 << 20;

/// Bytes of a registry in a stream: its canonical form is at most twice as long as what was written,
/// where every character of the docs needs an escape.
pub const MAX_EMBEDDED_LEN: u64 = 2 * MAX_FILE_LEN;

/// Mistakes that are kept of one file; of the rest only the number is.
pub const MAX_DIAGNOSTICS: usize = 200;

/// Bytes of an `events.lock`: what is there of an `events.toml`, and of events that are gone.
pub const MAX_LOCK_LEN: u64 = 4 * MAX_FILE_LEN;
