//! The list of all cells, which has those of every thread and registry.
#![allow(unsafe_code)]

use core::cell::Cell;
use core::ptr::{from_ref, null, null_mut};
use std::thread::LocalKey;
use std::time::Duration;

use crate::control::switches::{self as control, Listed};
use crate::count::cells::{Cells, ENDED, FREE, Local, TAKEN};
use crate::emit::thread;
use crate::memory::registry::{self, Registry};
use crate::model::counter_def::CounterDef;
use crate::model::limit_def::LeftOut;
use crate::run::state;
use crate::sys;
use crate::sys::atomic::{AtomicPtr, AtomicU32, Ordering};

/// The cells that were made last.
static LAST: AtomicPtr<Cells> = AtomicPtr::new(null_mut());

/// What a thread knows of its own cells.
struct Own {
    first: Cell<*const Cells>,
    /// True during [`begin`].
    begins: Cell<bool>,
}

std::thread_local! {
    static OWN: Own = const { Own { first: Cell::new(null()), begins: Cell::new(false) } };
}

/// Gives the thread cells for the counters of a registry, and puts the registry into use. Returns
/// false if that is impossible now: the run is over, the thread ends, or this code interrupts it
/// here.
pub(crate) fn begin(registry: &'static Registry, local: &'static LocalKey<Local>) -> bool {
    if thread::has_ended() || OWN.with(|own| own.begins.replace(true)) {
        return false;
    }
    let cells = match control::list(registry) {
        Listed::Yes if thread::watch_end(release) => take(registry).or_else(|| make(registry)),
        Listed::Yes | Listed::Later | Listed::No => None,
    };
    if let Some(cells) = cells {
        cells.thread.store(sys::thread_id(), Ordering::Relaxed);
        local.with(|local| {
            cells.local.set(from_ref(local));
            OWN.with(|own| cells.of_thread.set(own.first.replace(from_ref(cells))));
            local.set(Some(cells));
        });
    }
    OWN.with(|own| own.begins.set(false));
    if cells.is_some() && registry.counters().iter().any(|def| registry.is_on(def.event)) {
        // Last: to start a thread may call the program's allocator, which may count.
        (registry.upcalls().begin_drain)();
    }
    cells.is_some()
}

/// Takes cells that another thread has left.
fn take(registry: &'static Registry) -> Option<&'static Cells> {
    all()
        .filter(|cells| core::ptr::eq(cells.registry, registry))
        .find(|cells| cells.state.compare_exchange(FREE, TAKEN, Ordering::Acquire, Ordering::Relaxed).is_ok())
}

/// Makes cells, and puts them into the list.
fn make(registry: &'static Registry) -> Option<&'static Cells> {
    let cells = Cells::make(registry)?;
    let _ = LAST.fetch_update(Ordering::AcqRel, Ordering::Acquire, |last| {
        cells.next.store(last, Ordering::Relaxed);
        Some(from_ref(cells).cast_mut())
    });
    Some(cells)
}

/// Tells the first event that the thread leaves out since [`tell_left_out`].
pub(crate) fn notice(registry: &'static Registry, limit: usize) {
    if let Some(cells) = own_cells().find(|cells| core::ptr::eq(cells.registry, registry))
        && !cells.has_noticed(limit)
    {
        telling(|| {
            if cells.is_first_untold(limit) {
                tell(registry, limit, cells.thread.load(Ordering::Relaxed), 1);
            }
        });
    }
}

/// Number of threads that are about to tell what they found untold.
static TELLING: AtomicU32 = AtomicU32::new(0);

/// How long the end of the process waits for them. A signal handler that interrupted one of them
/// may end the process.
const TELL_TIMEOUT: Duration = Duration::from_secs(1);

fn telling(tell: impl FnOnce()) {
    TELLING.fetch_add(1, Ordering::SeqCst);
    tell();
    TELLING.fetch_sub(1, Ordering::SeqCst);
}

/// Waits until all is recorded that other threads have found untold, at the end of the process.
/// They may have been joined: a thread tells after its closure has returned.
pub(crate) fn finish_telling() {
    sys::wait(TELL_TIMEOUT, || TELLING.load(Ordering::SeqCst) == 0);
}

/// Tells what all threads have left out since the last time.
pub(crate) fn tell_left_out() {
    telling(|| {
        for registry in registry::all() {
            for (limit, def) in registry.limits().iter().enumerate() {
                let strays = def.strays.load(Ordering::Relaxed);
                let untold = strays.saturating_sub(def.told.fetch_max(strays, Ordering::Relaxed));
                tell(registry, limit, 0, untold);
            }
        }
        all().for_each(tell_cells);
    });
}

/// Returns true if a thread has left out events that were not told.
pub(crate) fn is_untold() -> bool {
    let is_untold = |cells: &Cells| (0..cells.registry.limits().len()).any(|limit| cells.is_untold(limit));
    all().any(is_untold)
}

fn tell_cells(cells: &'static Cells) {
    for limit in 0..cells.registry.limits().len() {
        tell(cells.registry, limit, cells.thread.load(Ordering::Relaxed), cells.untold(limit));
    }
}

fn tell(registry: &'static Registry, limit: usize, thread: u64, left_out: u64) {
    if left_out == 0 {
        return;
    }
    let def = &registry.limits()[limit];
    let of_threads = all().filter(|cells| core::ptr::eq(cells.registry, registry));
    let so_far =
        of_threads.fold(def.strays.load(Ordering::Relaxed), |sum, cells| sum + cells.left_out(limit));
    (def.tell)(&LeftOut { registry: registry.name(), event: def.name, thread, left_out, so_far });
}

/// Returns the cells of the calling thread.
fn own_cells() -> impl Iterator<Item = &'static Cells> {
    // SAFETY: cells are never freed.
    let get = |cells: *const Cells| unsafe { cells.as_ref() };
    let first = OWN.with(|own| own.first.get());
    core::iter::successors(get(first), move |cells: &&'static Cells| get(cells.of_thread.get()))
}

/// Gives the cells of the thread back, at its end.
fn release() {
    telling(|| own_cells().for_each(tell_cells));
    each_own(|cells| {
        let counters = cells.registry.counters();
        let is_sampled = state::sample_interval().is_some()
            && counters.iter().any(|def| def.per_thread && cells.registry.is_on(def.event));
        match is_sampled {
            true => cells.state.store(ENDED, Ordering::Release),
            false => cells.free(),
        }
    });
}

/// Takes all cells from the thread, and hands each to a function.
fn each_own(with: impl Fn(&'static Cells)) {
    let mut next = OWN.with(|own| own.first.replace(null()));
    // SAFETY: cells are never freed.
    while let Some(cells) = unsafe { next.as_ref() } {
        next = cells.of_thread.replace(null());
        // SAFETY: the thread-local has no destructor, so it lasts as long as the thread, which is
        // this one.
        if let Some(local) = unsafe { cells.local.replace(null()).as_ref() } {
            local.set(None);
        }
        with(cells);
    }
}

/// Frees all cells, in the child of a fork. The other threads do not exist there, and its only
/// thread takes cells again when it counts.
pub(crate) fn reset_in_child() {
    TELLING.store(0, Ordering::Relaxed);
    OWN.with(|own| own.begins.set(false));
    each_own(Cells::free);
    all().filter(|cells| cells.state.load(Ordering::Relaxed) != FREE).for_each(Cells::free);
    all().for_each(Cells::forget_left_out);
    for def in registry::all().flat_map(Registry::limits) {
        [&def.strays, &def.told].iter().for_each(|number| number.store(0, Ordering::Relaxed));
    }
}

/// Returns the cells of all threads and registries.
pub(crate) fn all() -> impl Iterator<Item = &'static Cells> {
    // SAFETY: the list contains only what `make` put there, which is never freed.
    let get = |link: &AtomicPtr<Cells>| unsafe { link.load(Ordering::Acquire).as_ref() };
    core::iter::successors(get(&LAST), move |cells: &&'static Cells| get(&cells.next))
}

/// Returns the value that the process has of a counter. A gauge has it in two's complement.
pub(crate) fn sum(registry: &'static Registry, def: &CounterDef, index: usize) -> u64 {
    counted(registry, index).wrapping_add(def.base.load(Ordering::Relaxed))
}

/// Returns what all threads have counted.
pub(crate) fn counted(registry: &'static Registry, index: usize) -> u64 {
    let cells = all().filter(|cells| core::ptr::eq(cells.registry, registry));
    cells.fold(0, |sum, cells| sum.wrapping_add(cells.numbers()[index].load(Ordering::Relaxed)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::tests::counting_registry;

    #[test]
    fn a_value_is_the_sum_over_all_cells_of_a_registry() {
        let (registry, other) = (counting_registry(), counting_registry());
        let [first, second] = [(); 2].map(|()| make(registry).expect("memory"));
        let elsewhere = make(other).expect("memory");
        let set =
            |cells: &Cells, index: usize, number| cells.numbers()[index].store(number, Ordering::Relaxed);
        set(first, 0, 3);
        set(second, 0, 4);
        set(second, 1, 100);
        set(elsewhere, 0, 1000);
        assert_eq!([0, 1].map(|index| counted(registry, index)), [7, 100]);
        assert_eq!([0, 1].map(|index| counted(other, index)), [1000, 0]);
        let def = &registry.counters()[0];
        def.base.store(10, Ordering::Relaxed);
        assert_eq!(sum(registry, def, 0), 17);
        set(first, 0, u64::MAX);
        assert_eq!((counted(registry, 0), sum(registry, def, 0)), (3, 13));
    }

    #[test]
    fn cells_of_a_thread_that_has_ended_are_taken_again() {
        let registry = counting_registry();
        assert!(take(registry).is_none());
        let [first, second] = [(); 2].map(|()| make(registry).expect("memory"));
        assert!(all().any(|cells| core::ptr::eq(cells, first)) && take(registry).is_none());
        first.free();
        assert!(take(counting_registry()).is_none());
        assert!(take(registry).is_some_and(|taken| core::ptr::eq(taken, first)));
        assert!(take(registry).is_none());
        second.free();
        assert!(take(registry).is_some_and(|taken| core::ptr::eq(taken, second)));
    }
}
