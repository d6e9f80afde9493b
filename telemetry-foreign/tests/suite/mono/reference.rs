//! The reference logs.

use telemetry_decode::{Filter, Order};
use telemetry_foreign::mono::{self, ReportOptions};

use super::real_tool::mprof_report;
use super::round_trip::{log_of, stream};
use super::{assert_same, debug, events, report, without_memory};
use crate::reference::{folder, names, read};

/// Returns the reference logs with their names, unpacked.
fn logs() -> Vec<(String, Vec<u8>)> {
    let Some(folder) = folder("mono") else { return Vec::new() };
    let log = |name: String| {
        let log = read(&folder.join(format!("{name}.mlpd")))?;
        if !log.starts_with(&[0x1f, 0x8b]) {
            return Some((name, log));
        }
        let mut plain = Vec::new();
        std::io::copy(&mut flate2::bufread::GzDecoder::new(&log[..]), &mut plain).expect("good gzip");
        Some((name, plain))
    };
    names(&folder, ".mlpd").into_iter().filter_map(log).collect()
}

/// Returns the output of a real tool for a log.
fn printed(name: &str, end: &str) -> Option<String> {
    let path = folder("mono")?.join(format!("{name}.{end}.txt"));
    let packed = path.with_file_name(format!("{name}.{end}.txt.xz"));
    if !path.exists() && !packed.exists() {
        return None;
    }
    String::from_utf8(read(&path)?).ok()
}

#[test]
fn debug_text_is_that_of_the_real_tools() {
    for (name, log) in logs() {
        let Some(expected) = printed(&name, "debug") else { continue };
        let (text, damaged) = debug(&log);
        assert_eq!(damaged, [], "{name}");
        let (mut text, mut expected) = (without_memory(&text), without_memory(&expected));
        if name.ends_with("zip") {
            // The position of zlib in the compressed file.
            let offset = |text: &str| {
                let lines = text.lines().map(|line| line.split(", file offset").next().unwrap_or(line));
                lines.map(|line| format!("{line}\n")).collect::<String>()
            };
            (text, expected) = (offset(&text), offset(&expected));
        }
        if name.starts_with("v17") {
            // Names that the tool does not know yet.
            let lines = text.lines().zip(expected.lines()).map(|(found, expected)| {
                let around = expected.split_once("unresolved class ");
                let around = around.and_then(|(start, end)| Some((start, end.split_once(") at ")?.1)));
                match around.is_some_and(|(start, end)| found.starts_with(start) && found.ends_with(end)) {
                    true => format!("{expected}\n"),
                    false => format!("{found}\n"),
                }
            });
            text = lines.collect();
        }
        assert_same(&text, &expected, &name);
    }
}

#[test]
fn tables_are_those_of_the_real_tools() {
    for (name, log) in logs() {
        let Some(mut expected) = printed(&name, "report") else { continue };
        let is_one = name.starts_with("v1-");
        let options = ReportOptions::default().traces(is_one).verbose(is_one);
        let (mut text, _) = report(&log, options);
        if expected.contains("unresolved class") {
            // The tool drops objects whose class it does not know yet; sums are the same.
            let without = |text: &str| {
                let (start, rest) = text.split_once("\nAllocation summary\n").unwrap();
                format!("{start}{}", rest.split_once("\nTotal memory").unwrap().1)
            };
            (text, expected) = (without(&text), without(&expected));
        }
        assert_same(&text, &expected, &name);
    }
}

#[test]
fn logs_of_version_1_come_back_byte_for_byte() {
    for (name, log) in logs().into_iter().filter(|(name, _)| name.starts_with("v1-")) {
        let stream = stream(&log);
        let (again, written) = log_of(&stream, Filter::default());
        assert_eq!(written.left_out, Default::default(), "{name}");
        assert!(again == log, "{name}");
        if let Some(expected) = mprof_report(&log, &["--debug"]) {
            assert_same(&mprof_report(&again, &["--debug"]).unwrap_or_default(), &expected, &name);
        }
        // A log of a few hundred bytes is shorter than the registry, and than one block's header.
        if log.len() > 10_000 {
            let registry = mono::registry_of_one().to_toml().len();
            let per_thousand = |len: usize| len * 1000 / log.len();
            let (all, events) = (per_thousand(stream.len()), per_thousand(stream.len() - registry));
            eprintln!("{name}: {all} thousandths of the log, {events} without the registry");
            assert!(events < 930, "{name}: {events} thousandths");
        }
    }
}

#[test]
fn nothing_is_left_unread() {
    for (name, log) in logs() {
        let (lines, completeness) = events(&log, Order::Time);
        assert!(completeness.is_whole(), "{name}: {completeness}");
        assert!(lines.len() > 30, "{name}");
    }
}
