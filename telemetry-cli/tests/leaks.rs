//! Records the allocator of a real program that leaks, and finds the leak by its call stack. The
//! functions are in assembly, so that they have frames and names whatever this test is built with.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(unsafe_code)]

use std::alloc::Layout;
use std::arch::global_asm;
use std::hint::black_box;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value as Json;
use telemetry_std::Allocator;

#[global_allocator]
static ALLOCATOR: Allocator = Allocator::system();

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
    "telemetry_test_call telemetry_test_leaky, telemetry_test_maker",
    "telemetry_test_call telemetry_test_tidy, telemetry_test_maker",
    "telemetry_test_call telemetry_test_maker, telemetry_test_allocate",
    "telemetry_test_call telemetry_test_allocate, rdi",
);

unsafe extern "C" {
    /// Calls the function by way of two others.
    fn telemetry_test_leaky(make: extern "C" fn() -> *mut u8) -> *mut u8;
    /// The same by another way.
    fn telemetry_test_tidy(make: extern "C" fn() -> *mut u8) -> *mut u8;
}

/// Sizes of allocations that nothing else in this process makes.
const ODD: Layout = Layout::new::<[u8; 50_021]>();
const CHILD: &str = "TELEMETRY_TEST_CHILD";

extern "C" fn make() -> *mut u8 {
    // SAFETY: the size is not 0.
    unsafe { std::alloc::alloc(ODD) }
}

fn program() {
    for round in 0..10 {
        // SAFETY: the functions keep the rules of C. What is freed was allocated so.
        unsafe {
            let block = black_box(telemetry_test_tidy(make));
            if round % 2 == 0 {
                black_box(telemetry_test_leaky(make));
            }
            std::alloc::dealloc(block, ODD);
        }
    }
    // SAFETY: as above. A block that grows is still that of who allocated it.
    unsafe { black_box(std::alloc::realloc(telemetry_test_leaky(make), ODD, 2 * ODD.size())) };
    telemetry::flush();
}

#[test]
fn a_leak_is_found_by_its_stack() {
    if std::env::var_os(CHILD).is_some() {
        return program();
    }
    let folder = tempfile::tempdir().unwrap();
    let stream = folder.path().join("app.tel");
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["a_leak_is_found_by_its_stack", "--exact", "--nocapture", "--test-threads=1"])
        .envs([(CHILD, "1"), ("TELEMETRY_CONTROL", "std:all"), ("TELEMETRY_BUFFER", "64M")])
        .env("TELEMETRY_FILENAME", &stream)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let since = Instant::now();
    let status = loop {
        match child.try_wait().unwrap() {
            Some(status) => break status,
            None if since.elapsed() > Duration::from_secs(60) => {
                let _ = child.kill();
                panic!("the program hangs");
            }
            None => std::thread::sleep(Duration::from_millis(5)),
        }
    };
    assert!(status.success());
    let leaks = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_telemetry"));
        let output = command.arg("leaks").args(args).arg(&stream).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(0), "{said}");
        (String::from_utf8(output.stdout).unwrap(), said)
    };
    let (text, said) = leaks(&["--json", "--strict"]);
    let json: Json = serde_json::from_str(&text).unwrap();
    assert_eq!(json["certain"], true, "{said}");
    let groups = json["groups"].as_array().unwrap();
    let has = |group: &Json, name: &str| {
        let stack = group["values"]["stack"].as_array();
        stack.is_some_and(|frames| frames.iter().any(|frame| frame == name))
    };
    let leaked: Vec<&Json> = groups.iter().filter(|group| has(group, "telemetry_test_leaky")).collect();
    let sum = |key: &str| leaked.iter().map(|group| group[key].as_u64().unwrap()).sum::<u64>();
    assert_eq!((sum("blocks"), sum("bytes")), (6, 7 * 50_021), "{json:#}");
    assert!(!groups.iter().any(|group| has(group, "telemetry_test_tidy")), "{json:#}");

    let (text, _) = leaks(&["-n", "2"]);
    assert!(text.contains("telemetry_test_leaky\n") && text.contains("350,147 bytes in"), "{text}");
    // Before the program there is nothing of it.
    let (text, _) = leaks(&["--at", "0"]);
    assert!(!text.contains("telemetry_test"), "{text}");
    let (text, _) = leaks(&["--by", "event,size"]);
    assert!(text.contains("50,021") || text.contains("50021"), "{text}");

    commands_of_the_page(folder.path());
}

/// Runs the commands of docs/stacks.md on the stream `app.tel`.
fn commands_of_the_page(folder: &Path) {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/stacks.md");
    let page = std::fs::read_to_string(page).unwrap();
    let command = Path::new(env!("CARGO_BIN_EXE_telemetry")).parent().unwrap();
    let path = format!("{}:{}", command.display(), std::env::var("PATH").unwrap());
    let samples = page.split("```sh\n").skip(1).filter_map(|sample| sample.split("```").next());
    let mut lines = 0;
    for line in samples.flat_map(str::lines) {
        let mut shell = Command::new("sh");
        let output = shell.args(["-c", line]).current_dir(folder).env("PATH", &path).output().unwrap();
        let (text, said) =
            (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
        assert_eq!(output.status.code(), Some(0), "{line}: {said}");
        let text = match line.split_once(" > ") {
            Some((_, file)) => std::fs::read_to_string(folder.join(file)).unwrap(),
            None => text,
        };
        assert!(text.contains("telemetry_test_"), "{line}: {text}");
        lines += 1;
    }
    assert_eq!(lines, 5, "commands of docs/stacks.md");
}
