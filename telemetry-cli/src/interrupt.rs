//! What an interrupt does (Ctrl-C, a request to terminate, a closed terminal): one handler for the process.

use std::sync::{Mutex, Once, PoisonError};

use crate::exit::{self, report};
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
        if let Err(error) = ctrlc::set_handler(interrupted) {
            report(format!(
                "warning: an interrupt will end this at once, and may leave a temporary file: {error}"
            ));
        }
    });
}

fn interrupted() {
    let stop = STOP.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(stop) = stop {
        return stop();
    }
    progress::end();
    output::remove_unfinished();
    std::process::exit(exit::INTERRUPTED.into());
}
