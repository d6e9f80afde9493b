//! The package of a library with the events of several registries.

use telemetry_schema::Registry;

use crate::output::header::header;
use crate::text::comment::MARK;

/// The header of the runtime's functions: control, snapshots, labels, messages.
pub const RUNTIME_HEADER: &str = include_str!("../../include/telemetry.h");

/// A registry, and the path of its file from the folder of the package.
#[derive(Debug, Clone, Copy)]
pub struct Source<'r> {
    /// The registry.
    pub registry: &'r Registry,
    /// The path, with `/` between folders.
    pub path: &'r str,
}

/// A file of the package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// The path from the folder of the package.
    pub path: String,
    /// The text.
    pub text: String,
}

/// Returns all files.
pub(crate) fn files(sources: &[Source<'_>], runtime: Option<&str>) -> Vec<File> {
    let names: Vec<&str> = sources.iter().map(|source| source.registry.name.as_str()).collect();
    let names = names.join(", ");
    let file = |path: &str, text: String| File { path: path.to_owned(), text };
    let version = env!("CARGO_PKG_VERSION");
    let filled = |text: &str| {
        let dependency = match runtime {
            Some(path) => format!("{{ path = {path:?} }}"),
            None => format!("\"={version}\""),
        };
        let text = text.replace("@MARK@", MARK).replace("@VERSION@", version);
        text.replace("@REGISTRIES@", &names).replace("@DEPENDENCY@", &dependency)
    };
    let mut all = vec![
        file("Cargo.toml", filled(include_str!("library/Cargo.toml.in"))),
        file("src/lib.rs", filled(include_str!("library/lib.rs.in")) + &modules(sources)),
        file("pkgconfig/telemetry-events.pc", filled(include_str!("library/static.pc.in"))),
        file("pkgconfig/telemetry-events-shared.pc", filled(include_str!("library/shared.pc.in"))),
        file(
            "lib/cmake/telemetry_events/telemetry_events-config.cmake",
            filled(include_str!("library/config.cmake.in")),
        ),
        file("include/telemetry.h", format!("/* {MARK}: the functions of the runtime. */\n{RUNTIME_HEADER}")),
    ];
    all.extend(
        sources
            .iter()
            .map(|Source { registry, .. }| file(&format!("include/{}.h", registry.name), header(registry))),
    );
    all
}

/// Returns a module for each registry. Its file is named, and not copied: the macro checks it.
fn modules(sources: &[Source<'_>]) -> String {
    let modules = sources.iter().map(|Source { registry, path }| {
        format!("\n#[telemetry::telemetry_event({path:?}, c)]\npub mod {} {{}}\n", registry.name)
    });
    modules.collect()
}
