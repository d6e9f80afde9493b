//! The limits of registries. The rules, the sizes and the JSON Schema all use them.

/// Kinds of a registry: their switches are the bits of one word.
pub const MAX_KINDS: usize = 64;

/// Parameters of an event.
pub const MAX_PARAMS: usize = 64;

/// Bytes of an event's parameters on the wire, so that an event fits every block.
pub const MAX_EVENT_LEN: usize = 32_768;

/// The most bytes that `max` may give a string or byte string.
pub const MAX_RUN_LEN: u32 = 16_384;

/// Bytes of a string or byte string without `max`.
pub const DEFAULT_RUN_LEN: u32 = 1024;

/// The most elements of an array; the event's size usually allows fewer.
pub const MAX_ELEMENTS: u32 = 32_768;

/// Elements of an array `[sort]` without `max`.
pub const DEFAULT_ELEMENTS: u32 = 64;

/// The largest alignment of values: a large page.
pub const MAX_ALIGN: u32 = 1 << 30;

/// The most bytes that a value may be said to take usually: an emitter writes longer ones out of
/// line.
pub const MAX_USUAL: u8 = 4;

/// Characters of a name.
pub const MAX_NAME_LEN: usize = 64;

/// Characters of a unit.
pub const MAX_UNIT_LEN: usize = 16;

/// The most messages of one name that may run at once: a program keeps this number of pairs ready.
pub const MAX_RUNNING: u32 = 256;

/// The default for the messages of one name with a `key` that may run at once.
pub const DEFAULT_RUNNING: u32 = 8;

/// The most spans that a rule may allow to be open at once.
pub const MAX_OPEN_AT_MOST: u32 = 1_000_000;

/// The most events of a second that `limit` may allow a thread.
pub const MAX_PER_SECOND: u32 = 1_000_000_000;

/// The most events at once that `limit` may allow a thread.
pub const MAX_BURST: u32 = 1_000_000_000;

/// The largest `one_in` of `sample`.
pub const MAX_ONE_IN: u32 = 1_000_000_000;

/// Bytes of an `events.toml`.
pub const MAX_FILE_LEN: u64 = 4 << 20;

/// Bytes of a registry in a stream. Its canonical form is at most twice as long as the file, if
/// every character of the docs needs an escape.
pub const MAX_EMBEDDED_LEN: u64 = 2 * MAX_FILE_LEN;

/// The most mistakes of one file that are kept; the others are counted.
pub const MAX_DIAGNOSTICS: usize = 200;

/// Bytes of an `events.lock`, with the data of an `events.toml` and of removed events.
pub const MAX_LOCK_LEN: u64 = 4 * MAX_FILE_LEN;
