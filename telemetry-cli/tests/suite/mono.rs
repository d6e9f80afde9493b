//! Logs of the Mono log profiler by the command.

use crate::run::Folder;

/// A log of data version 1 with one buffer: a walk of the heap begins, and something unknown.
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
        assert_eq!(run.stderr, "telemetry: `bad.mlpd`: bytes 82..83 are damaged: unknown event code 0xff\n");
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

#[test]
fn a_database_is_not_said_to_have_what_it_has_not() {
    let whole = log(b"\x16\x01");
    let cut = whole[..whole.len() - 2].to_vec();
    let folder = Folder::new().with("cut.mlpd", cut).with("whole.mlpd", whole);
    let cut = folder.run("sql -o mono.db cut.mlpd");
    assert_eq!(cut.code, Some(1), "{}", cut.stderr);
    // The same events again are there already.
    let again = folder.run("sql -o mono.db cut.mlpd");
    assert_eq!(again.code, Some(0), "{}", again.stderr);
    let run = folder.run("sql -o mono.db whole.mlpd");
    assert_eq!(run.code, Some(1));
    let said = "telemetry: `mono.db` has 2 of the 3 events of `whole.mlpd`, and which is not known: nothing was loaded; \
                help: -d replaces everything that is there, -f loads all events in addition\n";
    assert_eq!(run.stderr, said);
    for (args, events) in [("-d", 3), ("", 3)] {
        let run = folder.run(&format!("sql -o mono.db {args} whole.mlpd"));
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        let database = rusqlite::Connection::open(folder.path("mono.db")).unwrap();
        let found: i64 = database.query_row("SELECT count(*) FROM event", [], |row| row.get(0)).unwrap();
        assert_eq!(found, events);
    }
}
