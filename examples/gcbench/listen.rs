//! What the program hears of its own collector: it draws what goes on, and fits the nursery to what survives.
//!
//! The messages are those of `events.toml`; they come whether or not anything is output, and in a program that
//! has no events compiled in.

use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::events::TraceWhy;
use crate::events::messages::{Gc, end};
use crate::workload::Settings;

/// Bytes that heaps shall give their nurseries from now on; 0 for those that they have.
static NURSERY: AtomicUsize = AtomicUsize::new(0);

/// Where more than this part of a nursery survives, its objects are given twice the time to die.
const MOST_SURVIVE: f64 = 0.05;
/// How many nurseries in a row are looked at together.
const AT_ONCE: u32 = 8;
/// How often a line is drawn.
const REDRAW: Duration = Duration::from_millis(100);

/// What was heard of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Heard {
    /// Messages, and those that were dropped.
    pub(crate) messages: u64,
    pub(crate) dropped: u64,
    /// The nursery in bytes, and which part of it survived a collection: at first, and in the end.
    pub(crate) nursery: [usize; 2],
    pub(crate) survived: [f64; 2],
}

/// What heaps shall give their nurseries, unless it is what they have.
pub(crate) fn nursery() -> Option<usize> {
    Some(NURSERY.load(Ordering::Relaxed)).filter(|bytes| *bytes > 0)
}

/// Does something and listens meanwhile, if the settings want it.
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
    /// Of the nurseries since the last decision: how many, and bytes condemned and survived.
    nurseries: u32,
    bytes: [u64; 2],
    /// Traces that run, that have ended, and what lived after the last one.
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

    /// Hears all messages, until nothing is left to come.
    fn listen(&mut self, is_over: &AtomicBool) {
        loop {
            // Before the queue is found empty.
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

    /// Looks at which part of the nurseries survives: what the begin said was condemned, and what the end says of it.
    fn weigh(&mut self, end: &end::Gc) {
        if end.why() != TraceWhy::NurseryFull {
            return;
        }
        self.nurseries += 1;
        self.bytes[0] += end.condemned();
        self.bytes[1] += end.survived();
        if self.nurseries < AT_ONCE {
            return;
        }
        let survived = self.bytes[1] as f64 / self.bytes[0].max(1) as f64;
        (self.nurseries, self.bytes) = (0, [0; 2]);
        if self.heard.survived == [0.0; 2] {
            self.heard.survived[0] = survived;
        }
        self.heard.survived[1] = survived;
        let nursery = self.heard.nursery[1];
        if self.settings.adapt && survived > MOST_SURVIVE && 2 * nursery <= self.settings.most_nursery() {
            self.heard.nursery[1] = 2 * nursery;
            NURSERY.store(2 * nursery, Ordering::Relaxed);
        }
    }

    /// A line for people, over the one before.
    fn draw(&mut self, end: &str) {
        const WIDTH: u64 = 24;
        self.drawn = Instant::now();
        let all = self.running * WIDTH / u64::from(self.settings.threads.max(1));
        let bar: String = (0..WIDTH).map(|at| if at < all { '#' } else { '.' }).collect();
        let (ended, live, nursery) = (self.ended, self.live >> 10, self.heard.nursery[1] >> 10);
        let mut out = std::io::stderr();
        let (start, end) = if out.is_terminal() { ("\r", end) } else { ("", "\n") };
        // That nobody looks is no error.
        let _ = write!(
            out,
            "{start}collecting [{bar}]  {ended:>6} traces, {live:>7} KiB live, nursery {nursery} KiB{end}"
        );
        let _ = out.flush();
    }
}
