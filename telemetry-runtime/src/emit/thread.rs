//! The runtime's data for a thread: its number, and the list of its lanes, which are closed when it
//! ends.
#![allow(unsafe_code)]

use core::cell::Cell;
use core::ptr::null;
use std::sync::OnceLock;

#[cfg(feature = "testing")]
use crate::emit::lane::Lane;
use crate::emit::lane::{Link, View};
#[cfg(feature = "testing")]
use crate::emit::position::{LanePosition, Numbers};
use crate::emit::seal::{forget_all, seal_all};
use crate::memory::registry::Registry;
use crate::sys;
use crate::sys::atomic::{AtomicU32, Ordering};

/// A thread as streams name it.
#[derive(Clone, Copy)]
pub(crate) struct Identity {
    /// The thread's number in the session, from 1. It is never reused.
    pub(crate) number: u32,
    /// The system's number of the thread.
    pub(crate) id: u64,
    /// The system's name of the thread, padded with NUL.
    pub(crate) name: [u8; 16],
}

struct Thread {
    identity: Cell<Option<Identity>>,
    first: Cell<*const Link>,
    /// True during [`attach`].
    attaches: Cell<bool>,
    /// True once the system has reported the thread's end.
    has_ended: Cell<bool>,
    /// What a later room does at the thread's end.
    at_end: Cell<Option<fn()>>,
    /// Where a test is told the thread's numbers.
    #[cfg(feature = "testing")]
    watched: Cell<Option<&'static Numbers>>,
}

std::thread_local! {
    static THREAD: Thread = const {
        Thread {
            identity: Cell::new(None),
            first: Cell::new(null()),
            attaches: Cell::new(false),
            has_ended: Cell::new(false),
            at_end: Cell::new(None),
            #[cfg(feature = "testing")]
            watched: Cell::new(None),
        }
    };
}

/// Tells a test the numbers that this thread has and will get.
#[cfg(feature = "testing")]
pub fn watch(numbers: &'static Numbers) {
    THREAD.with(|thread| {
        if let Some(identity) = thread.identity.get() {
            numbers.add(identity.number);
        }
        thread.watched.set(Some(numbers));
    });
}

/// Calls a function with the position of each lane of this thread. Does not allocate.
#[cfg(feature = "testing")]
pub fn each_position(mut take: impl FnMut(LanePosition)) {
    THREAD.with(|thread| {
        let mut next = thread.first.get();
        // SAFETY: as in `on_exit`.
        while let Some(link) = unsafe { next.as_ref() } {
            next = link.next.get();
            // SAFETY: as above.
            unsafe { &*link.lanes.get() }.iter().filter_map(Lane::position).for_each(&mut take);
        }
    });
}

/// Returns the number of the calling thread, or 0 if it has recorded nothing.
pub(crate) fn number() -> u32 {
    THREAD.with(|thread| thread.identity.get().map_or(0, |identity| identity.number))
}

/// Returns true once the system has reported the thread's end. Destructors that run late may still
/// emit.
pub(crate) fn has_ended() -> bool {
    THREAD.with(|thread| thread.has_ended.get())
}

/// What a later room does when a thread gets its number, and at the thread's end.
pub(crate) struct Hooks {
    pub(crate) begin: fn(),
    pub(crate) end: fn(),
}

static HOOKS: OnceLock<Hooks> = OnceLock::new();

/// Has functions called for each thread that gets a number from now on. They may run inside of an
/// emission.
#[cfg_attr(
    not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"), not(miri))),
    allow(dead_code)
)]
pub(crate) fn watch_all(hooks: Hooks) {
    // A second call has the same functions.
    let _ = HOOKS.set(hooks);
}

/// Number of threads that have a number.
static NUMBERS: AtomicU32 = AtomicU32::new(0);

/// Why the lanes of a thread cannot be closed at its end.
pub(crate) enum Unattached {
    /// This code interrupts [`attach`] in the same thread.
    Reentrant,
    /// The system cannot report the end.
    NoHook,
}

/// Adds the lanes of `view` to those that are closed at this thread's end.
pub(crate) fn attach(view: View<'_>) -> Result<Identity, Unattached> {
    THREAD.with(|thread| {
        if thread.attaches.replace(true) {
            return Err(Unattached::Reentrant);
        }
        let is_new = thread.identity.get().is_none();
        let identity = thread.attach(view);
        thread.attaches.set(false);
        // The system may not report a second end.
        if is_new
            && identity.is_ok()
            && !thread.has_ended.get()
            && let Some(hooks) = HOOKS.get()
        {
            (hooks.begin)();
        }
        identity
    })
}

/// Returns the number of events that this thread has recorded in its lane of a kind.
#[cfg_attr(
    not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"), not(miri))),
    allow(dead_code)
)]
pub(crate) fn recorded(registry: &Registry, kind: usize) -> u64 {
    THREAD.with(|thread| {
        let (mut next, mut recorded) = (thread.first.get(), 0);
        // SAFETY: as in `on_exit`.
        while let Some(link) = unsafe { next.as_ref() } {
            next = link.next.get();
            // SAFETY: as above.
            let lane = unsafe { &*link.lanes.get() }.get(kind);
            recorded += lane.and_then(|lane| lane.recorded(registry)).unwrap_or(0);
        }
        recorded
    })
}

/// Has a function called at this thread's end. Returns false if the system cannot report the end.
pub(crate) fn watch_end(at_end: fn()) -> bool {
    let is_watched = sys::at_thread_exit(on_exit);
    THREAD.with(|thread| thread.at_end.set(Some(at_end)));
    is_watched
}

impl Thread {
    fn attach(&self, view: View<'_>) -> Result<Identity, Unattached> {
        let identity = match self.identity.get() {
            Some(identity) => identity,
            None => {
                if !sys::at_thread_exit(on_exit) {
                    return Err(Unattached::NoHook);
                }
                let number = NUMBERS.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
                let identity = Identity { number, id: sys::thread_id(), name: sys::thread_name() };
                self.identity.set(Some(identity));
                #[cfg(feature = "testing")]
                if let Some(numbers) = self.watched.get() {
                    numbers.add(number);
                }
                identity
            }
        };
        if view.link.lanes.get().is_empty() {
            view.link.lanes.set(view.lanes);
            view.link.next.set(self.first.replace(view.link));
        }
        Ok(identity)
    }
}

/// Resets this thread, the only one, in the child of a fork. Returns false if it is inside a lane.
pub(crate) fn reset_in_child() -> bool {
    NUMBERS.store(0, Ordering::Relaxed);
    THREAD.with(|thread| {
        thread.identity.set(None);
        let mut next = thread.first.replace(null());
        let mut all = true;
        // SAFETY: as in `on_exit`.
        while let Some(link) = unsafe { next.as_ref() } {
            next = link.next.replace(null());
            // SAFETY: as above.
            all &= forget_all(unsafe { &*link.lanes.replace(&[]) });
        }
        all
    })
}

/// Closes all lanes of the thread. The system calls it at the thread's end. Later events, of
/// destructors that still run, begin as those of a new thread do.
unsafe extern "C" fn on_exit(_: *mut core::ffi::c_void) {
    THREAD.with(|thread| {
        thread.has_ended.set(true);
        // First: it may emit, as an event of this thread.
        if let Some(at_end) = thread.at_end.take() {
            at_end();
        }
        thread.identity.set(None);
        if let Some(hooks) = HOOKS.get() {
            (hooks.end)();
        }
        let mut next = thread.first.replace(null());
        // SAFETY: links and lanes are thread-locals without destructors. Their memory lasts until
        // after the last of the thread's exit hooks, and this is one of them.
        while let Some(link) = unsafe { next.as_ref() } {
            next = link.next.replace(null());
            // SAFETY: as above.
            seal_all(unsafe { &*link.lanes.replace(&[]) });
        }
    });
}
