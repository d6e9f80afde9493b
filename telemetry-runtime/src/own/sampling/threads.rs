//! The timers of threads, and the samples that their signals record.

use core::cell::Cell;
use std::sync::OnceLock;

use telemetry_format::Notice;

use crate::emit::thread::{self, Hooks};
use crate::own::registry::{self as own, SAMPLE_KIND, SAMPLED};
use crate::own::sampling::words::Sampling;
use crate::own::stacks;
use crate::run::state;
use crate::sys;
use crate::sys::atomic::{AtomicU32, Ordering};
use crate::sys::timers::{self, CPU_TIME, Interrupted, Timer, WALL_TIME};

/// How the threads of this process are sampled.
static SAMPLING: OnceLock<Plan> = OnceLock::new();

struct Plan {
    sampling: Sampling,
    /// The indices of the event and of its kind.
    event: usize,
    kind: usize,
}

/// Why a thread has no timer: an error of the system, or one of these.
static FAILED: AtomicU32 = AtomicU32::new(NOTHING);
const NOTHING: u32 = 0;
const TAKEN: u32 = u32::MAX;
const SAID: u32 = u32::MAX - 1;

std::thread_local! {
    static TIMER: Cell<Option<Timer>> = const { Cell::new(None) };
    /// Periods of the timer that no sample stands for yet.
    static PENDING: Cell<u32> = const { Cell::new(0) };
}

/// Samples each thread from its first event on. Called once.
pub(crate) fn begin(sampling: Sampling) {
    let def = own::registry().def();
    let event = def.events.iter().position(|event| event.code == SAMPLED);
    let kind = def.kinds.iter().position(|kind| kind.bit == SAMPLE_KIND);
    let (Some(event), Some(kind)) = (event, kind) else { return };
    let signal = sampling.signal;
    if !timers::handle_timers(signal, sample) {
        let text = format_args!(
            "no thread is sampled: the program has a handler of signal {signal}; \
             help: name another one, 34 to 64: `TELEMETRY_SAMPLING=... signal:40`"
        );
        return sys::report(Notice::SamplingFailed, text);
    }
    let _ = SAMPLING.set(Plan { sampling, event, kind });
    thread::watch_all(Hooks { begin: begin_thread, end: end_thread });
}

/// Reports, once, that threads have no timer.
pub(crate) fn warn() {
    let failed = FAILED.load(Ordering::Relaxed);
    if failed == NOTHING || failed == SAID {
        return;
    }
    FAILED.store(SAID, Ordering::Relaxed);
    if failed == TAKEN {
        let text = format_args!(
            "new threads are not sampled: the program has taken the signal of their timers; \
             help: name another one, 34 to 64: `TELEMETRY_SAMPLING=... signal:40`"
        );
        return sys::report(Notice::SamplingFailed, text);
    }
    let error = std::io::Error::from_raw_os_error(failed as i32);
    let text = format_args!("some threads are not sampled: they have no timer: {error}");
    sys::report(sys::with_errno(Notice::SamplingFailed, &error), text);
}

/// Forgets the timer of the only thread, which the child of a fork does not have.
pub(crate) fn reset_in_child() {
    TIMER.set(None);
    PENDING.set(0);
}

fn begin_thread() {
    let Some(Plan { sampling, .. }) = SAMPLING.get() else { return };
    if !timers::is_handled(sampling.signal) {
        return fail(TAKEN);
    }
    if sampling.has_stacks {
        stacks::prepare();
    }
    let clock = if sampling.is_cpu { CPU_TIME } else { WALL_TIME };
    match timers::start_timer(clock, sampling.signal, sampling.interval) {
        Ok(timer) => TIMER.set(Some(timer)),
        Err(error) => fail(error as u32),
    }
}

fn fail(why: u32) {
    let _ = FAILED.compare_exchange(NOTHING, why, Ordering::Relaxed, Ordering::Relaxed);
}

fn end_thread() {
    if let Some(timer) = TIMER.take() {
        timers::stop_timer(timer);
    }
}

/// Records a sample, in a handler. What it interrupts may be an emission, also one that records
/// samples of another runtime. Its lane has no other events.
fn sample(at: Interrupted) {
    let Some(Plan { sampling, event, kind }) = SAMPLING.get() else { return };
    if !state::is_running() || thread::number() == 0 {
        return;
    }
    let registry = own::registry();
    if registry.is_listed() && !registry.is_on(*event) {
        return PENDING.set(0);
    }
    let periods = PENDING.get().saturating_add(at.overruns).saturating_add(1);
    PENDING.set(periods);
    let recorded = thread::recorded(registry, *kind);
    let stack = if sampling.has_stacks { stacks::stack_of(registry, *event, &at) } else { 0 };
    own::sampled(stack, periods);
    // A sample that was lost is in the account of the lane, and its periods are in the next one.
    if thread::recorded(registry, *kind) != recorded {
        PENDING.set(0);
    }
}
