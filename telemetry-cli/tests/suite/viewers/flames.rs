//! Flame graphs in the formats of pprof and speedscope, read by pprof itself, by another reader of
//! its profiles, and by speedscope: the same stacks as in folded text.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value as Json;

use super::speedscope;
use super::streams::samples;
use crate::flame::folded;
use crate::run::Folder;

/// Weights by stack, as in folded text.
type Stacks = BTreeMap<String, u64>;

/// A flame graph in a file, and what it has to show.
struct Made {
    name: String,
    file: PathBuf,
    expected: Stacks,
    /// With `time`, of spans; otherwise of events.
    is_of_spans: bool,
}

/// Returns the path in a variable. Says so, and returns `None`, if it is missing.
fn path_of(variable: &str, file: &str) -> Option<PathBuf> {
    let found = std::env::var_os(variable).map(PathBuf::from).filter(|path| path.join(file).exists());
    if found.is_none() {
        eprintln!("SKIPPED: no {variable} with `{file}`; help: run .ci/viewers");
    }
    found
}

/// Makes flame graphs of each sample in each way, in a folder, with this ending of their names.
fn made(folder: &Folder, ending: &str) -> Vec<Made> {
    let mut all = Vec::new();
    for sample in samples() {
        std::fs::write(folder.path("in"), &sample.bytes).unwrap();
        for options in ["", "--stacks", "--by event,thread", "--per-thread"] {
            let file = format!("{}{ending}", all.len());
            let run = folder.run(&format!("flame {options} -o {file} in"));
            assert_eq!(run.code, Some(sample.code), "{}: {}", sample.name, run.stderr);
            if sample.code == 0 {
                let (name, file) = (format!("{} {options}", sample.name), folder.path(&file));
                let expected = folded(folder, &format!("{options} in"));
                let is_of_spans = !options.starts_with("--stacks") && !options.starts_with("--by");
                all.push(Made { name, file, expected, is_of_spans });
            }
        }
    }
    all
}

fn stdout(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Adds a stack, from the outermost frame, as folded text has it.
fn add(stacks: &mut Stacks, frames: impl Iterator<Item = String>, weight: u64) {
    if weight > 0 {
        let frames: Vec<_> = frames.map(|frame| frame.replace(';', ":")).collect();
        *stacks.entry(frames.join(";")).or_default() += weight;
    }
}

/// The pprof of Go, in its own words.
#[test]
fn pprof_sees_the_same_stacks() {
    let Some(pprof) = path_of("PPROF", "") else { return };
    let folder = Folder::new();
    for Made { name, file, expected, is_of_spans } in made(&folder, ".pb.gz") {
        let raw = stdout(Command::new(&pprof).args(["-symbolize=none", "-raw"]).arg(&file));
        let (_, rest) = raw.split_once("Samples:\n").unwrap();
        let (types, rest) = rest.split_once('\n').unwrap();
        let types_are = if is_of_spans { "spans/count time/nanoseconds[dflt]" } else { "events/count[dflt]" };
        assert_eq!(types.trim(), types_are, "{name}");
        let (samples, rest) = rest.split_once("Locations\n").unwrap();
        let (locations, _) = rest.split_once("Mappings\n").unwrap();
        let name_of = |line: &str| {
            let (number, rest) = line.split_once(": 0x0 M=1 ").unwrap();
            (number.trim().to_string(), rest.rsplit_once(" :0 s=0").unwrap().0.to_string())
        };
        let names: BTreeMap<String, String> = locations.lines().map(name_of).collect();
        let mut found = Stacks::new();
        for line in samples.lines() {
            let (values, stack) = line.split_once(": ").unwrap();
            let weight = values.split_whitespace().next_back().unwrap().parse().unwrap();
            add(&mut found, stack.split_whitespace().rev().map(|number| names[number].clone()), weight);
        }
        assert_eq!(found, expected, "{name}");
    }
}

/// Another reader of its profiles, in JavaScript.
#[test]
fn pprof_format_sees_the_same_stacks() {
    let Some(package) = path_of("PPROF_FORMAT", "dist/commonjs/index.js") else { return };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/judges/pprof.js");
    let folder = Folder::new();
    for Made { name, file, expected, is_of_spans } in made(&folder, ".pb.gz") {
        let text = stdout(Command::new("node").arg(&script).arg(file).env("PPROF_FORMAT", &package));
        let (types, stacks) = text.split_once('\n').unwrap();
        let (types_are, values) = match is_of_spans {
            true => ("spans/count time/nanoseconds default time at ", 2),
            false => ("events/count default events at ", 1),
        };
        assert!(types.starts_with(types_are), "{name}: {types}");
        let mut found = Stacks::new();
        for line in stacks.lines() {
            let mut words = line.rsplitn(values + 1, ' ');
            let weight = words.next().unwrap().parse().unwrap();
            add(&mut found, words.last().unwrap().split(';').map(str::to_string), weight);
        }
        assert_eq!(found, expected, "{name}");
    }
}

/// speedscope reads its own format, and that of pprof.
#[test]
fn speedscope_sees_the_same_stacks() {
    let Some(package) = path_of("SPEEDSCOPE", "dist/release/file-format-schema.json") else { return };
    let schema = std::fs::read_to_string(package.join("dist/release/file-format-schema.json")).unwrap();
    let schema = jsonschema::validator_for(&serde_json::from_str(&schema).unwrap()).unwrap();
    for ending in [".speedscope.json", ".pb.gz"] {
        let folder = Folder::new();
        // A profile without samples has no page.
        let mut all = made(&folder, ending);
        all.retain(|made| !made.expected.is_empty());
        if ending == ".speedscope.json" {
            for made in &all {
                let file: Json = serde_json::from_slice(&std::fs::read(&made.file).unwrap()).unwrap();
                if let Err(error) = schema.validate(&file) {
                    panic!("{}: {error} at {}", made.name, error.instance_path());
                }
            }
        }
        let files: Vec<_> = all.iter().map(|made| made.file.as_path()).collect();
        let Some(read) = speedscope::read(&package, &files) else { return };
        for (Made { name, expected, .. }, profiles) in all.iter().zip(read) {
            let mut found = Stacks::new();
            // Of several types of weights, each has a profile.
            let profile = profiles.last().unwrap();
            profile.each_stack(|frames, weight| add(&mut found, frames.iter().cloned(), weight as u64));
            assert_eq!(&found, expected, "{name}{ending}");
        }
    }
}

/// speedscope reads Chrome's JSON: spans that nest on their thread have the number and the
/// durations of `spans`.
#[test]
fn speedscope_sees_the_spans_of_chrome_traces() {
    let Some(package) = path_of("SPEEDSCOPE", "dist/release/index.html") else { return };
    let folder = Folder::new();
    let (mut names, mut files, mut expected) = (Vec::new(), Vec::new(), Vec::new());
    for (number, sample) in samples().into_iter().enumerate() {
        std::fs::write(folder.path("in"), &sample.bytes).unwrap();
        let file = format!("{number}.json");
        assert_eq!(folder.run(&format!("convert -o {file} in")).code, Some(sample.code), "{}", sample.name);
        let wanted = nested_spans(&folder, "in", &file);
        if !wanted.is_empty() {
            names.push(sample.name);
            files.push(folder.path(&file));
            expected.push(wanted);
        }
    }
    assert!(names.len() > 3, "{names:?}");
    let files: Vec<_> = files.iter().map(PathBuf::as_path).collect();
    let Some(read) = speedscope::read(&package, &files) else { return };
    for ((name, expected), profiles) in names.iter().zip(expected).zip(read) {
        let mut found = BTreeMap::<String, (u64, f64)>::new();
        for profile in &profiles {
            profile.each_span(|frame, microseconds| {
                // The arguments of a span are behind its name.
                let span = frame.split(" {").next().unwrap();
                let of = found.entry(span.to_string()).or_default();
                *of = (of.0 + 1, of.1 + microseconds);
            });
        }
        for (span, (count, total)) in expected {
            let of = found.get(&span).copied().unwrap_or_default();
            assert_eq!(of.0, count, "{name}: {span}");
            assert!((of.1 - total).abs() < 0.001 * count as f64, "{name}: {span}: {} {total}", of.1);
        }
    }
}

/// Returns the number and the microseconds of spans by name, as `spans` gives them. They are those
/// that nest on their thread in a Chrome trace of the stream. Versions of a registry may share
/// names.
pub(super) fn nested_spans(folder: &Folder, stream: &str, trace: &str) -> BTreeMap<String, (u64, f64)> {
    let trace: Json = serde_json::from_slice(&std::fs::read(folder.path(trace)).unwrap()).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let of = |phase: &str| -> Vec<_> {
        events.iter().filter(|event| event["ph"] == phase).map(|event| &event["name"]).collect()
    };
    let (nested, apart) = (of("B"), of("b"));
    let spans: Json = serde_json::from_slice(&folder.run(&format!("spans --json {stream}")).stdout).unwrap();
    let spans = spans["spans"].as_array().unwrap();
    let is_open =
        |name: &Json| spans.iter().any(|span| span["span"] == *name && span["begins_without_end"] != 0);
    let mut wanted = BTreeMap::<String, (u64, f64)>::new();
    for span in spans {
        let name = &span["span"];
        if nested.contains(&name) && !apart.contains(&name) && !is_open(name) {
            let of = wanted.entry(name.as_str().unwrap().to_string()).or_default();
            of.0 += span["duration_ns"]["count"].as_u64().unwrap_or(0);
            of.1 += span["total_ns"].as_f64().unwrap_or(0.0) / 1000.0;
        }
    }
    wanted
}
