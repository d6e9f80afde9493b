//! One capture, from its begin to its end.

use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::process;
use std::slice;
use std::sync::Arc;

use telemetry_runtime::__private::testing::{Grouped, Loss, at_spawn, strays};

use super::account::{self, Account};
use super::captured::Captured;
use super::recording::{Recording, lock};
use super::sink::{Active, dismiss, enlist, write_all};
use super::threads::{beginning, run};

/// Runs a closure, and returns the events that it emits.
///
/// These are the events of the calling thread, and of the threads that it and they start meanwhile.
/// A thread that still runs when the closure returns has the events so far. On Linux with glibc,
/// all threads are known that `pthread_create` starts: those of `std`, of thread pools and of C.
/// Elsewhere, and for threads that were there before, use [`inherit`](super::inherit).
///
/// All events of all registries are on during a capture, and limits do not hold. Other tests may
/// run in parallel, and other sinks take what they take without it. A capture may be inside of
/// another one, which then gets the events, too. A panic of the closure ends the capture and goes
/// on.
///
/// While a capture is active, a thread that finds no memory for an event waits for it. If the
/// program has chosen another policy than `Policy::DropNewest`, that one stays.
///
/// # Panics
/// If an event was lost, so that a test never succeeds because of it. If the runtime is not
/// running, because the process ends. In a forked child, if the closure returns there.
#[track_caller]
pub fn capture<R>(f: impl FnOnce() -> R) -> Captured<R> {
    at_spawn(beginning);
    let active = match Active::begin() {
        Ok(active) => active,
        Err(error) => panic!("cannot capture events: {error}"),
    };
    let recording = Arc::new(Recording::default());
    let strays_before = strays();
    enlist(&recording);
    let process = process::id();
    let result = catch_unwind(AssertUnwindSafe(|| run(slice::from_ref(&recording), f)));
    if process::id() != process {
        // The sink is the parent's. Its locks may be those of threads that only the parent has.
        mem::forget(active);
        match result {
            Ok(_) => panic!(
                "the closure of a capture returned in a forked child; help: end the child inside of the closure"
            ),
            Err(panic) => resume_unwind(panic),
        }
    }
    let is_written = result.is_ok() && write_all();
    let stream = dismiss(&recording);
    drop(active);
    let result = match result {
        Ok(result) => result,
        Err(panic) => resume_unwind(panic),
    };
    assert!(is_written, "the captured events are not written in time: a sink of the program delays all");
    let strays = since(strays(), strays_before);
    let Account { events, absent } = match account::read(&stream, &lock(&recording.ranges), strays) {
        Ok(account) => account,
        Err(error) => panic!("cannot read the captured events: {error}"),
    };
    if absent.total() > 0 {
        let all = Grouped::from(events.len() as u64 + absent.total());
        let lost = Grouped::from(absent.total());
        panic!(
            "{lost} of {all} events of the capture were lost: {absent}; \
             help: `TELEMETRY_BUFFER` or `Config::buffer` sets the memory for events, `Config::policy` what \
             happens without it"
        );
    }
    Captured::new(result, events)
}

fn since(now: Loss, before: Loss) -> Loss {
    let (pool, reentrant) = (now.pool - before.pool, now.reentrant - before.reentrant);
    Loss { pool, reentrant, ..Loss::default() }
}
