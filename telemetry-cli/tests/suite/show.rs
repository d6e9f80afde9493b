//! `telemetry show`: GHC's eventlogs as `ghc-events show` prints them.

use crate::run::Folder;
use crate::streams::gc;

/// Makes a log with a capability, and a message that is truncated if `cut` bytes are missing.
fn log(cut: usize) -> Vec<u8> {
    let mut log = b"hdrbhetb".to_vec();
    for (tag, size, description) in [(18_u16, 14_u16, "Block marker"), (19, 0xffff, "User message")] {
        log.extend(b"etb\0");
        log.extend([tag.to_be_bytes(), size.to_be_bytes()].concat());
        log.extend((description.len() as u32).to_be_bytes());
        log.extend(description.bytes());
        log.extend(b"\0\0\0\0ete\0");
    }
    log.extend(b"hetehdredatb");
    log.extend(b"\0\x12\0\0\0\0\0\0\0\x05\0\0\0\x38\0\0\0\0\0\0\0\x14\0\x01");
    log.extend(b"\0\x13\0\0\0\0\0\0\0\x07\0\x05hello\0\x13\0\0\0\0\0\0\0\x09\0\x03bye\xff\xff");
    log.truncate(log.len() - cut);
    log
}

const SHOWN: &str = "\
Event Types:
18: Block marker (size 14)
19: User message (size variable)

Events:
5: cap 1: event block: cap 1, end time: 20

7: cap 1: hello
9: cap 1: bye

";

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("text")
}

#[test]
fn logs_are_shown_and_streams_of_them() {
    let folder = Folder::new().with("a.eventlog", log(0)).with("gc.tel", gc());
    let run = folder.run("show a.eventlog");
    assert_eq!((run.code, text(&run.stdout)), (Some(0), SHOWN), "{}", run.stderr);
    let run = folder.run("convert --to telemetry -o a.tel a.eventlog");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let run = folder.run("show a.tel");
    assert_eq!((run.code, text(&run.stdout)), (Some(0), SHOWN), "{}", run.stderr);
    let run = folder.run("convert --to ghc-eventlog -o b.eventlog a.tel");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(std::fs::read(folder.path("b.eventlog")).expect("a log"), log(0));
    let run = folder.run("show gc.tel");
    assert_eq!((run.code, text(&run.stdout)), (Some(1), ""));
    let said = "error: `gc.tel` has 23 events of gc, expected a GHC eventlog or a stream of one; help: `telemetry stats` \
                and `telemetry print` show its events\n";
    assert!(run.stderr.starts_with(said), "{}", run.stderr);
}

#[test]
fn what_is_cut_is_said_with_its_place() {
    let folder = Folder::new().with("cut.eventlog", log(3));
    let run = folder.run("show cut.eventlog");
    assert_eq!(run.code, Some(1));
    assert_eq!(text(&run.stdout), SHOWN.replace("9: cap 1: bye\n", ""));
    let end = log(3).len();
    let said =
        format!("bytes {}..{end} are damaged: the log ends after 14 bytes of an event of 15", end - 14);
    assert!(run.stderr.contains(&said), "{}", run.stderr);
}
