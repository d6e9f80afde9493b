//! The bar or step that standard error shows.

use std::sync::{Mutex, MutexGuard, PoisonError};

use indicatif::ProgressBar;

use super::{line, quiet};

/// The bar that is shown. An interrupt erases it, and messages appear above it.
static SHOWN: Mutex<Shown> = Mutex::new(Shown::Nothing);

enum Shown {
    Nothing,
    Bar(ProgressBar),
    /// No bar, since the process ends.
    Over,
}

/// Shows a bar, unless the process ends or only errors are shown. The caller handles interrupts.
pub(super) fn show(bar: &ProgressBar) {
    let mut shown = shown();
    if !quiet::is_on() && !matches!(*shown, Shown::Over) {
        bar.set_draw_target(line::stderr());
        *shown = Shown::Bar(bar.clone());
    }
}

/// Erases the bar, if one is shown.
pub(super) fn erase() {
    let mut shown = shown();
    if let Shown::Bar(bar) = &*shown {
        bar.finish_and_clear();
        *shown = Shown::Nothing;
    }
}

/// Erases the bar and shows no other one, since the process ends.
pub(super) fn end() {
    erase();
    *shown() = Shown::Over;
}

/// Writes to the terminal while the bar is hidden.
pub(super) fn aside(write: impl FnOnce()) {
    match &*shown() {
        Shown::Bar(bar) => bar.suspend(write),
        Shown::Nothing | Shown::Over => write(),
    }
}

fn shown() -> MutexGuard<'static, Shown> {
    SHOWN.lock().unwrap_or_else(PoisonError::into_inner)
}
