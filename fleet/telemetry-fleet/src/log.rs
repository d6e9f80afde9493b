//! Lines on standard error, as systemd keeps them.

use std::fmt::Display;
use std::sync::Mutex;
use std::time::Instant;

/// Lines a second, after [`BURST`] lines at once. A peer must not fill a disk with refusals.
const RATE: f64 = 10.0;
const BURST: f64 = 100.0;

static STATE: Mutex<Option<State>> = Mutex::new(None);

struct State {
    left: f64,
    since: Instant,
    suppressed: u64,
}

/// Writes a line, unless there were too many. Control characters are escaped, because peers choose
/// some of the text.
pub fn line(text: impl Display) {
    let mut state = STATE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let state = state.get_or_insert_with(|| State { left: BURST, since: Instant::now(), suppressed: 0 });
    let now = Instant::now();
    state.left = (state.left + RATE * now.duration_since(state.since).as_secs_f64()).min(BURST);
    state.since = now;
    if state.left < 1.0 {
        state.suppressed += 1;
        return;
    }
    state.left -= 1.0;
    if state.suppressed > 0 {
        eprintln!("{} more lines were left out", std::mem::take(&mut state.suppressed));
    }
    let text = text.to_string();
    let is_plain = |c: char| !c.is_control();
    if text.chars().all(is_plain) {
        eprintln!("{text}");
    } else {
        let escaped: String = text
            .chars()
            .flat_map(|c| if is_plain(c) { vec![c] } else { c.escape_default().collect() })
            .collect();
        eprintln!("{escaped}");
    }
}
