//! The progress of long work, shown on standard error while it continues and then erased.
//!
//! Nothing is shown if standard error is not a terminal, if the output itself goes to a terminal,
//! or if the work is short.

use std::cell::Cell;
use std::io::IsTerminal;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::bar::erase;
use super::output::Output;
use super::{bar, interrupt};

/// Shorter work shows nothing.
const SHOW_DELAY: Duration = Duration::from_millis(300);

/// Events between two readings of the clock.
pub(crate) const EVENTS_PER_READING: u32 = 1 << 12;

const KNOWN: &str = "{bar:20} {percent:>3} %  {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left";
const UNKNOWN: &str = "{spinner} {bytes}, {bytes_per_sec}";
const STEP: &str = "{spinner} {msg}, {elapsed}";

/// Time between two redraws of a step.
const TICK: Duration = Duration::from_millis(100);

/// The progress of reading inputs, in bytes.
pub(crate) struct Progress {
    /// None to show nothing.
    bar: Option<ProgressBar>,
    since: Instant,
    is_shown: Cell<bool>,
    skipped: Cell<u32>,
}

impl Progress {
    /// Makes progress of a number of bytes, unless lines of the output would appear between.
    pub(crate) fn beside(output: &Output, len: Option<u64>) -> Progress {
        if output.is_terminal() { Progress::hidden() } else { Progress::of_bytes(len) }
    }

    /// Makes progress of a number of bytes, if known, while nothing is written to standard output.
    pub(crate) fn of_bytes(len: Option<u64>) -> Progress {
        if !has_place() {
            return Progress::hidden();
        }
        Progress::with(Some(bar(len, if len.is_some() { KNOWN } else { UNKNOWN })))
    }

    /// Makes progress that shows nothing.
    pub(crate) fn hidden() -> Progress {
        Progress::with(None)
    }

    fn with(bar: Option<ProgressBar>) -> Progress {
        Progress { bar, since: Instant::now(), is_shown: Cell::new(false), skipped: Cell::new(0) }
    }

    /// Counts an event. Calls the function for the bytes read only at intervals.
    #[inline]
    pub(crate) fn event(&self, bytes: impl FnOnce() -> u64) {
        self.events(1, bytes);
    }

    /// Counts some events, as [`Progress::event`] does one.
    #[inline]
    pub(crate) fn events(&self, number: usize, bytes: impl FnOnce() -> u64) {
        let skipped = self.skipped.get().saturating_add(number as u32);
        self.skipped.set(skipped);
        if skipped >= EVENTS_PER_READING {
            self.skipped.set(0);
            self.at(bytes());
        }
    }

    /// Reports the number of bytes read.
    #[cold]
    pub(crate) fn at(&self, bytes: u64) {
        let Some(bar) = &self.bar else { return };
        if !self.is_shown.get() {
            if self.since.elapsed() < SHOW_DELAY {
                return;
            }
            self.is_shown.set(true);
            show(bar);
        }
        bar.set_position(bytes);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.is_shown.get() {
            erase();
        }
    }
}

/// One long step that does not report how far it is. It shows that the work continues, and since
/// when, until it is dropped.
pub(crate) struct Step(Option<(Sender<()>, JoinHandle<()>)>);

impl Step {
    /// Begins a step, named by its work.
    pub(crate) fn new(what: impl Into<String>) -> Step {
        if !has_place() {
            return Step(None);
        }
        let (done, is_done) = channel();
        let bar = bar(None, STEP).with_message(what.into());
        let ticks = std::thread::spawn(move || {
            let mut wait = SHOW_DELAY;
            while is_done.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                if wait == SHOW_DELAY {
                    wait = TICK;
                    show(&bar);
                }
                bar.tick();
            }
        });
        Step(Some((done, ticks)))
    }
}

impl Drop for Step {
    fn drop(&mut self) {
        if let Some((done, ticks)) = self.0.take() {
            drop(done);
            // A thread that has panicked shows nothing more.
            let _ = ticks.join();
            erase();
        }
    }
}

/// Returns true if bars can be drawn and erased.
fn has_place() -> bool {
    std::io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// Returns a bar that is not shown yet.
fn bar(len: Option<u64>, style: &str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(len, ProgressDrawTarget::hidden());
    // The styles are valid. Without one, the bar is plain.
    match ProgressStyle::with_template(style) {
        Ok(style) => bar.with_style(style.progress_chars("=> ")),
        Err(_) => bar,
    }
}

fn show(bar: &ProgressBar) {
    // Without this, an interrupt would leave the bar there.
    interrupt::takes_bar_away();
    bar::show(bar);
}
