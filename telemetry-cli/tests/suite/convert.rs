//! `convert`, and other commands on logs of other systems.

use std::io::Read;

use crate::run::Folder;
use crate::streams::{drifting, gc, labeled, lossy, two_registries};
use telemetry_testing::reference;

/// Returns the output of `print` for a file.
fn printed(folder: &Folder, file: &str) -> String {
    let run = folder.run(&format!("print {file}"));
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    String::from_utf8(run.stdout).unwrap()
}

#[test]
fn a_stream_of_a_stream_says_the_same() {
    for (name, stream) in [
        ("gc.tel", gc()),
        ("lossy.tel", lossy()),
        ("labels.tel", labeled()),
        ("two.tel", two_registries()),
        ("drifting.tel", drifting(true)),
        ("cut.tel", drifting(false)),
    ] {
        let folder = Folder::new().with(name, stream);
        for (out, more) in [("plain.tel", ""), ("packed.tel", "--compress")] {
            let run = folder.run(&format!("convert --to telemetry {more} -o {out} {name}"));
            assert_eq!(run.code, Some(0), "{name}: {}", run.stderr);
            assert_eq!(printed(&folder, out), printed(&folder, name), "{name} {more}");
        }
        let len = |file: &str| std::fs::metadata(folder.path(file)).unwrap().len();
        // A few short events are too small to compress.
        let is_short = ["lossy.tel", "two.tel", "drifting.tel", "cut.tel"].contains(&name);
        assert!(len("packed.tel") < len("plain.tel") + u64::from(is_short), "{name}");
        // Texts are compressed in any case.
        assert!(name != "gc.tel" || len("plain.tel") < len(name), "{name}");
        // Losses are in the new stream too.
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
            "convert --to mps -d tables gc.tel",
            "convert --to arrow -d tables gc.tel -o out.arrow",
            "convert -o out.tel gc.tel",
            "convert -o out.log gc.tel",
            "convert gc.tel",
            "convert --kind Trace -o out.json gc.tel",
            "convert --to nothing -o out.tel gc.tel",
            "info --input-format mps gc.tel",
        ],
    );
    assert!(!folder.path("out.log").exists());
}

/// The ending of the output's name tells the format.
#[test]
fn endings_of_names_are_formats() {
    let folder = Folder::new().with("gc.tel", gc());
    let table = [
        ("out.tel", "telemetry"),
        ("mpsio.log", "mps"),
        ("out.eventlog", "ghc-eventlog"),
        ("out.mlpd", "mono"),
        ("out.pftrace", "perfetto"),
        ("out.perfetto-trace", "perfetto"),
        ("out.json", "chrome"),
    ];
    for (name, format) in table {
        let run = folder.run(&format!("convert -o {name} gc.tel"));
        assert_eq!(run.code, Some(0), "{name}: {}", run.stderr);
        let named = folder.run(&format!("convert --to {format} gc.tel"));
        assert_eq!(named.stdout, std::fs::read(folder.path(name)).unwrap(), "{name}");
    }
    assert_eq!(folder.run("convert -o out.json.gz gc.tel").code, Some(0));
    let packed = std::fs::read(folder.path("out.json.gz")).unwrap();
    let mut plain = Vec::new();
    flate2::read::GzDecoder::new(&packed[..]).read_to_end(&mut plain).unwrap();
    assert_eq!(plain, std::fs::read(folder.path("out.json")).unwrap());
}

/// The structure of a trace in JSON: every event has a phase and, but for names, a time.
#[test]
fn traces_in_json_have_events_of_known_phases() {
    for stream in [gc(), lossy(), crate::spans::tangled()] {
        let folder = Folder::new().with("a.tel", stream);
        assert_eq!(folder.run("convert -o a.json a.tel").code, Some(0));
        let trace = std::fs::read(folder.path("a.json")).unwrap();
        let trace: serde_json::Value = serde_json::from_slice(&trace).unwrap();
        let mut open = std::collections::BTreeMap::<_, i64>::new();
        for event in trace["traceEvents"].as_array().unwrap() {
            let phase = event["ph"].as_str().unwrap();
            assert!(event["pid"].is_u64() && event["tid"].is_u64() && event["args"].is_object(), "{event}");
            assert_eq!(event["ts"].is_number(), phase != "M", "{event}");
            assert_eq!(event["id"].is_u64(), ["b", "e"].contains(&phase), "{event}");
            match phase {
                "b" => *open.entry(event["id"].as_u64()).or_default() += 1,
                "e" => *open.entry(event["id"].as_u64()).or_default() -= 1,
                _ => assert!(["M", "i", "B", "E"].contains(&phase), "{event}"),
            }
        }
        assert!(open.values().all(|open| [0, 1].contains(open)), "{open:?}");
    }
}

#[test]
#[cfg(not(feature = "arrow"))]
fn a_build_without_arrow_says_how_to_get_it() {
    let folder = Folder::new().with("gc.tel", gc());
    let run = folder.run("convert --to arrow -d tables gc.tel");
    assert_eq!(run.code, Some(2));
    assert_eq!(
        run.stderr,
        "error: this build of `telemetry` cannot write Arrow files: it has no feature `arrow`; help: run \
         `cargo install --path telemetry-cli --features arrow`\n"
    );
    assert!(!folder.path("tables").exists());
}

/// The length of streams of real logs, in which the texts of a session are a small part.
#[test]
fn streams_of_logs_are_short() {
    check_lengths("mps", ".mpsio.log", 1_000_000, |_, events| [7 * events, 4 * events]);
    check_lengths("ghc", ".eventlog", 40_000, |log, _| [log, log / 2]);
    check_lengths("mono", ".mlpd", 40_000, |log, _| [log, log / 2]);
}

/// Checks the length of streams of a system's logs, plain and with `--compress`, from a length on.
/// The function computes both limits from the length of the log and its number of events.
fn check_lengths(system: &str, ending: &str, least: u64, most: impl Fn(u64, u64) -> [u64; 2]) {
    let Some(logs) = reference::folder(system) else { return };
    let mut checked = 0;
    for name in reference::names(&logs, ending) {
        let Some(log) = reference::read(&logs.join(format!("{name}{ending}"))) else { return };
        let len = log.len() as u64;
        // A log that is compressed as a whole is not longer than its stream.
        if len < least || log.starts_with(&[0x1f, 0x8b]) {
            continue;
        }
        let folder = Folder::new().with("a.log", log);
        let info: serde_json::Value =
            serde_json::from_slice(&folder.run("info --json a.log").stdout).expect("what `info` says");
        let events = info["completeness"]["events"].as_u64().expect("a number of events");
        for (more, most) in ["", "--compress"].into_iter().zip(most(len, events)) {
            let run = folder.run(&format!("convert --to telemetry {more} -o a.tel a.log"));
            assert_eq!(run.code, Some(0), "{name}: {}", run.stderr);
            let stream = std::fs::metadata(folder.path("a.tel")).expect("the stream").len();
            assert!(
                stream <= most,
                "{name} {more}: {stream} bytes for {len} of {events} events, expected at most {most}"
            );
            std::fs::remove_file(folder.path("a.tel")).expect("it was there");
        }
        checked += 1;
    }
    assert!(checked > 0, "no log of {system} of {least} bytes and more");
}
