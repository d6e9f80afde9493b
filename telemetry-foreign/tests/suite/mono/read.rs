//! Logs as events.

use telemetry_decode::{AddressName, Filter, Order, Reader};
use telemetry_foreign::mono::{self, MonoLog};

use super::round_trip::{log_of, stream};
use super::{debug, events, made};

#[test]
fn events_come_by_time_and_as_they_stand() {
    let (lines, completeness) = events(&made::one(), Order::Stream);
    assert!(completeness.is_whole() && completeness.may_be_truncated(), "{completeness}");
    assert_eq!(completeness.bytes.total(), made::one().len() as u64);
    insta::assert_snapshot!(lines.join("\n"));
    let (mut by_time, _) = events(&made::one(), Order::Time);
    let ticks = |line: &String| line.split(' ').nth(1).unwrap().parse::<u64>().unwrap();
    assert!(by_time.is_sorted_by_key(ticks));
    let mut stream = lines;
    stream.sort();
    by_time.sort();
    assert_eq!(by_time, stream);
}

#[test]
fn addresses_have_names_before_the_log_says_them() {
    let log = made::one();
    let mut events = Reader::from_log(&log, MonoLog::new()).order(Order::Stream).events().unwrap();
    let mut names = Vec::new();
    while let Some(event) = events.next().unwrap() {
        if let ("MethodEnter" | "Alloc", Some(value)) = (event.name(), event.value(0)) {
            let name = event.name_of_value(&value).and_then(AddressName::text);
            names.push(name.unwrap_or("?").to_string());
        }
    }
    assert_eq!(
        names,
        ["Prog:Main (string[])", "Prog:Main (string[])", "?", "Näme.Inner<T>", "?", "Näme.Inner<T>"]
    );
}

#[test]
fn facts_of_runs_and_threads() {
    let of = |log: &[u8]| {
        let events = Reader::from_log(log, MonoLog::new()).events().unwrap();
        let session = &events.sessions()[0];
        let facts = session.facts.iter().map(|(key, value)| format!("{key} = {value}\n"));
        let threads = session.threads().iter().flat_map(|(number, facts)| {
            facts.iter().map(move |(key, value)| format!("thread {number}: {key} = {value}\n"))
        });
        facts.chain(threads).collect::<String>()
    };
    insta::assert_snapshot!(of(&made::one()), @r#"
    program = "prog"
    clock = "os"
    format = "mono-log"
    end_mark = "none"
    data_version = 1
    log_version = "0.1"
    pid = 4242
    pointer_size = 8
    start_ms = 30
    timer_overhead_ns = 7
    thread 1: tid = 2130706434
    thread 2: tid = 2130706433
    thread 3: tid = 2130706434
    thread 4: tid = 2130706435
    "#);
    insta::assert_snapshot!(of(&made::seventeen()), @r#"
    program = "prog"
    clock = "os"
    format = "mono-log"
    end_mark = "none"
    data_version = 17
    log_version = "3.0"
    pid = 28745
    pointer_size = 8
    start_ms = 1795231241000
    timer_overhead_ns = 29
    port = 58895
    arguments = "log:alloc"
    architecture = "x86-64"
    system = "linux"
    thread 1: tid = 4097
    thread 1: name = "Main"
    "#);
}

#[test]
fn logs_are_recognized_by_their_first_bytes() {
    assert!(mono::recognize(&made::one()) && mono::recognize(&made::seventeen()));
    assert!(!mono::recognize(b"") && !mono::recognize(b"\x01\x5a\x50") && !mono::recognize(&[0; 4096]));
}

/// A flag in the code says that a class, an image and so on could not be loaded.
#[test]
fn what_could_not_be_loaded_is_told() {
    let failed = b"\
        \xa2\x01\x02\x10\x00gone.dll\0\
        \xa2\x01\x01\x20\x10\x00Missing\0\
        \xa2\x01\x03\x01\
        \xa2\x01\x04\x02\
        \x00\x01\x20\x00\x18";
    let log = [made::file_one(), made::buffer(1, 1_000, failed)].concat();
    let (lines, completeness) = events(&log, Order::Stream);
    assert_eq!(completeness.damaged_ranges, 0, "{completeness}");
    let expected = [
        "ImageLoadError image:0x1010 flags:0 name:gone.dll",
        "ClassLoadError klass:0x1020 image:0x1010 flags:0 name:Missing",
        "AssemblyLoadError assembly:0x1001",
        "DomainLoadError domain:0x1002",
        // The class that failed gives no name.
        "Alloc klass:0x1020 object:0x800 size:24",
    ];
    let found: Vec<_> = lines.iter().filter(|line| !line.contains("Buffer")).collect();
    assert_eq!(found.len(), expected.len(), "{lines:#?}");
    for (line, expected) in found.iter().zip(expected) {
        assert!(line.ends_with(expected), "{line}, expected {expected}");
    }
    let (text, damage) = debug(&log);
    assert!(damage.is_empty(), "{damage:?}");
    assert!(text.contains(
        "loaded image 0x1010 (gone.dll) at 1001\nloaded class 0x1020 (Missing in 0x1010) at 1002\n"
    ));
    assert!(text.contains("size 24 (unresolved class)"), "{text}");
    // They come back through a stream, and the flag alone says the same.
    assert_eq!(log_of(&stream(&log), Filter::default()).0, log);
    let alone: Vec<u8> = log.iter().map(|byte| if *byte == 0xa2 { 0x82 } else { *byte }).collect();
    assert_eq!(events(&alone, Order::Stream).0, lines);
}

/// So a span can have them, and a report shows pauses.
#[test]
fn the_program_is_stopped_and_started_by_events_of_their_own() {
    let steps = b"\x11\x01\x06\x02\x11\x01\x07\x02\x11\x01\x08\x02\x11\x01\x09\x02";
    let log = [made::file_one(), made::buffer(1, 1_000, steps)].concat();
    let (lines, completeness) = events(&log, Order::Stream);
    assert_eq!(completeness.damaged_ranges, 0, "{completeness}");
    let expected = [
        "1 1001 WorldStop event:PreStopWorld generation:2",
        "1 1002 GcEvent event:PostStopWorld generation:2",
        "1 1003 GcEvent event:PreStartWorld generation:2",
        "1 1004 WorldStart event:PostStartWorld generation:2",
    ];
    assert_eq!(lines[1..], expected);
    assert_eq!(log_of(&stream(&log), Filter::default()).0, log);
    let (text, _) = debug(&log);
    assert!(text.contains("gc event for gen1: pre stop at 1001\n"), "{text}");
    for registry in [mono::registry(), mono::registry_of_one()] {
        let span = registry.spans.iter().find(|span| span.is_pause).expect("a pause");
        let name = |event: usize| registry.events[event].name.as_str();
        assert_eq!((name(span.begin), name(span.end)), ("WorldStop", "WorldStart"));
    }
}
