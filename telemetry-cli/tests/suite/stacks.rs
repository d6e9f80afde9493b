//! Call stacks of real processes, by the names of their functions. The functions are in assembly,
//! so that they have frames and names whatever this test is built with.
#![allow(unsafe_code)]

use std::arch::global_asm;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::flame::folded;
use crate::run::Folder;
use crate::stack_events;

#[cfg(target_arch = "x86_64")]
global_asm!(
    ".macro telemetry_test_call name, callee",
    ".globl \\name",
    ".type \\name, @function",
    "\\name:",
    "push rbp",
    "mov rbp, rsp",
    "call \\callee",
    "pop rbp",
    "ret",
    ".size \\name, . - \\name",
    ".endm",
    "telemetry_test_call telemetry_test_outer, telemetry_test_middle",
    "telemetry_test_call telemetry_test_middle, telemetry_test_inner",
    "telemetry_test_call telemetry_test_inner, rdi",
);
#[cfg(target_arch = "aarch64")]
global_asm!(
    ".macro telemetry_test_call name, jump, callee",
    ".globl \\name",
    ".type \\name, @function",
    "\\name:",
    "stp x29, x30, [sp, #-16]!",
    "mov x29, sp",
    "\\jump \\callee",
    "ldp x29, x30, [sp], #16",
    "ret",
    ".size \\name, . - \\name",
    ".endm",
    "telemetry_test_call telemetry_test_outer, bl, telemetry_test_middle",
    "telemetry_test_call telemetry_test_middle, bl, telemetry_test_inner",
    "telemetry_test_call telemetry_test_inner, blr, x0",
);

unsafe extern "C" {
    /// Calls the function by way of two others.
    fn telemetry_test_outer(emit: extern "C" fn());
}

extern "C" fn leaf() {
    stack_events::reached!(100);
}

/// The variable that makes a test be the program.
const PROGRAM: &str = "TELEMETRY_TEST_STACKS";

/// Runs a test again as a program that emits `events` stacks. Returns its folder.
fn record(test: &str, events: u32) -> Option<Folder> {
    if std::env::var_os(PROGRAM).is_some() {
        for _ in 0..events {
            // SAFETY: the functions keep the rules of C.
            unsafe { telemetry_test_outer(leaf) };
        }
        telemetry::flush();
        return None;
    }
    let folder = Folder::new();
    // Tests may replace the program.
    std::fs::copy(std::env::current_exe().unwrap(), folder.path("program")).unwrap();
    let mut program = Command::new(folder.path("program"));
    program.args([test, "--exact", "--nocapture", "--test-threads=1"]).env(PROGRAM, "1");
    program.env("TELEMETRY_CONTROL", "all").env("TELEMETRY_FILENAME", folder.path("app.tel"));
    let mut program = program.stdout(Stdio::null()).spawn().unwrap();
    let since = Instant::now();
    let status = loop {
        match program.try_wait().unwrap() {
            Some(status) => break status,
            None if since.elapsed() > Duration::from_secs(60) => {
                let _ = program.kill();
                panic!("the program hangs");
            }
            None => std::thread::sleep(Duration::from_millis(5)),
        }
    };
    assert!(status.success());
    Some(folder)
}

/// The leaf has no frame of its own if it is built without frame pointers. Then its caller is
/// missing. With debug information it has a short name, and functions that it inlines follow.
fn is_named(stack: &str) -> bool {
    let names: Vec<&str> = stack.split(';').collect();
    let is_called = |names: &[&str]| names[..2] == ["telemetry_test_outer", "telemetry_test_middle"];
    names[0] == "Reached"
        && names.windows(2).any(is_called)
        && names.iter().any(|name| *name == "leaf" || name.ends_with("stacks::leaf"))
}

#[test]
fn functions_have_their_names() {
    let Some(folder) = record("stacks::functions_have_their_names", 3) else { return };
    for (args, weight) in [
        ("--stacks app.tel", 3),
        ("--stacks --weight which app.tel", 300),
        // The selection does not apply to the descriptions of the stacks.
        ("--stacks --event Reached app.tel", 3),
        ("--stacks --kind Place app.tel", 3),
    ] {
        let graph = folded(&folder, args);
        assert_eq!(graph.values().sum::<u64>(), weight, "{args}: {graph:?}");
        assert!(graph.keys().all(|stack| is_named(stack)), "{args}: {graph:?}");
    }
    let piped = folder.run_on("flame --stacks -", &std::fs::read(folder.path("app.tel")).unwrap());
    assert!(String::from_utf8(piped.stdout).unwrap().contains("telemetry_test_outer;telemetry_test_middle"));
    // Other commands show the number.
    let printed = String::from_utf8(folder.run("print --event Reached app.tel").stdout).unwrap();
    assert_eq!(printed.matches("stack:1").count(), 3, "{printed}");
}

/// A program that was built again after it ran, and one that is gone.
#[test]
fn another_file_names_nothing() {
    let Some(folder) = record("stacks::another_file_names_nothing", 1) else { return };
    let program = folder.path("program");
    assert!(folded(&folder, "--stacks app.tel").keys().all(|stack| is_named(stack)));
    std::fs::remove_file(&program).unwrap();
    for other in [Some("/proc/self/exe"), None] {
        if let Some(other) = other {
            std::fs::copy(other, &program).unwrap();
            // Another build ID: no text, but the same number of bytes.
            let mut bytes = std::fs::read(&program).unwrap();
            let id = b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0";
            let at = bytes.windows(id.len()).position(|part| part == id).expect("a build ID");
            bytes[at + id.len()] ^= 1;
            std::fs::write(&program, bytes).unwrap();
        } else {
            std::fs::remove_file(&program).unwrap();
        }
        let graph = folded(&folder, "--stacks app.tel");
        let text = graph.into_keys().collect::<String>();
        assert!(text.contains("program+0x") && !text.contains("telemetry_test"), "{text}");
    }
}
