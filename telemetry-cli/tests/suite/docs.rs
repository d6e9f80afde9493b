//! The transcripts in docs/cli.md are what the command prints.

use std::fmt::Write;
use std::path::Path;

use crate::relations::released;
use crate::run::Folder;
use crate::spans;
use crate::streams::{GC, blocks, events_blocks, gc, image};
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
        .with("spans.tel", spans::stream())
        .with("broken.tel", broken)
        .with("alloc.tel", crate::replay::sound())
        .with("app.ring", image(&gc(), 3))
        .with("events.toml", GC)
        .with("events.lock", released(GC))
        .with("cache.toml", CACHE.replace("unit = \"bytes\"", "unit = \"pages\""))
        .with("cache.lock", released(CACHE))
        .with("new.toml", CACHE)
        .with("broken.toml", GC.replacen("sort = \"W\"", "sort = \"Word\"", 1));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/cli.md");
    let docs = std::fs::read_to_string(&path).unwrap();

    let mut fresh = String::new();
    let mut rest = docs.as_str();
    let mut samples = 0;
    while let Some((before, sample)) = rest.split_once("```console\n$ telemetry ") {
        let (sample, behind) = sample.split_once("```").unwrap();
        let args = sample.lines().next().unwrap();
        let run = folder.run(args);
        let printed = String::from_utf8(run.stdout).unwrap() + &run.stderr;
        write!(fresh, "{before}```console\n$ telemetry {args}\n").unwrap();
        // Lines of `txt` end in a space, which editors take away.
        printed.trim_end().lines().for_each(|line| writeln!(fresh, "{}", line.trim_end()).unwrap());
        fresh += "```";
        rest = behind;
        samples += 1;
    }
    fresh += rest;
    assert_eq!(samples, 21);
    if docs != fresh && std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, &fresh).unwrap();
    } else {
        assert!(docs == fresh, "docs/cli.md is out of date: run the test with UPDATE_DOCS=1");
    }
}
