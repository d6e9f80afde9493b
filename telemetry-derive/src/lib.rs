//! `#[telemetry_event("events.toml")]`: the attribute that fills a module with the emitters, types
//! and decoders of a registry. `#[span(events::Gc)]`: the attribute that makes a function a span.
//!
//! This crate reads the file, has `telemetry-schema` check it, and turns the registry into tokens.
//! It has no rules of its own about registries. The code that the tokens call is written by hand,
//! in `telemetry-runtime` and `telemetry-decode`.

mod input;
mod output;
mod parts;

use proc_macro::TokenStream;

/// Fills a module with the items of a registry.
///
/// ```text
/// #[telemetry_event("events.toml")]
/// pub mod events {}
///
/// events::trace_start!(trace, events::TraceWhy::NurseryFull, condemned);
/// ```
///
/// The path is relative to the package's `Cargo.toml`. These arguments may follow, separated by
/// commas:
///
/// - `c` adds functions that programs in C call, for the headers of `telemetry c`. `docs/c.md` in
///   the repository describes them. The output then has `unsafe` code.
/// - `decode` adds typed decoders. It needs the feature `decode` of `telemetry`.
/// - `at = "outer::events"` is the module's path from the root of its crate, if that is not its
///   name. The emitters are macros and need that path, which the compiler does not tell them. If
///   the module is private and re-exported, `at` is the path of the re-export, so that other crates
///   can use it. A module in a function has no path and is refused.
/// - `crate = "::path"` is the path of the crate `telemetry`, if that is not `::telemetry`.
///
/// The module then has
///
/// - for each event a macro, `trace_start!` for `TraceStart`, which takes the event's parameters.
///   They are evaluated only if the event is on. They are type-checked even if it is compiled out;
/// - for each span a macro, `trace_scope!` for `Trace`, which emits the begin, and the end when the
///   value that it returns is dropped: see [`span`](macro@span);
/// - for each type of the registry an enum, or a struct for flags;
/// - for each message of the registry a type in the module `messages`, by which the program
///   receives it;
/// - `REGISTRY`, the [`Registry`](../telemetry_runtime/struct.Registry.html);
/// - with `decode`, a struct for each event, the enum `Event` over them, and `Decoder`. If events
///   are marked `replay`, also the trait `Replay` with a method for each.
///
/// Items inside the braces of the module stay in it. Cargo recompiles the crate when the registry
/// file or its lock file changes. The lock file is beside it and has its name, with `.lock` for
/// `.toml`. A new lock file takes effect when the crate is compiled next.
///
/// # Errors
/// All mistakes in the registry file are reported at once, each with its place in the file. Uses of
/// the module then cause no further errors. If there is a lock file, the attribute also reports
/// changes since the release that need a higher version. It refuses a lock file that was edited.
/// Without a lock file nothing is compared.
///
/// A wrong call of an emitter is reported at the call. If the number of arguments is wrong, the
/// error lists the parameters with their types, units and docs.
#[proc_macro_attribute]
pub fn telemetry_event(args: TokenStream, item: TokenStream) -> TokenStream {
    output::module::expand(args.into(), item.into()).into()
}

/// Makes a function a span of a registry: its begin is emitted first, its end on every way out.
///
/// ```text
/// #[telemetry::span(events::Trace(trace, why; freed.get()))]
/// fn collect(trace: &Trace, why: events::TraceWhy, freed: &Cell<usize>) { ... }
/// ```
///
/// The ways out are the end of the function, `return`, `?`, and a panic that unwinds. In
/// parentheses are the arguments of the begin, and after a `;` those of the end besides the key.
/// Arguments of the begin are evaluated when the function is called, and those of the end when it
/// ends. Both are evaluated only if their event is on. If the begin was off, the end is not
/// emitted.
///
/// The attribute puts the macro of the span's scope, such as `events::trace_scope!`, before the
/// first statement. Use the macro itself for a span that is a part of a function:
///
/// ```text
/// let _trace = events::trace_scope!(trace, why; freed.get());
/// ```
///
/// An async function is a span from its first poll until it has ended or is dropped. It may move
/// between threads, so the span must have a `key`.
///
/// # Errors
/// The attribute refuses const functions, functions without a body, and async functions whose span
/// has no `key`. A span whose key is a string or bytes has no scope. Nor has the span `Trace` if
/// there is an event `TraceScope`.
#[proc_macro_attribute]
pub fn span(args: TokenStream, item: TokenStream) -> TokenStream {
    output::span::expand(args.into(), item.into()).into()
}
