//! Functions for debuggers and C programs, called by real ones.

#![allow(unsafe_code)]

use std::ffi::{CString, c_char, c_int};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use telemetry_decode::recover::Refusal;
use telemetry_decode::{Order, Reader};
use telemetry_format::{MAGIC, memory};

use crate::support::package::{OPTIMIZED, said};
use crate::support::postmortem::{process, program, standstill_with_debug_info, workspace};
use crate::support::process::child;
use crate::support::stream::Stream;
use crate::traceback::{emit_whole, lines};

/// The header for C.
const HEADER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/telemetry-runtime/include/telemetry.h");

const FUNCTIONS: [&str; 19] = [
    "telemetry_set",
    "telemetry_reset",
    "telemetry_get",
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

/// True if the tool exists; otherwise reports that the caller is skipped.
fn has(tool: &str) -> bool {
    let there = Command::new(tool).arg("--version").stdout(Stdio::null()).status().is_ok();
    if !there {
        eprintln!("SKIPPED: no {tool} here");
    }
    there
}

/// The folder of the scripts for debuggers.
const SCRIPTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/telemetry-cli/src/commands/debuggers");

/// A frame in which a process is stopped.
struct Frame {
    has_debug_info: bool,
    /// A library with the function in C. Without one, the function is the program's, in Rust.
    library: Option<PathBuf>,
}

impl Frame {
    /// Frames in Rust and in C, with and without debug info.
    fn all(directory: &Path) -> Vec<Frame> {
        let mut libraries = vec![None];
        if has("cc") {
            let source = directory.join("library.c");
            std::fs::write(&source, "void stand_still_in_c(void) {}\n").expect("a writable directory");
            libraries.extend(["-g", "-g0"].map(|debug| {
                let library = directory.join(format!("library{debug}.so"));
                let compiler = Command::new("cc")
                    .args(["-shared", "-fPIC", debug, "-o"])
                    .args([&library, &source])
                    .status();
                assert!(compiler.is_ok_and(|status| status.success()), "no library");
                Some(library)
            }));
        }
        let with = |has_debug_info| {
            libraries.iter().map(move |library| Frame { has_debug_info, library: library.clone() })
        };
        with(false).chain(with(true)).collect()
    }

    fn function(&self) -> &'static str {
        if self.library.is_some() { "stand_still_in_c" } else { "stand_still" }
    }

    fn program(&self) -> PathBuf {
        if self.has_debug_info { standstill_with_debug_info() } else { program("standstill") }
    }

    /// Runs a debugger with the environment of tests.
    fn run(&self, debugger: &mut Command, directory: &Path) -> Output {
        if let Some(library) = &self.library {
            debugger.env("STANDSTILL_LIBRARY", library);
        }
        process_of(debugger.arg(self.program()), directory).output().expect("the debugger runs")
    }

    fn name(&self) -> String {
        format!("{} with debug info: {}, {:?}", self.function(), self.has_debug_info, self.library)
    }
}

/// True if gdb cannot work here, which is reported.
fn is_kept_from_tracing(stderr: &str) -> bool {
    if stderr.contains("Could not trace the inferior") || stderr.contains("ptrace: Operation not permitted") {
        eprintln!("SKIPPED: gdb may not trace here");
        return true;
    }
    if stderr.contains("Couldn't write extended state status") {
        eprintln!(
            "SKIPPED: gdb cannot call functions here, it does not know all registers of this processor"
        );
        return true;
    }
    false
}

/// The text after a mark, for each line that has it.
fn behind<'t>(mark: &str, text: &'t str) -> Vec<&'t str> {
    text.lines().filter_map(|line| line.split_once(mark)).map(|(_, rest)| rest).collect()
}

/// Checks the last five events of each of the program's two threads, as the debugger prints them.
fn check_last_events(said: &str, all: &str) {
    let told = lines(said);
    let short: Vec<_> = told.iter().map(|line| (&*line.thread, &*line.event, &*line.params)).collect();
    let expected = [995, 996, 997, 998, 999]
        .map(|number| format!("pointer:{number:#x}  address:0x0  size:{number} bytes  level:2"));
    let expected: Vec<_> = expected.iter().map(|params| ("other", "Alloc", params.as_str())).collect();
    assert_eq!(short, expected, "{all}");
}

/// The events in memory before anything is switched on, and the events that are written after
/// `Other` is.
fn check_streams(directory: &Path, all: &str) {
    let dumped = Stream::read(directory.join("dump.tel"));
    assert_eq!(dumped.by_name(), [("Alloc", 2000)].into(), "{all}");
    assert_eq!(dumped.versions, ["work 1.0.0"]);
    assert_eq!(Stream::read(directory.join("stream.tel")).by_name(), [("Tick", 2)].into(), "{all}");
}

/// The commands of the script for gdb, in frames of every kind. The selected frame and settings
/// stay.
#[test]
fn gdb_has_commands() {
    if !has("gdb") {
        return;
    }
    let libraries = tempfile::tempdir().expect("a temporary directory");
    for frame in Frame::all(libraries.path()) {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let mut gdb = Command::new("gdb");
        gdb.args(["-batch", "-nx", "-iex", "set debuginfod enabled off"]);
        gdb.args(["-iex", "set startup-with-shell off", "-x"]).arg(format!("{SCRIPTS}/telemetry.gdb"));
        for command in [
            "telemetry get",
            "set breakpoint pending on",
            &format!("break {}", frame.function()),
            "run",
            "up",
            "telemetry dump dump.tel",
            "telemetry last 5",
            "telemetry last five",
            "telemetry set",
            "echo get: \\n",
            "telemetry get",
            "telemetry set Inherit 0x2 -Fix",
            "telemetry get",
            "telemetry reset all",
            "telemetry get",
            "telemetry dump /no/such/dump.tel",
            "telemetry set Other",
            "show language",
            "show scheduler-locking",
            "frame",
            "delete",
            "telemetry flush",
            "continue",
        ] {
            gdb.args(["-ex", command]);
        }
        let run = frame.run(&mut gdb, directory.path());
        let (stdout, stderr) = (String::from_utf8_lossy(&run.stdout), said(&run));
        let all = format!("{}\n{stdout}\n{stderr}", frame.name());
        if is_kept_from_tracing(&stderr) {
            return;
        }
        // Except for gdb's own messages about threads.
        let mut printed = stdout.lines().filter(|line| !line.starts_with('['));
        printed.find(|line| *line == "get: ");
        let words = [printed.next(), printed.next(), printed.next()];
        assert_eq!(words, [Some("nothing"), Some("Inherit 0x2 -Fix"), Some("nothing")], "{all}");
        assert_eq!(behind("language is \"auto; currently ", &stdout).len(), 1, "{all}");
        assert_eq!(behind("scheduler during execution is ", &stdout), ["\"replay\"."], "{all}");
        assert!(stdout.lines().any(|line| line.starts_with("#1 ")), "the frame is selected still\n{all}");
        for error in [
            "no running process",
            "`five`, expected a number of events",
            "nothing given, expected words",
            "telemetry_dump: No such file or directory (error 2)",
        ] {
            assert!(stderr.contains(error), "{error}\n{all}");
        }
        check_last_events(&stderr, &all);
        check_streams(directory.path(), &all);
    }
}

/// The same commands of the script for lldb.
#[test]
fn lldb_has_commands() {
    if !has("lldb") {
        return;
    }
    let libraries = tempfile::tempdir().expect("a temporary directory");
    for frame in Frame::all(libraries.path()) {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let mut lldb = Command::new("lldb");
        lldb.args(["--batch", "--no-lldbinit", "-s"]).arg(format!("{SCRIPTS}/telemetry.lldb"));
        for command in [
            &format!("breakpoint set -n {}", frame.function()),
            "run",
            "up",
            "telemetry dump dump.tel",
            "telemetry last 5",
            "telemetry get",
            "telemetry set Inherit 0x2 -Fix",
            "telemetry get",
            "telemetry reset all",
            "telemetry dump /no/such/dump.tel",
            "telemetry set Other",
            "telemetry flush",
            "breakpoint delete -f",
            "continue",
        ] {
            lldb.args(["-o", command]);
        }
        let run = frame.run(&mut lldb, directory.path());
        let (stdout, stderr) = (String::from_utf8_lossy(&run.stdout), said(&run));
        let all = format!("{}\n{stdout}\n{stderr}", frame.name());
        if !stdout.contains("stop reason = breakpoint") && stderr.contains("error: ") {
            eprintln!("SKIPPED: lldb may not trace here: {stderr}");
            return;
        }
        assert_eq!(behind("(int) $", &stdout).len(), 5, "{all}");
        let numbers: Vec<_> =
            behind("(int) $", &stdout).iter().filter_map(|line| Some(line.split_once(" = ")?.1)).collect();
        assert_eq!(numbers, ["0", "0", "0", "2", "0"], "{all}");
        let words: Vec<_> = behind("(const char *) $", &stdout)
            .iter()
            .filter_map(|line| Some(line.split_once(" \"")?.1))
            .collect();
        assert_eq!(words, ["\"", "Inherit 0x2 -Fix\""], "{all}");
        // The process shares the terminal or the pipe with lldb.
        check_last_events(&format!("{stdout}{stderr}"), &all);
        check_streams(directory.path(), &all);
    }
}

/// The environment of tests: `Alloc` is recorded, so that it stays in memory, and nothing is
/// output.
fn process_of<'c>(command: &'c mut Command, directory: &Path) -> &'c mut Command {
    command.env("TELEMETRY_FILENAME", directory.join("stream.tel")).env("TELEMETRY_RECORD", "Alloc");
    command.env_remove("TELEMETRY_CONTROL");
    command.stdin(Stdio::null()).current_dir(directory)
}

unsafe extern "C" {
    fn telemetry_dump(path: *const c_char) -> c_int;
}

/// In a pool so small that blocks are always being reused.
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

/// Checks that every event is as it was emitted, and returns their number.
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
    assert!(run.stdout.contains("\n11 11 11 `Fix gr`\n"), "{}", run.stdout);
    assert_eq!(run.stderr, "(no events)\n(no events)\n");
}

/// Programs that never call the functions, and whose linker removes unused ones.
#[test]
fn they_are_in_a_release_build() {
    if !has("nm") {
        return;
    }
    let lto = ["profile.dev.lto=\"fat\"", "profile.dev.codegen-units=1"];
    let path = workspace().build_with(&[&OPTIMIZED[..], &lto].concat(), "postmortem");
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

/// A core dump of a program that has written nothing.
#[test]
fn a_core_dump_is_recovered() {
    check_core_dump("");
}

/// A core dump of a program that writes.
#[test]
fn a_core_dump_of_a_program_that_writes_is_recovered() {
    check_core_dump("Alloc");
}

/// Finds the memory without symbols. Copies of headers on its stacks count neither as damage nor as
/// blocks; real damage is reported.
fn check_core_dump(output: &str) {
    if !has("gdb") {
        return;
    }
    let directory = tempfile::tempdir().expect("a temporary directory");
    let core = directory.path().join("core");
    let generate = format!("generate-core-file {}", core.display());
    let mut gdb = Command::new("gdb");
    gdb.args(["-batch", "-nx", "-iex", "set debuginfod enabled off", "-iex", "set startup-with-shell off"]);
    for command in ["set breakpoint pending off", "break stand_still", "run", "continue", &generate, "kill"] {
        gdb.args(["-ex", command]);
    }
    let command = process_of(gdb.arg(program("standstill")), directory.path());
    let run = command.env("TELEMETRY_CONTROL", output).output().expect("gdb runs");
    if !core.exists() {
        eprintln!("SKIPPED: gdb may not trace here: {}", said(&run));
        return;
    }
    let whole = directory.path().join("whole.tel");
    let mut file = std::fs::File::create(&whole).expect("a file");
    let found = Reader::open(&core).expect("a core dump").recover(&mut file).expect("what is left");
    assert_eq!(found.refused, [].into(), "output: `{output}`");
    assert_eq!(found.sessions.len(), 1);
    let all = found.events;
    // Written events may be gone from memory.
    if output.is_empty() {
        assert_eq!(all, 2000);
        let open: Vec<_> = found.threads.iter().map(|thread| thread.open.len()).collect();
        assert_eq!(open, [1, 1], "each thread was writing a block");
    }
    assert_eq!(Stream::read_what_is_left(&whole).by_name(), [("Alloc", all)].into());
    damage_a_block(&core);
    let found =
        Reader::open(&core).expect("a core dump").recover(&mut std::io::sink()).expect("what is left");
    let refused: Vec<_> = found.refused.iter().map(|(why, refused)| (*why, refused.blocks)).collect();
    assert_eq!(refused, [(Refusal::Header, 1)], "output: `{output}`");
    assert!(found.events < all, "output: `{output}`");
}

/// Changes a byte in the header of the first block in memory that has events.
fn damage_a_block(core: &Path) {
    let mut bytes = std::fs::read(core).expect("a core dump");
    let is_block = |at: &usize| {
        let header = &bytes[*at..];
        header.starts_with(&MAGIC)
            && header[10..12] == (memory::HEADER_LEN as u16).to_le_bytes()
            && header[12..16] == [0; 4]
            && header[16..20] != [0; 4]
            && header[18..20] == [0; 2]
    };
    // Blocks are aligned to words in memory, and memory to pages in the file.
    let mut words = (0..bytes.len() - memory::HEADER_LEN).step_by(8);
    let at = words.find(is_block).expect("a block");
    bytes[at + 60] ^= 1;
    std::fs::write(core, bytes).expect("a writable file");
}
