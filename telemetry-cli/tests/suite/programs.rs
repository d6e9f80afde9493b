//! `telemetry registry`: the registries in programs and memory images.

use std::ops::Range;
use std::process::Command;

use serde_json::Value as Json;
use telemetry_format::{BlockType, codec};
use telemetry_testing::made::{blocks, edit, header};

use crate::gc_events;
use crate::run::Folder;
use crate::streams::{gc, image};

/// Returns names, versions and numbers of events of the registries in a file.
#[track_caller]
fn registries(folder: &Folder, file: &str) -> Vec<(String, String, usize)> {
    let run = folder.run(&format!("registry --json {file}"));
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let json: Json = serde_json::from_slice(&run.stdout).expect("one object");
    let [file] = json["files"].as_array().expect("a list").as_slice() else { panic!("one file: {json}") };
    let list = file["registries"].as_array().expect("a list");
    let text = |registry: &Json, key: &str| registry[key].as_str().expect("a text").to_string();
    list.iter()
        .map(|one| (text(one, "name"), text(one, "version"), one["events"].as_array().map_or(0, Vec::len)))
        .collect()
}

/// This test is a program with registries. A program without symbols has the same.
#[test]
fn programs_have_registries() {
    gc_events::ref_fix!(4_u64);
    let program = std::env::current_exe().expect("this program");
    let folder = Folder::new().with("app", std::fs::read(&program).expect("a file"));
    let found = registries(&folder, "app");
    let gc = found.iter().find(|(name, ..)| name == "gc").expect("the registry of these tests");
    let (_, _, events) = gc;
    let in_stream = Folder::new().with("gc.tel", crate::streams::gc());
    let of_stream = registries(&in_stream, "gc.tel");
    assert!(of_stream.contains(gc), "{gc:?} is not in {of_stream:?}");
    assert!(*events > 3, "{events}");
    assert_eq!(found.last().map(|(name, ..)| name.as_str()), Some("telemetry"), "the runtime's own is last");

    let stripped = folder.path("stripped");
    match Command::new("strip").arg("-o").arg(&stripped).arg(&program).status() {
        Ok(status) => {
            assert!(status.success(), "{status}");
            assert_eq!(registries(&folder, "stripped"), found);
        }
        Err(error) => eprintln!("SKIPPED: no strip: {error}"),
    }
    let text = String::from_utf8(folder.run("registry app").stdout).expect("UTF-8");
    assert!(text.starts_with("app (telemetry-runtime "), "{text}");
    assert!(text.contains("variety=cool"), "{text}");
}

/// Tells a process of these tests that it must abort.
#[cfg(target_os = "linux")]
const ABORTS: &str = "TELEMETRY_TEST_ABORTS";

/// Runs a test again in a process of its own, which aborts in the folder. Returns the name of the
/// kernel's dump of it, or nothing if the kernel writes none there.
#[cfg(target_os = "linux")]
fn dumped(folder: &Folder, test: &str) -> Option<String> {
    use std::os::unix::process::ExitStatusExt;

    // The usual limit is that nothing is dumped.
    let mut shell = Command::new("sh");
    shell.args(["-c", "ulimit -S -c \"$(ulimit -H -c)\"; exec \"$0\" \"$@\""]);
    shell.arg(std::env::current_exe().expect("this program")).args([test, "--exact", "--nocapture"]);
    shell.current_dir(folder.path(".")).env(ABORTS, "1").env("TELEMETRY_CONTROL", "all");
    shell.env("TELEMETRY_SOCKET", "off");
    let output = shell.output().expect("a shell");
    assert_eq!(
        output.status.signal(),
        Some(libc::SIGABRT),
        "{}",
        String::from_utf8_lossy(&[output.stdout, output.stderr].concat())
    );
    let entries = std::fs::read_dir(folder.path(".")).expect("a folder");
    let mut names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let core = names.find(|name| name.starts_with("core"));
    if core.is_none() {
        let pattern = std::fs::read_to_string("/proc/sys/kernel/core_pattern").unwrap_or_default();
        eprintln!("SKIPPED: the kernel dumps no core here; its pattern is `{}`", pattern.trim());
    }
    core
}

/// A dump by the kernel has memory that the program has written, and not the file of the program.
#[test]
#[cfg(target_os = "linux")]
fn core_dumps_have_the_registries_in_use() {
    if std::env::var_os(ABORTS).is_some() {
        gc_events::ref_fix!(4_u64);
        std::process::abort();
    }
    let folder = Folder::new().with("gc.tel", gc());
    let Some(core) = dumped(&folder, "programs::core_dumps_have_the_registries_in_use") else { return };
    let (in_core, in_stream) = (registries(&folder, &core), registries(&folder, "gc.tel"));
    assert!(in_stream.iter().all(|registry| in_core.contains(registry)), "{in_stream:?}: {in_core:?}");
    let (events, _) = called(&folder, &core, "gc");
    assert!(!events.is_empty() && events.iter().all(|(_, is_called)| is_called.is_none()), "{events:?}");
    let [of_core, of_stream] =
        [core.as_str(), "gc.tel"].map(|file| folder.run(&format!("registry --toml gc {file}")));
    assert_eq!(String::from_utf8(of_core.stdout), String::from_utf8(of_stream.stdout));
}

/// The documentation tells the length.
#[test]
fn a_head_is_short() {
    let registry = telemetry_schema::parse(crate::streams::GC).expect("a registry");
    let head = registry.for_program().len() - registry.to_toml().len();
    let page = include_str!("../../../docs/cli.md");
    assert!(page.contains(&format!("a head of {head} bytes")), "{head} bytes");
}

/// Events, of which a program calls two.
const THREE: &str = r#"
[registry]
name = "three"
version = "1.0.0"
doc = "Three events"

[kinds]
Call = { bit = 0, doc = "per call" }

[[event]]
name = "First"
code = 1
kind = "Call"
doc = "It is called"
params = [{ name = "size", sort = "word", doc = "a size" }]

[[event]]
name = "Second"
code = 2
kind = "Call"
doc = "It is called by code that does not run"
params = [{ name = "size", sort = "word", doc = "a size" }]

[[event]]
name = "Third"
code = 3
kind = "Call"
doc = "It is not called"
params = [{ name = "size", sort = "word", doc = "a size" }]
"#;

const MAIN: &str = r#"
#![forbid(unsafe_code)]
#[telemetry::telemetry_event("three.toml")]
pub mod events {}
fn main() {
    events::first!(1_u64);
    if std::env::args().count() > 100 {
        events::second!(2_u64);
    }
}
"#;

/// Builds a program as a release is: optimized, and without symbols.
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
fn build(name: &str, flags: &str) -> std::path::PathBuf {
    let temporary = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    let folder = temporary.join(name);
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a folder");
    std::fs::create_dir_all(folder.join("src")).expect("a folder");
    let manifest = format!(
        "[workspace]\n[package]\nname = \"{name}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\
         [dependencies]\ntelemetry-events = {{ path = {root:?} }}\n\n\
         [profile.dev]\nopt-level = 3\nstrip = true\ndebug = false\nincremental = false\n"
    );
    let lock = std::fs::read_to_string(root.join("Cargo.lock")).expect("a file");
    let files =
        [("Cargo.toml", &*manifest), ("three.toml", THREE), ("src/main.rs", MAIN), ("Cargo.lock", &*lock)];
    for (path, text) in files {
        std::fs::write(folder.join(path), text).expect("a file");
    }
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
    cargo.args(["rustc", "--offline", "--color=never", "--"]).args(flags.split_whitespace());
    // That of other programs of these tests.
    let target = temporary.join("target");
    let output = cargo.current_dir(&folder).env("CARGO_TARGET_DIR", &target).output().expect("a run");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    target.join("debug").join(name)
}

/// Returns which emitters of a registry are called, and what the command says of it.
#[track_caller]
fn called(folder: &Folder, file: &str, registry: &str) -> (Vec<(String, Option<bool>)>, Option<String>) {
    let run = folder.run(&format!("registry --json {file}"));
    let json: Json = serde_json::from_slice(&run.stdout).expect("one object");
    let list = json["files"][0]["registries"].as_array().expect("a list");
    let found = list.iter().find(|one| one["name"] == registry).expect("the registry");
    let events = found["events"].as_array().expect("a list");
    let name = |event: &Json| event["name"].as_str().expect("a text").to_string();
    let called = events.iter().map(|event| (name(event), event["called"].as_bool())).collect();
    let text = String::from_utf8(folder.run(&format!("registry {file}")).stdout).expect("UTF-8");
    let said = text.lines().find(|line| line.contains("that no code calls"));
    (called, said.map(str::to_string))
}

#[test]
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
fn programs_tell_which_emitters_no_code_calls() {
    let exact = [Some(true), Some(true), Some(false)];
    let said = "events of three that no code calls: ";
    for (name, flags, expected, says) in
        [("three", "", exact, Some("Third")), ("three-dead", "-Clink-dead-code", [Some(true); 3], None)]
    {
        let program = std::fs::read(build(name, flags)).expect("a file");
        let mut core = program.clone();
        core[16] = 4;
        let folder = Folder::new().with("app", program).with("core", core);
        let (found, line) = called(&folder, "app", "three");
        let names = ["First", "Second", "Third"].map(str::to_string);
        assert_eq!(found, names.clone().into_iter().zip(expected).collect::<Vec<_>>(), "{name}");
        assert_eq!(line, says.map(|says| format!("{said}{says}")), "{name}");
        // A core dump may have only a part of the program.
        let (found, line) = called(&folder, "core", "three");
        assert_eq!(found, names.into_iter().map(|name| (name, None)).collect::<Vec<_>>(), "{name}");
        assert_eq!(line, Some(format!("{said}not known")), "{name}");
    }
}

/// Streams have registries, and no code.
#[test]
fn streams_do_not_tell_which_emitters_are_called() {
    let folder = Folder::new().with("gc.tel", gc());
    let (found, line) = called(&folder, "gc.tel", "gc");
    assert!(!found.is_empty() && found.iter().all(|(_, is_called)| is_called.is_none()), "{found:?}");
    assert_eq!(line, None);
}

/// A file that does not tell has nothing to say of counters, which the runtime samples.
#[test]
fn counters_are_not_among_what_no_code_calls() {
    const COUNTED: &str = include_str!("../../../tests/registries/counters.toml");
    let (counters, _) = COUNTED.split_once("[[event]]").expect("an event behind the counters");
    let said = "events of counted that no code calls: not known";
    for (text, says) in [(COUNTED, Some(said)), (counters, None)] {
        let registry = telemetry_schema::parse(text).expect("a registry");
        let app = format!("telemetry-runtime 0.1.0 variety=cool\0{}", registry.for_program());
        let folder = Folder::new().with("app", app);
        let (found, line) = called(&folder, "app", "counted");
        assert_eq!(found.len(), registry.events.len(), "{found:?}");
        assert_eq!(line.as_deref(), says, "{found:?}");
    }
}

/// The printed registry is one that other commands take.
#[test]
fn a_registry_is_printed() {
    let folder = Folder::new().with("gc.tel", gc());
    let run = folder.run("registry --toml gc gc.tel");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let folder = folder.with("gc.toml", &run.stdout);
    assert_eq!(folder.run("print --registry gc.toml gc.tel").code, Some(0));
    let run = folder.run("registry --toml gd gc.tel");
    assert_eq!((run.code, run.stdout.len()), (Some(2), 0));
    assert_eq!(run.stderr, "error: found no registry `gd`; help: the registries are `gc`\n");
    folder.check("registry", &["registry gc.tel", "registry --events gc.tel", "registry --json gc.tel"]);
}

#[track_caller]
fn nothing(name: &str, content: &[u8]) {
    let folder = Folder::new().with(name, content);
    let run = folder.run(&format!("registry {name}"));
    assert_eq!(run.code, Some(1), "{name}: {}", run.stderr);
    assert!(
        run.stderr.starts_with(&format!("error: `{name}` contains no registry; help: ")),
        "{}",
        run.stderr
    );
}

#[test]
fn images_and_damaged_files_are_searched() {
    let folder = Folder::new().with("app.ring", image(&gc(), 3)).with("gc.tel", gc());
    assert_eq!(registries(&folder, "app.ring"), registries(&folder, "gc.tel"));
    nothing("empty", b"");
    nothing("text", b"telemetry-registry of all sorts\n");
    // A head without a registry, with more than there is, and with another one.
    nothing("short", b"telemetry-registry 00000010 0123456789abcdef\n[regist");
    nothing("long", b"telemetry-registry ffffffff 0123456789abcdef\n[registry]\n");
    nothing("wrong", &[b"telemetry-registry 0000000b 0123456789abcdef\n", &b"[registry]\n"[..]].concat());
    let mut broken = gc();
    broken.iter_mut().for_each(|byte| {
        if *byte == b'[' {
            *byte = b'(';
        }
    });
    nothing("broken.tel", &broken);
    let run = folder.run("registry missing");
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.starts_with("error: cannot read `missing`: "), "{}", run.stderr);
}

/// Registries of streams that the command writes are compressed.
#[test]
fn compressed_registries_are_found() {
    let folder = Folder::new().with("gc.tel", gc());
    let run = folder.run("convert --to telemetry -o packed.tel gc.tel");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let mut packed = std::fs::read(folder.path("packed.tel")).expect("a stream");
    let is_registry = |block: &Range<usize>| header(&packed[block.clone()]).block_type == BlockType::Registry;
    let block = blocks(&packed).into_iter().find(is_registry).expect("a registry");
    assert_eq!(header(&packed[block.clone()]).codec, codec::DEFLATE);
    assert_eq!(registries(&folder, "packed.tel"), registries(&folder, "gc.tel"));
    // What cannot be decompressed is no registry.
    edit(&mut packed[block], |header| header.unpacked_len += 1);
    nothing("packed.tel", &packed);
}

/// A head that begins at the end of one part of the file, at each place.
#[test]
fn a_head_across_two_parts_is_found() {
    let registry = telemetry_schema::parse(crate::streams::GC).expect("a registry");
    let text = registry.for_program();
    let folder = Folder::new();
    for before in [0, 1, 18, 19, 45, 100, 1 << 10] {
        let file = [vec![b'x'; (1 << 20) - before], text.clone().into_bytes()].concat();
        std::fs::write(folder.path("app"), file).expect("a file");
        let found = registries(&folder, "app");
        assert_eq!(found.len(), 1, "{before} bytes before the end of a part");
    }
}
