//! Eventlogs of GHC by the command: names of numbers, and times of events.

use crate::run::Folder;

/// The types of the log: tag, size, description.
const TYPES: [(u16, u16, &str); 5] = [
    (161, 0xffff, "Cost center definition"),
    (162, 8, "Start of heap profile sample"),
    (163, 0xffff, "Heap profile cost-centre sample"),
    (165, 8, "End of heap profile sample"),
    (167, 0xffff, "Time profile cost-centre stack"),
];

/// Makes a log with these types and events.
pub(crate) fn log(types: &[(u16, u16, &str)], events: &[Vec<u8>]) -> Vec<u8> {
    let mut log = b"hdrbhetb".to_vec();
    for (tag, size, description) in types {
        log.extend(b"etb\0");
        log.extend([tag.to_be_bytes(), size.to_be_bytes()].concat());
        log.extend((description.len() as u32).to_be_bytes());
        log.extend(description.bytes());
        log.extend(b"\0\0\0\0ete\0");
    }
    log.extend(b"hetehdredatb");
    log.extend(events.concat());
    log.extend(b"\xff\xff");
    log
}

/// Makes an event of a type whose size varies.
fn varying(tag: u16, time: u64, payload: &[u8]) -> Vec<u8> {
    let len = (payload.len() as u16).to_be_bytes();
    [&tag.to_be_bytes()[..], &time.to_be_bytes(), &len, payload].concat()
}

fn cost_centre(time: u64, id: u32, label: &str) -> Vec<u8> {
    varying(161, time, &[&id.to_be_bytes()[..], label.as_bytes(), b"\0Main\0Main.hs:1\0\0"].concat())
}

/// Makes samples of the heap and of the time, with names of cost centres before and after them.
pub(crate) fn profile() -> Vec<u8> {
    let stack = [[0, 0, 0, 57], [0, 0, 0, 3], [0, 0, 0, 9]].concat();
    let of_heap = [&[0; 7][..], &[0, 64, 3], &stack].concat();
    let of_heap = [&of_heap[..1], &[0; 6], &[1, 64], &of_heap[9..]].concat();
    let of_time = [&[0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 5, 3][..], &stack].concat();
    log(
        &TYPES,
        &[
            cost_centre(5, 57, "main"),
            varying(163, 10, &of_heap),
            varying(167, 20, &of_time),
            cost_centre(30, 3, "go"),
        ],
    )
}

#[test]
fn stacks_of_cost_centres_have_names() {
    let folder = Folder::new().with("prof.eventlog", profile());
    let made = folder.run("convert --to telemetry -o prof.tel prof.eventlog");
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    for file in ["prof.eventlog", "prof.tel"] {
        let text = String::from_utf8(folder.run(&format!("print {file}")).stdout).unwrap();
        let stacks = text.matches("stack:[57 [main] 3 [go] 9]").count();
        assert_eq!(stacks, 2, "{text}");
        let json = folder.run(&format!("print --json --event ProfSampleCostCentre {file}")).stdout;
        let event: serde_json::Value = serde_json::from_slice(&json).unwrap();
        assert_eq!(event["params"]["stack"], serde_json::json!([57, 3, 9]));
        assert_eq!(event["strings"], serde_json::json!({ "stack": ["main", "go", null] }));
        let loaded = folder.run(&format!("sql --delete -o prof.db {file}"));
        assert_eq!(loaded.code, Some(0), "{}", loaded.stderr);
        let database = rusqlite::Connection::open(folder.path("prof.db")).unwrap();
        let of = |table: &str, column: &str| -> String {
            database.query_row(&format!("SELECT {column} FROM {table}"), [], |row| row.get(0)).unwrap()
        };
        assert_eq!(of("NAMED_HeapProfSampleCostCentre", "stack__label"), r#"["main","go",9]"#);
        assert_eq!(of("NAMED_ProfSampleCostCentre", "stack__label"), r#"["main","go",9]"#);
        assert_eq!(of("NAMED_ProfSampleCostCentre", "stack"), "[57,3,9]");
    }
    // The tool of GHC itself shows none.
    let shown = String::from_utf8(folder.run("show prof.eventlog").stdout).unwrap();
    assert!(!shown.contains("57 [main]"), "{shown}");
}

/// Makes an event of a type of 16 bytes: a number and a moment.
fn begin(time: u64, era: u64, moment: u64) -> Vec<u8> {
    [&166_u16.to_be_bytes()[..], &time.to_be_bytes(), &era.to_be_bytes(), &moment.to_be_bytes()].concat()
}

fn end(time: u64, era: u64) -> Vec<u8> {
    [&165_u16.to_be_bytes()[..], &time.to_be_bytes(), &era.to_be_bytes()].concat()
}

/// A biographical profile is written at the end of the program, and describes earlier moments.
#[test]
fn samples_are_at_the_time_that_they_tell_of() {
    let types = [
        (19, 0xffff, "User message"),
        (165, 8, "End of heap profile sample"),
        (166, 16, "Start of heap profile (biographical) sample"),
    ];
    let said = |time, text: &str| varying(19, time, text.as_bytes());
    let events = [
        said(100, "one"),
        said(200, "two"),
        said(300, "three"),
        begin(1_000, 1, 150),
        end(1_001, 1),
        begin(1_002, 2, 250),
        end(1_003, 2),
    ];
    let folder = Folder::new().with("bio.eventlog", log(&types, &events));
    let made = folder.run("convert --to telemetry -o bio.tel bio.eventlog");
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    for file in ["bio.eventlog", "bio.tel"] {
        let json = folder.run(&format!("print --json --kind User --kind HeapProf {file}"));
        let lines = String::from_utf8(json.stdout).unwrap();
        let found: Vec<(u64, String)> = lines
            .lines()
            .map(|line| {
                let event: serde_json::Value = serde_json::from_str(line).unwrap();
                (event["time_ns"].as_u64().unwrap(), event["event"].as_str().unwrap().to_string())
            })
            .collect();
        let expected = [
            (100, "UserMsg"),
            (150, "HeapBioProfSampleBegin"),
            (200, "UserMsg"),
            (250, "HeapBioProfSampleBegin"),
            (300, "UserMsg"),
            (1_001, "HeapProfSampleEnd"),
            (1_003, "HeapProfSampleEnd"),
        ];
        assert_eq!(found, expected.map(|(time, name)| (time, name.to_string())), "{file}");
        assert!(json.stderr.contains("complete: 7 events"), "{}", json.stderr);
    }
    // GHC's own tool shows them at the time that they were written, and so does a copy of the log.
    let shown = String::from_utf8(folder.run("show bio.eventlog").stdout).unwrap();
    assert!(shown.contains("\n1000: ") && !shown.contains("\n150: "), "{shown}");
    let again = folder.run("convert --to ghc-eventlog -o again.eventlog bio.eventlog");
    assert_eq!(again.code, Some(0), "{}", again.stderr);
    assert_eq!(
        std::fs::read(folder.path("again.eventlog")).unwrap(),
        std::fs::read(folder.path("bio.eventlog")).unwrap()
    );
}
