//! Every command under every adverse condition: the exit code, and a message.

use std::fs::OpenOptions;
use std::io::Read;
#[cfg(unix)]
use std::os::unix::process::ExitStatusExt;
use std::process::{Output, Stdio};

use crate::gzip::gzip;
use crate::registries::released;
use crate::run::Folder;
use crate::spans;
use crate::streams::{GC, blocks, events_blocks, gc, image, with_header};

/// Commands that read a stream. `-o FILE` may follow if they have it.
const READERS: &[&str] = &[
    "print FILE",
    "print --json FILE",
    "print --order stream FILE",
    "csv FILE",
    "csv -d tables FILE",
    "cnv FILE",
    "txt FILE",
    "info FILE",
    "stats FILE",
    "stats --json FILE",
    "spans FILE",
    "spans --csv FILE",
    "flame FILE",
    "diff spans.tel FILE",
    "diff --json FILE spans.tel",
    "flame --by event --to speedscope FILE",
    "flame --stacks --to pprof FILE",
    "convert --to telemetry FILE",
    "convert --to ghc-eventlog FILE",
    "convert --to perfetto FILE",
    "convert --to chrome FILE",
    "convert --to ctf -d trace FILE",
    "report --against spans.tel -o - FILE",
    "report --against FILE -o - spans.tel",
    #[cfg(unix)]
    "top --once FILE",
    "validate FILE",
    "validate --json FILE",
    #[cfg(feature = "parquet")]
    "parquet -d tables FILE",
    #[cfg(feature = "arrow")]
    "convert --to arrow -d tables FILE",
];

/// The other commands that take a file, and a file that they can read.
const OTHERS: [(&str, &str); 8] = [
    ("recover FILE", "app.ring"),
    ("check FILE", "events.toml"),
    ("txt --registry events.toml -l FILE", "cnv.txt"),
    ("show FILE", "made.eventlog"),
    ("print --input-format ghc-eventlog FILE", "made.eventlog"),
    ("mono-debug FILE", "made.mlpd"),
    ("mono-report FILE", "made.mlpd"),
    ("convert --to telemetry --input-format mps FILE", "made.mpsio.log"),
];

/// Commands that need no file.
const WITHOUT: [&str; 6] =
    ["completions bash", "completions zsh", "completions fish", "man stats", "gdb", "gdb --lldb"];

fn folder() -> Folder {
    let whole = gc();
    let parts = blocks(&whole);
    let events = events_blocks(&parts);
    let start = |number: usize| parts[..number].concat().len();
    let mut damaged = whole.clone();
    damaged[start(events[2]) + 150] ^= 1;
    let unknown =
        with_header(&whole, events[1], |header| header.block_type = telemetry_format::BlockType::Unknown(99));
    let mut newer = whole.clone();
    // The version of the format is in every header.
    for number in 0..parts.len() {
        newer[start(number) + 8] ^= 0x40;
    }
    let folder = Folder::new()
        .with("whole.tel", &whole)
        .with("spans.tel", spans::stream())
        .with("cut.tel", &whole[..start(events[3]) + 50])
        .with("damaged.tel", damaged)
        .with("unknown.tel", unknown)
        .with("newer.tel", newer)
        .with("empty", "")
        .with("noise", b"\x7fELF\x02\x01\x01".repeat(700))
        .with("gzipped.tel", gzip(&whole))
        .with("app.ring", image(&gc(), 3))
        .with("events.toml", GC)
        .with("events.lock", released(GC))
        .with("cnv.txt", "000000000000000A  101\n");
    std::fs::create_dir(folder.path("folder")).unwrap();
    for (format, made) in
        [("ghc-eventlog", "made.eventlog"), ("mono", "made.mlpd"), ("mps", "made.mpsio.log")]
    {
        check(&folder, &format!("convert --to {format} -o {made} whole.tel"), 0, "complete: ");
    }
    folder
}

#[track_caller]
fn check(folder: &Folder, args: &str, expected: i32, says: &str) {
    let run = folder.run(args);
    assert_eq!(run.code, Some(expected), "{args}: {}", run.stderr);
    assert!(run.stderr.contains(says), "{args}: {}", run.stderr);
    let is_clean = !run.stderr.contains("panicked") && !run.stderr.contains("RUST_BACKTRACE");
    assert!(is_clean, "{args}: {}", run.stderr);
}

#[test]
fn inputs_that_are_not_whole() {
    let folder = folder();
    // By file: the exit code, the one with --strict, and the message.
    let table = [
        ("whole.tel", 0, 0, "complete: "),
        ("cut.tel", 1, 1, "incomplete: "),
        ("damaged.tel", 1, 1, "incomplete: "),
        ("unknown.tel", 0, 1, "unknown type 99"),
        ("newer.tel", 1, 1, "version"),
        ("empty", 1, 1, "empty"),
        ("noise", 2, 2, "is an ELF program, expected a telemetry stream or a log"),
        ("gzipped.tel", 2, 2, "is compressed with gzip"),
        ("folder", 2, 2, "is a directory, expected a file; help: "),
        ("missing.tel", 2, 2, "No such file"),
    ];
    for &reader in READERS {
        for (file, code, strict, says) in table {
            // Headers do not show damage inside of a block.
            if reader.starts_with("info") && file == "damaged.tel" {
                continue;
            }
            check(&folder, &reader.replace("FILE", file), code, says);
            check(&folder, &(reader.replace("FILE", file) + " --strict"), strict, says);
        }
    }
    for (other, good) in OTHERS {
        for (file, code) in [(good, 0), ("empty", 1), ("folder", 2), ("missing.tel", 2)] {
            check(&folder, &other.replace("FILE", file), code, if code == 0 { "" } else { " " });
        }
    }
}

/// Inputs that cannot be opened: a file without permission, unless root runs this, and a socket,
/// which no user can open.
#[test]
#[cfg(unix)]
fn an_input_that_cannot_be_read() {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::net::UnixListener;
    let folder = folder();
    let _socket = UnixListener::bind(folder.path("socket")).unwrap();
    let mut unreadable = vec!["socket"];
    std::fs::set_permissions(folder.path("noise"), PermissionsExt::from_mode(0o000)).unwrap();
    match std::fs::File::open(folder.path("noise")) {
        Err(_) => unreadable.push("noise"),
        Ok(_) => eprintln!("SKIPPED: a file without permission, which root can read"),
    }
    for command in READERS.iter().copied().chain(OTHERS.map(|(other, _)| other)) {
        for file in &unreadable {
            check(&folder, &command.replace("FILE", file), 2, "cannot read");
        }
    }
}

/// These read streams too, but write no text of them.
const LOADERS: [&str; 2] = ["sql --force -o loaded.db FILE", "replay --dry-run FILE"];

#[test]
fn inputs_of_loaders() {
    let folder = folder();
    for loader in LOADERS {
        for (file, code, strict, says) in [
            ("cut.tel", 1, 1, "incomplete: "),
            ("damaged.tel", 1, 1, "incomplete: "),
            ("unknown.tel", if loader.starts_with("sql") { 0 } else { 1 }, 1, "unknown type 99"),
            ("newer.tel", 1, 1, "version"),
            ("empty", 1, 1, "empty"),
            ("noise", 2, 2, "is an ELF program, expected a telemetry stream or a log"),
            ("folder", 2, 2, "is a directory, expected a file; help: "),
            ("missing.tel", 2, 2, "No such file"),
        ] {
            check(&folder, &loader.replace("FILE", file), code, says);
            check(&folder, &(loader.replace("FILE", file) + " --strict"), strict, says);
        }
    }
}

/// Commands whose inputs are not streams, or not only streams. They report the error, and every
/// file stays as it was.
#[test]
fn inputs_of_the_others() {
    let folder = folder().with("old.py", "old").with("old.lock", "old");
    std::fs::write(folder.path("alone.toml"), GC).unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink("nowhere.db", folder.path("dangling.db")).unwrap();
    let content = |name: &str| std::fs::read(folder.path(name)).unwrap();
    let names = ["old.py", "events.toml", "events.lock", "whole.tel", "noise"];
    let before = names.map(content);
    let none = u32::MAX / 2;
    let own = std::process::id();
    for (args, code, says) in [
        (
            "mono-report whole.tel",
            2,
            "`whole.tel` is a telemetry stream, expected a log of the Mono profiler; help: ",
        ),
        (
            "mono-debug made.eventlog",
            2,
            "`made.eventlog` is a log of format ghc-eventlog, expected a log of the",
        ),
        ("show made.mpsio.log", 1, "events of mps, expected a GHC eventlog or a stream of one; help: "),
        ("py empty -o old.py", 2, "no `registry`"),
        ("py noise -o old.py", 2, "cannot use `noise`"),
        ("py cut.tel -o old.py --check", 1, "out of date"),
        ("py folder -o old.py", 2, "is a directory"),
        ("py missing.toml -o old.py", 2, "No such file"),
        ("py events.toml -o folder", 2, "is a directory"),
        ("py events.toml -o no/such/x.py", 2, "No such file"),
        ("py events.toml -o /dev/full", 2, "No space left on device"),
        ("py events.toml --check -o missing.py", 1, "does not exist"),
        ("c empty -o new-c", 2, "no `registry`"),
        ("c noise -o new-c", 2, "cannot use `noise`"),
        ("c folder -o new-c", 2, "is a directory"),
        ("c missing.toml -o new-c", 2, "`telemetry init` writes a first events.toml"),
        ("c whole.tel -o new-c", 2, "cannot use `whole.tel`"),
        ("c - -o new-c", 2, "not standard input"),
        ("c events.toml -o -", 2, "name a directory"),
        ("c events.toml -o noise", 2, "cannot write `noise`"),
        ("c events.toml -o no/such/x.h", 2, "No such file"),
        ("c events.toml -o /dev/full/x", 2, "Not a directory"),
        ("c events.toml events.toml -o new-c/gc.h", 2, "one header, but there are 2 registries"),
        ("c events.toml events.toml -o new-c", 2, "both have the name `<gc.h>` in C"),
        ("c events.toml -o new-c --runtime folder", 2, "cannot read `folder/Cargo.toml`"),
        ("sql -o new.db -i folder", 2, "is a directory, expected a file; help: "),
        ("sql -o new.db -i whole.tel", 2, "`whole.tel` is a telemetry stream, expected cnv text; help: "),
        ("sql -o new.db -i made.mpsio.log", 2, "is a log of format mps, expected cnv text; help: "),
        ("txt -l whole.tel", 2, "`whole.tel` is a telemetry stream, expected cnv text; help: "),
        ("txt -l folder", 2, "is a directory, expected a file; help: "),
        ("release empty", 1, "no `registry`"),
        ("release noise", 1, "error"),
        ("release folder", 2, "is a directory"),
        ("release missing.toml", 2, "no file `missing.toml`"),
        ("history events.toml", 2, "not in a git repository"),
        ("history missing.toml", 2, "not in a git repository"),
        ("sql -o noise whole.tel", 2, "not an SQLite database"),
        ("sql --delete -o whole.tel whole.tel", 2, "not an SQLite database"),
        ("sql -o folder whole.tel", 2, "is a directory"),
        ("sql -o no/such/x.db whole.tel", 2, "No such file"),
        ("sql -o /dev/full whole.tel", 2, "not a regular file"),
        #[cfg(unix)]
        ("sql -o dangling.db whole.tel", 2, "a link to a missing file"),
        ("csv whole.tel -o whole.tel", 2, "`whole.tel`: is a telemetry stream"),
        ("csv made.mpsio.log -o made.mpsio.log", 2, "`made.mpsio.log`: is a log of format mps"),
        ("py events.toml -o whole.tel", 2, "`whole.tel`: is a telemetry stream"),
        ("replay whole.tel -o folder", 2, "directory"),
        ("replay whole.tel -o /dev/full", 2, "No space left on device"),
        ("control 4000000000", 2, "no process"),
        (&format!("control {none}"), 2, "no process"),
        (&format!("control {own}"), 2, "no control socket"),
        ("control events.toml", 2, "no running process is called `events.toml`"),
        (&format!("tail {none}"), 2, "no process"),
        (&format!("tail {own}"), 2, "no control socket"),
        ("tail 04711", 2, "expected the number of a process"),
        ("listen events.toml", 2, "expected tcp:HOST:PORT"),
        ("listen tcp:127.0.0.1:0 -d noise", 2, "expected a directory"),
        ("listen unix:events.toml", 2, "cannot listen"),
        ("listen unix:no/such/socket", 2, "cannot listen"),
        ("doctor missing.tel extra", 2, ""),
    ] {
        check(&folder, args, code, says);
    }
    for (file, code) in
        [("whole.tel", 0), ("cut.tel", 1), ("empty", 1), ("noise", 1), ("folder", 1), ("missing.tel", 1)]
    {
        let run = folder.run(&format!("doctor {file}"));
        assert_eq!(run.code, Some(code), "{file}: {}", run.stderr);
        // Its findings are its output.
        assert!(String::from_utf8_lossy(&run.stdout).contains(&format!("`{file}`")), "{file}");
    }
    assert_eq!(names.map(content), before);
}

/// Their output goes to a full disk.
#[test]
#[cfg(target_os = "linux")]
fn outputs_of_the_others_that_take_nothing() {
    let folder = folder();
    for args in [
        "py events.toml",
        "doctor whole.tel",
        "replay --dry-run whole.tel",
        "replay --dry-run --json whole.tel",
        "release --dry-run events.toml",
        "list --json",
    ] {
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut command = folder.command(args);
        command.env("TELEMETRY_SOCKET", folder.path("folder"));
        let (code, stderr) = ends(&command.stdout(full).output().unwrap());
        assert_eq!(code, Some(2), "{args}: {stderr}");
        assert!(stderr.contains("No space left on device"), "{args}: {stderr}");
    }
}

/// A disk that fills up during a command: the old file stays, and no incomplete file.
#[test]
#[cfg(target_os = "linux")]
fn a_disk_that_fills_up() {
    let folder = Folder::new().with("big.tel", crate::sql::killed::big());
    let commands = [
        "print big.tel",
        "print --json big.tel",
        "cnv big.tel",
        "txt big.tel",
        "csv big.tel",
        "recover big.tel",
    ];
    let script: String = std::iter::once("echo old > small/out; ".to_string())
        .chain(commands.map(|command| format!("\"$1\" {command} -o small/out; echo $? $(cat small/out); ")))
        .chain(["\"$1\" convert -d small/trace.ctf big.tel; echo ctf $?; ls -A small".to_string()])
        .collect();
    let Some(run) = crate::sql::bad::on_tmpfs(&folder, &script) else { return };
    let stdout = String::from_utf8_lossy(&run.stdout);
    let told: Vec<_> = stdout.lines().filter(|line| line.ends_with(" old") || *line == "out").collect();
    let mut expected = vec!["2 old"; commands.len()];
    expected.push("out");
    // A directory that is not whole does not appear.
    assert!(stdout.lines().any(|line| line == "ctf 2"), "{stdout}{}", run.stderr);
    assert_eq!(told, expected, "{stdout}{}", run.stderr);
    assert_eq!(stdout.lines().last(), Some("out"), "{stdout}");
    assert_eq!(run.stderr.matches("No space left on device").count(), commands.len() + 1, "{}", run.stderr);
}

fn ends(output: &Output) -> (Option<i32>, String) {
    (output.status.code(), String::from_utf8(output.stderr.clone()).unwrap())
}

/// Every command that writes reports a full disk, but not a reader that closes the pipe.
#[test]
#[cfg(target_os = "linux")]
fn outputs_that_take_nothing() {
    let folder = folder();
    // A stream without spans would produce no output.
    let of_streams = READERS.iter().map(|reader| reader.replace("FILE", "spans.tel"));
    let of_others = OTHERS.into_iter().map(|(other, good)| other.replace("FILE", good));
    let all = of_streams.chain(of_others).chain(WITHOUT.map(str::to_string));
    for args in all.filter(|args| !args.contains("-d ")) {
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let (code, stderr) = ends(&folder.command(&args).stdout(full).output().unwrap());
        assert_eq!(code, Some(2), "{args}: {stderr}");
        assert!(stderr.contains("No space left on device"), "{args}: {stderr}");

        let mut child = folder.command(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let mut stderr = String::new();
        child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        let code = child.wait().unwrap().code();
        // A command that had written everything before the pipe was closed ends with its verdict.
        assert_eq!(code, Some(0), "{args}: {stderr}");
        assert!(!stderr.contains("pipe"), "{args}: {stderr}");
    }
    // With -o the old file stays.
    for args in ["print", "csv", "cnv", "txt", "info", "stats", "spans"] {
        std::fs::write(folder.path("out"), "old").unwrap();
        for input in ["missing.tel", "folder"] {
            check(&folder, &format!("{args} {input} -o out"), 2, "cannot read");
        }
        check(&folder, &format!("{args} spans.tel -o /dev/full"), 2, "No space left on device");
        check(&folder, &format!("{args} whole.tel -o folder"), 2, "directory");
        assert_eq!(std::fs::read_to_string(folder.path("out")).unwrap(), "old", "{args}");
        check(&folder, &format!("{args} spans.tel -o out"), 0, "complete: ");
        assert_ne!(std::fs::read_to_string(folder.path("out")).unwrap(), "old", "{args}");
    }
    let left = std::fs::read_dir(folder.path("")).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(left.into_iter().all(|name| !name.to_string_lossy().ends_with(".tmp")));
}

/// A request to end removes the file that is being written, and no other.
#[test]
#[cfg(unix)]
fn an_interrupt_leaves_nothing_behind() {
    use std::io::Write;
    use std::process::Command;
    let folder = folder();
    let mut fifo = Command::new("mkfifo");
    assert!(fifo.arg(folder.path("pipe")).status().unwrap().success());
    let mut child = folder.command("cnv pipe -o out.txt").spawn().unwrap();
    let mut pipe = OpenOptions::new().write(true).open(folder.path("pipe")).unwrap();
    pipe.write_all(&gc()).unwrap();
    let is_there = |name: &std::ffi::OsStr| name.to_string_lossy().ends_with(".tmp");
    let temporary = || {
        std::fs::read_dir(folder.path(""))
            .unwrap()
            .filter(|entry| is_there(&entry.as_ref().unwrap().file_name()))
            .count()
    };
    let start = std::time::Instant::now();
    while temporary() == 0 && start.elapsed().as_secs() < 20 {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    std::thread::sleep(std::time::Duration::from_millis(200));
    let killed = Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGTERM));
    assert_eq!((temporary(), folder.path("out.txt").exists()), (0, false));
}
