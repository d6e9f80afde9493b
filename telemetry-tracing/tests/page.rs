//! The page about the layer.

/// Its program is the example.
#[test]
fn the_page_quotes_the_example() {
    let page = include_str!("../../docs/tracing.md");
    let example = include_str!("../examples/requests.rs");
    let program = example.split_once("\n\n").expect("a heading").1;
    assert!(
        page.contains(&format!("```rust,ignore\n{program}```")),
        "docs/tracing.md differs from {program}"
    );
}
