//! The program speedscope, in a browser.

use std::path::Path;
use std::process::Command;

use serde_json::Value as Json;

/// A profile that speedscope read, in the form that it exports.
pub(super) struct Profile {
    frames: Vec<String>,
    events: Vec<Json>,
}

/// Returns what speedscope reads from files. Says so, and returns `None`, if a program is missing.
pub(super) fn read(package: &Path, files: &[&Path]) -> Option<Vec<Vec<Profile>>> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let playwright = here.join("../telemetry-report/web/node_modules/playwright-core");
    let chromium = std::env::var("CHROMIUM").unwrap_or_else(|_| "chromium".to_string());
    let runs = |program: &str| Command::new(program).arg("--version").output().is_ok();
    let missing = [
        (!runs("node"), "no node"),
        (!runs(&chromium), "no chromium"),
        (!playwright.exists(), "no packages: run `npm ci` in telemetry-report/web"),
    ];
    if let Some((_, why)) = missing.iter().find(|(is_missing, _)| *is_missing) {
        eprintln!("SKIPPED: {why}: speedscope does not read what is written");
        return None;
    }
    let mut command = Command::new("node");
    command.arg(here.join("tests/judges/speedscope.mjs")).args(files);
    let output = command.env("SPEEDSCOPE", package).env("PLAYWRIGHT", playwright).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = String::from_utf8(output.stdout).unwrap();
    let all: Vec<_> = lines.lines().map(|line| profiles(&serde_json::from_str(line).unwrap())).collect();
    assert_eq!(all.len(), files.len());
    Some(all)
}

fn profiles(file: &Json) -> Vec<Profile> {
    let frames = file["shared"]["frames"].as_array().unwrap().iter();
    let frames: Vec<_> = frames.map(|frame| frame["name"].as_str().unwrap().to_string()).collect();
    let all = file["profiles"].as_array().unwrap().iter();
    all.map(|profile| {
        assert_eq!(profile["type"], "evented");
        Profile { frames: frames.clone(), events: profile["events"].as_array().unwrap().clone() }
    })
    .collect()
}

impl Profile {
    /// Calls a function with each stack, from the outermost frame, and its weight.
    pub(super) fn each_stack(&self, mut visit: impl FnMut(&[String], f64)) {
        let (mut stack, mut last) = (Vec::new(), 0.0);
        self.each(|is_begin, frame, at| {
            visit(&stack, at - last);
            last = at;
            if is_begin { stack.push(frame.to_string()) } else { _ = stack.pop() }
        });
    }

    /// Calls a function with each frame that begins and ends, and the weight in between.
    pub(super) fn each_span(&self, mut visit: impl FnMut(&str, f64)) {
        let mut begins = Vec::new();
        self.each(|is_begin, frame, at| match is_begin {
            true => begins.push(at),
            false => visit(frame, at - begins.pop().unwrap()),
        });
        assert!(begins.is_empty());
    }

    fn each(&self, mut visit: impl FnMut(bool, &str, f64)) {
        for event in &self.events {
            let frame = &self.frames[event["frame"].as_u64().unwrap() as usize];
            visit(event["type"] == "O", frame, event["at"].as_f64().unwrap());
        }
    }
}
