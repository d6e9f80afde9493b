//! The filter options.

use std::fmt::Write;
use std::path::Path;

use crate::run::{Folder, run};
use crate::spans;
use crate::streams::{gc, gc_run};

#[test]
fn filters() {
    let folder = Folder::new().with("gc.tel", gc());
    folder.check(
        "filters",
        &[
            "print gc.tel --kind Pool",
            "print gc.tel --kind 1 --kind Ref",
            "print gc.tel --event TraceEnd --event 0x101",
            "print gc.tel --event 257",
            "print gc.tel --kind gc:Pool --kind telemetry:Ref",
            "print gc.tel --event gc:0x101 --event app:TraceEnd",
            "print gc.tel --thread main --kind User",
            "print gc.tel --thread worker --event TraceStart",
            "print gc.tel --thread 2 --thread 4",
            "print gc.tel --from 1.5ms --until 2,600,000",
            "print gc.tel --from -1s --until 1us",
            "print gc.tel --from 3s",
            "print gc.tel --session gcbench --registry-name gc --event Heartbeat",
            "cnv gc.tel --event RefFix",
            "txt gc.tel --event RefFix",
            "stats gc.tel --event RefFix",
        ],
    );
}

/// The transcripts in docs/filters.md are what the command prints.
#[test]
fn conditions() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/filters.md");
    let docs = std::fs::read_to_string(&path).unwrap();
    let folder = Folder::new().with("gc.tel", gc()).with("spans.tel", spans::stream());
    let (mut fresh, mut samples, mut is_sample) = (String::new(), 0, false);
    for line in docs.lines() {
        let command = line.strip_prefix("$ telemetry ").filter(|_| is_sample);
        is_sample = line == "```console" || is_sample && line != "```";
        if !is_sample || line == "```console" || command.is_some() {
            writeln!(fresh, "{line}").unwrap();
        }
        let Some(command) = command else { continue };
        // The condition is in quotes.
        let (before, rest) = command.split_once('\'').unwrap();
        let (condition, behind) = rest.rsplit_once('\'').unwrap();
        let mut args = folder.command(before);
        let run = run(args.arg(condition).args(behind.split_whitespace()), &[]);
        let printed = String::from_utf8(run.stdout).unwrap() + &run.stderr;
        printed.lines().for_each(|line| writeln!(fresh, "{line}").unwrap());
        samples += 1;
    }
    assert!(samples > 5, "{samples}");
    if docs != fresh && std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(path, fresh).unwrap();
    } else {
        assert!(docs == fresh, "docs/filters.md is out of date: run the test with UPDATE_DOCS=1");
    }
}

#[test]
fn sessions_and_registries_can_be_chosen() {
    let both = [gc_run(0x2a).finish().unwrap(), gc_run(7).finish().unwrap()].concat();
    let folder = Folder::new().with("both.tel", both);
    folder.check(
        "sessions_and_registries_can_be_chosen",
        &["print both.tel --session 7 --kind Pool", "print both.tel --session 0x2a --kind Pool"],
    );
}

#[test]
fn names_that_nothing_has_are_told() {
    let folder = Folder::new().with("gc.tel", gc());
    folder.check(
        "names_that_nothing_has_are_told",
        &[
            "print gc.tel --kind Pol --event PoolInt --thread 77 --session x --registry-name y",
            "stats gc.tel --kind Pol",
            "print gc.tel PoolInit",
            "stats Pool",
            "print gc.tel pool",
            "print gc.tel --from soon",
            "print gc.tel --order sideways",
            "dance",
        ],
    );
}

/// The condition counts the same events in every command that reads events.
#[test]
fn every_command_has_conditions() {
    let folder = Folder::new().with("gc.tel", gc());
    for args in [
        "print",
        "print --json",
        "print --follow",
        "print --last 5",
        "print --order stream",
        "cnv",
        "txt",
        "stats",
        "stats --by kind",
        "flame --by kind",
        "flame --stacks",
        "report -o page.html",
        "csv",
        "csv -d tables",
        "sql -o events.db",
        "convert --to telemetry -o out.tel",
        "convert --to mps -o out.mpsio.log",
        "convert --to perfetto -o out.pftrace",
        "convert --to chrome -o out.json",
        "convert --to ctf -d out.ctf",
        "diff gc.tel",
        "report --against gc.tel -o compared.html",
        #[cfg(unix)]
        "top --once",
        #[cfg(feature = "parquet")]
        "parquet -d parquet",
        #[cfg(feature = "arrow")]
        "convert --to arrow -d arrow",
    ] {
        let mut command = folder.command(args);
        let run = run(command.args(["--where", "size == 8192 or text == 'no such text'", "gc.tel"]), &[]);
        assert_eq!(run.code, Some(0), "{args}: {}", run.stderr);
        let verdict = run.stderr.lines().last().unwrap_or_default();
        assert!(verdict.starts_with("complete: 1 event, 22 filtered out;"), "{args}: {verdict}");
    }
}

/// A pipe in stream order says at the end that a name is unknown.
#[test]
fn conditions_of_pipes() {
    let folder = Folder::new().with("gc.tel", gc());
    for (condition, message) in [
        ("siez == 1", "error: no parameter `siez` in the input; help: did you mean `size`?"),
        ("event == Pol", "error: no event `Pol` in the input"),
        ("thread < 3", "error: no event for the condition (`thread` is a name) in the input"),
    ] {
        let run = run(folder.command("cnv - --where").arg(condition), &gc());
        assert_eq!((run.code, run.stdout.len()), (Some(1), 0), "{condition}");
        assert_eq!(run.stderr.lines().next(), Some(message), "{condition}");
    }
}
