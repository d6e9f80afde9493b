//! Call stacks of real processes, by the names of their functions. The functions are in assembly,
//! so that they have frames and names whatever this test is built with.
#![allow(unsafe_code)]

use std::arch::global_asm;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value as Json;
use telemetry_testing::program;

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
    record_program(test, || {
        for _ in 0..events {
            // SAFETY: the functions keep the rules of C.
            unsafe { telemetry_test_outer(leaf) };
        }
        telemetry::flush();
    })
}

/// Runs a test again as a program of its own. Returns its folder, in which `app.tel` is its stream;
/// nothing in that program.
pub(crate) fn record_program(test: &str, run: impl FnOnce()) -> Option<Folder> {
    if std::env::var_os(PROGRAM).is_some() {
        run();
        return None;
    }
    let folder = Folder::new();
    // Tests may replace the program.
    program::copy(std::env::current_exe().unwrap(), &folder.path("program"));
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
/// missing. With debug information, the emitter's functions that it inlines are not shown.
fn is_named(stack: &str) -> bool {
    let names: Vec<&str> = stack.split(';').collect();
    let is_called = |names: &[&str]| names[..2] == ["telemetry_test_outer", "telemetry_test_middle"];
    names[0] == "Reached"
        && names.windows(2).any(is_called)
        && names.last().is_some_and(|name| name.ends_with("suite::stacks::leaf"))
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

#[test]
fn events_are_grouped_by_their_stacks() {
    let Some(folder) = record("stacks::events_are_grouped_by_their_stacks", 3) else { return };
    let stream = std::fs::read(folder.path("app.tel")).unwrap();
    let text = |run: crate::run::Run| String::from_utf8(run.stdout).unwrap();
    for run in [folder.run("stats --by stack app.tel"), folder.run_on("stats --by stack -", &stream)] {
        let text = text(run);
        let row = text.lines().nth(1).unwrap();
        let is_shown = row.starts_with("suite::stacks::leaf <- telemetry_test_") && row.contains(" more ");
        assert!(is_shown && row.ends_with("3  100.0 %"), "{text}");
    }
    let json: Json = serde_json::from_str(&text(folder.run("stats --by stack --json app.tel"))).unwrap();
    crate::json::check_groups(&json);
    let stack = &json["groups"][0]["values"]["stack"];
    let frames: Vec<&str> = stack.as_array().unwrap().iter().filter_map(Json::as_str).collect();
    assert_eq!(frames[0], "suite::stacks::leaf");
    assert!(frames.contains(&"telemetry_test_outer") && frames.len() > 4, "{frames:?}");
    let same = text(folder.run("diff --by stack app.tel app.tel"));
    assert!(same.contains("suite::stacks::leaf <- telemetry_test_"), "{same}");
}

#[test]
fn stacks_are_printed_below_their_events() {
    let Some(folder) = record("stacks::stacks_are_printed_below_their_events", 2) else { return };
    let stream = std::fs::read(folder.path("app.tel")).unwrap();
    let text = |run: crate::run::Run| String::from_utf8(run.stdout).unwrap();
    let piped = folder.run_on("print --stacks -", &stream);
    for text in [text(folder.run("print --stacks --event Reached app.tel")), text(piped)] {
        assert_eq!(text.matches("#0   suite::stacks::leaf\n").count(), 2, "{text}");
        assert_eq!(text.matches("telemetry_test_outer\n").count(), 2, "{text}");
    }
    let lines = text(folder.run("print --stacks --json --event Reached app.tel"));
    for line in lines.lines() {
        let json: Json = serde_json::from_str(line).unwrap();
        crate::json::check_event(&json);
        assert_eq!(json["frames"][0], "suite::stacks::leaf", "{line}");
    }
    assert_eq!(lines.lines().count(), 2);
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
            program::copy(other, &program);
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
