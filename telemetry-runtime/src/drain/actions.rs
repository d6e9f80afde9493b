//! Does what triggers ask for, between two passes.

use std::time::Duration;

use crate::drain::passes::{PASS_TIMEOUT, flush, lock, snapshot};
use crate::own::switches::set_for;
use crate::sys;
use crate::triggers::list as triggers;
use crate::triggers::parse::Action;

/// Does the actions that are due. Returns how long it is until the next may be without an event.
pub(crate) fn perform() -> Option<Duration> {
    let (actions, rest) = triggers::due();
    for action in &actions {
        match action {
            Action::Flush => _ = flush(),
            Action::Set(words, time) => set_for(words, *time),
            Action::Snapshot(path) => {
                if let Err(error) = snapshot(path) {
                    let path = path.display();
                    let text = format_args!("cannot write the snapshot of a trigger to `{path}`: {error}");
                    sys::report(sys::tag_of(&error), text);
                }
            }
        }
    }
    // They may have taken long.
    if actions.is_empty() { rest } else { Some(Duration::ZERO) }
}

/// Looks at the last events of the process, and does the actions that are due.
pub(crate) fn finish() {
    if triggers::is_any() {
        if let Some(mut outputs) = lock(PASS_TIMEOUT) {
            outputs.pass(true);
        }
        perform();
    }
}
