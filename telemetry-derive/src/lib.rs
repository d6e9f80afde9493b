//! `#[telemetry_event("events.toml")]`: a module becomes the emitters, types and decoders of a
//! relation.
//!
//! This crate reads the file, has `telemetry-schema` check it, and turns the registry into tokens.
//! It has no rules of its own about registries; what the tokens do is written by hand in
//! `telemetry-runtime` and `telemetry-decode`.

mod args;
mod decode;
mod docs;
mod emit;
mod fallback;
mod messages;
mod module;
mod relation;
mod replay;
mod sorts;
mod source;
#[cfg(test)]
mod tests;
mod types;

use proc_macro::TokenStream;

/// Makes a module of a relation.
///
/// ```text
/// #[telemetry_event("events.toml")]
/// pub mod events {}
///
/// events::trace_start!(trace, events::TraceWhy::NurseryFull, condemned);
/// ```
///
/// The path is relative to the package's `Cargo.toml`. After it may come, separated by commas:
///
/// - `decode`: typed decoders too; needs the feature `decode` of `telemetry`.
/// - `at = "outer::events"`: where the module is, if not at the root of its crate. The macros need
///   to know their own path, which nothing tells them.
/// - `crate = "::path"`: where the crate `telemetry` is, if not there.
///
/// The module then has
///
/// - for each event a macro, `trace_start!` for `TraceStart`, which takes the event's parameters.
///   They are evaluated only if the event is on, and type-checked also if it is compiled out;
/// - for each type of the relation an enum, or a struct for flags;
/// - for each message of the relation a type in the module `messages`, by which the program hears of it;
/// - `REGISTRY`, the [`Registry`](../telemetry_runtime/struct.Registry.html);
/// - with `decode`, a struct for each event, the enum `Event` over them, and `Decoder`; if events
///   are marked `replay`, the trait `Replay` with a method for each.
///
/// What the module has in its braces stays in it. Its crate is compiled anew when the file changes, or
/// its lock, which is beside it and called as it, with `.lock` for `.toml`. A lock that appears is
/// looked at when the crate is compiled next.
///
/// # Errors
/// All mistakes of the relation are reported at once, each with its place in the file. With a lock, so
/// are all changes since the release that the version is not raised for, and a lock that is not as it
/// was written. Without one nothing is compared.
#[proc_macro_attribute]
pub fn telemetry_event(args: TokenStream, item: TokenStream) -> TokenStream {
    module::expand(args.into(), item.into()).into()
}
