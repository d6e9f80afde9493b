//! Interrupts: the transaction is rolled back, and an unfinished new database is removed.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::InterruptHandle;

use crate::term::interrupt;

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// The database that this run makes, by its name until something is committed.
static UNFINISHED: Mutex<Option<PathBuf>> = Mutex::new(None);

/// How long the main thread may take to roll back before the process ends. If it does not finish,
/// the next program that opens the database does so from the journal.
const ROLLBACK_TIMEOUT: Duration = Duration::from_secs(3);

/// Returns true after an interrupt.
pub(super) fn is_wanted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

/// Makes an interrupt stop the work of a connection.
pub(super) fn watch(connection: InterruptHandle) {
    interrupt::stops(move || {
        INTERRUPTED.store(true, Ordering::Relaxed);
        connection.interrupt();
        // The main thread may be waiting for input.
        std::thread::sleep(ROLLBACK_TIMEOUT);
        remove_unfinished();
        interrupt::end();
    });
}

/// Records that a database is created at a temporary path.
pub(super) fn unfinished(path: &Path) {
    *lock() = Some(path.to_path_buf());
}

/// Finishes the database. An interrupt waits for the end.
pub(super) fn finish<E>(place: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
    let mut path = lock();
    place()?;
    *path = None;
    Ok(())
}

/// Removes the database if it was not finished.
pub(super) fn remove_unfinished() {
    let mut unfinished = lock();
    let Some(path) = unfinished.take() else { return };
    let _ = fs::remove_file(&path);
    let _ = fs::remove_file(journal(&path));
    // The directory was made for the database.
    let _ = path.parent().map(fs::remove_dir);
}

/// Returns the path where SQLite keeps the former content of a database.
pub(super) fn journal(path: &Path) -> PathBuf {
    let mut journal = path.as_os_str().to_os_string();
    journal.push("-journal");
    journal.into()
}

fn lock() -> MutexGuard<'static, Option<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}
