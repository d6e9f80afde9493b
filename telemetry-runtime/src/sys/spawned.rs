//! What a new thread takes over from the thread that starts it, for tests.
//!
//! `std` and C have no hook for this. So with the feature `testing` the program has a
//! `pthread_create` of its own, which calls that of the system. The linker takes the program's
//! first: `std`, thread pools and C libraries all call it.

use std::sync::OnceLock;

/// What a new thread does first.
pub type Beginning = Box<dyn FnOnce() + Send>;

/// Returns what a thread does first that the calling one is starting.
static BEGINNING: OnceLock<fn() -> Option<Beginning>> = OnceLock::new();

/// Has a function called in each thread that starts another one. Returns false if this system has
/// no hook.
pub fn at_spawn(beginning: fn() -> Option<Beginning>) -> bool {
    // A second call has the same function.
    let _ = BEGINNING.set(beginning);
    hook::is_in_use()
}

#[cfg(all(target_os = "linux", target_env = "gnu", not(target_feature = "crt-static"), not(miri)))]
#[allow(unsafe_code)]
mod hook {
    use core::ffi::{c_int, c_void};
    use std::sync::OnceLock;

    use super::{BEGINNING, Beginning};

    type Main = extern "C-unwind" fn(*mut c_void) -> *mut c_void;
    type Create =
        unsafe extern "C" fn(*mut libc::pthread_t, *const libc::pthread_attr_t, Main, *mut c_void) -> c_int;

    /// What the new thread needs.
    struct Start {
        beginning: Beginning,
        main: Main,
        argument: *mut c_void,
    }

    /// Returns true: the reference to the function also keeps it in the program.
    pub(super) fn is_in_use() -> bool {
        core::hint::black_box(pthread_create as Create as usize) != 0
    }

    /// Returns the system's function.
    fn system() -> Option<Create> {
        static SYSTEM: OnceLock<Option<Create>> = OnceLock::new();
        *SYSTEM.get_or_init(|| {
            // SAFETY: the name ends with NUL.
            let found = unsafe { libc::dlsym(libc::RTLD_NEXT, c"pthread_create".as_ptr()) };
            // SAFETY: the symbol of this name is a function of this type, or it is not there.
            (!found.is_null()).then(|| unsafe { core::mem::transmute::<*mut c_void, Create>(found) })
        })
    }

    /// Starts a thread.
    ///
    /// # Safety
    /// The same as for the system's function.
    #[unsafe(no_mangle)]
    unsafe extern "C" fn pthread_create(
        thread: *mut libc::pthread_t,
        attributes: *const libc::pthread_attr_t,
        main: Main,
        argument: *mut c_void,
    ) -> c_int {
        let Some(create) = system() else { return libc::EAGAIN };
        let Some(beginning) = BEGINNING.get().and_then(|beginning| beginning()) else {
            // SAFETY: the caller keeps the contract.
            return unsafe { create(thread, attributes, main, argument) };
        };
        let start = Box::into_raw(Box::new(Start { beginning, main, argument }));
        // SAFETY: the caller keeps the contract, and `begin` takes what it is given.
        let error = unsafe { create(thread, attributes, begin, start.cast()) };
        if error != 0 {
            // SAFETY: it was made above, and there is no thread that has it.
            drop(unsafe { Box::from_raw(start) });
        }
        error
    }

    /// The first function of a new thread. It owns nothing while `main` runs, so that
    /// `pthread_exit` may leave both.
    extern "C-unwind" fn begin(start: *mut c_void) -> *mut c_void {
        // SAFETY: `pthread_create` made it for this thread alone.
        let Start { beginning, main, argument } = *unsafe { Box::from_raw(start.cast::<Start>()) };
        beginning();
        main(argument)
    }
}

#[cfg(not(all(target_os = "linux", target_env = "gnu", not(target_feature = "crt-static"), not(miri))))]
mod hook {
    pub(super) fn is_in_use() -> bool {
        false
    }
}
