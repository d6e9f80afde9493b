//! What the runtime keeps for a thread: its number, and its lanes, to be closed when it ends.
#![allow(unsafe_code)]

use core::cell::Cell;
use core::ptr::null;

use crate::lane::{Lane, View};
use crate::refill::{forget_all, seal_all};
use crate::sync::{AtomicU32, Ordering};
use crate::sys;

/// A thread as streams name it.
#[derive(Clone, Copy)]
pub(crate) struct Identity {
    /// From 1, never reused in a session.
    pub(crate) number: u32,
    /// The system's number.
    pub(crate) id: u64,
    /// The system's name, NUL-padded.
    pub(crate) name: [u8; 16],
}

/// Ties the lanes of one registry into the list of their thread.
pub(crate) struct Link {
    lanes: Cell<*const [Lane]>,
    next: Cell<*const Link>,
}

impl Link {
    pub(crate) const fn new() -> Self {
        Link { lanes: Cell::new(&[]), next: Cell::new(null()) }
    }
}

/// Where a thread starts the runtime or has its lock. Whatever interrupts it there, a signal handler or
/// the program's allocator, must not wait for it.
pub(crate) struct Inside(());

impl Inside {
    /// Nothing if the thread is inside already.
    pub(crate) fn enter() -> Option<Inside> {
        (!THREAD.with(|thread| thread.inside.replace(true))).then(|| Inside(()))
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        THREAD.with(|thread| thread.inside.set(false));
    }
}

struct Thread {
    identity: Cell<Option<Identity>>,
    first: Cell<*const Link>,
    inside: Cell<bool>,
    /// In the middle of [`attach`].
    attaches: Cell<bool>,
}

std::thread_local! {
    static THREAD: Thread = const {
        Thread {
            identity: Cell::new(None),
            first: Cell::new(null()),
            inside: Cell::new(false),
            attaches: Cell::new(false),
        }
    };
}

/// The number of the calling thread; 0 if it has recorded nothing.
pub(crate) fn number() -> u32 {
    THREAD.with(|thread| thread.identity.get().map_or(0, |identity| identity.number))
}

/// Threads numbered so far.
static NUMBERS: AtomicU32 = AtomicU32::new(0);

/// Why a thread's lanes are not known to its end.
pub(crate) enum Unattached {
    /// This interrupts who makes them so.
    Nested,
    /// The system cannot tell of the end.
    NoHook,
}

/// Makes the lanes of `view` known to this thread's end.
pub(crate) fn attach(view: View<'_>) -> Result<Identity, Unattached> {
    THREAD.with(|thread| {
        if thread.attaches.replace(true) {
            return Err(Unattached::Nested);
        }
        let identity = thread.attach(view);
        thread.attaches.set(false);
        identity
    })
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

/// In the child of a fork: this thread, the only one, begins anew. False if it is inside of a lane.
pub(crate) fn begin_anew() -> bool {
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

/// Closes all lanes of the thread. Called by the system when the thread ends; events after that,
/// of destructors that run later still, begin as a new thread would.
unsafe extern "C" fn on_exit(_: *mut core::ffi::c_void) {
    THREAD.with(|thread| {
        thread.identity.set(None);
        let mut next = thread.first.replace(null());
        // SAFETY: links and lanes are thread-locals without destructors: their memory lasts until
        // after the last of the thread's exit hooks, of which this is one.
        while let Some(link) = unsafe { next.as_ref() } {
            next = link.next.replace(null());
            // SAFETY: as above.
            seal_all(unsafe { &*link.lanes.replace(&[]) });
        }
    });
}
