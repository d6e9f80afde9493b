//! Triggers: conditions on events, periods, and what is done when they are met.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use telemetry::trigger;

use crate::support::process::{Process, child};
use crate::support::stream::Stream;
use crate::support::system;
use crate::{counted, second, work};

/// How long a test waits for an action before it fails.
const LONGEST: Duration = Duration::from_secs(60);

#[track_caller]
fn wait(what: &str, mut is_so: impl FnMut() -> bool) {
    let since = Instant::now();
    while !is_so() {
        assert!(since.elapsed() < LONGEST, "{what} does not come within a minute");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Returns how many events of a name a stream has, which may not be there or be written now.
fn count(path: &str, name: &str) -> u64 {
    let is_there = std::fs::metadata(path).is_ok_and(|file| file.len() > 0);
    if is_there { Stream::read_what_is_left(path).by_name().get(name).copied().unwrap_or(0) } else { 0 }
}

fn wait_for_snapshot(path: &str, name: &str, expected: u64) {
    wait(path, || count(path, name) == expected);
}

fn quick(process: Process) -> Process {
    process.env("TELEMETRY_LATENCY", "0.01")
}

/// The snapshot has the events of the condition's kind from before, though passes took their blocks
/// to look at them.
#[test]
fn a_value_makes_a_snapshot() {
    let run = child(
        "triggers::a_value_makes_a_snapshot",
        |process| {
            let process = quick(process).without("TELEMETRY_CONTROL");
            process.env("TELEMETRY_TRIGGER", "Alloc.size >= 1k: snapshot big.tel")
        },
        || {
            for round in 0..20_u64 {
                (0..50_u64).for_each(|number| work::alloc!(round, number, number, 7));
                telemetry::flush();
            }
            // Another kind, which no condition is about, and which is off.
            work::tick!();
            assert!(!Path::new("big.tel").exists(), "nothing was big");
            work::alloc!(0_u64, 0_u64, 1024_u64, 7);
            wait_for_snapshot("big.tel", "Alloc", 1001);
            vec![("retained", telemetry::counters::total().retained)]
        },
    );
    assert_eq!(run.number("retained"), 1001, "no block was freed");
    assert!(!run.path().exists(), "nothing was output");
    assert_eq!(run.stderr, "");
}

/// What sinks get anyway, they get as without triggers.
#[test]
fn sinks_get_what_they_get_otherwise() {
    let run = child(
        "triggers::sinks_get_what_they_get_otherwise",
        |process| {
            quick(process).env("TELEMETRY_TRIGGER", "Alloc.size == 999: flush; Lonely: snapshot end.tel")
        },
        || {
            (0..3000_u64).for_each(|number| work::alloc!(number, number, number, 7));
            second::lonely!();
            wait("a snapshot", || Path::new("end.tel").exists());
            vec![]
        },
    );
    assert_eq!(run.stream().by_name()["Alloc"], 3000);
    assert_eq!(run.stream().by_name()["Lonely"], 1);
}

/// The events that the words switch on, and the rest of a trigger.
#[test]
fn an_event_sets_words_for_a_time() {
    let run = child(
        "triggers::an_event_sets_words_for_a_time",
        |process| {
            let process = quick(process).without("TELEMETRY_CONTROL");
            process.env("TELEMETRY_TRIGGER", "Lonely: set work:Inherit Lonely for 1h")
        },
        || {
            work::tick!();
            assert_eq!(telemetry::control::enabled(), "", "a condition only records");
            second::lonely!();
            wait("the words", || telemetry::control::enabled() == "second:Lone work:Inherit");
            // It meets its own condition, but rests as long as its words are on.
            for _ in 0..10 {
                second::lonely!();
                telemetry::flush();
            }
            vec![]
        },
    );
    let changes = run.stream().own.iter().filter(|event| event.name == "ControlChange").count();
    // The process may end before its drain has reported the change.
    assert!(changes <= 1, "by the trigger, {changes} times");
}

/// Events during the rest of a trigger do not meet it, and later ones do.
#[test]
fn a_trigger_rests() {
    let run = child(
        "triggers::a_trigger_rests",
        |process| quick(process).without("TELEMETRY_CONTROL"),
        || {
            let long = "work:Tick at most every 1h: snapshot long.tel";
            let long = trigger::add(long).expect("a trigger");
            trigger::add("work:Tick at most every 10ms: snapshot short.tel").expect("a trigger");
            work::tick!();
            wait_for_snapshot("long.tel", "Tick", 1);
            let since = Instant::now();
            let mut ticks = 1;
            while count("short.tel", "Tick") < 3 {
                assert!(since.elapsed() < LONGEST, "the short rest does not end");
                work::tick!();
                ticks += 1;
                std::thread::sleep(Duration::from_millis(5));
            }
            assert_eq!(count("long.tel", "Tick"), 1);
            assert!(trigger::remove(long));
            assert!(!trigger::remove(long), "it is gone");
            vec![("ticks", ticks)]
        },
    );
    assert!(run.number("ticks") >= 3);
}

#[test]
fn a_period_flushes() {
    child(
        "triggers::a_period_flushes",
        |process| process.env("TELEMETRY_LATENCY", "3600").env("TELEMETRY_TRIGGER", "every 20ms: flush"),
        || {
            work::tick!();
            wait("a flush", || count("stream.tel", "Tick") == 1);
            vec![]
        },
    );
}

/// An event just before the end of the process.
#[test]
fn the_last_event_counts() {
    let run = child(
        "triggers::the_last_event_counts",
        |process| {
            let process = process.without("TELEMETRY_CONTROL").env("TELEMETRY_LATENCY", "3600");
            process.env("TELEMETRY_TRIGGER", "Named.level != 4: snapshot end.tel; Lonely: snapshot never.tel")
        },
        || {
            work::named!(1_u64, 2_u64, 3_u64, 5, "last");
            vec![]
        },
    );
    assert_eq!(Stream::read(run.dir().join("end.tel")).by_name()["Named"], 1);
    assert!(!run.dir().join("never.tel").exists());
}

#[test]
fn what_fits_nothing_is_reported() {
    let check = |text: &'static str, expected: &str| {
        let run = child(
            "triggers::what_fits_nothing_is_reported",
            |process| quick(process).env("TELEMETRY_TRIGGER", text),
            || {
                work::tick!();
                second::lonely!();
                telemetry::flush();
                vec![]
            },
        );
        assert_eq!(run.stderr, format!("telemetry: {expected}\n"), "{text}");
    };
    check(
        "Aloc: flush",
        "[unknown-name] `Aloc`, the condition of a trigger, matches no event; help: did you mean `Alloc`?",
    );
    check(
        "work:Alloc.sice > 5: flush",
        "[unknown-name] `sice` is no number of event `Alloc`; help: did you mean `size`?",
    );
    check("Named.name == x: flush", "[unknown-name] `name` is no number of event `Named`");
    check(
        "Lonely: set Inhert for 1s",
        "[unknown-name] `Inhert`, to be set by a trigger, matches no kind or event; help: did you mean `Inherit`?",
    );
    check(
        "Lonely; every 10s: flush",
        "[invalid-setting] in TELEMETRY_TRIGGER: found `Lonely`, expected a condition, `: ` and an action",
    );
}

/// Forks while triggers are looked at, added and removed. No fork hangs, and children have the
/// triggers.
#[test]
fn forks_go_on() {
    const CHILDREN: usize = 20;
    child(
        "triggers::forks_go_on",
        |process| {
            let process = quick(process).without("TELEMETRY_CONTROL");
            process.env("TELEMETRY_TRIGGER", "Alloc.size == 1: flush; Lonely: set work:Other for 1h")
        },
        || {
            let over = AtomicBool::new(false);
            let repeat = |f: &dyn Fn()| {
                while !over.load(Ordering::Relaxed) {
                    f();
                }
            };
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    repeat(&|| {
                        work::alloc!(1_u64, 1_u64, 1_u64, 1);
                        std::thread::sleep(Duration::from_micros(20));
                    });
                });
                scope.spawn(|| repeat(&|| _ = telemetry::flush()));
                scope.spawn(|| {
                    repeat(&|| {
                        let added = trigger::add("work:Tick: flush").expect("a trigger");
                        trigger::remove(added);
                        std::thread::sleep(Duration::from_micros(20));
                    });
                });
                for _ in 0..CHILDREN {
                    let status = system::fork(|| {
                        // A registry that is not in use is not shown.
                        work::tick!();
                        second::lonely!();
                        // If a lock was not free in time, the child continues without telemetry.
                        if telemetry::flush() {
                            wait("the child's trigger", || telemetry::control::enabled() == "work:Other");
                            std::fs::write(format!("{}.set", std::process::id()), "").expect("a file");
                        }
                    });
                    assert!(status.success(), "{status}");
                }
                over.store(true, Ordering::Relaxed);
            });
            let files = std::fs::read_dir(".").expect("a directory").map(|file| file.expect("a file").path());
            assert!(files.filter(|path| path.extension().is_some_and(|end| end == "set")).count() > 0);
            vec![]
        },
    );
}

/// A sampled counter is an event like others, though the thread that does the actions emits it.
#[test]
fn a_counter_makes_a_snapshot() {
    child(
        "triggers::a_counter_makes_a_snapshot",
        |process| {
            let process = quick(process).without("TELEMETRY_CONTROL").env("TELEMETRY_SAMPLE", "0.01");
            process.env("TELEMETRY_TRIGGER", "CacheHits.value >= 100: snapshot full.tel")
        },
        || {
            work::tick!();
            counted::CACHE_HITS.add(99);
            std::thread::sleep(Duration::from_millis(100));
            assert!(!Path::new("full.tel").exists(), "99 are too few");
            counted::CACHE_HITS.add(1);
            wait("a snapshot", || Path::new("full.tel").exists());
            vec![]
        },
    );
}

/// How often the program's own handler ran.
static HANDLED: AtomicU32 = AtomicU32::new(0);

extern "C" fn handled(_: libc::c_int) {
    HANDLED.fetch_add(1, Ordering::Relaxed);
}

/// A signal meets its trigger, and the handler that the program has is called, too.
#[test]
fn a_signal_makes_a_snapshot() {
    let run = child(
        "triggers::a_signal_makes_a_snapshot",
        |process| {
            let process = quick(process).without("TELEMETRY_CONTROL").env("TELEMETRY_RECORD", "all");
            process.env(
                "TELEMETRY_TRIGGER",
                "signal USR1: snapshot asked.tel; signal sighup: snapshot never.tel",
            )
        },
        || {
            system::on_signal(libc::SIGUSR1, handled);
            (0..10).for_each(|_| work::tick!());
            system::raise(libc::SIGUSR1);
            assert_eq!(HANDLED.load(Ordering::Relaxed), 1, "the handler of the program");
            wait_for_snapshot("asked.tel", "Tick", 10);
            // A trigger that is added later meets only later signals. USR2 has no other handler,
            // and does not end the process.
            let path = "late.tel";
            trigger::add("signal USR2 at most every 10ms: snapshot late.tel").expect("a trigger");
            assert!(!Path::new(path).exists());
            system::raise(libc::SIGUSR2);
            wait_for_snapshot(path, "Tick", 10);
            work::tick!();
            let since = Instant::now();
            while count(path, "Tick") < 11 {
                assert!(since.elapsed() < LONGEST, "the second signal does not meet it");
                system::raise(libc::SIGUSR2);
                std::thread::sleep(Duration::from_millis(20));
            }
            vec![]
        },
    );
    assert!(!run.dir().join("never.tel").exists());
    assert_eq!(run.stderr, "");
}

/// The configuration has triggers, which the environment replaces.
#[test]
fn the_configuration_has_triggers() {
    let check = |variable: Option<&'static str>, name: &str, expected: &str| {
        let run = child(
            "triggers::the_configuration_has_triggers",
            |process| {
                let process = quick(process).without("TELEMETRY_CONTROL");
                match variable {
                    Some(text) => process.env("TELEMETRY_TRIGGER", text),
                    None => process,
                }
            },
            || {
                let config = telemetry::Config::new().trigger("Tick: snapshot configured.tel");
                config.trigger("Tick: jump").start().expect("the first call");
                work::tick!();
                wait("a snapshot", || {
                    Path::new("configured.tel").exists() || Path::new("environment.tel").exists()
                });
                vec![]
            },
        );
        assert!(run.dir().join(name).exists(), "{name}");
        assert_eq!(run.stderr, expected);
    };
    let wrong = "telemetry: [invalid-setting] in the triggers of the configuration: found `jump`, expected \
                 `snapshot PATH`, `flush` or `set WORDS for TIME`\n";
    check(None, "configured.tel", wrong);
    check(Some("Tick: snapshot environment.tel"), "environment.tel", "");
}

#[allow(unsafe_code)]
unsafe extern "C" {
    fn telemetry_trigger_add(text: *const libc::c_char, error: *mut libc::c_char, size: usize) -> u32;
    safe fn telemetry_trigger_remove(number: u32) -> libc::c_int;
}

/// Calls the function for C, with room for an error of 40 bytes.
#[allow(unsafe_code)]
fn add_in_c(text: Option<&std::ffi::CStr>) -> Result<u32, String> {
    let mut error = [0x7f_u8; 41];
    let at = text.map_or(std::ptr::null(), |text| text.as_ptr());
    // SAFETY: the text ends in NUL or is null, and there is room for 40 bytes.
    let number = unsafe { telemetry_trigger_add(at, error.as_mut_ptr().cast(), 40) };
    assert_eq!(error[40], 0x7f, "it writes no more than there is room for");
    // SAFETY: a text that is null, and no room.
    assert_eq!(unsafe { telemetry_trigger_add(std::ptr::null(), std::ptr::null_mut(), 0) }, 0);
    let error = std::ffi::CStr::from_bytes_until_nul(&error).expect("it ends in NUL");
    if number == 0 { Err(error.to_str().expect("UTF-8").to_owned()) } else { Ok(number) }
}

#[test]
fn programs_in_c_have_triggers() {
    child(
        "triggers::programs_in_c_have_triggers",
        |process| quick(process).without("TELEMETRY_CONTROL"),
        || {
            let wrong = |text: Option<&std::ffi::CStr>| add_in_c(text).expect_err("no trigger");
            assert_eq!(wrong(None), "found null or no UTF-8, expected a trig");
            assert_eq!(wrong(Some(c"\xff")), "found null or no UTF-8, expected a trig");
            assert_eq!(wrong(Some(c"every 1s")), "found `every 1s`, expected a condition,");
            let number = add_in_c(Some(c"Tick: snapshot c.tel")).expect("a trigger");
            work::tick!();
            wait_for_snapshot("c.tel", "Tick", 1);
            assert_eq!(telemetry_trigger_remove(number), 0);
            assert_eq!(telemetry_trigger_remove(number), libc::EINVAL, "it is gone");
            vec![]
        },
    );
}
