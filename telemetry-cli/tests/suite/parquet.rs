//! `parquet`: a build without the feature says what is missing, and one with it writes files.

use crate::run::Folder;
use crate::streams::gc;

#[test]
#[cfg(not(feature = "parquet"))]
fn a_build_without_it_says_how_to_get_it() {
    let folder = Folder::new().with("gc.tel", gc());
    let run = folder.run("parquet -d tables gc.tel");
    assert_eq!(run.code, Some(2));
    assert_eq!(
        run.stderr,
        "error: this build of `telemetry` cannot write Parquet files: it has no feature `parquet`; help: run \
         `cargo install --path telemetry-cli --features parquet`\n"
    );
    assert!(!folder.path("tables").exists());
}

#[cfg(feature = "parquet")]
mod files {
    use std::collections::BTreeMap;
    use std::fs::File;
    use std::path::Path;

    use parquet::file::reader::{FileReader, SerializedFileReader};

    use telemetry_decode::Facts;
    use telemetry_decode::writer::{Lane, Writer};

    use super::{Folder, gc};
    use crate::streams::{START, blocks, events_blocks, gc_registry, two_registries};

    const SIDES: [&str; 11] = [
        "block",
        "counter_value",
        "damage",
        "label",
        "lane",
        "loss",
        "message",
        "name",
        "session",
        "span",
        "thread",
    ];

    /// Returns the number of rows of each file. Every entry of the directory must be such a file.
    fn rows(directory: &Path) -> BTreeMap<String, i64> {
        let entries = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
        let rows = entries.map(|path| {
            let reader = SerializedFileReader::new(File::open(&path).unwrap());
            let reader = reader.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            let read = reader.get_row_iter(None).unwrap().map(Result::unwrap).count() as i64;
            assert_eq!(read, reader.metadata().file_metadata().num_rows());
            assert_eq!(path.extension().unwrap(), "parquet");
            (path.file_stem().unwrap().to_str().unwrap().to_string(), read)
        });
        rows.collect()
    }

    /// Returns the numbers of rows of the events' files.
    fn events(directory: &Path) -> BTreeMap<String, i64> {
        let mut rows = rows(directory);
        for side in SIDES {
            assert!(rows.remove(side).is_some(), "there is no {side}");
        }
        rows
    }

    /// Returns the numbers of lines that `csv -d` writes, which has the same names.
    fn lines(folder: &Folder, args: &str) -> BTreeMap<String, i64> {
        let run = folder.run(&format!("csv -d csv {args}"));
        assert!(run.code == Some(0) || run.code == Some(1), "{}", run.stderr);
        let entries = std::fs::read_dir(folder.path("csv")).into_iter().flatten().map(Result::unwrap);
        let lines = entries.map(|entry| {
            let text = std::fs::read_to_string(entry.path()).unwrap();
            let name = entry.path().file_stem().unwrap().to_str().unwrap().to_string();
            (name, text.lines().count() as i64 - 1)
        });
        let lines = lines.collect();
        let _ = std::fs::remove_dir_all(folder.path("csv"));
        lines
    }

    #[test]
    fn every_event_that_occurs_has_a_file() {
        let folder = Folder::new().with("gc.tel", gc()).with("two.tel", two_registries()).with("no.tel", "");
        for args in ["gc.tel", "gc.tel --kind Trace --kind Pool", "two.tel", "gc.tel --until 2ms", "no.tel"] {
            let run = folder.run(&format!("parquet -d tables {args}"));
            let same = folder.run(&format!("csv -d csv {args}"));
            assert_eq!((run.code, &run.stderr), (same.code, &same.stderr), "{args}");
            // Notes have several lines in CSV.
            let [mut found, mut expected] = [events(&folder.path("tables")), lines(&folder, args)];
            let notes = [&mut found, &mut expected].map(|rows| rows.remove("Note"));
            assert_eq!(found, expected, "{args}");
            assert_eq!(notes[0].is_some(), notes[1].is_some(), "{args}");
            std::fs::remove_dir_all(folder.path("tables")).unwrap();
        }
    }

    #[test]
    fn side_tables_say_what_is_missing() {
        let whole = gc();
        let parts = blocks(&whole);
        let start = parts[..events_blocks(&parts)[1]].concat().len();
        let mut damaged = whole.clone();
        damaged[start + 150] ^= 1;
        let folder = Folder::new().with("damaged.tel", damaged).with("cut.tel", &whole[..start + 50]);
        for name in ["damaged.tel", "cut.tel"] {
            let run = folder.run(&format!("parquet -d tables {name}"));
            assert_eq!(run.code, Some(1), "{}", run.stderr);
            let rows = rows(&folder.path("tables"));
            assert!(rows["damage"] > 0, "{rows:?}");
            assert!(rows["block"] > 0 && rows["session"] == 1, "{rows:?}");
            std::fs::remove_dir_all(folder.path("tables")).unwrap();
        }
    }

    #[test]
    fn a_pipe_has_the_same_files_but_no_blocks() {
        let folder = Folder::new().with("gc.tel", gc());
        assert_eq!(folder.run("parquet -d file gc.tel").code, Some(0));
        assert_eq!(folder.run_on("parquet -d pipe -", &gc()).code, Some(0));
        let [mut of_file, of_pipe] = ["file", "pipe"].map(|name| rows(&folder.path(name)));
        assert!(of_file.insert("block".to_string(), 0) > Some(0));
        assert_eq!(of_file, of_pipe);
    }

    #[test]
    fn a_file_that_cannot_be_written_leaves_none() {
        let folder = Folder::new().with("gc.tel", gc());
        let refused = folder.run("parquet -d gc.tel/tables gc.tel");
        assert_eq!(refused.code, Some(2));
        std::fs::create_dir(folder.path("tables")).unwrap();
        std::fs::write(folder.path("tables/PoolInit.parquet"), "old").unwrap();
        #[cfg(target_os = "linux")]
        {
            std::os::unix::fs::symlink("/dev/full", folder.path("tables/TraceEnd.parquet")).unwrap();
            let full = folder.run("parquet -d tables gc.tel");
            assert_eq!(full.code, Some(2));
            let expected =
                "error: cannot write `tables/TraceEnd.parquet`: No space left on device (os error 28)\n";
            assert_eq!(full.stderr, expected);
            let mut left: Vec<_> = std::fs::read_dir(folder.path("tables"))
                .unwrap()
                .map(|entry| entry.unwrap().file_name())
                .collect();
            left.sort();
            assert_eq!(left, ["PoolInit.parquet", "TraceEnd.parquet"]);
        }
        assert_eq!(std::fs::read_to_string(folder.path("tables/PoolInit.parquet")).unwrap(), "old");
    }

    /// Makes a session with two days of events, on a host.
    fn days(session: u64, host: Option<&str>) -> Vec<u8> {
        const SECOND: u64 = 1_000_000_000;
        let mut writer = Writer::new(Vec::new());
        let mut facts = Facts::default();
        facts.set("clock", "os");
        if let Some(host) = host {
            facts.set("host", host);
        }
        writer.session(session, &facts, SECOND, START).unwrap();
        let registry = writer.registry(session, &gc_registry()).unwrap();
        let lane = Lane { session, thread: 1, registry };
        // 18 hours, 12 minutes and 28 seconds are left of the day on which it starts.
        for after in [0, 65_548, 65_549, 80_000] {
            writer.event(lane, 0x101, SECOND + after * SECOND, &[]).unwrap();
        }
        writer.end(session, 90_000 * SECOND).unwrap();
        writer.finish().unwrap()
    }

    /// Returns the rows of all files, by their paths below a directory.
    fn tree(directory: &Path, below: &str, found: &mut BTreeMap<String, i64>) {
        for entry in std::fs::read_dir(directory).unwrap().map(Result::unwrap) {
            let name = format!("{below}/{}", entry.file_name().to_str().unwrap());
            if entry.path().is_dir() {
                tree(&entry.path(), &name, found);
            } else {
                let reader = SerializedFileReader::new(File::open(entry.path()).unwrap()).unwrap();
                found.insert(name, reader.metadata().file_metadata().num_rows());
            }
        }
    }

    #[test]
    fn partitions_are_of_days_hosts_and_sessions() {
        let folder = Folder::new()
            .with("a.tel", days(0xa, Some("web-1")))
            .with("b.tel", days(0xb, Some("web/2 é")))
            .with("c.tel", days(0xc, None));
        // Two at once, one later, and one of them again.
        for logs in ["a.tel b.tel", "c.tel", "a.tel"] {
            let run = folder.run(&format!("parquet -d tables --partition {logs}"));
            assert_eq!(run.code, Some(0), "{logs}: {}", run.stderr);
        }
        let mut found = BTreeMap::new();
        tree(&folder.path("tables"), "", &mut found);
        let check = |with: &str, expected: &[(&str, i64)]| {
            let found = found.iter().filter(|(path, _)| path.contains(with));
            assert_eq!(found.map(|(path, rows)| (path.as_str(), *rows)).collect::<Vec<_>>(), expected);
        };
        check(
            "day=",
            &[
                (
                    "/Heartbeat/day=2026-11-21/host=__HIVE_DEFAULT_PARTITION__/000000000000000c-0000000000000000.parquet",
                    2,
                ),
                (
                    "/Heartbeat/day=2026-11-21/host=web%2F2%20%C3%A9/000000000000000b-0000000000000000.parquet",
                    2,
                ),
                ("/Heartbeat/day=2026-11-21/host=web-1/000000000000000a-0000000000000000.parquet", 2),
                (
                    "/Heartbeat/day=2026-11-22/host=__HIVE_DEFAULT_PARTITION__/000000000000000c-00003b9dd0dc4200.parquet",
                    2,
                ),
                (
                    "/Heartbeat/day=2026-11-22/host=web%2F2%20%C3%A9/000000000000000b-00003b9dd0dc4200.parquet",
                    2,
                ),
                ("/Heartbeat/day=2026-11-22/host=web-1/000000000000000a-00003b9dd0dc4200.parquet", 2),
            ],
        );
        // Each run has its side tables, by its first session.
        check(
            "/session/",
            &[
                ("/session/000000000000000a-0000000000000000.parquet", 1),
                ("/session/000000000000000c-0000000000000000.parquet", 1),
            ],
        );
    }

    #[test]
    fn an_input_is_not_replaced() {
        let folder = Folder::new().with("session.parquet", gc());
        let run = folder.run("parquet -d . session.parquet");
        assert_eq!(run.code, Some(2));
        assert!(run.stderr.contains("is an input of this command"), "{}", run.stderr);
        assert_eq!(std::fs::read(folder.path("session.parquet")).unwrap(), gc());
        assert_eq!(std::fs::read_dir(folder.path("")).unwrap().count(), 1);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn memory_stays_the_same() {
        const LONG: u64 = 400_000;
        let [short, long] = [LONG / 2, LONG].map(|count| crate::big::events(8, count, 400));
        let folder = Folder::new().with("short.tel", short).with("long.tel", long);
        let peak = |name: &str, threads: usize| {
            crate::big::peak(&folder, &format!("parquet -d tables --threads {threads} {name}.tel"))
        };
        let [short, long, two] = [peak("short", 1), peak("long", 1), peak("long", 2)];
        assert!(long < short + short / 8, "{short} KiB, {long} KiB");
        // A row group that another thread encodes, one that waits, and their lists of values.
        assert!(long < 128 << 10 && two < long + (128 << 10), "{long} KiB, {two} KiB on two threads");
    }
}
