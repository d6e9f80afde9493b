//! Writer beside reader: every value and every header, whole, cut and flipped.

mod header;
mod packing;
mod ring;
