//! Ctrl-C: what is under way is rolled back, and a database that never came to be is removed.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::InterruptHandle;

use crate::interrupt;

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// The database that is made by this run, under the name that it has until something is committed.
static UNFINISHED: Mutex<Option<PathBuf>> = Mutex::new(None);

/// How long the main thread may take to roll back before the process ends. What it does not get done, the next
/// one who opens the database does from the journal.
const PATIENCE: Duration = Duration::from_secs(3);

/// True once somebody wants this to end.
pub(super) fn is_wanted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

/// Has an interrupt stop what a connection does.
pub(super) fn watch(connection: InterruptHandle) {
    interrupt::stops(move || {
        INTERRUPTED.store(true, Ordering::Relaxed);
        connection.interrupt();
        // The main thread may be waiting for input.
        std::thread::sleep(PATIENCE);
        remove_unfinished();
        interrupt::end();
    });
}

/// Notes that a database is made where nobody else looks.
pub(super) fn unfinished(path: &Path) {
    *lock() = Some(path.to_path_buf());
}

/// Finishes it. An interrupt waits for that, so that it finds everything done or nothing.
pub(super) fn finish<E>(place: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
    let mut path = lock();
    place()?;
    *path = None;
    Ok(())
}

/// Removes it, if it was not finished.
pub(super) fn remove_unfinished() {
    let mut unfinished = lock();
    let Some(path) = unfinished.take() else { return };
    let _ = fs::remove_file(&path);
    let _ = fs::remove_file(journal(&path));
}

/// Where SQLite keeps what a database was before.
pub(super) fn journal(path: &Path) -> PathBuf {
    let mut journal = path.as_os_str().to_os_string();
    journal.push("-journal");
    journal.into()
}

fn lock() -> MutexGuard<'static, Option<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}
