//! Reading logs: their events, and the text that is shown.

use telemetry_decode::{Order, Reader};
use telemetry_foreign::ghc::{GhcLog, recognize, registry};

use super::made::{self, Log, NONE, ODD_SHOWN, SMALL_SHOWN};
use super::{assert_same, shown, shown_as_recorded};

#[test]
fn the_registry_is_sound() {
    let text = include_str!("../../../registries/ghc.toml");
    let parsed = telemetry_schema::parse(text)
        .unwrap_or_else(|invalid| panic!("{}", invalid.render("ghc.toml", text)));
    assert_eq!(parsed, registry());
}

#[test]
fn logs_are_recognized() {
    let log = made::small().end();
    assert!(recognize(&log));
    assert!(!recognize(b"hdr"));
    assert!(!recognize(b"\xb9telemetry"));
}

#[test]
fn a_small_log_is_shown() {
    let log = made::small().end();
    let (text, completeness) = shown(&log);
    assert_same(&text, SMALL_SHOWN, "small");
    assert!(completeness.is_complete(), "{completeness:?}");
    assert_eq!(completeness.bytes.total(), log.len() as u64);
}

#[test]
fn odd_types_are_shown() {
    let log = made::odd_types().end();
    let (text, completeness) = shown(&log);
    assert!(completeness.is_complete(), "{completeness:?}");
    let events = text.find("\nEvents").expect("events");
    assert_same(&text[events..], ODD_SHOWN, "odd types");
    assert!(text.contains("\n19: User message (size 7)\n19: User message again (size variable)\n"), "{text}");
}

#[test]
fn any_description_of_a_type_makes_a_sound_registry() {
    let long = format!("{} and what is cut", "x".repeat(199));
    let descriptions = [
        "",
        " ",
        "\0\t\r\n",
        "\u{202e}turned",
        "a\u{2066}\u{3000}",
        "\"\\'\"\"\"",
        "all",
        "Self",
        "Event",
        "Type 600",
        "TYPE",
        "7",
        "é",
        &long,
        &long,
        "\u{a0}no break\u{a0}",
        "\u{7f}\u{85}",
        "\u{feff}mark",
    ];
    let types: Vec<_> =
        descriptions.iter().zip(600..).map(|(text, tag)| (tag, made::VARIABLE, *text)).collect();
    let log =
        types.iter().zip(10..).fold(Log::new(&types), |log, ((tag, ..), time)| log.event(*tag, time, b"x"));
    let log = log.end();
    let mut events = Reader::from_log(&log, GhcLog::new()).events().expect("readable");
    while events.next().expect("an event").is_some() {}
    let registries = events.registries();
    let last = &registries.iter().last().expect("a registry").registry;
    let ours = 600..600 + descriptions.len() as u16;
    assert_eq!(last.events.iter().filter(|event| ours.contains(&event.code)).count(), descriptions.len());
    let again = telemetry_schema::parse_embedded(&last.to_toml()).expect("a sound registry");
    assert_eq!(again, *last);
}

#[test]
fn every_type_is_shown() {
    let (text, completeness) = shown_as_recorded(&made::every_type().end());
    assert!(completeness.is_complete(), "{completeness:?}");
    let events = text.find("\nEvents").expect("events");
    insta::assert_snapshot!(&text[events..]);
}

#[test]
fn a_log_tells_of_its_session_and_threads() {
    let log = made::every_type().end();
    let events = Reader::from_log(&log, GhcLog::new()).events().expect("readable");
    let [session] = events.sessions() else { panic!("one session") };
    let facts: Vec<String> = session.facts.iter().map(|(key, value)| format!("{key} = {value}")).collect();
    let expected = [
        r#"format = "ghc-eventlog""#,
        r#"clock = "os""#,
        r#"rts = "a name""#,
        r#"program = "./prog""#,
        r#"args = ["./prog", "-x", ""]"#,
        "pid = 1792",
        "ppid = 1792",
    ];
    assert_eq!(facts, expected);
    assert_eq!(session.clock.start_wall(), 0x6000_0000 * 1_000_000_000 + 9 - 50);
    let threads: Vec<_> = session
        .threads()
        .keys()
        .map(|thread| (*thread, session.thread_name(*thread).unwrap_or_default()))
        .collect();
    assert_eq!(threads, [(4, "capability 3"), (65_536, "no capability")]);
    let counts = events.log_counts().expect("a log");
    assert_eq!(counts.iter().filter(|count| count.count == 1).count(), registry().events.len() - 1);
}

/// Returns the events in the order of the log, with their threads and places.
fn in_order(log: &[u8]) -> Vec<(String, u32, u64, u64)> {
    let mut events = Reader::from_log(log, GhcLog::new()).order(Order::Stream).events().expect("readable");
    let mut all = Vec::new();
    while let Some(event) = events.next().expect("readable") {
        if event.name() != "EventType" {
            all.push((event.name().to_string(), event.thread(), event.ticks(), event.offset()));
        }
    }
    all
}

#[test]
fn blocks_say_whose_events_they_have() {
    let types = &[(18, 14, "Block marker"), (9, 0, "Starting GC")];
    let log =
        Log::new(types).event(9, 5, &[]).block(6, 20, 2).event(9, 7, &[]).block(8, 30, NONE).event(9, 9, &[]);
    // After the end of the last block.
    let log = [log.cut(), Log::new(&[]).event(9, 10, &[]).end().split_off(20)].concat();
    let found: Vec<_> =
        in_order(&log).into_iter().map(|(name, thread, ticks, _)| (name, thread, ticks)).collect();
    let expected = [("GcStart", 65_536, 5), ("BlockMarker", 3, 6), ("GcStart", 3, 7)];
    let behind = [("BlockMarker", 65_536, 8), ("GcStart", 65_536, 9), ("GcStart", 65_536, 10)];
    let expected: Vec<_> = expected
        .iter()
        .chain(&behind)
        .map(|(name, thread, ticks)| (name.to_string(), *thread, *ticks))
        .collect();
    assert_eq!(found, expected);
    assert!(shown(&log).1.is_complete());
}

#[test]
fn time_may_go_back() {
    let types = &[(18, 14, "Block marker"), (9, 0, "Starting GC"), (10, 0, "Finished GC")];
    let mut log = Log::new(types).block(1, 900_000_000, 0);
    // Long enough for several extents, with a step back in each.
    for number in 0..40_000 {
        let time = 1000 + number * 200;
        log = log.event(9, time, &[]).event(10, time - 150, &[]);
    }
    let log = log.end();
    let (text, completeness) = shown(&log);
    assert!(completeness.is_complete(), "{completeness:?}");
    let times: Vec<u64> = text.lines().filter_map(|line| line.split_once(": cap")?.0.parse().ok()).collect();
    assert_eq!(times.len(), 80_001);
    assert!(times.is_sorted(), "events come by time");
}

#[test]
fn two_logs_in_one_are_two_sessions() {
    let log = [made::small().end(), made::odd_types().end()].concat();
    let (text, completeness) = shown(&log);
    assert!(completeness.is_complete(), "{completeness:?}");
    assert_eq!(completeness.sessions.len(), 2);
    assert_eq!(completeness.bytes.total(), log.len() as u64);
    assert!(text.contains("400: cap 0: hé") && text.contains("21: cap 65534: message"), "{text}");
    // The same types twice are one registry, and ids differ.
    let log = [made::small().end(), made::small().end()].concat();
    let (_, completeness) = shown(&log);
    assert_eq!(completeness.sessions.len(), 2);
    assert_ne!(completeness.sessions[0].0, completeness.sessions[1].0);
}

#[test]
fn text_is_shown_as_haskell_shows_it() {
    let types =
        &[(30, 0xffff, "Program arguments"), (181, 0xffff, "User binary message"), (167, 0xffff, "Time")];
    let args = "\0\0\0\0a\"\\\0\x0eH\x0e1\0é1\x7f\n\0\0".as_bytes();
    let binary = "\0\0é\u{a0}\u{301}\u{200b}z\t".as_bytes();
    let log = Log::new(types).event(30, 1, args).event(181, 2, binary).event(181, 3, b"a\xe2\x82z\xff").end();
    let (text, completeness) = shown(&log);
    assert!(completeness.is_complete(), "{completeness:?}");
    let events = text.find("\nEvents").expect("events");
    let expected = "
Events:
1: capset 0: args: [\"a\\\"\\\\\",\"\\SO\\&H\\SO1\",\"\\233\\&1\\DEL\\n\"]
2: binary message ..é\u{a0}\u{301}.z.
3: binary message a..z.

";
    assert_same(&text[events..], expected, "text");
}
