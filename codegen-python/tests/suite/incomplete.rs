//! Inputs that are not streams, and streams that are incomplete: errors and warnings.

use std::io::Write;

use telemetry_testing::mps as mps_made;

use crate::made::{Plan, blocks, make, registry};
use crate::python::{Module, run};

/// Reads each input in each way, and prints what it raises or warns of, and where.
const READ: &str = r##"
import sys, warnings
import events

for path in sys.argv[1:]:
    for read in (events.read, events.columns):
        for how in ("warn", "error", "ignore"):
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                try:
                    count = len(list(read(path, incomplete=how)))  # here
                    text = f"{count}"
                except (events.NotAStream, events.IncompleteWarning, ImportError) as error:
                    text = f"{type(error).__name__}: {error}"
                for warning in list(said):
                    line = open(warning.filename).read().splitlines()[warning.lineno - 1]
                    assert line.endswith("# here"), line
                    assert not warning.message.completeness.is_whole
                    text += f" {warning.category.__name__}: {warning.message}"
            print(path, read.__name__, how, text.replace("\n", " | "))
"##;

#[test]
fn what_is_no_stream_raises_an_error() {
    let module = Module::new(&registry());
    let mut core = b"\x7fELF\x02\x01\x01".to_vec();
    core.resize(16, 0);
    core.extend([4, 0]);
    let mut ring = b"\x89TELRING".to_vec();
    ring.resize(65_536, 0);
    ring.extend(make(&registry(), &Plan::default()).stream);
    let mut gzip = Vec::from(b"\x1f\x8b\x08\x00");
    gzip.write_all(&[7; 40]).unwrap();
    let inputs: [(&str, &[u8], &str); 11] = [
        ("notes", b"Some notes,\nin two lines\n", "found text that begins `Some notes,`"),
        ("events.toml", b"# of a heap\n[registry]\nname = \"heap\"\n", "found a registry file"),
        ("empty", b"", "found no bytes"),
        ("gzip", &gzip, "decompress it first: `gunzip -k gzip`"),
        ("program", b"\x7fELF\x02\x01\x01", "found an ELF program or library"),
        ("core", &core, "recover its events: `telemetry recover core -o telemetry.tel`"),
        ("ring", &ring, "found a ring file"),
        ("ghc", b"hdrb\0\0\0", "telemetry convert --to telemetry ghc"),
        ("mono", b"\x01ZPM\0\0\0", "found a log of Mono's profiler"),
        ("mps", &mps_made::small(), "found a log of the MPS"),
        ("bytes", &[0, 1, 2, 0xff], "found bytes that begin 00 01 02 ff"),
    ];
    for (name, bytes, _) in inputs {
        module.with(name, bytes);
    }
    let names: Vec<_> = inputs.iter().map(|(name, ..)| *name).collect();
    for lines in run(&module, READ, &names) {
        let mut lines = lines.iter();
        for (name, _, expected) in inputs {
            for line in lines.by_ref().take(6).filter(|line| !line.contains("ImportError")) {
                let begin = format!("NotAStream: `{name}` is not a telemetry stream: found ");
                let middle = "expected a block at byte 0, which begins 89 54 45 4c 0d 0a 1a 0a; help: ";
                for part in [&begin[..], middle, expected] {
                    assert!(line.contains(part), "no `{part}` in\n{line}");
                }
            }
        }
        assert_eq!(lines.next(), None);
    }
}

/// Also the second of two inputs, but not the second half of one stream.
#[test]
fn each_input_is_checked() {
    const TWO: &str = r#"
import events
for paths in (("first", "second"), ("whole", "notes"), ("first", "notes")):
    try:
        print(sum(1 for _ in events.read(*paths, incomplete="ignore")))
    except events.NotAStream as error:
        print(error.name, error.found)
"#;
    let module = Module::new(&registry());
    let made = make(&registry(), &Plan::default());
    let (stream, events) = (made.stream, made.events.len());
    let middle = blocks(&stream)[3].start + 60;
    module.with("whole", &stream);
    module.with("first", &stream[..middle]);
    module.with("second", &stream[middle..]);
    module.with("notes", b"some text");
    for lines in run(&module, TWO, &[]) {
        assert_eq!(
            lines,
            [&events.to_string(), "notes text that begins `some text`", "notes text that begins `some text`"]
        );
    }
}

#[test]
fn incomplete_streams_warn() {
    let module = Module::new(&registry());
    let whole = make(&registry(), &Plan { events: 50, ..Plan::default() }).stream;
    let mut damaged = whole.clone();
    let middle = &blocks(&whole)[blocks(&whole).len() / 2];
    damaged[middle.end - 1] ^= 1;
    module.with("whole", &whole);
    module.with("damaged", &damaged);
    module.with("cut", &whole[..whole.len() - 10]);
    for lines in run(&module, READ, &["whole", "damaged", "cut"]) {
        assert_eq!(lines.len(), 18);
        for line in lines.iter().filter(|line| !line.contains("ImportError")) {
            let words: Vec<_> = line.split(' ').collect();
            let help = match words[2] {
                "warn" => {
                    "help: incomplete=\"error\" raises this as an error; incomplete=\"ignore\" says nothing"
                }
                _ => "help: incomplete=\"warn\" warns of it; incomplete=\"ignore\" says nothing",
            };
            if words[0] == "whole" || words[2] == "ignore" {
                assert!(!line.contains("Warning"), "{line}");
                continue;
            }
            assert!(line.contains(&format!("IncompleteWarning: `{}`: incomplete: ", words[0])), "{line}");
            assert!(line.contains("damaged: 1 range, ") && line.ends_with(help), "{line}");
        }
    }
}
