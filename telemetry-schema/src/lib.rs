//! The meaning of a telemetry relation.
//!
//! [`parse`] turns the text of an `events.toml` into a checked [`Registry`], or into everything
//! that is wrong with it. The macro, the generators, the decoders and the tools all call it.

mod canonical;
mod check;
mod diagnostic;
mod emitters;
pub mod keys;
pub mod limits;
mod load;
mod model;
mod size;
mod slots;
mod snippet;
mod sort;
mod syntax;
mod words;

pub use diagnostic::{Diagnostic, Invalid, Label};
pub use load::{LoadCause, LoadError, load};
pub use model::*;
pub use slots::Slots;
pub use sort::Sort;
pub use words::{RESERVED, snake_case};

/// Reads and checks an `events.toml`.
///
/// Never panics, whatever the text.
///
/// # Errors
/// Everything that is wrong with it, at once.
pub fn parse(text: &str) -> Result<Registry, Invalid> {
    check::check(text, check::Origin::File)
}

/// Reads a registry that was accepted before: one that comes out of a stream, or the framework's own.
///
/// As [`parse`], except that what a later version may have added or come to refuse does no harm:
/// unknown keys are passed over, and names may be keywords or reserved. So a stream can be read
/// whose registry is older or newer than the reader.
///
/// # Errors
/// As [`parse`].
pub fn parse_embedded(text: &str) -> Result<Registry, Invalid> {
    check::check(text, check::Origin::Embedded)
}
