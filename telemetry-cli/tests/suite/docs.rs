//! The transcripts and tables in docs/address.md, census.md, cli.md, diff.md, exports.md,
//! limits.md, marks.md, rules.md, sampling.md, sensitive.md and top.md are what the command prints
//! and accepts.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use crate::registries::released;
use crate::run::{Folder, commands, run};
use crate::spans;
use crate::streams::{GC, blocks, events_blocks, gc, image, marked};
use crate::versions::CACHE;

#[test]
fn samples_are_real() {
    let whole = gc();
    let parts = blocks(&whole);
    let mut broken = whole.clone();
    let start = parts[..events_blocks(&parts)[1]].concat().len();
    broken[start + 150] ^= 1;
    let folder = Folder::new()
        .with("gc.tel", whole)
        .with("server.tel", crate::validate::server())
        .with("limited.tel", crate::limits::limited())
        .with("shop.tel", crate::sensitive::shop())
        .with("key", crate::sensitive::KEY)
        .with("spans.tel", spans::stream())
        .with("cache.tel", crate::unused::rarely_used())
        .with("broken.tel", broken)
        .with("before.tel", crate::diff::phases(1, 100))
        .with("after.tel", crate::diff::phases(3, 130))
        .with("alloc.tel", crate::replay::sound())
        .with("heap.tel", crate::address::sound())
        .with("census.tel", crate::census::sound())
        .with("app.ring", image(&gc(), 3))
        .with("marked.tel", marked())
        .with("sampled.tel", spans::sampled())
        .with("events.toml", GC)
        .with("events.lock", released(GC))
        .with("cache.toml", CACHE.replace("unit = \"bytes\"", "unit = \"pages\""))
        .with("cache.lock", released(CACHE))
        .with("new.toml", CACHE)
        .with("broken.toml", GC.replacen("sort = \"W\"", "sort = \"Word\"", 1));
    for (page, expected) in [
        ("address.md", 2),
        ("census.md", 2),
        ("cli.md", 30),
        ("diff.md", 3),
        ("exports.md", 1),
        ("limits.md", 2),
        ("marks.md", 2),
        ("rules.md", 1),
        ("sensitive.md", 8),
        ("sampling.md", 1),
        ("top.md", 1),
    ] {
        samples_of(&folder, page, expected);
    }
}

fn samples_of(folder: &Folder, page: &str, expected: usize) {
    let docs = std::fs::read_to_string(path(page)).unwrap();
    let mut fresh = String::new();
    let mut rest = docs.as_str();
    let mut samples = 0;
    while let Some((before, sample)) = rest.split_once("```console\n$ telemetry ") {
        let (sample, behind) = sample.split_once("```").unwrap();
        let args = sample.lines().next().unwrap();
        // What is in single quotes is one argument.
        let words = args.split('\'').enumerate().flat_map(|(number, part)| match number % 2 {
            0 => part.split_whitespace().collect(),
            _ => vec![part],
        });
        let run = run(folder.command("").args(words), &[]);
        let printed = String::from_utf8(run.stdout).unwrap() + &run.stderr;
        write!(fresh, "{before}```console\n$ telemetry {args}\n").unwrap();
        // Lines of `txt` end in a space, which editors remove.
        printed.trim_end().lines().for_each(|line| writeln!(fresh, "{}", line.trim_end()).unwrap());
        fresh += "```";
        rest = behind;
        samples += 1;
    }
    fresh += rest;
    assert_eq!(samples, expected, "{page}");
    check(page, &docs, &fresh);
}

/// The rules in docs/rules.md are those of the registry that its examples use.
#[test]
fn rules_are_those_of_the_registry() {
    let docs = std::fs::read_to_string(path("rules.md")).unwrap();
    let registry = std::fs::read_to_string(path("../tests/registries/served.toml")).unwrap();
    let (_, rest) = docs.split_once("```toml\n").unwrap();
    let (rules, _) = rest.split_once("```").unwrap();
    assert!(registry.ends_with(rules), "docs/rules.md has other rules than tests/registries/served.toml");
}

/// The tables of commands and options are those of `--help`.
#[test]
fn tables_are_complete() {
    let folder = Folder::new();
    let help = |args: &str| String::from_utf8(folder.run(args).stdout).unwrap();
    let mut table_of_commands = String::new();
    let mut table_of_options = String::new();
    let mut all = BTreeSet::new();
    let top = help("--help");
    for line in top.split_once("Options:\n").unwrap().0.lines().skip(3) {
        if let Some(title) = line.strip_suffix(':') {
            writeln!(table_of_commands, "| **{title}** | |").unwrap();
        } else if let Some((command, about)) = line.strip_prefix("  ").and_then(|line| line.split_once("  "))
        {
            let place = match command {
                "mono-debug" | "mono-report" => "mono-debug-and-mono-report",
                "completions" | "man" => "completions-and-man",
                command => command,
            };
            writeln!(table_of_commands, "| [`{command}`](#{place}) | {} |", about.trim()).unwrap();
        }
    }
    for command in commands(&folder) {
        let text = help(&format!("{command} --help"));
        let mut options = Vec::new();
        for (heading, line) in headed(&text) {
            let option = line.split("  ").next().unwrap();
            all.extend(option.split([' ', ',']).filter(|word| word.starts_with("--")).map(str::to_string));
            if heading != "Filters" && !option.contains("--help") && !option.contains("--quiet") {
                options.push(format!("`{}`", option.replace("...", "").replace('|', "\\|")));
            }
        }
        options.extend(text.contains("Filters:\n").then(|| "[filters](#filters)".to_string()));
        writeln!(table_of_options, "| `{command}` | {} |", options.join(", ")).unwrap();
    }
    let docs = std::fs::read_to_string(path("cli.md")).unwrap();
    let fresh = with_table(&docs, "| command | purpose |\n|---|---|\n", &table_of_commands);
    let fresh = with_table(&fresh, "| command | options |\n|---|---|\n", &table_of_options);
    check("cli.md", &docs, &fresh);
    // No text names an option that does not exist. Options of other programs are in shell lines.
    all.extend(["--help", "--version", "--quiet", "--debug", "--no-default-features"].map(str::to_string));
    let prose = docs.split("```").step_by(2).flat_map(str::lines).filter(|line| !line.starts_with("    "));
    let mentioned =
        prose.flat_map(|line| line.split('`').skip(1).step_by(2)).filter(|code| !code.starts_with("git "));
    for word in mentioned.flat_map(|code| code.split([' ', ',', '='])).filter(|word| word.len() > 2) {
        assert!(!word.starts_with("--") || all.contains(word), "docs/cli.md has {word}");
    }
}

/// Returns the lines of options, each with its heading.
fn headed(help: &str) -> Vec<(&str, &str)> {
    let (mut heading, mut lines) = ("", Vec::new());
    for line in help.lines().take_while(|line| !line.starts_with("Examples:")) {
        match line.strip_suffix(':') {
            Some(title) if !line.starts_with(' ') => heading = title,
            _ if line.starts_with(' ') && line.trim_start().starts_with('-') => {
                lines.push((heading, line.trim()))
            }
            _ => {}
        }
    }
    lines
}

/// Returns the text with other rows in a table.
fn with_table(text: &str, head: &str, rows: &str) -> String {
    let (before, behind) = text.split_once(head).unwrap_or_else(|| panic!("docs/cli.md has no {head}"));
    let end = behind.find("\n\n").unwrap() + 1;
    format!("{before}{head}{rows}{}", &behind[end..])
}

fn path(page: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs").join(page)
}

fn check(page: &str, docs: &str, fresh: &str) {
    if docs != fresh && std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(path(page), fresh).unwrap();
    } else {
        assert!(docs == fresh, "docs/{page} is out of date: run the test with UPDATE_DOCS=1");
    }
}
