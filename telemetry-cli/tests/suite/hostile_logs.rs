//! Damaged logs of other systems through the command. For any bytes, it ends, in little memory, and
//! reports what is wrong and where. The tests of `telemetry-foreign` show that everything readable
//! is read, with every cut and every bit. Here each log goes to one command or another.

use std::io::Write;

use flate2::write::GzEncoder;

use crate::run::{Folder, Run, run};
use telemetry_testing::mps::{self as mps_made, Is::N, Is::S, event};

/// All commands that read logs, here `x.log`. `FORMAT` stands for the option that names the format.
const COMMANDS: &[&str] = &[
    "cnv FORMAT x.log",
    "print FORMAT x.log",
    "convert --to telemetry FORMAT -o out x.log",
    "show FORMAT x.log",
    "sql --delete -o x.db FORMAT x.log",
    "mono-debug x.log",
    "print --json FORMAT x.log",
    "convert --to ghc-eventlog FORMAT -o out x.log",
    "mono-report --traces --verbose x.log",
    "txt FORMAT x.log",
    "convert --to mps FORMAT -o out x.log",
    "stats FORMAT x.log",
    "info FORMAT x.log",
    "convert --to mono FORMAT -o out x.log",
    "csv -d tables FORMAT x.log",
    "spans FORMAT x.log",
];

/// Address space in KiB, and seconds of CPU time, that are enough for any of these.
const MEMORY: usize = 600_000;
const SECONDS: usize = 20;

/// Runs a command on a log. It ends by itself, with 0, or with 1 and a reason. It ends with 2, and
/// prints nothing, if it does not detect a format that it reads.
#[track_caller]
fn check(folder: &Folder, log: &[u8], format: &str, command: &str) -> Run {
    std::fs::write(folder.path("x.log"), log).unwrap();
    let mut limited = std::process::Command::new("sh");
    limited.args(["-c", &format!("ulimit -v {MEMORY} && ulimit -t {SECONDS} && exec \"$0\" \"$@\"")]);
    limited.arg(env!("CARGO_BIN_EXE_telemetry"));
    let format = if format.is_empty() { String::new() } else { format!("--input-format {format}") };
    limited.args(command.replace("FORMAT", &format).split_whitespace()).current_dir(folder.path(""));
    let run = run(&mut limited, &[]);
    let what = format!("{command}: {:?}: {}\n{}", run.code, run.stderr, log.escape_ascii());
    let expected = ["a telemetry stream or a log of another system", "a log of the Mono profiler"];
    let is_refused = |expected: &str| run.stderr.contains(&format!(", expected {expected}; help: "));
    if run.code == Some(2) && run.stderr.lines().count() == 1 && expected.into_iter().any(is_refused) {
        assert!(run.stdout.is_empty(), "{what}");
        return run;
    }
    assert!(matches!(run.code, Some(0 | 1)), "{what}");
    let says_why = [" are damaged", " is empty, expected ", ": not a ", ", expected a ", "no valid block"];
    assert!(run.code == Some(0) || says_why.iter().any(|why| run.stderr.contains(why)), "{what}");
    run
}

fn big(number: u64, bytes: usize) -> Vec<u8> {
    number.to_be_bytes()[8 - bytes..].to_vec()
}

/// Makes two capabilities with messages: a string that ends in a NUL, and a number in each.
pub(crate) fn ghc() -> Vec<u8> {
    let mut log = b"hdrbhetb".to_vec();
    for (tag, size, name) in
        [(18, 14, "Block"), (19, 0xffff, "Message"), (164, 0xffff, "Sample"), (206, 2, "Set")]
    {
        log.extend([b"etb\0".to_vec(), big(tag, 2), big(size, 2), big(name.len() as u64, 4)].concat());
        log.extend([name.as_bytes(), b"\0\0\0\0ete\0"].concat());
    }
    log.extend(b"hetehdredatb");
    for cap in [0, 1] {
        let at = |ns: u64| big(100 * cap + ns, 8);
        let events = [
            [big(19, 2), at(10), big(5, 2), b"h\xc3\xa9llo".to_vec()[..5].to_vec()].concat(),
            [big(164, 2), at(20), big(14, 2), vec![1], big(4096, 8), b"band\0".to_vec()].concat(),
            [big(206, 2), at(30), big(cap, 2)].concat(),
        ];
        let events = events.concat();
        log.extend(
            [big(18, 2), at(5), big(24 + events.len() as u64, 4), at(50), big(cap, 2), events].concat(),
        );
    }
    log.extend([0xff, 0xff]);
    log
}

/// Makes two threads; names of an image, a class and a method, and events that use them.
pub(crate) fn mono(version: u8) -> Vec<u8> {
    let mut log = b"\x01\x5a\x50\x4d".to_vec();
    let (head, first, second): (_, &[u8], &[u8]) = match version {
        1 => (
            [&b"\x00\x01\x01\x08"[..], &[0; 24]].concat(),
            b"\x22\x0a\x02\x10\x00a.exe\0\x22\x01\x01\x20\x10\x00N\0\x43\x01\x08\xc0\x00\x7cM ()\0\x23\x01\x00\x00\x01\x20\x00\x18",
            b"\x06\x01\x26\x00\x20\x18\x02\x01\x7f\x21\x01\x80\x01\x16\x05",
        ),
        _ => (
            [&b"\x03\x00\x11\x08"[..], &[0; 30], b"\x02\0\0\0a\0\x01\0\0\0\0\x01\0\0\0\0"].concat(),
            b"\x22\x0a\x02\x10a.exe\0g\0\x22\x01\x01\x20\x10N\0\x43\x01\x08\x10\x7cM ()\0\x23\x01\x00\x00\x01\x30\x00\x18",
            b"\x06\x01\x26\x01\x00\x30\x18\x00\x01\x08\x01\x37\x01\x01\x80\x80\x02m\0n\0\x05\x00\x00\x01\x16\x01",
        ),
    };
    log.extend(head);
    for (thread, events) in [(7_u64, first), (8, second)] {
        log.extend(b"\x01\x4c\x50\x4d");
        log.extend((events.len() as i32).to_le_bytes());
        [1000 + thread, 0x1000, 0x100, thread, 0x5000].iter().for_each(|n| log.extend(n.to_le_bytes()));
        log.extend(events);
    }
    log
}

fn gzipped(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub(crate) fn mps() -> Vec<u8> {
    let named = event("Intern", 1_030, &[N(2), S("pool")]);
    let label = event("Label", 1_040, &[N(0x7f00), N(2)]);
    let other = event("Label", 1_045, &[N(0x7f08), N(2)]);
    [mps_made::init(1_010), named, label, other, mps_made::sync(1_050, 1_000)].concat()
}

/// Returns logs of each form with their name, bytes and number of events.
pub(crate) fn logs() -> [(&'static str, Vec<u8>, usize); 5] {
    [
        ("mps", mps(), 5),
        ("ghc-eventlog", ghc(), 12),
        ("mono", mono(1), 11),
        ("mono", mono(17), 11),
        ("mono", gzipped(&mono(1)), 11),
    ]
}

fn lines(run: &Run) -> usize {
    run.stdout.iter().filter(|byte| **byte == b'\n').count()
}

/// Gives changed logs of each form to all commands in turn, with the format given and detected.
fn each(change: impl Fn(&[u8], &mut dyn FnMut(&[u8])) + Sync) {
    std::thread::scope(|scope| {
        for (format, log, _) in logs() {
            let change = &change;
            scope.spawn(move || {
                let (folder, mut turn) = (Folder::new(), 0);
                change(&log, &mut |changed| {
                    let format = if (turn / COMMANDS.len()).is_multiple_of(2) { format } else { "" };
                    check(&folder, changed, format, COMMANDS[turn % COMMANDS.len()]);
                    turn += 1;
                });
            });
        }
    });
}

#[test]
fn whole_logs_are_whole() {
    for (format, log, events) in logs() {
        let folder = Folder::new();
        for command in COMMANDS {
            let run = check(&folder, &log, format, command);
            let code = match command {
                command if command.starts_with("mono-") && format != "mono" => 2,
                command if command.starts_with("show") && format != "ghc-eventlog" => 1,
                _ => 0,
            };
            assert_eq!(run.code, Some(code), "{format}: {command}: {}", run.stderr);
            if command.starts_with("cnv") {
                assert_eq!(lines(&run), events, "{format}: {}", run.stderr);
            }
        }
    }
}

#[test]
fn nothing() {
    for format in ["", "mps", "ghc-eventlog", "mono"] {
        for command in COMMANDS {
            let run = check(&Folder::new(), b"", format, command);
            assert_eq!(run.code, Some(1), "{command}");
        }
    }
}

/// Cut at every byte: everything before the cut is read.
#[test]
fn logs_that_are_cut() {
    each(|log, visit| (1..log.len()).for_each(|len| visit(&log[..len])));
    for (format, log, events) in logs() {
        let (folder, mut read) = (Folder::new(), 0);
        for len in (1..log.len()).step_by(17).chain([log.len()]) {
            let cut = check(&folder, &log[..len], format, "cnv FORMAT x.log");
            let found = lines(&cut);
            assert!(
                found >= read && found <= events,
                "{format}: {found} of {events} in {len} bytes, {read} before"
            );
            read = found;
        }
        assert_eq!(read, events);
    }
}

#[test]
fn logs_with_a_bit_flipped() {
    each(|log, visit| {
        for bit in (0..log.len() * 8).step_by(29) {
            let mut flipped = log.to_vec();
            flipped[bit / 8] ^= 1 << (bit % 8);
            visit(&flipped);
        }
    });
}

/// Every number of two and of four bytes in a log is somewhere among these.
#[test]
fn sizes_codes_and_counts_that_are_wrong() {
    let numbers: [&[u8]; 6] =
        [b"\0\0", b"\xff\xff", b"\xff\xff\xff\x7f", b"\x7f\xff\xff\xff", &[0xff; 4], &[0xff; 9]];
    each(|log, visit| {
        for at in (0..log.len()).step_by(3) {
            let number = numbers[at / 3 % numbers.len()];
            let mut changed = log.to_vec();
            let end = (at + number.len()).min(log.len());
            changed[at..end].copy_from_slice(&number[..end - at]);
            visit(&changed);
        }
    });
}

/// Bytes after the log do not affect the events in it.
#[test]
fn bytes_behind_and_logs_joined() {
    for (format, log, events) in logs() {
        let folder = Folder::new();
        for command in COMMANDS {
            let garbage = check(&folder, &[&log[..], b"no log, no event"].concat(), format, command);
            let is_refused = command.starts_with("mono-") && format != "mono";
            assert_eq!(garbage.code, Some(if is_refused { 2 } else { 1 }), "{format}: {command}");
            let twice = check(&folder, &[&log[..], &log].concat(), format, command);
            if command.starts_with("cnv") {
                assert_eq!((lines(&garbage), lines(&twice)), (events, 2 * events), "{format}");
                assert!(
                    garbage.stderr.contains(&format!(
                        "bytes {}",
                        if log.starts_with(&[0x1f]) { mono(1).len() } else { log.len() }
                    )),
                    "{}",
                    garbage.stderr
                );
                assert_eq!(twice.code, Some(0), "{format}: {}", twice.stderr);
            }
        }
    }
}

#[test]
fn text_that_is_not_utf_8() {
    let replaced = |log: Vec<u8>, text: &[u8]| {
        let at = log.windows(text.len()).position(|bytes| bytes == text).unwrap();
        [&log[..at], b"\xff\xfe", &log[at + 2..]].concat()
    };
    let texts: [(_, _, &[u8]); 4] = [
        ("mps", mps(), b"pool"),
        ("ghc-eventlog", ghc(), b"band"),
        ("mono", mono(1), b"M ()"),
        ("mono", mono(17), b"M ()"),
    ];
    for (format, log, text) in texts {
        let (folder, log) = (Folder::new(), replaced(log, text));
        for command in COMMANDS {
            let run = check(&folder, &log, format, command);
            // Commands that print like the systems' own programs leave strings unchanged.
            let is_text = !["cnv", "txt", "mono-", "convert"].iter().any(|raw| command.starts_with(raw));
            assert!(!is_text || std::str::from_utf8(&run.stdout).is_ok(), "{format}: {command}");
        }
    }
}
