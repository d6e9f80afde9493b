//! What an interrupt does (Ctrl-C, a request to terminate, a closed terminal): one handler for the process.

use std::sync::{Mutex, Once, PoisonError};

use crate::exit::report;
use crate::{output, progress};

/// How the command ends in good order, if it can.
static STOP: Mutex<Option<Box<dyn FnOnce() + Send>>> = Mutex::new(None);

/// An interrupt stops the command this way: it ends with what it has. A second one ends it at once.
pub(crate) fn stops(stop: impl FnOnce() + Send + 'static) {
    *STOP.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(stop));
    removes_unfinished();
}

/// An interrupt removes the bar and the files that are not whole, and ends the process, unless the command can be
/// stopped.
pub(crate) fn removes_unfinished() {
    static SET: Once = Once::new();
    SET.call_once(|| {
        if let Err(error) = system::on_interrupt(interrupted) {
            report(format!(
                "warning: an interrupt will end this at once, and may leave a temporary file: {error}"
            ));
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

/// Ends the process as an interrupt does, so that whoever waits for it sees that it was one: a shell, for instance,
/// which leaves its loop then.
pub(crate) fn end() -> ! {
    progress::end();
    output::remove_unfinished();
    system::die()
}

#[cfg(unix)]
mod system {
    use std::io;
    use std::sync::atomic::{AtomicI32, Ordering};

    use libc::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;

    use crate::process;

    /// The signal that came last.
    static SIGNAL: AtomicI32 = AtomicI32::new(SIGINT);

    pub(super) fn on_interrupt(act: fn()) -> io::Result<()> {
        // What `nohup` runs goes on when its terminal is closed.
        let hangup = (!process::ignores(SIGHUP)).then_some(SIGHUP);
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
        process::die_of(signal);
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
