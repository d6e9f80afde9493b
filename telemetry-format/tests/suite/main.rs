//! Writer and reader together: every value and every header, whole, truncated and changed.

mod calendar;
mod causes;
mod documents;
mod encodings;
mod header;
mod numbers;
mod packing;
mod ring;
