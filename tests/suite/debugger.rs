//! What debuggers and C programs call, called by real ones.

#![allow(unsafe_code)]

use std::ffi::{CString, c_char, c_int};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use telemetry_decode::{Order, Reader};

use crate::support::package::said;
use crate::support::postmortem::{process, program, workspace};
use crate::support::process::child;
use crate::support::stream::Stream;
use crate::traceback::{emit_whole, lines};

/// The header for C.
const HEADER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/telemetry-runtime/include/telemetry.h");

const FUNCTIONS: [&str; 18] = [
    "telemetry_set",
    "telemetry_reset",
    "telemetry_flush",
    "telemetry_dump",
    "telemetry_describe_last",
    "telemetry_message_enable",
    "telemetry_message_disable",
    "telemetry_message_queued",
    "telemetry_message_dropped",
    "telemetry_message_get",
    "telemetry_message_wait",
    "telemetry_message_free",
    "telemetry_message_is_end",
    "telemetry_message_ticks",
    "telemetry_message_count",
    "telemetry_message_integer",
    "telemetry_message_real",
    "telemetry_message_text",
];

/// True if the tool is there; else says that what calls is skipped.
fn has(tool: &str) -> bool {
    let there = Command::new(tool).arg("--version").stdout(Stdio::null()).status().is_ok();
    if !there {
        eprintln!("SKIPPED: no {tool} here");
    }
    there
}

/// The numbers that gdb prints for what it calls, in order.
fn results(stdout: &str) -> Vec<&str> {
    stdout
        .lines()
        .filter_map(|line| line.strip_prefix('$')?.split_once(" = "))
        .map(|(_, result)| result)
        .collect()
}

#[test]
fn gdb_calls_them() {
    if !has("gdb") {
        return;
    }
    let directory = tempfile::tempdir().expect("a temporary directory");
    let dump = directory.path().join("dump.tel");
    let commands = [
        "set breakpoint pending off",
        "break stand_still",
        "run",
        &format!("call (int) telemetry_dump(\"{}\")", dump.display()),
        "call (void) telemetry_describe_last(5)",
        "call (int) telemetry_set(0)",
        "call (int) telemetry_set(\"Other\")",
        "continue",
        "call (int) telemetry_reset(\"all\")",
        "call (void) telemetry_flush()",
        "continue",
    ];
    let mut gdb = Command::new("gdb");
    gdb.args(["-batch", "-nx", "-iex", "set debuginfod enabled off", "-iex", "set startup-with-shell off"]);
    commands.iter().for_each(|command| _ = gdb.args(["-ex", command]));
    let run = process_of(gdb.arg(program("standstill")), directory.path()).output().expect("gdb runs");
    let (stdout, stderr) = (String::from_utf8_lossy(&run.stdout), said(&run));
    let all = format!("{stdout}\n{stderr}");
    if stderr.contains("Could not trace the inferior") || stderr.contains("ptrace: Operation not permitted") {
        eprintln!("SKIPPED: gdb may not trace here");
        return;
    }
    if stderr.contains("Couldn't write extended state status") {
        eprintln!(
            "SKIPPED: gdb cannot call functions here, it does not know all registers of this processor"
        );
        return;
    }
    assert_eq!(results(&stdout), ["0", "22", "0", "0"], "{all}");
    // All that was in memory, and nothing else.
    let decoded = Stream::read(&dump);
    assert_eq!(decoded.by_name(), [("Alloc", 2000)].into());
    assert_eq!(decoded.versions, ["work 1.0.0"]);
    // Told to standard error: the last ones of the thread that emitted last.
    let told = lines(&stderr);
    let short: Vec<_> = told.iter().map(|line| (&*line.thread, &*line.event, &*line.params)).collect();
    let expected = [995, 996, 997, 998, 999]
        .map(|number| format!("pointer:{number:#x}  address:0x0  size:{number} bytes  level:2"));
    let expected: Vec<_> = expected.iter().map(|params| ("other", "Alloc", params.as_str())).collect();
    assert_eq!(short, expected, "{all}");
    // Switched on in between.
    let stream = Stream::read(directory.path().join("stream.tel"));
    assert_eq!(stream.by_name(), [("Tick", 2)].into(), "{all}");
}

/// With an environment as tests have it: `Alloc` is recorded, so that it stays in memory, and nothing is output.
fn process_of<'c>(command: &'c mut Command, directory: &Path) -> &'c mut Command {
    command.env("TELEMETRY_FILENAME", directory.join("stream.tel")).env("TELEMETRY_RECORD", "Alloc");
    command.env_remove("TELEMETRY_CONTROL");
    command.stdin(Stdio::null()).current_dir(directory)
}

unsafe extern "C" {
    fn telemetry_dump(path: *const c_char) -> c_int;
}

/// In a pool so small that blocks are reused all the time.
#[test]
fn a_dump_is_whole_while_others_emit() {
    child(
        "debugger::a_dump_is_whole_while_others_emit",
        |process| process.env("TELEMETRY_BUFFER", "512k").env("TELEMETRY_FILENAME", "/dev/null"),
        || {
            let over = AtomicBool::new(false);
            emit_whole(0);
            std::thread::scope(|scope| {
                for thread in 0..4_u64 {
                    let over = &over;
                    scope.spawn(move || {
                        let numbers = (thread << 56..).take_while(|_| !over.load(Ordering::Relaxed));
                        numbers.for_each(emit_whole);
                    });
                }
                let path = CString::new("dump.tel").expect("no NUL");
                let mut most = 0;
                for _ in 0..20 {
                    // SAFETY: the path ends in NUL.
                    assert_eq!(unsafe { telemetry_dump(path.as_ptr()) }, 0);
                    most = most.max(check_dump(Path::new("dump.tel")));
                }
                over.store(true, Ordering::Relaxed);
                assert!(most > 1000, "{most}");
            });
            vec![]
        },
    );
}

/// Every event is as it was emitted. How many there are.
fn check_dump(path: &Path) -> u64 {
    let mut events = Reader::open(path).expect("a dump").order(Order::Stream).events().expect("a dump");
    let mut count = 0;
    while let Some(event) = events.next().expect("a readable dump") {
        let value = |index| event.value(index).and_then(|value| value.as_u64()).expect("a number");
        let number = value(0);
        assert_eq!([value(1), value(2)], [number.wrapping_mul(3), number ^ 0xffff]);
        assert_eq!(event.name(), if value(3) == 2 { "Alloc" } else { "Fix" });
        count += 1;
    }
    let completeness = events.completeness();
    assert_eq!(completeness.damaged_ranges, 0, "{:?}", completeness.damage);
    assert_eq!(completeness.undecodable_parts, 0, "{:?}", completeness.undecodable);
    assert_eq!(completeness.unreadable, []);
    count
}

#[test]
fn arguments_that_are_none_are_refused() {
    let run = process("standstill", "misuse").run().succeeded();
    // EINVAL, ENOENT, ENOSPC.
    assert!(run.stdout.contains("[22, 22, 22, 22, 0, 22, 22, 2, 28]"), "{}", run.stdout);
    assert_eq!(run.stderr, "(no events)\n(no events)\n");
}

/// Where nothing calls them, and the linker leaves out what nothing calls.
#[test]
fn they_are_in_a_release_build() {
    if !has("nm") {
        return;
    }
    let lto = ["--config", "profile.release.lto=\"fat\"", "--config", "profile.release.codegen-units=1"];
    workspace().build(&[&["--release", "--bin", "postmortem"], &lto[..]].concat());
    let path = workspace().program("release", "postmortem");
    let symbols = Command::new("nm").arg("--defined-only").arg(path).output().expect("nm runs");
    let symbols = String::from_utf8_lossy(&symbols.stdout);
    for function in FUNCTIONS {
        let is_it = |line: &str| line.rsplit(' ').next() == Some(function);
        assert!(symbols.lines().any(is_it), "no {function}");
    }
}

#[test]
fn the_header_is_c_and_declares_them() {
    let text = std::fs::read_to_string(HEADER).expect("the header");
    for function in FUNCTIONS {
        let is_declared = [' ', '*'].iter().any(|before| text.contains(&format!("{before}{function}(")));
        assert!(is_declared, "no {function}");
    }
    for (compiler, language, standard) in [("cc", "c", "-std=c99"), ("c++", "c++", "-std=c++11")] {
        if has(compiler) {
            let arguments =
                ["-x", language, standard, "-Wall", "-Wextra", "-Werror", "-pedantic", "-fsyntax-only"];
            let run = Command::new(compiler).args(arguments).arg(HEADER).output().expect("a compiler");
            assert!(run.status.success(), "{}", said(&run));
        }
    }
}

/// A core dump of a program that has written nothing: what it had in memory is found without symbols.
#[test]
fn a_core_dump_is_recovered() {
    if !has("gdb") {
        return;
    }
    let directory = tempfile::tempdir().expect("a temporary directory");
    let core = directory.path().join("core");
    let generate = format!("generate-core-file {}", core.display());
    let mut gdb = Command::new("gdb");
    gdb.args(["-batch", "-nx", "-iex", "set debuginfod enabled off", "-iex", "set startup-with-shell off"]);
    for command in ["set breakpoint pending off", "break stand_still", "run", &generate, "kill"] {
        gdb.args(["-ex", command]);
    }
    let run = process_of(gdb.arg(program("standstill")), directory.path()).output().expect("gdb runs");
    if !core.exists() {
        eprintln!("SKIPPED: gdb may not trace here: {}", said(&run));
        return;
    }
    let whole = directory.path().join("whole.tel");
    let mut file = std::fs::File::create(&whole).expect("a file");
    let found = Reader::open(&core).expect("a core dump").recover(&mut file).expect("what is left");
    assert_eq!((found.sessions.len(), found.events), (1, 2000), "{:?}", found.refused);
    let open = found.threads.iter().filter(|thread| !thread.open.is_empty()).count();
    assert!(open > 0, "a thread was writing");
    assert_eq!(Stream::read_what_is_left(&whole).by_name(), [("Alloc", 2000)].into());
}
