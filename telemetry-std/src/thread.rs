//! Threads whose lives are spans.

use std::io;
use std::thread::{Builder, JoinHandle, Scope, ScopedJoinHandle};

use crate::events;

/// Starts a thread with a name, as [`std::thread::Builder`] does. Its life is a span `Thread`.
///
/// # Errors
/// As [`std::thread::Builder::spawn`]: the system cannot start a thread.
pub fn spawn<T: Send + 'static>(
    name: &str,
    run: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    Builder::new().name(name.to_owned()).spawn(|| watch(run))
}

/// Does the same in a [`std::thread::scope`].
///
/// # Errors
/// As [`std::thread::Builder::spawn_scoped`]: the system cannot start a thread.
pub fn spawn_scoped<'scope, 'env, T: Send + 'scope>(
    scope: &'scope Scope<'scope, 'env>,
    name: &str,
    run: impl FnOnce() -> T + Send + 'scope,
) -> io::Result<ScopedJoinHandle<'scope, T>> {
    Builder::new().name(name.to_owned()).spawn_scoped(scope, || watch(run))
}

/// Runs a function on this thread in a span `Thread`. It is for threads that others start: call it
/// in the function that the thread runs.
pub fn watch<T>(run: impl FnOnce() -> T) -> T {
    let _thread = events::thread_scope!(telemetry::intern(std::thread::current().name().unwrap_or_default()));
    run()
}
