//! Traces in the Common Trace Format, read by babeltrace2: the same events, values and losses.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use serde_json::Value as Json;

use super::expected::nanoseconds;
use super::streams::{Sample, samples};
use crate::run::Folder;

/// Runs babeltrace2 on a trace. Returns its lines, and its warnings. Says so, and returns `None`,
/// if it is missing.
fn babeltrace(trace: &Path) -> Option<(String, String)> {
    let Ok(output) = Command::new("babeltrace2").arg("--clock-seconds").arg(trace).output() else {
        eprintln!("SKIPPED: no babeltrace2; help: install the package babeltrace2");
        return None;
    };
    let (stdout, stderr) =
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(output.status.success(), "{}: {stderr}", trace.display());
    Some((stdout, stderr))
}

/// Time and name of an event, as babeltrace2 prints them.
type Id = (i64, String);

/// The last text of each parameter that was not empty, by thread, event and parameter.
type Texts = BTreeMap<(String, String, String), String>;

#[test]
fn babeltrace2_sees_the_same_events() {
    let mut compared = 0;
    for Sample { name, bytes, code, .. } in samples() {
        let folder = Folder::new().with("stream", &bytes);
        let made = folder.run("convert -d trace.ctf stream");
        assert_eq!(made.code, Some(code), "{name}: {}", made.stderr);
        let Some((lines, warnings)) = babeltrace(&folder.path("trace.ctf")) else { return };
        let mut found: BTreeMap<Id, Vec<&str>> = BTreeMap::new();
        for line in lines.lines() {
            let (time, rest) = line[1..].split_once("] ").unwrap();
            let (_, rest) = rest.split_once(") ").unwrap();
            let (event, _) = rest.split_once(": {").unwrap();
            let (seconds, ns) = time.split_once('.').unwrap();
            let time = seconds.parse::<i64>().unwrap() * 1_000_000_000 + ns.parse::<i64>().unwrap();
            found.entry((time, event.to_string())).or_default().push(rest);
        }
        let printed = String::from_utf8(folder.run("print --json stream").stdout).unwrap();
        let mut expected: BTreeMap<Id, Vec<Json>> = BTreeMap::new();
        for line in printed.lines() {
            let event: Json = serde_json::from_str(line).unwrap();
            let id = format!("{}:{}", event["registry"].as_str().unwrap(), event["event"].as_str().unwrap());
            let time = nanoseconds(event["time"].as_str().unwrap()).max(0);
            expected.entry((time, id)).or_default().push(event);
        }
        let mut texts = Texts::new();
        for (id, events) in &expected {
            let lines = found.remove(id).unwrap_or_default();
            assert_eq!(lines.len(), events.len(), "{name}: {id:?}");
            // Of several at once, the order differs.
            for event in events {
                let fits: Vec<_> = lines.iter().map(|line| fields(event, line, &texts)).collect();
                let found = fits.iter().filter_map(|fits| fits.as_ref().ok()).next();
                compared += found.unwrap_or_else(|| panic!("{name}: {event}: {fits:?}"));
                for (param, text) in event["params"].as_object().unwrap() {
                    let text = text.as_str().filter(|text| !text.is_empty());
                    texts.extend(text.map(|text| (place(event, param), text.to_string())));
                }
            }
        }
        assert!(found.is_empty(), "{name}: {found:?}");
        losses(&folder, &name, &warnings);
    }
    assert!(compared > 100, "{compared}");
}

/// Returns where texts of a parameter are kept.
fn place(event: &Json, param: &str) -> (String, String, String) {
    let thread = format!("{}.{}", event["session"], event["thread"]);
    (thread, format!("{}:{}", event["registry"], event["event"]), param.to_string())
}

/// Compares the values of an event with a line. Returns their number, or what the line lacks.
/// Floats have fewer digits in text. babeltrace2 prints an empty text as the one that the same
/// parameter had before.
fn fields(event: &Json, line: &str, before: &Texts) -> Result<usize, String> {
    let mut compared = 0;
    for (param, value) in event["params"].as_object().unwrap() {
        let text = match value {
            Json::Number(number) if number.is_f64() || event["strings"][param].is_string() => continue,
            Json::String(text) if ["NaN", "Infinity", "-Infinity"].contains(&&**text) => continue,
            Json::Number(number) => number.to_string(),
            Json::Bool(truth) => format!("( \"{truth}\" : container = {} )", u8::from(*truth)),
            Json::String(text) if text.starts_with("0x") => format!("0x{}", text[2..].to_uppercase()),
            Json::String(text) if text.is_empty() => {
                let before = before.get(&place(event, param)).map_or("", String::as_str);
                // Signs are escaped.
                let start =
                    before.split(|sign: char| !sign.is_ascii_alphanumeric()).next().unwrap_or_default();
                let bytes = format!("{param} = [ ]");
                let texts = [format!("{param} = \"\""), format!("{param} = \"{start}")];
                if !texts.iter().chain([&bytes]).any(|one| line.contains(one)) {
                    return Err(format!("{param} = {before:?} or nothing: {line}"));
                }
                compared += 1;
                continue;
            }
            // A name of an enum, or a text, which has no end in the line if it has signs.
            Json::String(text) if text.bytes().all(|byte| byte.is_ascii_alphanumeric()) => {
                let named = format!("{param} = ( \"{text}\" : container = ");
                let bytes = format!("{param} = [ [0] = 0x");
                let plain = format!("{param} = \"{text}\"");
                if ![named, bytes, plain].iter().any(|one| line.contains(one)) {
                    return Err(format!("{param} = {text}: {line}"));
                }
                compared += 1;
                continue;
            }
            Json::Array(numbers) if numbers.iter().all(Json::is_u64) && !numbers.is_empty() => {
                let numbers = numbers.iter().enumerate().map(|(at, number)| format!("[{at}] = {number}"));
                format!("[ {} ]", numbers.collect::<Vec<_>>().join(", "))
            }
            _ => continue,
        };
        // A label without a text is its number, as text.
        let label = format!("{param} = \"{text}\"");
        let unnamed = format!("{param} = ( <unknown> : container = {text} )");
        let plain = format!("{param} = {text}");
        if ![plain, label, unnamed].iter().any(|one| line.contains(one)) {
            return Err(format!("{param} = {text}: {line}"));
        }
        compared += 1;
    }
    Ok(compared)
}

/// babeltrace2 warns of as many discarded events as `stats` counts. If damage hides their number,
/// it warns of discarded packets.
fn losses(folder: &Folder, name: &str, warnings: &str) {
    let stats: Json = serde_json::from_slice(&folder.run("stats --json stream").stdout).unwrap();
    let completeness = &stats["completeness"];
    let lost = ["pool", "reentrant", "sink"].map(|cause| completeness["lost"][cause].as_u64().unwrap());
    let expected = lost.iter().sum::<u64>() + completeness["missing"].as_u64().unwrap();
    let discarded = |what: &str| -> u64 {
        let numbers = warnings.lines().filter_map(|line| line.split_once("discarded ")).map(|(_, rest)| rest);
        let numbers =
            numbers.filter_map(|rest| rest.split_once(' ').filter(|(_, rest)| rest.starts_with(what)));
        numbers.map(|(number, _)| number.parse::<u64>().unwrap()).sum()
    };
    assert_eq!(discarded("event"), expected, "{name}: {warnings}");
    if name == "losses" || name == "damage" {
        assert!(expected > 0, "{name}");
    }
}

/// A directory with other files stays, and an old trace is replaced.
#[test]
fn directories_of_others_stay() {
    let folder = Folder::new().with("gc.tel", crate::streams::gc()).with("file", "old");
    let check = |args: &str, code, says: &str| {
        let run = folder.run(args);
        assert_eq!(run.code, Some(code), "{args}: {}", run.stderr);
        assert!(run.stderr.contains(says), "{args}: {}", run.stderr);
    };
    std::fs::create_dir(folder.path("others")).unwrap();
    std::fs::write(folder.path("others/metadata"), "mine").unwrap();
    check("convert --to ctf -d others gc.tel", 2, "it has other files; help: ");
    check("convert --to ctf -d file gc.tel", 2, "it is a file, expected a directory; help: ");
    check("convert --to ctf gc.tel", 2, "a trace in CTF is a directory; help: name one with -d DIR");
    check("convert -o trace.ctf gc.tel", 2, "a trace in CTF is a directory; help: name one with -d DIR");
    check("convert -d trace gc.tel", 2, "the ending of `trace` is not that of a format");
    check("convert -d made/for/trace.ctf gc.tel", 0, "complete: ");
    let content = || std::fs::read(folder.path("made/for/trace.ctf/thread_0")).unwrap();
    let first = content();
    check("convert --kind User -d made/for/trace.ctf gc.tel", 0, "complete: ");
    assert_ne!(content(), first);
    // It fails after the trace has begun.
    check("convert -d made/for/trace.ctf gc.tel missing.tel", 2, "No such file");
    let names = |path: &str| {
        let entries = std::fs::read_dir(folder.path(path)).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    };
    assert_eq!(names("made/for"), ["trace.ctf"]);
    assert_eq!(std::fs::read_to_string(folder.path("others/metadata")).unwrap(), "mine");
    assert_eq!(names(""), ["file", "gc.tel", "made", "others"]);
}
