//! The lists of this crate as other places repeat them: documents, and the Python reader.

use std::path::Path;

use telemetry_format::{BUILD_VARIABLES, LossCause, Notice, NoticeTag, VARIABLES};

fn text(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Each document has a table of the causes, in the order of the list and with its terms.
#[test]
fn loss_causes_are_documented() {
    for document in ["docs/runtime.md", "docs/format.md"] {
        let text = text(document);
        let (_, table) = text.split_once("| cause |").expect(document);
        let (table, _) = table.split_once("\n\n").expect(document);
        let cells = table.lines().filter_map(|line| line.split('|').nth(2)).map(str::trim);
        let causes: Vec<_> = cells.filter(|cell| !cell.is_empty() && !cell.starts_with('-')).collect();
        assert_eq!(causes, LossCause::ALL.map(LossCause::text), "{document}");
    }
    let codes = LossCause::ALL.map(|cause| format!("`{}`", cause.code())).join(", ");
    assert!(text("docs/cli.md").contains(&format!("| {codes} |")), "docs/cli.md lacks {codes}");
}

#[test]
fn loss_causes_of_the_python_reader_are_the_same() {
    let support = text("codegen-python/python/telemetry_events/accounts.py");
    for (cause, field) in LossCause::ALL.into_iter().zip(["lost_pool", "lost_reentrant", "lost_sink"]) {
        let row = format!("(self.{field}, \"{}\"),", cause.text());
        assert!(support.contains(&row), "accounts.py lacks {row}");
    }
}

#[test]
fn notices_are_documented() {
    let text = text("docs/runtime.md");
    let (_, section) = text.split_once("### Notices").unwrap();
    let (section, _) = section.split_once("\n## ").unwrap();
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
    let codes: Vec<_> = rows.map(|(code, _)| code).collect();
    assert_eq!(codes, Notice::ALL.map(Notice::code));
}

#[test]
fn variables_are_documented() {
    let text = text("docs/runtime.md");
    let (_, section) = text.split_once("\n## Environment").unwrap();
    let (section, _) = section.split_once("\n### ").unwrap();
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
    let names: Vec<_> = rows.map(|(name, _)| name).collect();
    assert_eq!(names, [&VARIABLES[..], &BUILD_VARIABLES].concat());
}

#[test]
fn tags_are_read_back() {
    for notice in Notice::ALL {
        for errno in [None, Some(28), Some(-1)] {
            let tag = NoticeTag { notice, errno };
            assert_eq!(NoticeTag::parse(&format!("{tag} a [text]")), Some((tag, "a [text]")));
        }
    }
    for text in
        ["", "[", "[sink-failed", "[sink failed] x", "[sink-failed 1x] x", " [sink-failed] x", "[new-code] x"]
    {
        assert_eq!(NoticeTag::parse(text), None, "{text}");
    }
}
