//! `convert`, and other commands on logs of other systems.

use crate::run::Folder;
use crate::streams::{gc, labelled, lossy, two_registries};

/// What `print` says of a file.
fn printed(folder: &Folder, file: &str) -> String {
    let run = folder.run(&format!("print {file}"));
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    String::from_utf8(run.stdout).unwrap()
}

#[test]
fn a_stream_of_a_stream_says_the_same() {
    for (name, stream) in
        [("gc.tel", gc()), ("lossy.tel", lossy()), ("labels.tel", labelled()), ("two.tel", two_registries())]
    {
        let folder = Folder::new().with(name, stream);
        for (out, more) in [("plain.tel", ""), ("packed.tel", "--compress")] {
            let run = folder.run(&format!("convert --to telemetry {more} -o {out} {name}"));
            assert_eq!(run.code, Some(0), "{name}: {}", run.stderr);
            assert_eq!(printed(&folder, out), printed(&folder, name), "{name} {more}");
        }
        let len = |file: &str| std::fs::metadata(folder.path(file)).unwrap().len();
        // Of a few short events nothing is left that could be compressed.
        let is_short = ["lossy.tel", "two.tel"].contains(&name);
        assert!(len("packed.tel") < len("plain.tel") + u64::from(is_short), "{name}");
        // Texts are compressed anyhow.
        assert!(name != "gc.tel" || len("plain.tel") < len(name), "{name}");
        // Losses are in the new stream, too.
        let lost = |file: &str| folder.run(&format!("info --json {file}")).stdout;
        let lost = |file: &str| {
            let info: serde_json::Value = serde_json::from_slice(&lost(file)).unwrap();
            info["completeness"]["lost"].clone()
        };
        assert_eq!(lost("plain.tel"), lost(name), "{name}");
    }
}

#[test]
fn what_convert_says() {
    let folder = Folder::new().with("gc.tel", gc()).with("empty.tel", "");
    folder.check(
        "convert",
        &[
            "convert --to telemetry --kind Trace --until 2ms gc.tel -o some.tel",
            "print some.tel",
            "convert --to telemetry -o out.tel missing.tel",
            "convert --to telemetry -o out.tel empty.tel",
            "convert --to mps --compress -o out.log gc.tel",
            "convert -o out.tel gc.tel",
            "convert --to nothing -o out.tel gc.tel",
            "info --format mps gc.tel",
        ],
    );
    assert!(!folder.path("out.log").exists());
}
