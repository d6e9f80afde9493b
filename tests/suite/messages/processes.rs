//! Whole programs: in every variety, at their end, when they fork, and when signals interrupt them.
#![allow(unsafe_code, clippy::print_stdout)]

use std::collections::{BTreeSet, HashSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use telemetry::messages::memory_used;

use super::{end, fetched, quiet, start};
use crate::heard;
use crate::heard::messages::{Gc, Step};
use crate::support::package::Workspace;
use crate::support::process::Process;
use crate::support::system::{self, Alarm};

/// The varieties differ in what is recorded, not in the messages.
#[test]
fn present_in_every_variety() {
    for variety in ["cool", "hot", "rash"] {
        let workspace = Workspace::new("heard", &["heard"]);
        workspace.write(".cargo/config.toml", &format!("[env]\nTELEMETRY_VARIETY = {variety:?}\n"));
        workspace.package("heard", "2024", "telemetry-events.workspace = true");
        workspace.write("heard/heard.toml", include_str!("../../registries/heard.toml"));
        workspace.write("heard/src/main.rs", include_str!("../../programs/heard.rs"));
        // With a setting of its own, this variety does not replace the runtime of other programs.
        let program = workspace.build_with(&["profile.dev.codegen-units=8"], "heard");
        let run = Process::new(program).run().succeeded();
        let recorded = match variety {
            "cool" => 6,
            "hot" => 3,
            _ => 0,
        };
        assert_eq!(run.number("recorded"), recorded, "{variety}");
        assert_eq!((run.number("heard"), run.number("dropped")), (5, 0), "{variety}");
    }
}

/// Runs after the runtime's own handlers.
extern "C" fn last() {
    assert_eq!(memory_used(), 0, "bytes at the end");
    println!("\nnumber left={}", memory_used());
}

#[test]
fn at_shutdown_queued_preallocated_and_unfetched_ones_are_freed() {
    let run = quiet("processes::at_shutdown_queued_preallocated_and_unfetched_ones_are_freed", || {
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
        vec![("held", memory_used()), ("trace", fetched.unwrap().trace())]
    });
    assert!(run.number("held") > 100_000);
    assert_eq!(run.number("left"), 0);
}

#[test]
fn a_forked_child_starts_empty() {
    quiet("processes::a_forked_child_starts_empty", || {
        Gc::enable();
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            // A thread that posts may be inside at any moment.
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
                    // It is still enabled; the running pairs are the parent's.
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
    let run = quiet("processes::begin_and_end_always_match_whatever_a_signal_interrupts", || {
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
