//! Call stacks through code that a program has compiled: its names come from the program's events.
#![allow(unsafe_code)]

use std::collections::BTreeMap;

use serde_json::Value as Json;
use telemetry_decode::names::runtime_registry;
use telemetry_decode::writer::Lane;
use telemetry_decode::{Array, EnumValue, RawStr, Value};
use telemetry_schema::own;

use crate::flame::folded;
use crate::run::Folder;
use crate::streams::begun;

/// An event of a made program.
enum Made {
    /// The address, the size, and the name.
    Compiled(u64, u64, &'static [u8]),
    Freed(u64),
    /// The number, and the addresses of its frames. It is called in the same round.
    Stack(u64, &'static [u64]),
}

use Made::{Compiled, Freed, Stack};

/// Makes a stream of events, each 10 ns after the one before.
fn stream(events: &[Made]) -> Vec<u8> {
    let registry = telemetry_schema::parse(include_str!("../data/compiled.toml")).unwrap();
    let (mut writer, lane) = begun(7, 1_000_000, "jit", &registry);
    let own = Lane { thread: 0, registry: writer.registry(7, &runtime_registry().unwrap()).unwrap(), ..lane };
    for (at, event) in (1..).zip(events) {
        let time = 10 * at;
        match event {
            Compiled(address, size, name) => {
                let values = [Value::Pointer(*address), Value::Word(*size), Value::String(RawStr(name))];
                writer.event(lane, 1, time, &values).unwrap();
            }
            Freed(address) => writer.event(lane, 2, time, &[Value::Pointer(*address)]).unwrap(),
            Stack(number, frames) => {
                let frames: Vec<_> = frames.iter().map(|frame| Value::Addr(*frame)).collect();
                let frames = Value::Array(Array::from(frames.as_slice()));
                let end = Value::Named(EnumValue::new(1));
                let values = [Value::Unsigned(*number), end, frames];
                writer.event(own, own::STACK, time, &values).unwrap();
                writer.event(lane, 3, time, &[Value::Unsigned(at), Value::Unsigned(*number)]).unwrap();
            }
        }
    }
    writer.end(7, 1_000_000).unwrap();
    writer.finish().unwrap()
}

/// Checks the frames of each stack, the outermost first.
fn check(name: &str, events: &[Made], expected: &[&str]) {
    let folder = Folder::new().with("app.tel", stream(events));
    let graph = folded(&folder, "--stacks app.tel");
    let found: Vec<_> = graph.keys().map(|stack| stack.trim_start_matches("Called;")).collect();
    let mut expected = expected.to_vec();
    expected.sort_unstable();
    assert_eq!(found, expected, "{name}");
}

#[test]
fn code_has_the_name_that_it_had_at_the_time_of_the_stack() {
    let two = [Compiled(0x1000, 0x100, b"a"), Compiled(0x1100, 0x100, b"b"), Stack(1, &[0x1080, 0x1108])];
    check("two functions", &two, &["b;a"]);
    // A caller goes on behind its call, which may be the last instruction of its function.
    let ends = [Compiled(0x1000, 0x100, b"a"), Compiled(0x1100, 0x100, b"b"), Stack(1, &[0x1100, 0x1100])];
    check("the end of a function", &ends, &["a;b"]);
    let later = [Stack(1, &[0x1080]), Compiled(0x1000, 0x100, b"a"), Stack(2, &[0x1080, 0x1081])];
    check("code that is made later", &later, &["0x1080", "a;a"]);
    let freed = [Compiled(0x1000, 0x100, b"a"), Stack(1, &[0x1080]), Freed(0x1000), Stack(2, &[0x1081])];
    check("freed code", &freed, &["a", "0x1081"]);
    let again = [
        Compiled(0x1000, 0x100, b"a"),
        Stack(1, &[0x1080]),
        Freed(0x1000),
        Compiled(0x1000, 0x80, b"b"),
        Stack(2, &[0x1040]),
        Stack(3, &[0x1090]),
    ];
    check("memory that is used again", &again, &["a", "b", "0x1090"]);
}

#[test]
fn damaged_and_overlapping_code_has_no_wrong_name() {
    let over = [
        Compiled(0x1000, 0x100, b"a"),
        Compiled(0x1080, 0x100, b"b"),
        Stack(1, &[0x1010]),
        Stack(2, &[0x1090]),
        Compiled(0, u64::MAX, b"all"),
        Stack(3, &[0x1090, 0x1091]),
        Compiled(0x1090, 1, b"one"),
        Stack(4, &[0x1090, 0x1090]),
    ];
    check("later code replaces what it overlaps", &over, &["0x1010", "b", "all;all", "0x108f;one"]);
    let odd = [
        Compiled(0x1000, 0, b"empty"),
        Compiled(u64::MAX - 1, 2, b"last"),
        Compiled(u64::MAX - 1, 3, b"too long"),
        Compiled(0x2000, 0x10, b""),
        Compiled(0x3000, 0x10, b"\xff\n"),
        Freed(0x9000),
        Stack(1, &[0x1000]),
        Stack(2, &[u64::MAX]),
        Stack(3, &[0x2000]),
        Stack(4, &[0x3000]),
    ];
    let expected = ["0x1000", "last", "0x2000", "\u{fffd} "];
    check("no size, no name, and no text", &odd, &expected);
}

/// All commands that show stacks name compiled code.
#[test]
fn commands_share_the_names() {
    let events = [Compiled(0x1000, 0x100, b"made"), Stack(1, &[0x1080])];
    let folder = Folder::new().with("app.tel", stream(&events));
    let bytes = std::fs::read(folder.path("app.tel")).unwrap();
    for args in ["stats --by stack", "print --stacks", "flame --stacks", "print --stacks --event Called"] {
        let run = folder.run(&format!("{args} app.tel"));
        let text = String::from_utf8(run.stdout).unwrap();
        assert!(
            text.lines().any(|line| line.contains("made") && !line.contains("Compiled")),
            "{args}: {text}"
        );
    }
    // From a pipe, code has a name if its event comes before.
    let piped = folder.run_on("flame --stacks -", &bytes);
    assert_eq!(String::from_utf8(piped.stdout).unwrap(), "Called;made 1\n");
}

/// Calls a function through code that is made at run time, which has a frame.
#[cfg(target_arch = "x86_64")]
mod run {
    use std::ffi::c_void;

    use crate::compiled_events as events;

    const LEN: usize = 4096;

    /// Memory for code.
    pub(super) struct Page(*mut c_void);

    impl Page {
        pub(super) fn new() -> Page {
            let access = libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC;
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            // SAFETY: the system chooses a place that is free.
            let page = unsafe { libc::mmap(std::ptr::null_mut(), LEN, access, flags, -1, 0) };
            assert_ne!(page, libc::MAP_FAILED, "{}", std::io::Error::last_os_error());
            Page(page)
        }

        /// Writes a function that calls another one, at an offset, and emits its name.
        pub(super) fn compile(&self, at: usize, name: &str, callee: extern "C" fn()) -> extern "C" fn() {
            // push rbp; mov rbp, rsp; mov rax, CALLEE; call rax; pop rbp; ret
            let mut code = vec![0x55, 0x48, 0x89, 0xe5, 0x48, 0xb8];
            code.extend_from_slice(&(callee as usize as u64).to_le_bytes());
            code.extend_from_slice(&[0xff, 0xd0, 0x5d, 0xc3]);
            assert!(at + code.len() <= LEN);
            // SAFETY: the page can be written, and no code of it runs meanwhile.
            let begin = unsafe {
                let begin = self.0.cast::<u8>().add(at);
                begin.copy_from_nonoverlapping(code.as_ptr(), code.len());
                begin
            };
            events::compiled!(begin, code.len(), name);
            // SAFETY: this is the code of such a function.
            unsafe { std::mem::transmute::<*mut u8, extern "C" fn()>(begin) }
        }

        /// Says that the code at an offset is gone.
        pub(super) fn free(&self, at: usize) {
            events::freed!(self.0.cast::<u8>().wrapping_add(at));
        }
    }

    extern "C" fn leaf() {
        events::called!(1);
    }

    /// Compiles functions, calls them, frees them, and does so again in the same memory.
    pub(super) fn program() {
        let page = Page::new();
        let inner = page.compile(0, "jit::inner", leaf);
        let middle = page.compile(64, "jit::middle", inner);
        page.compile(128, "jit::outer", middle)();
        [0, 64, 128].into_iter().for_each(|at| page.free(at));
        // At other places, so that the stack is another one.
        let inner = page.compile(16, "jit::again_inner", leaf);
        page.compile(80, "jit::again", inner)();
        telemetry::flush();
    }
}

#[test]
#[cfg(target_arch = "x86_64")]
fn compiled_functions_of_a_process_have_names() {
    let test = "compiled::compiled_functions_of_a_process_have_names";
    let Some(folder) = crate::stacks::record_program(test, run::program) else { return };
    let graph: BTreeMap<String, u64> = folded(&folder, "--stacks app.tel");
    let has = |part: &str| graph.keys().any(|stack| stack.contains(part));
    // The leaf may have no frame. Then its caller is missing.
    assert!(has(";jit::outer;jit::middle;") && has(";jit::again;"), "{graph:?}");
    assert!(!graph.keys().any(|stack| stack.contains("outer") && stack.contains("again")), "{graph:?}");
    let json = folder.run("stats --by stack --json app.tel").stdout;
    let json: Json = serde_json::from_slice(&json).unwrap();
    assert_eq!(json["groups"].as_array().unwrap().len(), 2, "{json}");
}

#[test]
#[cfg(not(target_arch = "x86_64"))]
fn compiled_functions_of_a_process_have_names() {
    println!("SKIPPED: the machine code of this test is that of x86-64");
}
