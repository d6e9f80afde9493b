//! `top --once`, and `top` without a terminal.

use serde_json::Value as Json;

use crate::run::Folder;
use crate::streams::{START, begun, gc, lossy, two_registries};

#[test]
fn pictures_of_files_and_mistakes() {
    let folder = Folder::new()
        .with("gc.tel", gc())
        .with("lossy.tel", lossy())
        .with("empty", "")
        .with("text.txt", "no stream")
        .with("made.eventlog", crate::ghc::log(&[], &[]));
    folder.check(
        "top",
        &[
            "top --once gc.tel",
            "top --once lossy.tel",
            "top --once --strict lossy.tel",
            "top --once --kind Trace gc.tel",
            "top --once --where trace>0x7f002000 gc.tel",
            "top --once --where trce>1 gc.tel",
            "top --once --kind Trce gc.tel",
            "top --once empty",
            "top --once text.txt",
            "top --once made.eventlog",
            "top --once missing.tel",
            "top --once no.such/program",
            "top --once .",
            "top gc.tel Pool",
            "top gc.tel",
            "top 04711",
        ],
    );
}

/// Totals are those of `stats` and `spans`, also of spans whose ends are in different lanes.
#[test]
fn totals_are_those_of_other_commands() {
    for stream in [gc(), crate::spans::stream(), two_registries(), crate::diff::phases(1, 100)] {
        let folder = Folder::new().with("run.tel", stream);
        let json = |args: &str| -> Json { serde_json::from_slice(&folder.run(args).stdout).unwrap() };
        let (stats, spans) = (json("stats --json run.tel"), json("spans --json run.tel"));
        let shown = String::from_utf8(folder.run("top --once run.tel").stdout).unwrap();
        let mut expected = Vec::new();
        for event in stats["events"].as_array().unwrap() {
            expected.push((event["event"].clone(), event["count"].clone(), event["kind"].as_str().unwrap()));
        }
        for span in spans["spans"].as_array().unwrap().iter().filter(|span| span["duration_ns"]["count"] != 0)
        {
            expected.push((span["span"].clone(), span["duration_ns"]["count"].clone(), ""));
        }
        for (name, count, kind) in expected {
            let (name, count) = (name.as_str().unwrap(), grouped(count.as_u64().unwrap()));
            let is_row = |line: &&str| {
                let rest = line.strip_prefix(name).filter(|rest| rest.starts_with("  "));
                rest.is_some_and(|rest| {
                    rest.split_whitespace().any(|cell| cell == count) && rest.contains(kind)
                })
            };
            assert!(shown.lines().any(|line| is_row(&line)), "{name} {count}:\n{shown}");
        }
    }
}

/// Begins and ends of different kinds are in different blocks, so all begins come first.
#[test]
fn spans_of_two_kinds_are_paired_by_time() {
    let registry = "\
        [registry]\nname = \"two\"\nversion = \"1.0.0\"\ndoc = \"Two kinds\"\n\
        [kinds]\nFirst = { bit = 0, doc = \"begins\" }\nSecond = { bit = 1, doc = \"ends\" }\n\
        [[event]]\nname = \"Begin\"\ncode = 1\nkind = \"First\"\ndoc = \"Began\"\n\
        [[event]]\nname = \"End\"\ncode = 2\nkind = \"Second\"\ndoc = \"Ended\"\n\
        [[span]]\nname = \"Work\"\nbegin = \"Begin\"\nend = \"End\"\ndoc = \"Some work\"\n";
    let (mut writer, lane) = begun(1, START, "two", &telemetry_schema::parse(registry).unwrap());
    for number in 1..=3 {
        writer.event(lane, 1, 10_000 * number, &[]).unwrap();
        writer.event(lane, 2, 10_000 * number + 1000 * number, &[]).unwrap();
    }
    writer.end(1, 100_000).unwrap();
    let folder = Folder::new().with("two.tel", writer.finish().unwrap());
    let shown = String::from_utf8(folder.run("top --once two.tel").stdout).unwrap();
    let row = shown.lines().find(|line| line.starts_with("Work ")).unwrap_or_else(|| panic!("{shown}"));
    let cells: Vec<_> = row.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect();
    assert_eq!((cells[2], cells[6]), ("3", "3.00 µs"), "{row}");
}

fn grouped(number: u64) -> String {
    telemetry_format::Grouped::from(number).to_string()
}
