//! The last events as text, printed by the process itself at the worst moments.

use std::fmt::{self, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, TestRng, TestRunner};
use telemetry::recorder::Traceback;
use telemetry_decode::{Event, Reader, Value};

use crate::support::postmortem::process;
use crate::support::process::{Outcome, child};
use crate::support::system::{self, Alarm};
use crate::values::{arbitrary, emit::emit};
use crate::{second, work};

/// A line of a traceback, in columns.
#[derive(Debug, PartialEq, Eq, Clone)]
pub(crate) struct Line {
    pub(crate) time_ns: i64,
    pub(crate) thread: String,
    pub(crate) kind: String,
    pub(crate) event: String,
    /// Names and values as text.
    pub(crate) params: String,
}

/// The lines of a text that belong to a traceback.
pub(crate) fn lines(text: &str) -> Vec<Line> {
    text.lines().filter_map(line).collect()
}

fn line(text: &str) -> Option<Line> {
    let mut words = text.split_ascii_whitespace();
    let time_ns = words.next()?.replace(',', "").parse().ok()?;
    let rest = text.trim_start().split_once("  ")?.1;
    let (thread, rest) = rest.split_once("  ")?;
    let (kind, rest) = rest.trim_start().split_once("  ")?;
    let (event, params) = rest.trim_start().split_once("  ").unwrap_or((rest.trim_start(), ""));
    let [thread, kind, event, params] = [thread, kind, event, params].map(|text| text.trim().to_owned());
    Some(Line { time_ns, thread, kind, event, params })
}

/// Parameters as `telemetry print` shows them.
fn expected(event: &Event<'_>) -> String {
    let mut text = String::new();
    for param in event.params() {
        let unit = if param.schema.unit.is_empty() { "" } else { " " };
        let value = Printed(&param.value);
        let _ = write!(text, "  {}:{value}{unit}{}", param.schema.name, param.schema.unit);
    }
    text.trim().to_owned()
}

struct Printed<'v>(&'v Value<'v>);

impl fmt::Display for Printed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Value::F32(x) => write!(f, "{x:?}"),
            Value::F64(x) => write!(f, "{x:?}"),
            Value::String(text) => {
                let text = std::str::from_utf8(text.0).expect("UTF-8");
                write!(f, "\"{}\"", text.escape_debug().to_string().replace("\\'", "'"))
            }
            Value::Bytes(bytes) => {
                let bytes: Vec<_> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
                write!(f, "[{}]", bytes.join(" "))
            }
            Value::Array(array) => {
                let values: Vec<_> = array.iter().map(|value| Printed(&value).to_string()).collect();
                write!(f, "[{}]", values.join(" "))
            }
            other => write!(f, "{other}"),
        }
    }
}

#[test]
fn is_what_the_stream_has() {
    let run = child(
        "traceback::is_what_the_stream_has",
        // Nothing is freed while a list is emitted.
        |process| process.env("TELEMETRY_LATENCY", "60"),
        || {
            let registry =
                telemetry_schema::parse(include_str!("../registries/sorts.toml")).expect("a registry");
            let config = Config { failure_persistence: None, ..Config::default() };
            let seed = TestRng::deterministic_rng(config.rng_algorithm);
            let mut runner = TestRunner::new_with_rng(config, seed);
            let lists = arbitrary::events(&registry, &["Plain", "Array", "Large", "Inherit"]);
            let (mut emitted, mut text) = (0, String::new());
            while emitted < 500 {
                telemetry::flush();
                let events = lists.new_tree(&mut runner).expect("events").current();
                events.iter().for_each(|(event, values)| emit(&event.name, values));
                emitted += events.len() as u64;
                let _ = write!(text, "{}", Traceback::current_thread(events.len()));
            }
            std::fs::write("traceback", text).expect("a file");
            vec![("emitted", emitted)]
        },
    );
    let lines = lines(&std::fs::read_to_string(run.dir().join("traceback")).expect("a traceback"));
    assert_eq!(lines.len() as u64, run.number("emitted"));
    let mut events = Reader::open(run.path()).expect("a stream").events().expect("a stream");
    for line in lines {
        let event = events.next().expect("a readable stream").expect("as many events");
        assert_eq!(line.event, event.name());
        assert_eq!(line.kind, event.kind().name);
        assert_eq!(line.params, expected(&event));
        // The clock's rate is an estimate.
        let off = (line.time_ns - event.time_ns()).abs();
        assert!(off < 1_000_000 + event.time_ns() / 100, "{off} ns off at {}", event.time_ns());
    }
}

#[test]
fn shows_threads_and_registries() {
    child(
        "traceback::shows_threads_and_registries",
        |process| process,
        || {
            assert_eq!(Traceback::current_thread(5).to_string(), "(no events)\n");
            let check = |traceback: Traceback, expected: &[(&str, &str, &str)]| {
                let text = traceback.to_string();
                let lines = lines(&text);
                let short: Vec<_> =
                    lines.iter().map(|line| (&*line.thread, &*line.event, &*line.params)).collect();
                assert_eq!(short, expected, "{text}");
                assert!(lines.is_sorted_by_key(|line| line.time_ns), "{text}");
            };
            // These threads, and so their blocks, stay to the end.
            let (over, rest) = std::sync::mpsc::channel::<()>();
            let rest = Arc::new(Mutex::new(rest));
            let on_thread = |name: &str, body: fn()| {
                let (done, wait) = std::sync::mpsc::channel::<()>();
                let rest = rest.clone();
                let body = move || {
                    body();
                    drop(done);
                    let _ = rest.lock().map(|rest| rest.recv());
                };
                let thread = std::thread::Builder::new().name(name.into()).spawn(body).expect("a thread");
                wait.recv().expect_err("nothing but the end of the body");
                thread
            };
            let mut threads = vec![];
            threads.push(on_thread("one", || work::alloc!(16_u64, 255_u64, 3_u64, 4)));
            let alloc = "pointer:0x10  address:0xff  size:3 bytes  level:4";
            check(Traceback::all_threads(5), &[("one", "Alloc", alloc)]);
            check(Traceback::current_thread(5), &[]);
            threads.push(on_thread("two", || work::tick!()));
            check(Traceback::all_threads(5), &[("one", "Alloc", alloc), ("two", "Tick", "")]);
            check(Traceback::all_threads(1), &[("two", "Tick", "")]);
            check(Traceback::all_threads(0), &[]);
            // The same name in another registry.
            threads.push(on_thread("two", || {
                second::alloc!(7);
                let own = Traceback::current_thread(5).to_string();
                assert_eq!((lines(&own).len(), own.lines().count()), (1, 1));
            }));
            let both = [
                ("one", "work:Alloc", alloc),
                ("two#2", "work:Tick", ""),
                ("two#3", "second:Alloc", "number:7"),
            ];
            check(Traceback::all_threads(5), &both);
            check(Traceback::all_threads(usize::MAX), &both);
            // Events of an inherited clock come after the one whose time they have.
            work::tick!();
            work::fix!(1_u64, 2_u64, 3_u64, 4);
            work::tick!();
            let events: Vec<_> = lines(&Traceback::current_thread(3).to_string())
                .iter()
                .map(|line| line.event.clone())
                .collect();
            assert_eq!(events, ["Tick", "Fix", "Tick"]);
            drop(over);
            threads.into_iter().for_each(|thread| thread.join().expect("a thread without a panic"));
            vec![]
        },
    );
}

/// Freed blocks are read too, as long as they are not overwritten.
#[test]
fn reaches_back_beyond_the_last_block() {
    child(
        "traceback::reaches_back_beyond_the_last_block",
        |process| process.env("TELEMETRY_BUFFER", "1M"),
        || {
            for round in 0..200_u64 {
                for number in 0..500 {
                    work::alloc!(round * 500 + number, 0_u64, 0_u64, 0);
                }
                telemetry::flush();
                let text = Traceback::current_thread(200).to_string();
                let lines = lines(&text);
                assert_eq!(lines.len(), 200, "round {round}\n{text}");
                let start = format!("pointer:{:#x}  ", round * 500 + 499);
                assert!(lines[199].params.starts_with(&start), "{text}");
            }
            vec![]
        },
    );
}

/// True of the events of [`emit_whole`], and of nothing that was misread.
fn is_whole(line: &Line) -> bool {
    let number = |name: &str| {
        let (_, rest) = line.params.split_once(name)?;
        let digits = rest.split(' ').next()?;
        match digits.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).ok(),
            None => digits.parse().ok(),
        }
    };
    let [Some(pointer), Some(address), Some(size), Some(level)] =
        ["pointer:", "address:", "size:", "level:"].map(number)
    else {
        return false;
    };
    let event = if level % 2 == 0 { "Alloc" } else { "Fix" };
    address == pointer.wrapping_mul(3) && size == pointer ^ 0xffff && line.event == event
}

/// Events whose values are all derived from one number.
pub(crate) fn emit_whole(number: u64) {
    work::alloc!(number, number.wrapping_mul(3), number ^ 0xffff, 2);
    work::fix!(number, number.wrapping_mul(3), number ^ 0xffff, 1);
}

/// In a pool so small that blocks are always being reused.
#[test]
fn is_right_while_others_emit() {
    let run = child(
        "traceback::is_right_while_others_emit",
        |process| process.env("TELEMETRY_BUFFER", "512k").env("TELEMETRY_FILENAME", "/dev/null"),
        || {
            let over = AtomicBool::new(false);
            let mut seen = 0;
            std::thread::scope(|scope| {
                for thread in 0..4_u64 {
                    let over = &over;
                    scope.spawn(move || {
                        let numbers = (thread << 56..).take_while(|_| !over.load(Ordering::Relaxed));
                        numbers.for_each(emit_whole);
                    });
                }
                let since = Instant::now();
                let goes_on =
                    |seen: u64| since.elapsed() < Duration::from_secs(if seen < 1000 { 30 } else { 2 });
                while goes_on(seen) {
                    let text = Traceback::all_threads(Traceback::MAX_EVENTS).to_string();
                    let lines = lines(&text);
                    seen += lines.len() as u64;
                    let others = text.lines().count() - lines.len();
                    assert!(others <= 1 && (others == 0 || text.contains("(")), "{text}");
                    assert!(lines.is_sorted_by_key(|line| line.time_ns), "{text}");
                    let wrong = lines.iter().find(|line| !is_whole(line));
                    assert_eq!(wrong, None, "{text}");
                }
                over.store(true, Ordering::Relaxed);
            });
            vec![("seen", seen)]
        },
    );
    assert!(run.number("seen") >= 1000, "{}", run.number("seen"));
}

/// Handlers that ran.
static HANDLED: AtomicU64 = AtomicU64::new(0);

/// How many should run.
const ALARMS: u64 = 100;

extern "C" fn on_alarm(_: libc::c_int) {
    if HANDLED.fetch_add(1, Ordering::Relaxed) < ALARMS {
        Traceback::current_thread(3).write_to_stderr();
    }
}

#[test]
fn is_right_inside_of_an_emission() {
    let run = child(
        "traceback::is_right_inside_of_an_emission",
        |process| process.env("TELEMETRY_BUFFER", "64k").env("TELEMETRY_FILENAME", "/dev/null"),
        || {
            emit_whole(0);
            system::on_signal(libc::SIGALRM, on_alarm);
            let alarm = Alarm::every(Duration::from_millis(10));
            let goes_on = |_: &u64| HANDLED.load(Ordering::Relaxed) < ALARMS;
            (1..).take_while(goes_on).for_each(emit_whole);
            drop(alarm);
            vec![]
        },
    );
    let lines = lines(&run.stderr);
    assert!(lines.len() as u64 > 2 * ALARMS, "{}", run.stderr);
    assert_eq!(lines.iter().find(|line| !is_whole(line)), None);
}

/// Nothing was allocated, and the last of these lines were printed.
fn check_unallocated(run: &Outcome, text: &str, last: &[&str]) {
    assert_eq!(run.number("allocations"), 0);
    let lines = lines(text);
    let events: Vec<_> = lines.iter().map(|line| &*line.event).collect();
    assert!(events.ends_with(last), "{text}");
}

#[test]
fn allocates_nothing() {
    let run = process("postmortem", "display").run().succeeded();
    check_unallocated(&run, &run.stdout, &["Alloc", "Named", "Fix", "Alloc", "Named", "Fix"]);
    let named = lines(&run.stdout).into_iter().rfind(|line| line.event == "Named").expect("an event");
    let params = r#"pointer:0x3e7  address:0x0  size:0 bytes  level:2  name:"a \"name\"""#;
    assert_eq!((&*named.params, &*named.thread, &*named.kind), (params, "postmortem", "Precise"));
    let run = process("postmortem", "stderr").run().succeeded();
    check_unallocated(&run, &run.stderr, &["Alloc", "Named", "Fix"]);
    assert_eq!(lines(&run.stderr).len(), Traceback::MAX_EVENTS);
}

#[test]
fn in_a_signal_handler() {
    let run = process("postmortem", "signal").run().succeeded();
    check_unallocated(&run, &run.stderr, &["Fix", "Alloc", "Named", "Fix"]);
    assert_eq!(lines(&run.stderr).len(), 4);
    assert!(run.stderr.contains("(another traceback is being made)"), "{}", run.stderr);
}

/// A panic has printed this message, and then the last three events.
fn check_panic(run: &Outcome, message: &str) {
    let Some((_, behind)) = run.stderr.split_once(message) else { panic!("{}", run.stderr) };
    let heading = "telemetry: the last events of this thread, the newest last:\n";
    assert!(behind.contains(heading), "{}", run.stderr);
    let events: Vec<_> = lines(behind).into_iter().map(|line| line.event).collect();
    assert_eq!(events, ["Alloc", "Named", "Fix"], "{}", run.stderr);
}

#[test]
fn in_a_panic() {
    let run = process("postmortem", "panic").env("TELEMETRY_TRACEBACK", "3").run();
    assert_eq!(run.status.code(), Some(101));
    check_panic(&run, "in main");
    assert_eq!(run.stream().events.len(), 3000);
    let run = process("postmortem", "panic").run();
    assert_eq!(lines(&run.stderr), [], "not asked for");
}

/// Nothing is lost, however soon the program ends.
#[test]
fn in_a_panic_at_once() {
    for _ in 0..20 {
        let run = process("postmortem", "panic at once").env("TELEMETRY_TRACEBACK", "3").run();
        check_panic(&run, "at once");
        assert_eq!(run.stream().events.len(), 3000);
    }
}

#[test]
fn in_a_panic_with_a_hook_of_the_programs() {
    let run = process("postmortem", "panic with a hook").env("TELEMETRY_TRACEBACK", "3").run();
    check_panic(&run, "the program's hook\n");
    assert_eq!(run.stderr.matches("the program's hook\n").count(), 1, "{}", run.stderr);
    assert_eq!(run.stream().events.len(), 3000);
}

/// While another thread holds the drain's lock.
#[test]
fn in_a_panic_while_the_drain_waits() {
    let process = process("postmortem", "panic while the drain waits").without("TELEMETRY_FILENAME");
    let since = Instant::now();
    let run = process.env("TELEMETRY_LATENCY", "0.01").env("TELEMETRY_TRACEBACK", "3").run();
    check_panic(&run, "in vain");
    assert!(since.elapsed() > Duration::from_secs(1), "the drain did not wait");
}

/// A forked child prints its own events and can panic, however early its parent forked.
#[test]
fn in_a_forked_child() {
    for _ in 0..5 {
        let run = child(
            "traceback::in_a_forked_child",
            |process| process.env("TELEMETRY_TRACEBACK", "2"),
            || {
                work::alloc!(1_u64, 2_u64, 3_u64, 4);
                let status = system::fork(|| {
                    assert_eq!(Traceback::all_threads(5).to_string(), "(no events)\n");
                    let thread = std::thread::Builder::new().name("late".into()).spawn(|| {
                        telemetry::recorder::flush_on_panic();
                        work::tick!();
                        assert_eq!(lines(&Traceback::all_threads(5).to_string()).len(), 1);
                        panic!("in the child");
                    });
                    thread.expect("a thread").join().expect_err("a panic");
                });
                assert!(status.success(), "{status}");
                vec![]
            },
        );
        let lines = lines(&run.stderr);
        let told: Vec<_> = lines.iter().map(|line| (&*line.thread, &*line.event)).collect();
        assert_eq!(told, [("late", "Tick")], "{}", run.stderr);
    }
}
