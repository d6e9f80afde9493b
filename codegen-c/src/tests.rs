//! The generated text. `.ci/c` compiles it, and runs programs with it.

use telemetry_schema::{Registry, parse};

use crate::Source;

fn registry(name: &str, text: &str) -> Registry {
    parse(text).unwrap_or_else(|invalid| panic!("{}", invalid.render(name, text)))
}

fn check(name: &str, text: &str) {
    let header = super::header(&registry(name, text)).expect("no clash");
    assert_eq!(header, super::header(&registry(name, text)).expect("no clash"), "the same each time");
    insta::assert_snapshot!(name, header);
}

#[test]
fn header_of_a_small_registry() {
    check("cache", include_str!("../tests/cache.toml"));
}

#[test]
fn header_of_every_sort() {
    check("every_sort", telemetry_testing::made::REGISTRY);
}

#[test]
fn header_of_awkward_names() {
    check("awkward", include_str!("../tests/awkward.toml"));
}

#[test]
fn header_with_stacks() {
    check("stacks", include_str!("../tests/stacks.toml"));
}

#[test]
fn files_of_a_library() {
    let (one, other) = (
        registry("cache", include_str!("../tests/cache.toml")),
        registry("made", telemetry_testing::made::REGISTRY),
    );
    let sources = [
        Source { registry: &one, path: "../cache.toml" },
        Source { registry: &other, path: "../deep \"er\"/made.toml" },
    ];
    let files = super::library(&sources, Some("../../telemetry")).expect("no clash");
    let is_snapped = |path: &str| !path.ends_with(".h") && !path.ends_with(".cmake");
    let text: Vec<String> = files
        .iter()
        .map(|file| match is_snapped(&file.path) {
            true => format!("=== {}\n{}", file.path, file.text),
            false => format!("=== {}\n", file.path),
        })
        .collect();
    insta::assert_snapshot!("library", text.concat());
    assert!(files.iter().all(|file| file.text.lines().take(5).any(|line| line.contains(super::MARK))));
    let published = super::library(&sources, None).expect("no clash");
    let version = format!("telemetry-events = \"={}\"", env!("CARGO_PKG_VERSION"));
    assert!(published[0].text.contains(&version), "{}", published[0].text);
}

/// Events, types and values of one name in C.
#[test]
fn names_that_clash() {
    let check = |name: &str, types: &str, event: &str, expected: &str| {
        let text = format!(
            "[registry]\nname = \"{name}\"\nversion = \"1.0.0\"\ndoc = \"d\"\n[kinds]\nK = {{ bit = 0, doc = \"d\" }}\n\
             {types}\n[[event]]\nname = \"{event}\"\ncode = 1\nkind = \"K\"\ndoc = \"d\"\n"
        );
        let other = registry("other", include_str!("../tests/cache.toml"));
        let registry = registry(name, &text);
        let sources = [&other, &registry].map(|registry| Source { registry, path: "events.toml" });
        let found =
            super::library(&sources, None).map(|files| files.len()).map_err(|clash| clash.to_string());
        assert_eq!(found, Err(expected.to_string()));
    };
    let types = "[types.Foo]\nrepr = \"u8\"\nvalues = { BarBaz = 1 }\n[types.FooBar]\nrepr = \"u8\"\nvalues = { Baz = 1 }";
    check(
        "a",
        types,
        "E",
        "value a:Foo.BarBaz and value a:FooBar.Baz both have the name `A_FOO_BAR_BAZ` in C; help: rename one of them",
    );
    check(
        "cache",
        "",
        "E",
        "registry cache and registry cache both have the name `<cache.h>` in C; help: rename one of them",
    );
}

/// The runtime's header is in both packages, because each is published alone.
#[test]
fn the_header_is_that_of_the_runtime() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../telemetry-runtime/include/telemetry.h");
    let runtime = std::fs::read_to_string(path).expect("the header");
    assert!(runtime == super::RUNTIME_HEADER, "copy {path} to codegen-c/include");
}
