//! What an interrupt does (Ctrl-C, a request to terminate, a closed terminal): one handler for the process.

use std::sync::{Mutex, Once, OnceLock, PoisonError};

use super::bar;
use super::message::warning;

/// How the command ends in good order, if it can.
static STOP: Mutex<Option<Box<dyn FnOnce() + Send>>> = Mutex::new(None);

/// An interrupt stops the command this way: it ends with what it has. A second one ends it at once.
pub(crate) fn stops(stop: impl FnOnce() + Send + 'static) {
    *STOP.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(stop));
    handle();
}

/// What removes the files that are not whole.
static CLEAN_UP: OnceLock<fn()> = OnceLock::new();

/// An interrupt has this remove the files that are not whole, and ends the process, unless the command can be stopped.
pub(super) fn cleans_up(clean_up: fn()) {
    // There is but one that calls this.
    let _ = CLEAN_UP.set(clean_up);
    handle();
}

/// An interrupt takes the bar away, and ends the process, unless the command can be stopped.
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

/// Ends the process by the signal, so that its parent sees an interrupt: a shell, for instance,
/// which leaves its loop then.
pub(crate) fn end() -> ! {
    bar::end();
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

    /// The signal that came last.
    static SIGNAL: AtomicI32 = AtomicI32::new(SIGINT);

    pub(super) fn on_interrupt(act: fn()) -> io::Result<()> {
        // What `nohup` runs goes on when its terminal is closed.
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
