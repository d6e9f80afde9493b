//! What a dying process shows: tracebacks from memory, the panic hook, its status, its fatal
//! signal, functions for debuggers and C. Uses `drain`, `messages` and the rooms before them.
//! `traceback` never allocates, locks or panics: it runs in signal handlers and in stopped
//! processes.

pub(crate) mod debugger;
#[cfg(all(target_os = "linux", target_env = "gnu", not(miri)))]
pub(crate) mod exit;
#[cfg(all(target_os = "linux", not(miri)))]
pub(crate) mod fatal;
pub(crate) mod native;
pub(crate) mod panic;
pub(crate) mod traceback;
