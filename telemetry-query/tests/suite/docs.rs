//! The examples in docs/query.md are what the program prints.

use std::fmt::Write;
use std::path::Path;

use crate::run::Folder;
use crate::streams::{gc, lossy};

#[test]
fn samples_are_real() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/query.md");
    let docs = std::fs::read_to_string(&path).unwrap();
    let folder = Folder::new().with("gc.tel", gc()).with("lossy.tel", lossy());
    let (mut fresh, mut rest, mut samples) = (String::new(), docs.as_str(), 0);
    while let Some((before, sample)) = rest.split_once("```console\n$ telemetry query ") {
        let (sample, behind) = sample.split_once("```").unwrap();
        // The query is in quotes, and may have several lines.
        let (sql, args) = match sample.strip_prefix('\'') {
            Some(quoted) => quoted.split_once('\'').unwrap(),
            None => sample.split_once(' ').unwrap(),
        };
        let args = args.lines().next().unwrap();
        let run = folder.query(sql, args);
        let quote = if sample.starts_with('\'') { "'" } else { "" };
        let tail = if args.starts_with(' ') { "" } else { " " };
        write!(fresh, "{before}```console\n$ telemetry query {quote}{sql}{quote}{tail}{args}\n").unwrap();
        (run.stdout + &run.stderr).lines().for_each(|line| writeln!(fresh, "{line}").unwrap());
        fresh += "```";
        (rest, samples) = (behind, samples + 1);
    }
    fresh += rest;
    assert!(samples > 5, "{samples}");
    if docs != fresh && std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(path, fresh).unwrap();
    } else {
        let differing = docs.lines().zip(fresh.lines()).find(|(old, new)| old != new);
        assert!(
            docs == fresh,
            "docs/query.md is out of date: run the test with UPDATE_DOCS=1: {differing:#?}"
        );
    }
}
