//! Pairs of messages: an owner of the lock posts each end once, and none is lost.

use std::sync::Arc;

use crate::model;
use crate::sync::slot::Slot;
use crate::sync::spin::Spin;
use crate::sys::atomic::{AtomicBool, AtomicU64, Ordering};

/// A channel with one slot, whose queue is a sum.
struct World {
    lock: Spin,
    pending: AtomicBool,
    slot: Slot<u64, u64>,
    /// Number of posted ends, and the sum of their values. Changed under the lock.
    posted: AtomicU64,
    said: AtomicU64,
}

// SAFETY: fields that are not atomic are in cells of the slot, which loom checks.
unsafe impl Sync for World {}
// SAFETY: as above.
unsafe impl Send for World {}

const KEY: u64 = 7;

impl World {
    /// Creates a channel in which a pair of the key runs.
    fn new() -> World {
        let world = World {
            lock: Spin::new(),
            pending: AtomicBool::new(false),
            slot: Slot::new(),
            posted: AtomicU64::new(0),
            said: AtomicU64::new(0),
        };
        world.begin(40);
        world
    }

    fn begin(&self, number: u64) {
        self.slot.ready();
        self.slot.begin(KEY, number);
    }

    /// The same as in the channel: under the lock.
    fn tidy(&self) {
        if self.pending.swap(false, Ordering::Acquire)
            && let Some((_, end)) = self.slot.take_end()
        {
            self.posted.store(self.posted.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
            self.said.store(end, Ordering::Relaxed);
        }
    }

    /// The same as in the channel: does the work that waits for the lock.
    fn settle(&self, thread: usize) {
        while self.pending.load(Ordering::Relaxed) {
            let Ok(_held) = self.lock.lock(thread) else { return };
            self.tidy();
        }
    }

    /// Keeps a thread inside for a moment.
    fn visit(&self, thread: usize, work: impl FnOnce()) {
        let Ok(held) = self.lock.lock(thread) else { panic!("no thread is inside for long") };
        self.tidy();
        work();
        drop(held);
        self.settle(thread);
    }

    fn end(&self, thread: usize, number: u64) -> bool {
        let is_claimed = self.slot.claim(KEY);
        if is_claimed && self.slot.finish(0, |begin| begin + number) {
            self.pending.swap(true, Ordering::AcqRel);
            self.settle(thread);
        }
        is_claimed
    }
}

#[test]
fn an_end_is_posted_once_beside_others_inside() {
    model(3, || {
        let world = Arc::new(World::new());
        let (ends, visits) = (world.clone(), world.clone());
        let ends = loom::thread::spawn(move || assert!(ends.end(1, 2)));
        let visits = loom::thread::spawn(move || visits.visit(2, || ()));
        ends.join().unwrap();
        visits.join().unwrap();
        assert_eq!(world.posted.load(Ordering::Relaxed), 1);
        assert_eq!(world.said.load(Ordering::Relaxed), 42);
        assert!(world.slot.is_bare() && !world.pending.load(Ordering::Relaxed));
    });
}

#[test]
fn of_two_ends_one_is_posted() {
    model(3, || {
        let world = Arc::new(World::new());
        let other = world.clone();
        let other = loom::thread::spawn(move || other.end(1, 1));
        let claimed = [world.end(2, 2), other.join().unwrap()];
        assert!(claimed[0] != claimed[1], "the pair ended once");
        assert_eq!(world.posted.load(Ordering::Relaxed), 1);
        assert_eq!(world.said.load(Ordering::Relaxed), if claimed[0] { 42 } else { 41 });
    });
}

/// The message is disabled and enabled again while a pair is being ended: later messages have none
/// of its values.
#[test]
fn what_is_reset_while_it_ends_is_of_no_consequence() {
    model(3, || {
        let world = Arc::new(World::new());
        let ends = world.clone();
        let ends = loom::thread::spawn(move || ends.end(1, 2));
        world.visit(2, || world.slot.reset());
        ends.join().unwrap();
        // Posted before that, or never.
        assert!(world.posted.load(Ordering::Relaxed) <= 1);
        assert!(world.slot.is_bare(), "the slot can be used again");
        world.visit(2, || world.begin(50));
        assert!(world.end(2, 5));
        assert_eq!(world.said.load(Ordering::Relaxed), 55);
    });
}
