//! What a program hears of its own events: each thing that messages promise, in a process of its own.

#![allow(unsafe_code, clippy::print_stdout)]

use std::collections::{BTreeSet, HashSet};
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use telemetry::{Posted, message_memory};

use crate::heard::messages::{Everything, Gc, Low, Step};
use crate::heard::{self, Mode, Why};
use crate::support::package::Workspace;
use crate::support::process::{Numbers, Outcome, Process, child};
use crate::support::stream::Owned;
use crate::support::system::{self, Alarm};

/// Runs a test in a process that outputs nothing by itself.
fn quiet(test: &str, body: impl Fn() -> Numbers) -> Outcome {
    child(&format!("messages::{test}"), |process| process.env("TELEMETRY_CONTROL", "0"), body)
}

fn start(trace: u64) {
    heard::trace_start!(trace, Why::Full, 10 * trace, 100 * trace);
}

fn end(trace: u64) {
    heard::trace_end!(trace, trace, 9 * trace);
}

/// What is queued: traces with `+` for a begin, `-` for an end.
fn fetched() -> String {
    let messages = std::iter::from_fn(Gc::get).map(|message| match message {
        Gc::Begin(begin) => format!("+{}", begin.trace()),
        Gc::End(end) => format!("-{}", end.trace()),
    });
    messages.collect::<Vec<_>>().join(" ")
}

#[test]
fn posting_is_done_by_the_emitters_whether_or_not_anything_is_output() {
    let run = quiet("posting_is_done_by_the_emitters_whether_or_not_anything_is_output", || {
        start(1);
        end(1);
        assert!(Gc::enable() && Step::enable() && Low::enable());
        start(2);
        heard::step_begin!();
        heard::low!(7_u64);
        heard::step_end!(8);
        end(2);
        heard::unheard!(1_u64);
        assert_eq!((Gc::queued(), Step::queued(), Low::queued()), (2, 2, 1));
        assert_eq!(heard::REGISTRY.kinds_on(), 0);
        assert_eq!(telemetry::counters().emitted(), 0);
        // And in the stream beside, where it is.
        telemetry::set("all");
        start(3);
        end(3);
        assert_eq!(fetched(), "+2 -2 +3 -3");
        assert!(matches!(Step::get(), Some(Step::Begin(_))));
        let Some(Step::End(end)) = Step::get() else { panic!("no end") };
        assert_eq!(end.begin(), 8);
        assert_eq!(Low::get().map(|low| low.0.get()), Some(7));
        assert_eq!((Gc::dropped(), Step::dropped(), Low::dropped()), (0, 0, 0));
        vec![]
    });
    assert_eq!(run.stream().by_name().into_iter().collect::<Vec<_>>(), [("TraceEnd", 1), ("TraceStart", 1)]);
}

#[test]
fn typed_accessors_for_every_parameter_of_both_events() {
    quiet("typed_accessors_for_every_parameter_of_both_events", || {
        Gc::enable();
        heard::trace_start!(0x10_usize, Why::Asked, 100_u64, 200_u64);
        heard::trace_end!(0x10_usize, 30_u64, 90_u64);
        let (begin, end) = (Gc::get().unwrap(), Gc::get().unwrap());
        // What the begin said is known of either.
        for message in [&begin, &end] {
            assert_eq!((message.trace(), message.why()), (0x10, Why::Asked));
            assert_eq!((message.condemned_size(), message.not_condemned_size()), (100, 200));
        }
        let (Gc::Begin(begin), Gc::End(end)) = (begin, end) else { panic!("a begin and an end") };
        assert_eq!(begin.condemned_size(), 100);
        // The same datum in both: the end's own, and as the begin had it.
        assert_eq!((end.live_size(), end.condemned_size()), (30, 90));
        assert_eq!((end.why(), end.not_condemned_size()), (Why::Asked, 200));
        assert!(Posted::ticks(&begin) < Posted::ticks(&end));
        vec![]
    });
}

#[test]
fn every_sort_is_copied_into_the_message() {
    quiet("every_sort_is_copied_into_the_message", || {
        Everything::enable();
        let mode = Mode::Fast | Mode::Still;
        for text in [String::new(), "short".to_string(), "äöüßé and more".to_string()] {
            let (bytes, words) = (vec![1, 2, 3, 4, 5], [7_usize, 8, 9, 10]);
            heard::everything!(
                &bytes,
                -3,
                0.5,
                0.25,
                true,
                telemetry::Label(9),
                Why::Asked,
                mode,
                &text,
                &bytes,
                &words,
                &[1, 2, 3, 4],
                &[Why::Full]
            );
        }
        for text in ["", "short", "äöüß"] {
            let message = Everything::get().unwrap();
            assert_ne!(message.pointer(), 0);
            assert_eq!((message.signed(), message.real(), message.float()), (-3, 0.5, 0.25));
            assert_eq!(
                (message.flag(), message.label(), message.why()),
                (true, telemetry::Label(9), Why::Asked)
            );
            assert_eq!((message.mode(), message.text()), (mode, text));
            assert_eq!((message.bytes(), message.words()), (&[1, 2, 3, 4][..], &[7, 8, 9][..]));
            assert_eq!((message.quad(), message.whys()), (&[1, 2, 3, 4][..], &[Why::Full][..]));
            assert!(format!("{message:?}").contains(&format!("text: {text:?}")), "{message:?}");
        }
        vec![]
    });
}

/// The varieties differ in what is recorded, not in what is heard.
#[test]
fn present_in_every_variety() {
    for variety in ["cool", "hot", "rash"] {
        let workspace = Workspace::new("heard", &["heard"]);
        workspace.write(".cargo/config.toml", &format!("[env]\nTELEMETRY_VARIETY = {variety:?}\n"));
        workspace.package("heard", "2024", "telemetry.workspace = true");
        workspace.write("heard/heard.toml", include_str!("../relations/heard.toml"));
        workspace.write("heard/src/main.rs", include_str!("../programs/heard.rs"));
        workspace.build(&[]);
        let run = Process::new(workspace.program("debug", "heard")).run().succeeded();
        let recorded = match variety {
            "cool" => 6,
            "hot" => 3,
            _ => 0,
        };
        assert_eq!(run.number("recorded"), recorded, "{variety}");
        assert_eq!((run.number("heard"), run.number("dropped")), (5, 0), "{variety}");
    }
}

#[test]
fn what_is_dropped_is_counted_and_emitted_as_an_event() {
    let run = child(
        "messages::what_is_dropped_is_counted_and_emitted_as_an_event",
        |process| process,
        || {
            Gc::enable();
            Step::enable();
            end(1);
            (1..=5).for_each(start);
            start(1);
            (1..=5).for_each(end);
            heard::step_begin!();
            std::thread::spawn(|| heard::step_end!(0)).join().unwrap();
            heard::step_end!(0);
            assert_eq!((Gc::dropped(), Gc::queued()), (4, 8));
            assert_eq!((Step::dropped(), Step::queued()), (1, 2));
            vec![]
        },
    );
    let told: Vec<_> = run.stream().own.into_iter().filter(|event| event.name == "MessagesDropped").collect();
    let text = |text: &str| Owned::Text(text.to_string());
    let expected = [
        ("Gc", 4, 1),   // NotBegun
        ("Gc", 2, 2),   // TooMany
        ("Gc", 3, 3),   // BegunTwice
        ("Gc", 5, 4),   // BeginDropped
        ("Step", 6, 1), // WrongThread
    ];
    let expected = expected.map(|(name, why, dropped)| {
        vec![text("heard"), text(name), Owned::Number(why), Owned::Number(dropped)]
    });
    assert_eq!(told.into_iter().map(|event| event.values).collect::<Vec<_>>(), expected);
}

#[test]
fn not_enabled_is_discarded_at_once_and_its_memory_returned() {
    quiet("not_enabled_is_discarded_at_once_and_its_memory_returned", || {
        start(1);
        end(1);
        assert_eq!((Gc::queued(), Gc::dropped(), message_memory()), (0, 0, 0));
        assert!(Gc::get().is_none());
        Gc::enable();
        (1..10_000).for_each(|trace| {
            start(trace);
            end(trace);
        });
        start(1);
        assert!(message_memory() > 500_000);
        Gc::disable();
        assert_eq!((Gc::queued(), Gc::dropped(), message_memory()), (0, 0, 0));
        end(1);
        assert!(Gc::get().is_none());
        vec![]
    });
}

#[test]
fn fetched_is_the_programs_until_dropped() {
    quiet("fetched_is_the_programs_until_dropped", || {
        Gc::enable();
        start(5);
        let begin = Gc::get().unwrap();
        (1..1000).for_each(|_| {
            end(5);
            start(5);
        });
        Gc::disable();
        assert_eq!((begin.trace(), begin.condemned_size()), (5, 50));
        std::thread::spawn(move || assert_eq!(begin.not_condemned_size(), 500)).join().unwrap();
        vec![]
    });
}

/// Runs after everything of the runtime's.
extern "C" fn last() {
    assert_eq!(message_memory(), 0, "bytes at the end");
    println!("\nnumber left={}", message_memory());
}

#[test]
fn at_shutdown_queued_preallocated_and_unfetched_ones_are_freed() {
    let run = quiet("at_shutdown_queued_preallocated_and_unfetched_ones_are_freed", || {
        // SAFETY: a function of this program, which unwinds at worst into an abort.
        unsafe { libc::atexit(last) };
        Gc::enable();
        Step::enable();
        (1..=1000).for_each(|trace| {
            start(trace);
            end(trace);
        });
        let fetched = Gc::get();
        start(3);
        heard::step_begin!();
        vec![("held", message_memory()), ("trace", fetched.unwrap().trace())]
    });
    assert!(run.number("held") > 100_000);
    assert_eq!(run.number("left"), 0);
}

#[test]
fn a_forked_child_starts_empty() {
    quiet("a_forked_child_starts_empty", || {
        Gc::enable();
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            // Who posts may be inside at any moment.
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    start(77);
                    end(77);
                }
            });
            for _ in 0..50 {
                start(1);
                let status = system::fork(|| {
                    assert_eq!((Gc::queued(), Gc::dropped()), (0, 0));
                    assert!(Gc::get().is_none());
                    // It is enabled as it was; what ran is the parent's.
                    end(1);
                    assert_eq!(Gc::dropped(), 1);
                    (2..=5).for_each(start);
                    (2..=5).for_each(end);
                    assert_eq!(fetched(), "+2 +3 +4 +5 -2 -3 -4 -5");
                    Gc::disable();
                });
                assert!(status.success(), "{status}");
                end(1);
            }
            is_over.store(true, Ordering::Relaxed);
        });
        let mut running = HashSet::new();
        while let Some(message) = Gc::get() {
            match message {
                Gc::Begin(begin) => assert!(running.insert(begin.trace())),
                Gc::End(end) => assert!(running.remove(&end.trace())),
            }
        }
        assert!(running.is_empty());
        assert_eq!(Gc::dropped(), 0);
        vec![]
    });
}

static HANDLED: AtomicU64 = AtomicU64::new(0);

/// Posts pairs of its own, whatever it interrupts, and ends one that the interrupted code began.
extern "C" fn handler(_: std::ffi::c_int) {
    let number = HANDLED.fetch_add(1, Ordering::Relaxed);
    start(1_000_000 + number);
    end(1_000_000 + number);
    end(3);
}

#[test]
fn begin_and_end_always_match_whatever_a_signal_interrupts() {
    let run = quiet("begin_and_end_always_match_whatever_a_signal_interrupts", || {
        Gc::enable();
        system::on_signal(libc::SIGALRM, handler);
        let alarm = Alarm::every(Duration::from_micros(20));
        let since = Instant::now();
        let mut running = BTreeSet::new();
        let mut heard = 0;
        let mut take = |message: Gc| {
            heard += 1;
            match message {
                Gc::Begin(begin) => assert!(running.insert(begin.trace()), "{} began twice", begin.trace()),
                Gc::End(end) => assert!(running.remove(&end.trace()), "no begin of {}", end.trace()),
            }
        };
        while HANDLED.load(Ordering::Relaxed) < 20_000 && since.elapsed() < Duration::from_secs(10) {
            start(1);
            start(3);
            end(1);
            end(3);
            Gc::get().into_iter().for_each(&mut take);
        }
        drop(alarm);
        end(3);
        while let Some(message) = Gc::get() {
            take(message);
        }
        assert!(running.is_empty(), "{running:?}");
        vec![("heard", heard), ("handled", HANDLED.load(Ordering::Relaxed)), ("dropped", Gc::dropped())]
    });
    assert!(run.number("handled") > 1000 && run.number("heard") > 10_000 && run.number("dropped") > 0);
}

#[test]
fn waiting_between_threads() {
    quiet("waiting_between_threads", || {
        Low::enable();
        std::thread::scope(|scope| {
            let hears = scope.spawn(|| {
                let mut sum = 0;
                while sum < 5050 {
                    sum += Low::wait(Duration::from_secs(30)).expect("a message").0.get();
                }
                sum
            });
            for number in 1..=100_u64 {
                heard::low!(number);
                if number % 10 == 0 {
                    std::thread::sleep(Duration::from_millis(1));
                }
            }
            assert_eq!(hears.join().unwrap(), 5050);
        });
        assert!(Low::wait(Duration::ZERO).is_none());
        vec![]
    });
}

/// An executor of one task.
struct Parked(std::thread::Thread);

impl Wake for Parked {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn block_on<T>(task: impl Future<Output = T>) -> T {
    let waker = Waker::from(Arc::new(Parked(std::thread::current())));
    let mut task = pin!(task);
    loop {
        match task.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(value) => return value,
            Poll::Pending => std::thread::park_timeout(Duration::from_secs(30)),
        }
    }
}

#[test]
fn a_task_waits_by_a_waker_of_any_executor() {
    quiet("a_task_waits_by_a_waker_of_any_executor", || {
        Gc::enable();
        Low::enable();
        let since = Instant::now();
        std::thread::scope(|scope| {
            let both = ["Gc", "Low"].map(|which| {
                scope.spawn(move || {
                    block_on(async {
                        let mut sum = 0;
                        for _ in 0..100 {
                            sum += match which {
                                "Gc" => Gc::next().await.trace(),
                                _ => Low::next().await.0.get(),
                            };
                        }
                        sum
                    })
                })
            });
            for number in 1..=100 {
                if number <= 50 {
                    start(number);
                    end(number);
                }
                heard::low!(number);
                std::thread::sleep(Duration::from_micros(300));
            }
            assert_eq!(both.map(|hears| hears.join().unwrap()), [2 * 1275, 5050]);
        });
        assert!(since.elapsed() < Duration::from_secs(25), "a waker was not called");
        vec![]
    });
}

unsafe extern "C" {
    fn telemetry_message_enable(name: *const std::ffi::c_char) -> std::ffi::c_int;
    fn telemetry_message_disable(name: *const std::ffi::c_char) -> std::ffi::c_int;
    fn telemetry_message_queued(name: *const std::ffi::c_char) -> u64;
    fn telemetry_message_get(name: *const std::ffi::c_char) -> *mut std::ffi::c_void;
    fn telemetry_message_wait(name: *const std::ffi::c_char, seconds: f64) -> *mut std::ffi::c_void;
    fn telemetry_message_free(message: *mut std::ffi::c_void);
    fn telemetry_message_is_end(message: *const std::ffi::c_void) -> std::ffi::c_int;
    fn telemetry_message_count(message: *const std::ffi::c_void, name: *const std::ffi::c_char) -> usize;
    fn telemetry_message_integer(
        message: *const std::ffi::c_void,
        name: *const std::ffi::c_char,
        index: usize,
        into: *mut u64,
    ) -> std::ffi::c_int;
    fn telemetry_message_real(
        message: *const std::ffi::c_void,
        name: *const std::ffi::c_char,
        index: usize,
        into: *mut f64,
    ) -> std::ffi::c_int;
    fn telemetry_message_text(
        message: *const std::ffi::c_void,
        name: *const std::ffi::c_char,
        bytes: *mut *const u8,
        len: *mut usize,
    ) -> std::ffi::c_int;
}

#[test]
fn accessors_for_c_poll_a_message_by_name() {
    quiet("accessors_for_c_poll_a_message_by_name", || {
        assert_eq!(heard::REGISTRY.kinds_on(), 0);
        // SAFETY: all names end in NUL, and messages are used until they are freed.
        unsafe {
            let integer = |message, name: &std::ffi::CStr, index| {
                let mut value = 0;
                let error = telemetry_message_integer(message, name.as_ptr(), index, &mut value);
                (error, value)
            };
            assert_eq!(telemetry_message_enable(std::ptr::null()), libc::EINVAL);
            assert_eq!(telemetry_message_enable(c"Gd".as_ptr()), libc::ENOENT);
            assert_eq!(telemetry_message_enable(c"other:Gc".as_ptr()), libc::ENOENT);
            assert_eq!(telemetry_message_enable(c"heard:Gc".as_ptr()), 0);
            assert_eq!(telemetry_message_enable(c"Everything".as_ptr()), 0);
            assert!(telemetry_message_get(c"Gc".as_ptr()).is_null());
            start(4);
            end(4);
            assert_eq!(telemetry_message_queued(c"Gc".as_ptr()), 2);
            let begin = telemetry_message_get(c"Gc".as_ptr());
            assert_eq!(telemetry_message_is_end(begin), 0);
            assert_eq!(integer(begin, c"condemned_size", 0), (0, 40));
            assert_eq!(integer(begin, c"live_size", 0), (libc::ENOENT, 0));
            telemetry_message_free(begin);
            let end = telemetry_message_wait(c"Gc".as_ptr(), 1.0);
            assert_eq!(telemetry_message_is_end(end), 1);
            assert_eq!(integer(end, c"condemned_size", 0), (0, 36));
            assert_eq!(integer(end, c"why", 0), (0, 1));
            telemetry_message_free(end);
            telemetry_message_free(std::ptr::null_mut());
            assert!(telemetry_message_wait(c"Gc".as_ptr(), 0.001).is_null());

            let label = telemetry::Label(1);
            heard::everything!(
                1_usize,
                -2,
                0.5,
                0.25,
                true,
                label,
                Why::Full,
                Mode::Fast,
                "text",
                b"raw",
                &[5_u64, 6],
                &[1, 2, 3, 4],
                &[]
            );
            let all = telemetry_message_get(c"Everything".as_ptr());
            let count = |name: &std::ffi::CStr| telemetry_message_count(all, name.as_ptr());
            assert_eq!((count(c"words"), count(c"quad"), count(c"whys"), count(c"none")), (2, 4, 0, 0));
            assert_eq!((integer(all, c"words", 1), integer(all, c"words", 2)), ((0, 6), (libc::ENOENT, 0)));
            assert_eq!((integer(all, c"signed", 0), integer(all, c"flag", 0)), ((0, -2_i64 as u64), (0, 1)));
            let (mut real, mut bytes, mut len) = (0.0, std::ptr::null(), 0);
            assert_eq!((telemetry_message_real(all, c"real".as_ptr(), 0, &mut real), real), (0, 0.5));
            for (name, text) in [(c"text", "text"), (c"bytes", "raw")] {
                assert_eq!(telemetry_message_text(all, name.as_ptr(), &mut bytes, &mut len), 0);
                assert_eq!(std::slice::from_raw_parts(bytes, len), text.as_bytes());
            }
            assert_eq!(telemetry_message_text(all, c"real".as_ptr(), &mut bytes, &mut len), libc::ENOENT);
            assert_eq!(
                telemetry_message_text(all, c"text".as_ptr(), std::ptr::null_mut(), &mut len),
                libc::EINVAL
            );
            telemetry_message_free(all);
            assert_eq!(telemetry_message_disable(c"Gc".as_ptr()), 0);
            assert_eq!(telemetry_message_disable(c"Everything".as_ptr()), 0);
        }
        assert_eq!(message_memory(), 0);
        vec![]
    });
}
