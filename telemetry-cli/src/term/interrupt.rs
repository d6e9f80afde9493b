//! The effect of an interrupt (Ctrl-C, a request to terminate, a closed terminal). The process has
//! one handler.

use std::sync::{Mutex, Once, OnceLock, PoisonError};

use super::bar;
use super::message::warning;

/// Ends the command in good order, if the command supports that.
static STOP: Mutex<Option<Box<dyn FnOnce() + Send>>> = Mutex::new(None);

/// Makes an interrupt stop the command this way: the command ends with the results so far. A second
/// interrupt ends it at once.
pub(crate) fn stops(stop: impl FnOnce() + Send + 'static) {
    *STOP.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(stop));
    handle();
}

/// Removes the unfinished files.
static CLEAN_UP: OnceLock<fn()> = OnceLock::new();

/// Makes an interrupt remove the unfinished files and end the process, unless the command can be
/// stopped.
pub(super) fn cleans_up(clean_up: fn()) {
    // There is only one caller.
    let _ = CLEAN_UP.set(clean_up);
    handle();
}

/// Makes an interrupt erase the bar and end the process, unless the command can be stopped.
pub(super) fn takes_bar_away() {
    handle();
}

fn handle() {
    static SET: Once = Once::new();
    SET.call_once(|| {
        if let Err(error) = system::on_interrupt(interrupted) {
            warning(format!("an interrupt will end this at once, and may leave a temporary file: {error}"));
        }
    });
}

fn interrupted() {
    let stop = STOP.lock().unwrap_or_else(PoisonError::into_inner).take();
    match stop {
        Some(stop) => stop(),
        None => end(),
    }
}

/// Ends the process by the signal, so that its parent sees an interrupt. A shell, for example, then
/// leaves its loop.
pub(crate) fn end() -> ! {
    bar::end();
    #[cfg(unix)]
    super::screen::leave();
    if let Some(clean_up) = CLEAN_UP.get() {
        clean_up();
    }
    system::die()
}

#[cfg(unix)]
mod system {
    use std::io;
    use std::sync::atomic::{AtomicI32, Ordering};

    use libc::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;

    use super::super::native;

    /// The last signal.
    static SIGNAL: AtomicI32 = AtomicI32::new(SIGINT);

    pub(super) fn on_interrupt(act: fn()) -> io::Result<()> {
        // A program that `nohup` started continues when its terminal is closed.
        let hangup = (!native::ignores(SIGHUP)).then_some(SIGHUP);
        let mut signals = Signals::new([SIGINT, SIGTERM].into_iter().chain(hangup))?;
        let wait = move || {
            for signal in signals.forever() {
                SIGNAL.store(signal, Ordering::Relaxed);
                act();
            }
        };
        std::thread::Builder::new().name("interrupt".to_string()).spawn(wait).map(drop)
    }

    /// Dies of the signal.
    pub(super) fn die() -> ! {
        let signal = SIGNAL.load(Ordering::Relaxed);
        native::die_of(signal);
        // The first process of a container does not die of signals.
        std::process::exit(128 + signal)
    }
}

#[cfg(not(unix))]
mod system {
    pub(super) fn on_interrupt(act: fn()) -> Result<(), ctrlc::Error> {
        ctrlc::set_handler(act)
    }

    pub(super) fn die() -> ! {
        std::process::exit(130)
    }
}
