//! Text of `perf script` beside streams: the same time line, and what is refused.

use telemetry_decode::writer::{Lane, Writer};
use telemetry_decode::{Facts, Value};

use crate::run::Folder;

/// A scheduler's switches, samples with and without a stack, and a tracepoint, with a header.
const TEXT: &str = include_str!("../data/perf.txt");

/// Nanoseconds of `CLOCK_MONOTONIC_RAW` and since 1970 when the stream begins.
const RAW: u64 = 5_000_000_001_000;
const WALL: u64 = 1_700_000_000_000_000_500;

/// Makes a stream with events at 500 and 8,500 ns of a clock that ticks twice in a nanosecond.
fn stream(session: u64, raw: Option<u64>) -> Vec<u8> {
    let registry = telemetry_testing::made::registry();
    let event = registry.events.iter().find(|event| event.params.is_empty()).expect("an event without one");
    let mut facts = Facts::default();
    facts.set("program", "my app");
    facts.set("pid", 700);
    facts.set("ticks_per_second", 2_000_000_000_i64);
    if let Some(raw) = raw {
        facts.set("monotonic_raw_ns", raw as i64);
    }
    let mut writer = Writer::new(Vec::new());
    writer.session(session, &facts, 1_000, WALL).unwrap();
    let lane = Lane { session, thread: 1, registry: writer.registry(session, &registry).unwrap() };
    let none: [Value<'_>; 0] = [];
    writer.event(lane, event.code, 2_000, &none).unwrap();
    writer.event(lane, event.code, 18_000, &none).unwrap();
    writer.end(session, 20_000).unwrap();
    writer.finish().unwrap()
}

/// Returns the text without its comments.
fn without_header() -> String {
    TEXT.lines().filter(|line| !line.starts_with('#')).map(|line| format!("{line}\n")).collect()
}

fn folder() -> Folder {
    let other_clock = TEXT.replace("clockid: monotonic_raw (4)", "clockid: monotonic (1)");
    let own_clock = TEXT.replace("# clockid: monotonic_raw (4)\n", "");
    let late = TEXT.replace("5000.000008000", "5000.000002000");
    let cut =
        &TEXT[..TEXT.len() - "cases:sys_enter_write: fd: 0x00000002, buf: 0x7ffe, count: 0x00000004\n".len()];
    let no_switch = TEXT.replace("prev_pid=0", "prev_pid=x");
    let long = TEXT.replace("app::work(u32)", &"f;".repeat(40_000));
    Folder::new()
        .with("app.tel", stream(7, Some(RAW)))
        .with("again.tel", stream(8, Some(RAW - 5_000_000_000)))
        .with("without.tel", stream(7, None))
        .with("perf.txt", TEXT)
        .with("bare.txt", without_header())
        .with("other_clock.txt", other_clock)
        .with("own_clock.txt", own_clock)
        .with("late.txt", late)
        .with("cut.txt", cut)
        .with("no_switch.txt", no_switch)
        .with("long.txt", long)
        .with("empty.txt", "# ========\n# captured on    : today\n# clockid: monotonic_raw (4)\n")
}

#[test]
fn beside_a_stream() {
    folder().check(
        "perf",
        &[
            // The stream places the events, to the nanosecond.
            "print app.tel perf.txt",
            "print bare.txt app.tel",
            // The header places them, to the microsecond.
            "print perf.txt",
            "print --json perf.txt without.tel",
            "spans app.tel perf.txt",
            "stats --by symbol --sum period app.tel bare.txt",
            "stats app.tel empty.txt",
            "info perf.txt",
            "print --input-format perf perf.txt",
        ],
    );
}

#[test]
fn refused() {
    folder().check(
        "perf_refused",
        &[
            "print bare.txt",
            "print bare.txt without.tel",
            "print other_clock.txt app.tel",
            "print own_clock.txt app.tel",
            "print app.tel again.tel bare.txt",
            "print late.txt",
            "print cut.txt",
            "print no_switch.txt",
            "print long.txt",
            "print --input-format perf app.tel",
        ],
    );
}
