//! Carries the messages of one name from their emitters to the program.
#![allow(unsafe_code)]

use core::cell::UnsafeCell;
use std::time::{Duration, Instant};

use super::either::Either;
use super::list::{self, Link};
use super::queues::Queues;
use crate::model::channel::Form;
use crate::model::posted::Posted;
use crate::own::registry::{self as own, MessageDrop};
use crate::run::clock;
use crate::sync::slot::Slot;
use crate::sync::spin::{NotHeld, Spin, SpinGuard};
use crate::sys;
use crate::sys::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

/// The messages of one name. Up to `LIMIT` pairs run at once, with values `B` of the begin and `E`
/// of the end. For a message without an end, `E` is
/// [`Infallible`](core::convert::Infallible). The macro makes a static of it.
///
/// The first byte is the flag, which emitters in C read.
#[repr(C)]
pub struct Channel<B: 'static, E: 'static, const LIMIT: usize> {
    /// True if the message is enabled. Emitters check nothing else.
    wanted: AtomicBool,
    /// True if a slot contains an end to be posted, or the queues are to be freed.
    pending: AtomicBool,
    pub(super) form: Form,
    lock: Spin,
    queues: UnsafeCell<Queues<B, E>>,
    slots: [Slot<B, E>; LIMIT],
    queued: AtomicU64,
    dropped: AtomicU64,
    /// Number of dropped begins whose ends are still to come.
    refused: AtomicU64,
    /// Number of threads that wait for a message, and the word that they sleep at.
    waiting: AtomicU32,
    ring: AtomicU32,
    pub(super) link: Link,
}

// SAFETY: the queues are used only under the lock, and slots by their protocol. The values are
// `Send`.
unsafe impl<B: Send, E: Send, const LIMIT: usize> Sync for Channel<B, E, LIMIT> {}

impl<B: Copy + Send, E: Copy + Send, const LIMIT: usize> Channel<B, E, LIMIT> {
    /// Creates a message that is not enabled.
    pub const fn new(form: Form) -> Self {
        Channel {
            wanted: AtomicBool::new(false),
            pending: AtomicBool::new(false),
            form,
            lock: Spin::new(),
            queues: UnsafeCell::new(Queues::new()),
            slots: [const { Slot::new() }; LIMIT],
            queued: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            waiting: AtomicU32::new(0),
            ring: AtomicU32::new(0),
            link: Link::new(),
        }
    }

    /// Returns true if the message is enabled. Emitters call it.
    #[inline(always)]
    pub fn is_wanted(&self) -> bool {
        if self.wanted.load(Ordering::Relaxed) {
            telemetry_format::put::cold_path();
            true
        } else {
            false
        }
    }

    /// Enables the message. Returns false if there is no memory for all pairs that may run at once.
    /// Each fetched message then tries to allocate the rest.
    pub(super) fn enable(&self) -> bool {
        let enabled = self.with(|queues| {
            if !self.wanted.load(Ordering::Relaxed) {
                self.empty(queues);
                queues.is_short = true;
                self.wanted.store(true, Ordering::Relaxed);
            }
            self.refill(queues);
            !queues.is_short
        });
        enabled.unwrap_or(false)
    }

    /// Disables the message. Frees the memory of queued messages, and the memory that was allocated
    /// ahead. If a thread is inside at this moment, that thread frees it.
    pub(super) fn disable(&self) {
        self.wanted.store(false, Ordering::Relaxed);
        self.pending.swap(true, Ordering::AcqRel);
        self.settle();
        self.wake();
    }

    /// Begins the pair with this key, or posts a message without an end. A message without a key
    /// ignores `key`.
    #[cold]
    #[inline(never)]
    pub fn begin(&self, key: u64, values: B) {
        let key = self.key(key);
        let posted = self.with(|queues| {
            if !self.wanted.load(Ordering::Relaxed) {
                return Ok(());
            }
            self.post(queues, key, values)
        });
        match posted.unwrap_or_else(|why| Err(why.into())) {
            Ok(()) => self.wake(),
            Err(why) => {
                if self.form.is_pair {
                    self.refused.fetch_add(1, Ordering::Relaxed);
                }
                self.count_dropped(why);
            }
        }
    }

    /// Ends the pair with this key. `end` makes the values of the end from those of the begin.
    #[cold]
    #[inline(never)]
    pub fn end(&self, key: u64, end: impl FnOnce(B) -> E) {
        let key = self.key(key);
        if let Some(slot) = self.slots.iter().find(|slot| slot.claim(key)) {
            if slot.finish(clock::ticks(), end) {
                self.pending.swap(true, Ordering::AcqRel);
                self.settle();
                self.wake();
            }
            return;
        }
        if !self.wanted.load(Ordering::Relaxed) {
            return;
        }
        let take = |count: u64| count.checked_sub(1);
        let why = if self.refused.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok() {
            MessageDrop::BeginDropped
        } else if !self.form.is_keyed && self.slots.iter().any(Slot::is_running) {
            MessageDrop::WrongThread
        } else {
            MessageDrop::NotBegun
        };
        self.count_dropped(why);
    }

    /// Returns the oldest message, which the caller then owns.
    pub fn get(&self) -> Option<Either<B, E>> {
        self.with(|queues| {
            let begin = queues.begins.oldest();
            let is_begin = begin.is_some_and(|begin| queues.ends.oldest().is_none_or(|end| begin < end));
            let message = match is_begin {
                true => queues.begins.pop().map(Either::Begin),
                false => queues.ends.pop().map(Either::End),
            };
            self.refill(queues);
            self.publish(queues);
            message
        })
        .ok()
        .flatten()
    }

    /// Does the same as [`get`](Self::get), and waits up to `longest` for a message while it is
    /// enabled.
    pub fn wait(&self, longest: Duration) -> Option<Either<B, E>> {
        // A time that is too long for the clock means forever.
        let until = Instant::now().checked_add(longest);
        loop {
            self.waiting.fetch_add(1, Ordering::Relaxed);
            let ring = self.ring.load(Ordering::Acquire);
            // This takes the lock: a thread that posts after it sees that this one waits.
            let message = self.get();
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            let is_over = message.is_some()
                || left.is_some_and(|left| left.is_zero())
                || !self.wanted.load(Ordering::Relaxed);
            if !is_over {
                sys::sleep_at(&self.ring, ring, left.unwrap_or(Duration::from_secs(3600)));
            }
            self.waiting.fetch_sub(1, Ordering::Relaxed);
            if is_over {
                return message;
            }
        }
    }

    /// Returns the number of messages that can be fetched.
    pub fn queued(&self) -> u64 {
        self.queued.load(Ordering::Relaxed)
    }

    /// Returns the number of messages that could not be posted since the start of the program.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Runs `work` as a signal handler that interrupts a thread inside a message does.
    #[cfg(test)]
    pub(super) fn interrupted(&self, work: impl FnOnce()) {
        let held = self.lock.lock(sys::me());
        work();
        drop(held);
        self.settle();
    }

    /// Takes the lock before a fork, and keeps it. Returns false if it is not free in time.
    pub(super) fn hold(&self) -> bool {
        self.lock.lock(sys::me()).map(std::mem::forget).is_ok()
    }

    /// Releases the lock that [`hold`](Self::hold) took.
    pub(super) fn let_go(&self) {
        self.lock.reset();
    }

    /// Forgets all messages, in the child of a fork. `is_whole` is false if another thread may have
    /// been inside.
    pub(super) fn reset_in_child(&self, is_whole: bool) {
        self.slots.iter().for_each(Slot::clear);
        {
            // SAFETY: this is the only thread.
            let queues = unsafe { &mut *self.queues.get() };
            if is_whole {
                queues.begins.clear();
                queues.ends.clear();
            } else {
                queues.begins.forget();
                queues.ends.forget();
            }
            queues.is_short = true;
            self.publish(queues);
        }
        for counter in [&self.dropped, &self.refused] {
            counter.store(0, Ordering::Relaxed);
        }
        self.waiting.store(0, Ordering::Relaxed);
        self.pending.store(false, Ordering::Relaxed);
        self.lock.reset();
        let _ = self.with(|queues| self.refill(queues));
    }

    /// Returns the key by which a running pair is found.
    fn key(&self, key: u64) -> u64 {
        if self.form.is_keyed { key } else { sys::me() as u64 }
    }

    /// Posts a begin into room that was reserved.
    fn post(&self, queues: &mut Queues<B, E>, key: u64, values: B) -> Result<(), MessageDrop> {
        if self.form.is_pair && self.slots.iter().any(|slot| slot.runs(key)) {
            return Err(MessageDrop::BegunTwice);
        }
        let Some(slot) = self.slots.iter().find(|slot| slot.is_ready()) else {
            let is_short = self.slots.iter().any(Slot::is_bare);
            return Err(if is_short { MessageDrop::NoMemory } else { MessageDrop::TooMany });
        };
        let ticks = queues.next(clock::ticks());
        if !queues.begins.push(Posted::new(ticks, values)) {
            return Err(MessageDrop::NoMemory);
        }
        if self.form.is_pair {
            slot.begin(key, values);
        } else {
            slot.use_up();
            queues.is_short = true;
            self.refill(queues);
        }
        self.publish(queues);
        Ok(())
    }

    /// Does the work that waits for the lock: posts the ends of pairs, or frees the memory of a
    /// disabled message.
    fn tidy(&self, queues: &mut Queues<B, E>) {
        // Acquire: pairs with the thread that left work.
        if !self.pending.swap(false, Ordering::Acquire) {
            return;
        }
        if !self.wanted.load(Ordering::Relaxed) {
            return self.empty(queues);
        }
        for slot in &self.slots {
            if let Some((ticks, values)) = slot.take_end() {
                let ticks = queues.next(ticks);
                queues.ends.push(Posted::new(ticks, values));
                queues.is_short = true;
            }
        }
        self.refill(queues);
        self.publish(queues);
    }

    /// Reserves room for pairs that may run.
    fn refill(&self, queues: &mut Queues<B, E>) {
        if !queues.is_short || !self.wanted.load(Ordering::Relaxed) {
            return;
        }
        let bare = self.slots.iter().filter(|slot| slot.is_bare());
        let all = bare.fold(true, |all, slot| {
            let has_room = all && queues.reserve(self.form.is_pair);
            if has_room {
                slot.ready();
            }
            has_room
        });
        // A doomed slot will soon be bare.
        queues.is_short = !all || self.slots.iter().any(Slot::is_doomed);
    }

    /// Frees all memory.
    fn empty(&self, queues: &mut Queues<B, E>) {
        self.slots.iter().for_each(Slot::reset);
        queues.begins.clear();
        queues.ends.clear();
        self.refused.store(0, Ordering::Relaxed);
        self.publish(queues);
    }

    fn publish(&self, queues: &Queues<B, E>) {
        self.queued.store((queues.begins.len() + queues.ends.len()) as u64, Ordering::Relaxed);
    }

    /// Runs `work` under the lock. Does the work that waits for the lock before and after that.
    fn with<T>(&self, work: impl FnOnce(&mut Queues<B, E>) -> T) -> Result<T, NotHeld> {
        let held = self.lock.lock(sys::me())?;
        let result = {
            let queues = self.queues(&held);
            self.tidy(queues);
            work(queues)
        };
        drop(held);
        self.settle();
        Ok(result)
    }

    /// Does the work that waits for the lock. If another thread has the lock, that thread does the
    /// work.
    fn settle(&self) {
        while self.pending.load(Ordering::Relaxed) {
            let Ok(held) = self.lock.lock(sys::me()) else { return };
            self.tidy(self.queues(&held));
        }
    }

    #[allow(clippy::mut_from_ref)]
    fn queues(&self, _: &SpinGuard<'_>) -> &mut Queues<B, E> {
        // SAFETY: only the owner of the lock uses them, one reference at a time. Code that
        // interrupts the owner does not get the lock.
        unsafe { &mut *self.queues.get() }
    }

    /// Wakes the threads that wait for a message.
    fn wake(&self) {
        if self.waiting.load(Ordering::Relaxed) > 0 {
            self.ring.fetch_add(1, Ordering::Release);
            sys::wake_at(&self.ring);
        }
        list::ring();
    }

    /// Counts a message that could not be posted, and emits the loss. A message about it could be
    /// lost, too.
    #[cold]
    fn count_dropped(&self, why: MessageDrop) {
        let dropped = self.dropped.fetch_add(1, Ordering::Relaxed) + 1;
        own::message_dropped(self.form.registry, self.form.name, why, dropped);
    }
}

impl From<NotHeld> for MessageDrop {
    fn from(why: NotHeld) -> Self {
        match why {
            NotHeld::Reentrant => MessageDrop::Nested,
            NotHeld::Busy => MessageDrop::Busy,
        }
    }
}
