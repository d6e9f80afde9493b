//! Receives messages from the program's own collector: draws its progress, and adapts the nursery
//! to the share of its objects that survives.
//!
//! The messages are those of `events.toml`. They come whether or not anything is output, and even
//! if all events are compiled out.

use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::events::TraceWhy;
use crate::events::messages::{Gc, end};
use crate::workload::Settings;

/// The nursery size that heaps use from now on; 0 to keep the current one.
static NURSERY: AtomicUsize = AtomicUsize::new(0);

/// If more than this share of the nursery survives, its size is doubled: objects get more time to
/// die.
const MAX_SURVIVAL: f64 = 0.05;
/// Number of consecutive collections of the nursery that are evaluated together.
const GROUP: u32 = 8;
/// How often a line is drawn.
const REDRAW: Duration = Duration::from_millis(100);

/// What the listener received during a run.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Heard {
    /// Messages received, and messages dropped.
    pub(crate) messages: u64,
    pub(crate) dropped: u64,
    /// The nursery's size in bytes, and the share of it that survived: first and last.
    pub(crate) nursery: [usize; 2],
    pub(crate) survived: [f64; 2],
}

/// The nursery size that heaps must change to, if any.
pub(crate) fn nursery() -> Option<usize> {
    Some(NURSERY.load(Ordering::Relaxed)).filter(|bytes| *bytes > 0)
}

/// Runs `work`, and listens meanwhile if the settings ask for it.
pub(crate) fn during<T>(settings: &Settings, draws: bool, work: impl FnOnce() -> T) -> (T, Option<Heard>) {
    NURSERY.store(0, Ordering::Relaxed);
    if !settings.adapt && !draws {
        return (work(), None);
    }
    let dropped = Gc::dropped();
    if !Gc::enable() {
        eprintln!("gcbench: no memory for the collector's messages");
    }
    let is_over = AtomicBool::new(false);
    let mut listener = Listener::new(settings, draws);
    let result = std::thread::scope(|scope| {
        let listener = &mut listener;
        let is_over = &is_over;
        scope.spawn(move || listener.listen(is_over));
        let result = work();
        is_over.store(true, Ordering::Release);
        result
    });
    listener.heard.dropped = Gc::dropped() - dropped;
    Gc::disable();
    (result, Some(listener.heard))
}

struct Listener<'s> {
    settings: &'s Settings,
    draws: bool,
    drawn: Instant,
    heard: Heard,
    /// Collections of the nursery since the last decision, with their bytes condemned and survived.
    nurseries: u32,
    bytes: [u64; 2],
    /// Traces in progress, traces ended, and live bytes after the last one.
    running: u64,
    ended: u64,
    live: u64,
}

impl<'s> Listener<'s> {
    fn new(settings: &'s Settings, draws: bool) -> Listener<'s> {
        let nursery = [settings.nursery; 2];
        let heard = Heard { nursery, ..Heard::default() };
        let (running, ended, live) = (0, 0, 0);
        Listener {
            settings,
            draws,
            drawn: Instant::now(),
            heard,
            nurseries: 0,
            bytes: [0; 2],
            running,
            ended,
            live,
        }
    }

    /// Receives all messages until the work is over and the queue is empty.
    fn listen(&mut self, is_over: &AtomicBool) {
        loop {
            // Read before the queue is checked: nothing is posted after it is found empty.
            let was_over = is_over.load(Ordering::Acquire);
            match Gc::wait(if was_over { Duration::ZERO } else { REDRAW / 2 }) {
                Some(message) => self.hear(&message),
                None if was_over => break,
                None => {}
            }
            if self.draws && self.drawn.elapsed() >= REDRAW {
                self.draw("");
            }
        }
        if self.draws {
            self.draw("\n");
        }
    }

    fn hear(&mut self, message: &Gc) {
        self.heard.messages += 1;
        match message {
            Gc::Begin(_) => self.running += 1,
            Gc::End(end) => {
                self.running = self.running.saturating_sub(1);
                self.ended += 1;
                self.live = end.live();
                self.weigh(end);
            }
        }
    }

    /// Evaluates the share of the nursery that survives: bytes that the begin condemned, and bytes
    /// that survived at the end.
    fn weigh(&mut self, end: &end::Gc) {
        if end.why() != TraceWhy::NurseryFull {
            return;
        }
        self.nurseries += 1;
        self.bytes[0] += end.condemned();
        self.bytes[1] += end.survived();
        if self.nurseries < GROUP {
            return;
        }
        let survived = self.bytes[1] as f64 / self.bytes[0].max(1) as f64;
        (self.nurseries, self.bytes) = (0, [0; 2]);
        if self.heard.survived == [0.0; 2] {
            self.heard.survived[0] = survived;
        }
        self.heard.survived[1] = survived;
        let nursery = self.heard.nursery[1];
        if self.settings.adapt && survived > MAX_SURVIVAL && 2 * nursery <= self.settings.max_nursery() {
            self.heard.nursery[1] = 2 * nursery;
            NURSERY.store(2 * nursery, Ordering::Relaxed);
        }
    }

    /// Draws a line over the previous one.
    fn draw(&mut self, end: &str) {
        const WIDTH: u64 = 24;
        self.drawn = Instant::now();
        let all = self.running * WIDTH / u64::from(self.settings.threads.max(1));
        let bar: String = (0..WIDTH).map(|at| if at < all { '#' } else { '.' }).collect();
        let (ended, live, nursery) = (self.ended, self.live >> 10, self.heard.nursery[1] >> 10);
        let mut out = std::io::stderr();
        let (start, end) = if out.is_terminal() { ("\r", end) } else { ("", "\n") };
        // Progress is best effort: a closed standard error is not a failure.
        let _ = write!(
            out,
            "{start}collecting [{bar}]  {ended:>6} traces, {live:>7} KiB live, nursery {nursery} KiB{end}"
        );
        let _ = out.flush();
    }
}
