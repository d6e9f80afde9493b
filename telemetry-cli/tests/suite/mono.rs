//! Logs of the Mono log profiler by the command.

use std::path::Path;

use crate::run::{Folder, Run};
use crate::sql;
use telemetry_testing::mono as mono_made;

/// Makes a log of data version 1 with one buffer: a walk of the heap begins, and an unknown event
/// follows.
pub(crate) fn log(unknown: &[u8]) -> Vec<u8> {
    let mut log = b"\x01\x5a\x50\x4d\x00\x01\x01\x08".to_vec();
    log.resize(32, 0);
    let events = [b"\x06\x01", unknown].concat();
    log.extend(b"\x01\x4c\x50\x4d");
    log.extend((events.len() as i32).to_le_bytes());
    [1000_u64, 0, 0, 7, 0].iter().for_each(|number| log.extend(number.to_le_bytes()));
    log.extend(events);
    log
}

#[test]
fn a_log_is_printed_and_damage_is_said() {
    let folder = Folder::new().with("good.mlpd", log(b"")).with("bad.mlpd", log(b"\xff"));
    let run = folder.run("mono-debug good.mlpd");
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    let text = "buf: thread:7, len: 2, time: 1000, file offset: 82\nheap shot start\n\nMono log profiler data\n\tData version: 1\n";
    assert_eq!(String::from_utf8_lossy(&run.stdout), text);
    for command in ["mono-debug", "mono-report"] {
        let run = folder.run(&format!("{command} bad.mlpd"));
        assert_eq!(run.code, Some(1));
        assert_eq!(run.stderr, "error: `bad.mlpd`: bytes 82..83 are damaged: unknown event code 0xff\n");
    }
    let run = folder.run("mono-report -o report.txt good.mlpd");
    assert_eq!((run.code, run.stdout.len()), (Some(0), 0));
    let report = std::fs::read_to_string(folder.path("report.txt")).unwrap();
    assert!(
        report.contains("\n\tHeap shot 0 at 0.000 secs: size: 0, object count: 0, class count: 0\n"),
        "{report}"
    );
    assert_eq!(folder.run("mono-debug absent.mlpd").code, Some(2));
}

/// The end of the first buffer looks like the end of the log.
#[test]
fn a_log_without_an_end_mark_is_not_complete() {
    let two = [log(b""), log(b"\x16\x01").split_off(32)].concat();
    let folder =
        Folder::new().with("head.mlpd", &two[..32]).with("cut.mlpd", &two[..82]).with("two.mlpd", &two);
    for (file, said) in [
        ("head.mlpd", "read: 0 events; 32 bytes; may be truncated: the format has no end mark"),
        ("cut.mlpd", "read: 2 events; 82 bytes; may be truncated: the format has no end mark"),
        ("two.mlpd", "read: 5 events; 134 bytes; may be truncated: the format has no end mark"),
    ] {
        let run = folder.run(&format!("info --json {file}"));
        assert!(run.stderr.ends_with(&format!("{said}\n")), "{file}: {}", run.stderr);
        let info: serde_json::Value = serde_json::from_slice(&run.stdout).unwrap();
        let completeness = &info["completeness"];
        assert_eq!(
            (&completeness["complete"], &completeness["may_be_truncated"]),
            (&false.into(), &true.into())
        );
        // Nothing is known to be lost, which is all that `--strict` checks.
        assert_eq!(folder.run(&format!("info --strict {file}")).code, Some(0), "{file}");
    }
    // A stream that was made from the log knows no more than the log.
    assert_eq!(folder.run("convert --to telemetry -o cut.tel cut.mlpd").code, Some(0));
    let of_stream = folder.run("print cut.tel").stderr;
    assert!(
        of_stream.ends_with("may be truncated: the log it was made from has no end mark\n"),
        "{of_stream}"
    );
}

#[test]
fn a_database_is_not_said_to_have_what_it_has_not() {
    let whole = log(b"\x16\x01");
    let cut = whole[..whole.len() - 2].to_vec();
    let folder = Folder::new().with("cut.mlpd", cut).with("whole.mlpd", whole);
    let cut = folder.run("sql -o mono.db cut.mlpd");
    assert_eq!(cut.code, Some(1), "{}", cut.stderr);
    // The same events are there already.
    let again = folder.run("sql -o mono.db cut.mlpd");
    assert_eq!(again.code, Some(0), "{}", again.stderr);
    let run = folder.run("sql -o mono.db whole.mlpd");
    assert_eq!(run.code, Some(1));
    let said = "error: `mono.db` has 2 of the 3 events of `whole.mlpd`, but not which; loaded nothing; \
                help: --delete replaces all events in the database, --force adds all events again\n";
    assert_eq!(run.stderr, said);
    for (args, events) in [("--delete", 3), ("", 3)] {
        let run = folder.run(&format!("sql -o mono.db {args} whole.mlpd"));
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        let database = rusqlite::Connection::open(folder.path("mono.db")).unwrap();
        let found: i64 = database.query_row("SELECT count(*) FROM event", [], |row| row.get(0)).unwrap();
        assert_eq!(found, events);
    }
}

/// Makes a folder with logs of both data versions and streams of them.
fn logs_and_streams() -> Folder {
    let folder = Folder::new().with("1.mlpd", mono_made::one()).with("17.mlpd", mono_made::seventeen());
    for log in ["1", "17"] {
        let run = folder.run(&format!("convert --to telemetry -o {log}.tel {log}.mlpd"));
        assert_eq!(run.code, Some(0), "{}", run.stderr);
    }
    folder
}

/// Sorts lines, since a log and its stream may order events of one time differently.
fn sorted(text: &[u8]) -> Vec<String> {
    let mut lines: Vec<String> = String::from_utf8_lossy(text).lines().map(str::to_string).collect();
    lines.sort();
    lines
}

#[test]
fn a_stream_shows_the_names_of_its_log() {
    let folder = logs_and_streams();
    // A log, and names that its events must have somewhere: of a method, a class, an image, by a
    // vtable.
    for (log, names) in [
        ("1", &["[Prog:Main (string[])]", "[Näme.Inner<T>]", "[prog.exe]"][..]),
        ("17", &["[Prog:Main ()]", "vtable:0x1030 [Name]", "[prog.exe]", "[Main]"]),
    ] {
        for command in ["print", "txt", "print --json"] {
            let [of_log, of_stream] =
                ["mlpd", "tel"].map(|end| folder.run(&format!("{command} {log}.{end}")));
            assert_eq!((of_log.code, of_stream.code), (Some(0), Some(0)), "{}", of_stream.stderr);
            assert_eq!(sorted(&of_stream.stdout), sorted(&of_log.stdout), "{command} of {log}");
            let text = String::from_utf8_lossy(&of_stream.stdout).into_owned();
            let missing = names.iter().find(|name| command == "print" && !text.contains(**name));
            assert_eq!(missing, None, "{text}");
        }
    }
}

/// Returns the names that `print --json` gives a parameter of an event, in the order of time.
fn called(folder: &Folder, file: &str, event: &str, param: &str) -> Vec<String> {
    let run = folder.run(&format!("print --json --event {event} {file}"));
    let lines = String::from_utf8(run.stdout).unwrap();
    let name = |line: &str| {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        let value = line["params"][param].as_str().unwrap().to_string();
        line["names"][&value].as_str().unwrap_or_default().to_string()
    };
    lines.lines().map(name).collect()
}

#[test]
fn a_database_has_the_names_of_a_log() {
    let folder = logs_and_streams();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../telemetry-foreign/registries/mono.toml");
    for log in ["1", "17"] {
        let cnv = folder.run(&format!("cnv {log}.tel"));
        std::fs::write(folder.path(&format!("{log}.txt")), sorted(&cnv.stdout).join("\n") + "\n").unwrap();
    }
    for (log, event, param, least) in [
        ("1", "MethodEnter", "method", 2),
        ("1", "Alloc", "klass", 2),
        ("1", "ClassLoad", "image", 1),
        ("17", "VtableAlloc", "vtable", 1),
        ("17", "MethodJit", "method", 1),
    ] {
        let expected = called(&folder, &format!("{log}.tel"), event, param);
        assert!(expected.iter().filter(|name| !name.is_empty()).count() >= least, "{event}: {expected:?}");
        let text = format!("--registry {} -i {log}.txt", path.display());
        for input in [format!("{log}.mlpd"), format!("{log}.tel"), text] {
            let run = folder.run(&format!("sql --delete -o names.db {input}"));
            assert_eq!(run.code, Some(0), "{input}: {}", run.stderr);
            let select = format!("SELECT coalesce({param}__label, '') FROM NAMED_{event} ORDER BY time");
            assert_eq!(sql::rows(&folder.path("names.db"), &select), expected, "{event} of {input}");
        }
        let labels = sql::rows(&folder.path("names.db"), "SELECT DISTINCT string FROM label ORDER BY 1");
        assert!(expected.iter().all(|name| name.is_empty() || labels.contains(name)), "{labels:?}");
    }
}

/// A sample without frames has the names of the methods that were compiled at its places.
#[test]
fn places_of_samples_have_names() {
    // A method from 0x1010 on, and a sample in it, called by itself, and that from 0xfff.
    let events = b"\x43\x01\x08\x10\xac\x02Prog:Main ()\0\x07\x01\x01\x03\x11\x20\x7f\x00";
    let log = [mono_made::file_seventeen(), mono_made::buffer(0x1001, 2_000, events)].concat();
    let folder = Folder::new().with("log.mlpd", &log);
    let shows = |run: Run, text: &str| {
        let out = String::from_utf8(run.stdout).unwrap();
        assert!(out.contains(text), "{out}");
    };
    let graph = "SampleHit;0xfff;Prog:Main ();Prog:Main () 1\n";
    // With a filter, and from a pipe.
    for args in ["flame --stacks log.mlpd", "flame --stacks --event SampleHit log.mlpd"] {
        shows(folder.run(args), graph);
    }
    shows(folder.run_on("flame --stacks -", &log), graph);
    shows(folder.run("stats --by ips log.mlpd"), "Prog:Main () <- Prog:Main () <- 0xfff");
    shows(folder.run("print --stacks log.mlpd"), "#0   Prog:Main ()\n");
    // A sample with frames has those.
    let folder = Folder::new().with("log.mlpd", mono_made::seventeen());
    shows(folder.run("flame --stacks --event SampleHit log.mlpd"), "SampleHit;Prog:Main () 1\n");
}
