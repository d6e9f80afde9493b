//! The words of this project: what people read is plain American English, and the book is whole.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

mod markdown;
mod words;

use markdown::{Paragraph, anchor, comments, docstrings, links, paragraphs, registry_docs};
use words::{BRITISH, MAX_LINE_LEN, MAX_SENTENCE_LEN, UNCLEAR};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Files below the root with one of these endings, sorted, as paths from there.
///
/// What builds leave is not among them, nor is test data: snapshots, other systems' logs, and
/// streams and registries of old versions. A released registry is not either, nor are its copies:
/// its texts change with its next version.
fn files(endings: &[&str]) -> Vec<PathBuf> {
    const NOT: [&str; 8] =
        ["target", "node_modules", "snapshots", "golden", "data", "seeds", "words.rs", "own_registry.py"];
    fn walk(folder: &Path, into: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry")) {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if name.starts_with(".git") || NOT.contains(&&*name) {
                continue;
            }
            let path = entry.path();
            match path.is_dir() {
                true => walk(&path, into),
                false => into.push(path.strip_prefix(root()).expect("below the root").to_path_buf()),
            }
        }
    }
    let mut all = Vec::new();
    walk(root(), &mut all);
    let locks = all.iter().filter(|path| path.extension().is_some_and(|end| end == "lock"));
    let released: BTreeSet<_> = locks
        .filter(|path| !path.ends_with("Cargo.lock"))
        .map(|path| path.with_extension("toml").file_name().expect("a name").to_os_string())
        .collect();
    all.retain(|path| {
        let name = path.file_name().expect("a name");
        endings.iter().any(|ending| name.to_string_lossy().ends_with(ending)) && !released.contains(name)
    });
    all.sort();
    all
}

fn check(findings: &[String], help: &str) {
    assert!(findings.is_empty(), "{} findings; {help}\n{}", findings.len(), findings.join("\n"));
}

/// The words of a line, in lower case. An identifier is several, or one.
fn lower_words(line: &str, splits_identifiers: bool) -> String {
    let is_part = |c: char| c.is_ascii_alphabetic() || (c == '_' && !splits_identifiers);
    let words = line.split(|c| !is_part(c)).filter(|word| !word.is_empty());
    let mut text = words.fold(String::from(" "), |text, word| text + word + " ");
    text.make_ascii_lowercase();
    text
}

#[test]
fn unclear_words_and_british_forms() {
    let mut findings = Vec::new();
    for path in files(&[".md", ".rs", ".toml", ".py", ".h", ".yml", ".sh"]) {
        for (number, line) in read(&root().join(&path)).lines().enumerate() {
            // Names of functions are words, too; for spelling, an identifier is one word.
            for (list, words) in [(UNCLEAR, lower_words(line, true)), (BRITISH, lower_words(line, false))] {
                for (bad, good) in list {
                    if words.contains(&format!(" {bad} ")) {
                        findings.push(format!("{}:{}: `{bad}`: write {good}", path.display(), number + 1));
                    }
                }
            }
        }
    }
    check(&findings, "help: tests/prose/words.rs has the list");
}

#[test]
fn lines_and_sentences_are_short() {
    let mut findings = Vec::new();
    for path in files(&[".md"]) {
        for paragraph in paragraphs(&read(&root().join(&path))) {
            for (number, line) in &paragraph.lines {
                let length = line.chars().count();
                if length > MAX_LINE_LEN && line.trim().contains(' ') {
                    findings.push(format!("{}:{number}: {length} characters", path.display()));
                }
            }
            findings.extend(long_sentences(&path, &paragraph));
        }
    }
    let help = format!(
        "help: at most {MAX_LINE_LEN} characters a line outside of tables, {MAX_SENTENCE_LEN} words a sentence"
    );
    check(&findings, &help);
}

/// The sentences of a paragraph that are too long.
fn long_sentences(path: &Path, paragraph: &Paragraph) -> Vec<String> {
    let number = paragraph.lines[0].0;
    let words =
        |text: &str| text.split_whitespace().filter(|word| word.contains(char::is_alphanumeric)).count();
    let long = paragraph.sentences().into_iter().filter(|sentence| words(sentence) > MAX_SENTENCE_LEN);
    long.map(|sentence| format!("{}:{number}: {} words: {sentence}", path.display(), words(&sentence)))
        .collect()
}

/// The comments that rustdoc shows, and clap as help, and the other comments. The documentation of
/// Python, and that of events.
#[test]
fn comments_have_short_sentences() {
    let mut findings = Vec::new();
    for path in files(&[".rs", ".py", ".toml"]) {
        let text = read(&root().join(&path));
        let all: Vec<_> = match path.extension().and_then(|ending| ending.to_str()) {
            Some("rs") => ["///", "//!", "//"].map(|sign| paragraphs(&comments(&text, sign))).concat(),
            Some("py") => [docstrings(&text), comments(&text, "# ")].map(|text| paragraphs(&text)).concat(),
            _ => registry_docs(&text),
        };
        findings.extend(all.iter().flat_map(|paragraph| long_sentences(&path, paragraph)));
    }
    check(&findings, &format!("help: at most {MAX_SENTENCE_LEN} words a sentence"));
}

#[test]
fn comments_have_short_lines() {
    let mut findings = Vec::new();
    for path in files(&[".rs"]) {
        for (number, line) in read(&root().join(&path)).lines().enumerate() {
            let length = line.chars().count();
            if length > MAX_LINE_LEN && line.trim_start().starts_with("//") && !line.contains("://") {
                findings.push(format!("{}:{}: {length} characters", path.display(), number + 1));
            }
        }
    }
    check(&findings, &format!("help: at most {MAX_LINE_LEN} characters a line"));
}

/// Links within the project lead to a file, and to a heading of it.
#[test]
fn links_lead_somewhere() {
    let mut findings = Vec::new();
    for path in files(&[".md"]) {
        for (number, link) in links(&read(&root().join(&path))) {
            let (file, heading) = link.split_once('#').unwrap_or((&link, ""));
            let target = match file {
                "" => root().join(&path),
                file => root().join(&path).parent().expect("a folder").join(file),
            };
            let is_there = target.exists()
                && (heading.is_empty()
                    || read(&target).lines().any(|line| line.starts_with('#') && anchor(line) == heading));
            if !is_there {
                findings.push(format!("{}:{number}: nothing at {link}", path.display()));
            }
        }
    }
    check(&findings, "help: correct the path, or the heading");
}

/// The pages that a newcomer reads first.
#[test]
fn the_first_pages_are_short() {
    for (name, most) in [("README.md", 150), ("ARCHITECTURE.md", 250)] {
        let lines = read(&root().join(name)).lines().count();
        assert!(lines <= most, "{name} has {lines} lines; help: at most {most}");
    }
}

/// Every page of docs/ is in the table of contents of the book, once.
#[test]
fn the_book_has_every_page() {
    let summary = read(&root().join("docs/SUMMARY.md"));
    let listed: Vec<_> =
        links(&summary).into_iter().map(|(_, link)| PathBuf::from("docs").join(link)).collect();
    let unique: BTreeSet<_> = listed.iter().cloned().collect();
    assert_eq!(listed.len(), unique.len(), "docs/SUMMARY.md lists a page twice");
    let pages = files(&[".md"]).into_iter().filter(|path| path.starts_with("docs"));
    let pages: BTreeSet<_> = pages.filter(|path| !path.ends_with("SUMMARY.md")).collect();
    assert_eq!(pages, unique, "docs/SUMMARY.md and the pages of docs/ differ");
}

/// The glossary is in alphabetical order, and has each term once.
#[test]
fn the_glossary_is_in_order() {
    let glossary = read(&root().join("docs/glossary.md"));
    let terms: Vec<_> =
        glossary.lines().filter_map(|line| line.strip_prefix("| *")?.split('*').next()).collect();
    assert!(terms.len() > 20, "{terms:?}");
    let sorted: Vec<_> = terms.iter().copied().collect::<BTreeSet<_>>().into_iter().collect();
    assert_eq!(terms, sorted);
}
