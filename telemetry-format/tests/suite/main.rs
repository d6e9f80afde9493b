//! Writer and reader together: every value and every header, whole, truncated and changed.

mod documents;
mod header;
mod packing;
mod ring;
