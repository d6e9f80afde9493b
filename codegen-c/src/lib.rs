//! C and C++ for registries: a header for each, and the package of a library with their events.
//!
//! A header has a macro for each event, which tests the event's switch before it evaluates the
//! arguments. The functions behind the macros are in the library, which is Rust: the package uses
//! the attribute `telemetry_event` with the argument `c`. So nothing is implemented twice.

mod output;
mod text;

use telemetry_schema::Registry;

pub use output::library::{File, RUNTIME_HEADER, Source};
pub use text::comment::MARK;
pub use text::names::Clash;

/// Returns the header of a registry, for C99 and C++11. It depends on the registry alone.
///
/// # Errors
/// If two things would have one name in C.
pub fn header(registry: &Registry) -> Result<String, Clash> {
    text::names::check(&[registry])?;
    Ok(output::header::header(registry))
}

/// Returns the files of a package whose library has the events of all registries, with paths from
/// its folder. `runtime` is the path of the package `telemetry-events` from there, or `None` to use
/// the published one.
///
/// # Errors
/// If two things would have one name in C.
pub fn library(sources: &[Source<'_>], runtime: Option<&str>) -> Result<Vec<File>, Clash> {
    let registries: Vec<&Registry> = sources.iter().map(|source| source.registry).collect();
    text::names::check(&registries)?;
    Ok(output::library::files(sources, runtime))
}

#[cfg(test)]
mod tests;
