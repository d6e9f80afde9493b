//! The drain's thread. It makes a pass when blocks wait, and a sweep as often as the latency
//! requires.

use core::ptr::null_mut;
use std::time::{Duration, Instant};

use telemetry_format::Notice;

use crate::control::switches as control;
use crate::drain::actions::perform;
use crate::drain::outputs::QUIET_TIME;
use crate::drain::passes::{PASS_TIMEOUT, lock, yield_to_forks};
use crate::emit::revoke;
use crate::memory::lanes::LANES;
use crate::own::sample;
use crate::own::sampling;
use crate::own::switches::{expire, warn};
use crate::postmortem::panic;
use crate::run::state;
use crate::run::wake::{self, BELL};
use crate::socket;
use crate::store::sealed::STORE;
use crate::sys;
use crate::sys::atomic::{AtomicBool, Ordering};
use crate::triggers::list as triggers;

/// True once the thread has been started.
static BEGUN: AtomicBool = AtomicBool::new(false);

/// How often readers that continue to read get the blocks that wait for them.
const GO_ON_INTERVAL: Duration = Duration::from_millis(2);

/// Starts the drain's thread unless it is running.
pub(crate) fn begin() {
    if BEGUN.swap(true, Ordering::Relaxed) {
        return;
    }
    // Here, and not in the thread: the program may close the library before the thread runs.
    sys::pin_library();
    if !sys::spawn(main, null_mut()) {
        let text = format_args!("cannot start the drain's thread; events are written by flush and at exit");
        sys::report(Notice::ThreadFailed, text);
    }
}

/// Forgets the thread, in the child of a fork, which does not have it.
pub(crate) fn forget() {
    BEGUN.store(false, Ordering::Relaxed);
}

extern "C" fn main(_: *mut core::ffi::c_void) -> *mut core::ffi::c_void {
    panic::begin();
    socket::begin();
    revoke::begin();
    let latency = state::latency() * 3 / 4;
    let mut swept = Instant::now();
    let mut sampled = Instant::now();
    let mut is_behind = false;
    while !state::is_over() {
        let mut rest = latency.saturating_sub(swept.elapsed());
        if is_behind {
            rest = rest.min(GO_ON_INTERVAL);
        }
        for time in [expire(), perform()].into_iter().flatten() {
            rest = rest.min(time);
        }
        if STORE.is_short() && revoke::is_possible() {
            rest = rest.min(QUIET_TIME);
        }
        let interval = state::sample_interval().filter(|_| sample::is_wanted());
        if let Some(interval) = interval {
            rest = rest.min(interval.saturating_sub(sampled.elapsed()));
        }
        if !rest.is_zero() {
            BELL.wait(rest);
        }
        // Before the checks below: a lane that hands over a block after them rings the bell again.
        BELL.answer();
        let asked = wake::asked();
        let sweep = swept.elapsed() >= latency || LANES.is_crowded() || !wake::is_swept(asked);
        yield_to_forks();
        if interval.is_some_and(|interval| sampled.elapsed() >= interval) {
            sampled = Instant::now();
            sample::sample();
        }
        let mut gone = Vec::new();
        if let Some(mut outputs) = lock(PASS_TIMEOUT) {
            // First, so that a sink whose reader is gone counts no more losses.
            gone = outputs.gone();
            gone.iter().for_each(|output| control::remove(output.id));
            outputs.pass(sweep);
            if sweep {
                outputs.flush();
            }
            is_behind = outputs.go_on();
        }
        drop(gone);
        if sweep {
            wake::set_swept(asked);
            swept = Instant::now();
            warn();
            triggers::warn();
            sampling::warn();
        }
    }
    null_mut()
}
