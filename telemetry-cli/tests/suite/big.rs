//! Memory does not grow with the stream.
#![cfg(target_os = "linux")]

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::process::{Command, Stdio};

use telemetry_decode::writer::Lane;
use telemetry_decode::{RawStr, Value};

use crate::run::{Folder, Run};
use crate::spans::tangled_of;
use crate::sql::rows;
use crate::streams::{begun, gc, gc_registry, labeled, lossy, two_registries};

/// Several times the memory that a command may use.
const STREAM_KIB: usize = 48 << 10;

#[test]
fn memory_stays_small() {
    // Few lanes with many blocks, and many lanes that are all in the middle of a block.
    let folder = Folder::new().with("few.tel", big(8)).with("many.tel", big(700));
    let commands = [
        "print few.tel",
        "print --order stream few.tel",
        "print --json few.tel",
        "print --follow few.tel",
        "csv few.tel",
        "csv -d tables few.tel",
        "txt few.tel",
        "stats few.tel",
        "spans few.tel",
        "cnv --threads 2 few.tel",
        "convert --to chrome --threads 2 few.tel",
        #[cfg(feature = "arrow")]
        "convert --to arrow -d out --threads 2 few.tel",
        "print --threads 1 many.tel",
        "print --threads 7 many.tel",
    ];
    for args in commands {
        let peak = peak(&folder, args);
        let most = match args {
            // Batches have 8 MiB of text, and are copied once.
            _ if args.contains("arrow") => STREAM_KIB,
            // Open blocks may take 16 MiB, and each thread a job and its lines.
            _ if args.contains("many") => STREAM_KIB * 3 / 8,
            _ => STREAM_KIB / 4,
        };
        assert!(peak < most, "{args}: {peak} KiB");
    }
}

/// The option `--threads` changes the time only, also where streams are cut or damaged.
#[test]
fn any_number_of_threads_has_the_same_output() {
    let folder = with_broken(Folder::new(), "big", &big(8), 8);
    for file in ["big", "big-cut", "big-damaged"] {
        same_for_any_number_of_threads(&folder, "stats --json", &format!("{file}.tel"));
        let groups = "stats --json --by thread,event,text";
        same_for_any_number_of_threads(&folder, groups, &format!("{file}.tel"));
    }
}

#[test]
fn any_number_of_threads_writes_the_same_files() {
    // Several jobs of one event type, and several sessions and registries with many types.
    let all = [gc(), two_registries(), lossy(), labeled()].concat();
    let folder = with_broken(Folder::new(), "many", &events(8, 20_000, 50), 8);
    let folder = with_broken(folder, "all", &all, 1).with("lossy.tel", lossy());
    for file in ["many", "many-cut", "many-damaged", "all", "all-cut", "all-damaged"] {
        for args in FILES.iter().chain(LINES) {
            same_for_any_number_of_threads(&folder, args, &format!("{file}.tel"));
        }
    }
    for args in LINES.iter().chain(&CONVERSIONS[1..]) {
        same_for_any_number_of_threads(&folder, args, "many.tel all.tel lossy.tel");
        // A pipe, which is read on one thread in stream order.
        same_for_any_number_of_threads(&folder, args, "- < many.tel");
    }
}

#[test]
fn any_number_of_threads_finds_the_same_spans() {
    // Several jobs, whose blocks overlap in time.
    let folder = with_broken(Folder::new(), "tangled", &tangled_of(40_000), 3);
    for file in ["tangled", "tangled-cut", "tangled-damaged"] {
        for args in
            ["spans --json", "spans --csv --net", "validate --json --limit 1000"].iter().chain(CONVERSIONS)
        {
            same_for_any_number_of_threads(&folder, args, &format!("{file}.tel"));
        }
    }
}

#[test]
fn any_number_of_threads_makes_the_same_database() {
    let folder = with_broken(Folder::new(), "many", &events(8, 6000, 50), 2);
    for file in ["many", "many-cut", "many-damaged"] {
        let loaded = [1, 2, 7].map(|threads| {
            let database = format!("{file}{threads}.db");
            let Run { stderr, code, .. } =
                folder.run(&format!("sql --threads {threads} -o {database} {file}.tel"));
            let rows = rows(&folder.path(&database), "SELECT * FROM EVENT_Note");
            assert!(rows.len() > 1000, "{stderr}");
            (rows, stderr.replace(&database, "DATABASE"), code)
        });
        assert!(loaded.iter().all(|of| *of == loaded[0]), "{file}: {}", loaded[0].1);
    }
}

/// A failure of the output ends all threads.
#[test]
fn an_output_that_fails_ends_all_threads() {
    let folder = Folder::new().with("many.tel", events(8, 60_000, 50));
    std::fs::create_dir(folder.path("tables")).unwrap();
    std::os::unix::fs::symlink("/dev/full", folder.path("tables/Note.csv")).unwrap();
    for threads in [1, 2, 7] {
        let full =
            ["csv", "print", "cnv", "convert --to telemetry"].map(|args| format!("{args} -o /dev/full"));
        for args in full.iter().map(String::as_str).chain(["csv -d tables"]) {
            let Run { stderr, code, .. } = folder.run(&format!("{args} --threads {threads} many.tel"));
            assert_eq!(code, Some(2), "{args}: {stderr}");
            assert!(stderr.contains("No space left on device"), "{args}: {stderr}");
        }
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut command = folder.command(&format!("csv --threads {threads} many.tel"));
        assert_eq!(command.stdout(full).status().unwrap().code(), Some(2));
        let mut closed = command.stdout(Stdio::piped()).spawn().unwrap();
        drop(closed.stdout.take());
        assert_eq!(closed.wait().unwrap().code(), Some(0));
    }
}

/// Commands that write tables.
const FILES: &[&str] = &[
    "csv",
    "csv -d out",
    #[cfg(feature = "parquet")]
    "parquet -d out",
];

/// Commands that write lines in order.
const LINES: &[&str] =
    &["print", "print --json", "print --order stream", "print --limit 10000", "cnv", "txt"];

/// Conversions, which decode on other threads, and do the rest on one.
const CONVERSIONS: &[&str] = &[
    "convert --to chrome",
    "convert --to telemetry",
    #[cfg(feature = "arrow")]
    "convert --to arrow -d out",
];

/// Adds a stream, the same one cut, and the same one with some wrong bytes.
fn with_broken(folder: Folder, name: &str, stream: &[u8], wrong: usize) -> Folder {
    let mut damaged = stream.to_vec();
    for part in 1..=wrong {
        damaged[stream.len() * part / (wrong + 1)] ^= 1;
    }
    folder
        .with(&format!("{name}.tel"), stream)
        .with(&format!("{name}-cut.tel"), &stream[..stream.len() * 5 / 6])
        .with(&format!("{name}-damaged.tel"), damaged)
}

/// Compares all that a command writes.
fn same_for_any_number_of_threads(folder: &Folder, args: &str, input: &str) {
    let written = [1, 2, 3, 7].map(|threads| {
        let (files, stdin) = input.split_once(" < ").unwrap_or((input, ""));
        let stdin = if stdin.is_empty() { Vec::new() } else { std::fs::read(folder.path(stdin)).unwrap() };
        let args = format!("{args} --threads {threads} {files}");
        let Run { stdout, stderr, code } = folder.run_on(&args, &stdin);
        let files = std::fs::read_dir(folder.path("out")).into_iter().flatten().map(|entry| {
            let path = entry.unwrap().path();
            (path.file_name().unwrap().to_owned(), std::fs::read(path).unwrap())
        });
        let files: BTreeMap<_, _> = files.collect();
        let _ = std::fs::remove_dir_all(folder.path("out"));
        let bytes = stdout.len() + files.values().map(Vec::len).sum::<usize>();
        assert!(bytes > 1000, "{args} {input}: {stderr}");
        (stdout, stderr, code, files)
    });
    assert!(written.iter().all(|of| *of == written[0]), "{args} {input}: {}", written[0].1);
}

/// The tables of a report have a maximum, which these streams reach.
#[test]
fn memory_of_a_report_stays_the_same() {
    let folder = Folder::new()
        .with("one.tel", events(8, STREAM_KIB as u64, 100))
        .with("four.tel", events(8, 4 * STREAM_KIB as u64, 100));
    let [one, four] = ["one", "four"].map(|name| peak(&folder, &format!("report {name}.tel -o -")));
    assert!(four < one + one / 8 && four < STREAM_KIB, "{one} KiB, {four} KiB");
}

/// Runs a command, and returns the most memory that it takes, in KiB. The pages of the program file
/// do not count: they depend on how it is built.
pub(crate) fn peak(folder: &Folder, args: &str) -> usize {
    // With the lowest priority, so that it does not end before its last memory is read.
    let mut child = Command::new("nice")
        .args(["-n", "19", env!("CARGO_BIN_EXE_telemetry")])
        .args(args.split(' '))
        .current_dir(folder.path(""))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let path = format!("/proc/{}/status", child.id());
    let (mut peak, mut file) = (0, 0);
    let ended = loop {
        let status = std::fs::read_to_string(&path).unwrap_or_default();
        let of = |name: &str| {
            let value = status.lines().find_map(|line| line.strip_prefix(name)?.split_whitespace().next());
            value.map_or(0, |value| value.parse::<usize>().unwrap())
        };
        // Pages of a program in a file system in memory are shared memory.
        (peak, file) = (of("VmHWM:").max(peak), (of("RssFile:") + of("RssShmem:")).max(file));
        if let Some(ended) = child.try_wait().unwrap() {
            break ended;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    };
    assert!(ended.success(), "{args}: {ended}");
    peak - file
}

/// Makes a stream of threads that emit much, in turn.
pub(crate) fn big(threads: u64) -> Vec<u8> {
    events(threads, STREAM_KIB as u64, 1000)
}

/// Makes events with a text of `bytes` bytes, on threads that take turns.
pub(crate) fn events(threads: u64, count: u64, bytes: usize) -> Vec<u8> {
    let (mut writer, lane) = begun(1, 1, "", &gc_registry());
    let text = "x".repeat(bytes);
    for number in 0..count {
        let lane = Lane { thread: 1 + (number % threads) as u32, ..lane };
        writer.event(lane, 0xffff, number, &[Value::String(RawStr(text.as_bytes()))]).unwrap();
    }
    writer.end(1, count).unwrap();
    writer.finish().unwrap()
}
