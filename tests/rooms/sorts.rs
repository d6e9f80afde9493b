//! A `match` over parameter types or encodings names all of them, so that the compiler finds each
//! place when one is added.

use std::path::Path;

use super::table::{CRATES, SMALL};
use super::{files, root};

#[test]
fn no_wildcard_over_parameter_types() {
    let mut wrong = Vec::new();
    for name in CRATES.iter().map(|(name, _)| *name).chain(SMALL.iter().copied()) {
        let root = root(name);
        for file in files(&root) {
            let path = root.join(&file.path);
            let text = std::fs::read_to_string(&path).expect("a source file");
            let text = text.split("\n#[cfg(test)]\nmod ").next().unwrap_or_default();
            wrong.extend(wildcards(&path, text));
        }
    }
    assert!(wrong.is_empty(), "help: write out the types\n{}", wrong.join("\n"));
}

/// The arms `_ =>` beside arms that begin with a parameter type or an encoding.
fn wildcards(path: &Path, text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().collect();
    let indent = |line: &str| line.len() - line.trim_start().len();
    let mut found = Vec::new();
    for (number, line) in lines.iter().enumerate().filter(|(_, line)| line.trim_start().starts_with("_ =>")) {
        let arms = lines[..number].iter().rev().filter(|before| !before.trim().is_empty());
        let arms = arms.take_while(|before| indent(before) >= indent(line));
        let mut arms = arms.filter(|before| indent(before) == indent(line));
        if arms.any(|arm| ["Sort::", "Encoding::"].iter().any(|name| arm.trim_start().starts_with(name))) {
            found.push(format!("{}:{}: {}", path.display(), number + 1, line.trim()));
        }
    }
    found
}

#[test]
fn wildcards_are_found() {
    let check = |text: &str, expected: usize| {
        assert_eq!(wildcards(Path::new("x.rs"), text).len(), expected, "{text}");
    };
    check("match sort {\n    Sort::U8 => 1,\n    _ => 2,\n}", 1);
    check("match sort {\n    Sort::U8 => {\n        1\n    }\n\n    _ => 2,\n}", 1);
    check("match sort {\n    Sort::U8 => match x {\n        1 => 2,\n        _ => 3,\n    },\n}", 0);
    check("match x {\n    1 => Sort::U8,\n    _ => Sort::U16,\n}", 0);
}
