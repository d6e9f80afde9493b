//! `telemetry registry`: the registries in programs and memory images.

use std::process::Command;

use serde_json::Value as Json;

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

#[test]
fn images_and_damaged_files_are_searched() {
    let folder = Folder::new().with("app.ring", image(&gc(), 3)).with("gc.tel", gc());
    assert_eq!(registries(&folder, "app.ring"), registries(&folder, "gc.tel"));
    let nothing = |name: &str, content: &[u8]| {
        let folder = Folder::new().with(name, content);
        let run = folder.run(&format!("registry {name}"));
        assert_eq!(run.code, Some(1), "{name}: {}", run.stderr);
        assert!(
            run.stderr.starts_with(&format!("error: `{name}` contains no registry; help: ")),
            "{}",
            run.stderr
        );
    };
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
