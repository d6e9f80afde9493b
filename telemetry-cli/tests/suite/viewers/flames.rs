//! Flame graphs in the formats of pprof and speedscope, read by an independent program and checked
//! against speedscope's own schema: the same stacks as in folded text.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value as Json;

use super::streams::samples;
use crate::flame::folded;
use crate::run::Folder;

/// Returns the folder that a variable names. Says so, and returns `None`, if it is missing.
fn folder_of(variable: &str, file: &str) -> Option<PathBuf> {
    let found = std::env::var_os(variable).map(PathBuf::from).filter(|folder| folder.join(file).exists());
    if found.is_none() {
        eprintln!("SKIPPED: no {variable} with {file}; help: run .ci/viewers");
    }
    found
}

/// Calls a function with each way to make a flame graph of each sample.
fn each(format: &str, mut check: impl FnMut(&str, &Path, BTreeMap<String, u64>)) {
    for sample in samples() {
        let folder = Folder::new().with("in", &sample.bytes);
        for options in ["", "--stacks", "--by event,thread", "--per-thread"] {
            let made = folder.run(&format!("flame {options} --to {format} -o out in"));
            assert_eq!(made.code, Some(sample.code), "{}: {}", sample.name, made.stderr);
            if sample.code == 0 {
                let expected = folded(&folder, &format!("{options} in"));
                check(&format!("{} {options}", sample.name), &folder.path("out"), expected);
            }
        }
    }
}

#[test]
fn pprof_has_the_same_stacks() {
    let Some(package) = folder_of("PPROF_FORMAT", "dist/commonjs/index.js") else { return };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/judges/pprof.js");
    each("pprof", |name, profile, expected| {
        let mut command = Command::new("node");
        let output = command.arg(&script).arg(profile).env("PPROF_FORMAT", &package).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        let (types, stacks) = text.split_once('\n').unwrap();
        let types_are = |expected: &str| assert!(types.starts_with(expected), "{name}: {types}");
        match name.contains("--stacks") || name.contains("--by") {
            true => types_are("events/count default events at "),
            false => types_are("spans/count time/nanoseconds default time at "),
        }
        let mut found = BTreeMap::new();
        for line in stacks.lines() {
            let mut words = line.rsplitn(types.split(" default").next().unwrap().split(' ').count() + 1, ' ');
            let weight: u64 = words.next().unwrap().parse().unwrap();
            if weight > 0 {
                found.insert(words.last().unwrap().to_string(), weight);
            }
        }
        assert_eq!(found, expected, "{name}");
    });
}

#[test]
fn speedscope_has_the_same_stacks() {
    let Some(package) = folder_of("SPEEDSCOPE", "dist/release/file-format-schema.json") else { return };
    let schema = std::fs::read_to_string(package.join("dist/release/file-format-schema.json")).unwrap();
    let schema = jsonschema::validator_for(&serde_json::from_str(&schema).unwrap()).unwrap();
    each("speedscope", |name, file, expected| {
        let file: Json = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
        if let Err(error) = schema.validate(&file) {
            panic!("{name}: {error} at {}", error.instance_path());
        }
        let profile = &file["profiles"][0];
        let frame = |index: &Json| {
            file["shared"]["frames"][index.as_u64().unwrap() as usize]["name"]
                .as_str()
                .unwrap()
                .replace(';', ":")
        };
        let samples = profile["samples"].as_array().unwrap().iter();
        let stacks = samples.map(|frames| frames.as_array().unwrap().iter().map(frame).collect::<Vec<_>>());
        let weights = profile["weights"].as_array().unwrap().iter().map(|weight| weight.as_u64().unwrap());
        let found: BTreeMap<String, u64> =
            stacks.map(|frames| frames.join(";")).zip(weights).filter(|(_, weight)| *weight > 0).collect();
        assert_eq!(found, expected, "{name}");
        assert_eq!(profile["endValue"].as_u64().unwrap(), expected.values().sum::<u64>(), "{name}");
    });
}
