//! Samples: events with the values of counters, and with what the process uses.

use crate::control::switches as control;
use crate::count::cells::{ENDED, FREE};
use crate::count::list;
use crate::memory::block::PAGE;
use crate::memory::pool::POOL;
use crate::memory::registry::{self, Registry};
use crate::own::registry::{self as own, PROCESS};
use crate::run::state;
use crate::store::counters::counters;
use crate::sys;
use crate::sys::atomic::{AtomicBool, Ordering};

/// True while a thread emits samples. They need not come twice.
static SAMPLES: AtomicBool = AtomicBool::new(false);

/// True once the first words were asked for the event about the process.
static ASKED: AtomicBool = AtomicBool::new(false);

/// Emits a sample of each counter that is on, and of the process. Tells what limits left out.
pub(crate) fn sample() {
    if state::is_running() {
        list::tell_left_out();
    }
    if !state::is_running() || SAMPLES.swap(true, Ordering::Acquire) {
        return;
    }
    for registry in registry::all() {
        for (index, def) in registry.counters().iter().enumerate() {
            if !def.per_thread && registry.is_on(def.event) {
                (def.sample)(0, list::sum(registry, def, index));
            }
        }
    }
    sample_threads();
    if is_process_on() {
        sample_process();
    }
    SAMPLES.store(false, Ordering::Release);
}

/// Returns true if there is something to sample.
pub(crate) fn is_wanted() -> bool {
    let is_on = |registry: &Registry| registry.counters().iter().any(|def| registry.is_on(def.event));
    registry::all().any(is_on) || is_process_on() || list::is_untold()
}

/// Forgets the thread that emitted samples, in the child of a fork, which does not have it.
pub(crate) fn reset_in_child() {
    SAMPLES.store(false, Ordering::Relaxed);
    ASKED.store(false, Ordering::Relaxed);
}

/// Emits what each thread has counted for itself, also of threads that have ended since.
fn sample_threads() {
    for cells in list::all() {
        // Before the numbers are read: a thread that ends now is sampled again.
        let state = cells.state.load(Ordering::Acquire);
        if state == FREE {
            continue;
        }
        let thread = cells.thread.load(Ordering::Relaxed);
        for (number, def) in cells.numbers().iter().zip(cells.registry.counters()) {
            if def.per_thread && cells.registry.is_on(def.event) {
                (def.sample)(thread, number.load(Ordering::Relaxed));
            }
        }
        if state == ENDED {
            cells.free();
        }
    }
}

/// Returns true if the event about the process is on. Unlike the runtime's other events it needs a
/// word.
fn is_process_on() -> bool {
    let own = own::registry();
    let Some(index) = own.def().events.iter().position(|event| event.code == PROCESS) else { return false };
    // The words of the environment put nothing into use; every later change does.
    if !own.is_listed() && !ASKED.swap(true, Ordering::Relaxed) && control::is_named(own, index) {
        control::list(own);
    }
    own.is_listed() && own.is_on(index)
}

fn sample_process() {
    let usage = sys::usage();
    let pool = POOL.bytes().saturating_sub(POOL.free_pages() * PAGE);
    own::process(&usage, pool as u64, counters().lost());
}
