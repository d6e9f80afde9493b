//! The way of one message from its emitters to the program.
#![allow(unsafe_code)]

use core::cell::UnsafeCell;
use core::convert::Infallible;
use std::time::{Duration, Instant};

use super::fifo::Fifo;
use super::list::{self, AnyChannel, AnyMessage, Link};
use super::lock::{Held, Lock, NotHeld, this_thread};
use super::posted::Posted;
use super::slot::Slot;
use super::values::Values;
use crate::own::{self, MessageDrop};
use crate::sync::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use crate::{clock, sys};

/// A message of a relation, as the macro knows it.
#[derive(Debug, Clone, Copy)]
pub struct Form {
    /// Name of the registry.
    pub registry: &'static str,
    /// `CamelCase`.
    pub name: &'static str,
    /// It has an end.
    pub is_pair: bool,
    /// A key tells running pairs apart. Without one a pair runs at a time, in one thread.
    pub is_keyed: bool,
}

/// What begins is `B`, what ends is `E`; at most `LIMIT` run at once. Of a message without an end `E` is
/// [`Infallible`]. The
/// macro makes a static of it.
pub struct Channel<B: 'static, E: 'static, const LIMIT: usize> {
    /// Somebody wants to hear of it: the one thing that emitters look at.
    wanted: AtomicBool,
    /// An end waits in a slot to be posted, or the queues to be given back.
    pending: AtomicBool,
    form: Form,
    lock: Lock,
    queues: UnsafeCell<Queues<B, E>>,
    slots: [Slot<B, E>; LIMIT],
    queued: AtomicU64,
    dropped: AtomicU64,
    /// Begins that were dropped, whose ends are still to come.
    refused: AtomicU64,
    /// Threads that wait for a message, and what they sleep at.
    waiting: AtomicU32,
    ring: AtomicU32,
    link: Link,
}

// SAFETY: the queues are used under the lock alone, slots by their protocol; the values go to other threads.
unsafe impl<B: Send, E: Send, const LIMIT: usize> Sync for Channel<B, E, LIMIT> {}

/// What the lock is for.
struct Queues<B, E> {
    begins: Fifo<B>,
    ends: Fifo<E>,
    /// The time of the message that was posted last.
    last: u64,
    /// Some slots may be bare.
    is_short: bool,
}

/// A message of either half.
#[derive(Debug, Clone, Copy)]
pub enum Either<B, E> {
    /// What begins, or stands alone.
    Begin(Posted<B>),
    /// What ends.
    End(Posted<E>),
}

impl<B> Either<B, Infallible> {
    /// The message, which stands alone.
    pub fn single(self) -> Posted<B> {
        match self {
            Either::Begin(message) => message,
            Either::End(never) => match *never {},
        }
    }
}

impl<B: Copy + Values + 'static, E: Copy + Values + 'static> Either<B, E> {
    fn any(self) -> AnyMessage {
        match self {
            Either::Begin(begin) => AnyMessage::new(false, begin),
            Either::End(end) => AnyMessage::new(true, end),
        }
    }
}

impl<B: Copy + Send, E: Copy + Send, const LIMIT: usize> Channel<B, E, LIMIT> {
    /// A message that nobody wants to hear of yet.
    pub const fn new(form: Form) -> Self {
        Channel {
            wanted: AtomicBool::new(false),
            pending: AtomicBool::new(false),
            form,
            lock: Lock::new(),
            queues: UnsafeCell::new(Queues {
                begins: Fifo::new(),
                ends: Fifo::new(),
                last: 0,
                is_short: false,
            }),
            slots: [const { Slot::new() }; LIMIT],
            queued: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            waiting: AtomicU32::new(0),
            ring: AtomicU32::new(0),
            link: Link::new(),
        }
    }

    /// True while the program wants to hear of it. What emitters ask.
    #[inline(always)]
    pub fn is_wanted(&self) -> bool {
        if self.wanted.load(Ordering::Relaxed) {
            core::hint::cold_path();
            true
        } else {
            false
        }
    }

    /// From now on the program hears of it. False if there is no memory for all pairs that may run at once; then the
    /// rest is tried again with every message that is fetched.
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

    /// Nobody wants to hear of it any more: what is queued or allocated ahead is given back, by the thread that is
    /// inside at this moment, if there is one.
    pub(super) fn disable(&self) {
        self.wanted.store(false, Ordering::Relaxed);
        self.pending.swap(true, Ordering::AcqRel);
        self.settle();
        self.wake();
    }

    /// The pair of a key begins, or a message without an end is posted. The key of a pair without one is of no
    /// meaning.
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

    /// The pair of a key ends. `end` makes what the end says of what the begin said.
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

    /// The oldest message, which is the program's from then on.
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

    /// As [`get`](Self::get), and waits for so long at most if there is none, and while it is enabled.
    pub fn wait(&self, longest: Duration) -> Option<Either<B, E>> {
        // What is too long for the clock is for ever.
        let until = Instant::now().checked_add(longest);
        loop {
            self.waiting.fetch_add(1, Ordering::Relaxed);
            let ring = self.ring.load(Ordering::Acquire);
            // Under the lock: who posts after it sees that somebody waits.
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

    /// Messages that may be fetched.
    pub fn queued(&self) -> u64 {
        self.queued.load(Ordering::Relaxed)
    }

    /// Messages that could not be posted, since the program's beginning.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Does something as what interrupts a thread amid a message would.
    #[cfg(test)]
    pub(super) fn amid(&self, work: impl FnOnce()) {
        let held = self.lock.take();
        work();
        drop(held);
        self.settle();
    }

    /// What tells running pairs apart.
    fn key(&self, key: u64) -> u64 {
        if self.form.is_keyed { key } else { this_thread() as u64 }
    }

    /// Posts a begin, in room that was reserved.
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

    /// Does what waits for the lock: posts the ends of pairs, and gives all back that nobody wants.
    fn tidy(&self, queues: &mut Queues<B, E>) {
        // Acquire: pairs with whoever left something.
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
        // One that is doomed is bare in a moment.
        queues.is_short = !all || self.slots.iter().any(Slot::is_doomed);
    }

    /// Gives all memory back.
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

    /// Does something under the lock, and before and after that what waits for it.
    fn with<T>(&self, work: impl FnOnce(&mut Queues<B, E>) -> T) -> Result<T, NotHeld> {
        let held = self.lock.take()?;
        let result = {
            let queues = self.queues(&held);
            self.tidy(queues);
            work(queues)
        };
        drop(held);
        self.settle();
        Ok(result)
    }

    /// Does what waits for the lock, unless somebody has it, who will.
    fn settle(&self) {
        while self.pending.load(Ordering::Relaxed) {
            let Ok(held) = self.lock.take() else { return };
            self.tidy(self.queues(&held));
        }
    }

    #[allow(clippy::mut_from_ref)]
    fn queues(&self, _: &Held<'_>) -> &mut Queues<B, E> {
        // SAFETY: the one that has the lock uses them, one at a time: what interrupts its thread does not get it.
        unsafe { &mut *self.queues.get() }
    }

    /// Wakes who waits for a message.
    fn wake(&self) {
        if self.waiting.load(Ordering::Relaxed) > 0 {
            self.ring.fetch_add(1, Ordering::Release);
            sys::wake_at(&self.ring);
        }
        list::ring();
    }

    /// A message could not be posted, which the program cannot be told by a message.
    #[cold]
    fn count_dropped(&self, why: MessageDrop) {
        let dropped = self.dropped.fetch_add(1, Ordering::Relaxed) + 1;
        own::message_dropped(self.form.registry, self.form.name, why, dropped);
    }
}

impl<B: Copy, E: Copy> Queues<B, E> {
    /// The time of the next message: later than that of the last one, so that times tell the order of the two queues.
    fn next(&mut self, ticks: u64) -> u64 {
        self.last = ticks.max(self.last.wrapping_add(1));
        self.last
    }

    /// Sets room for a pair aside, or for a begin alone.
    fn reserve(&mut self, is_pair: bool) -> bool {
        let begin = self.begins.reserve();
        if begin && is_pair && !self.ends.reserve() {
            self.begins.unreserve();
            return false;
        }
        begin
    }
}

impl<B: Copy + Send + Values, E: Copy + Send + Values, const LIMIT: usize> Channel<B, E, LIMIT> {
    /// As [`AnyChannel::start`].
    pub fn start(&'static self) -> bool {
        list::add(&self.link, self);
        self.enable()
    }

    /// Nobody wants to hear of it any more: all its memory is given back.
    pub fn stop(&self) {
        self.disable();
    }
}

impl<B, E, const LIMIT: usize> AnyChannel for Channel<B, E, LIMIT>
where
    B: Copy + Send + Values,
    E: Copy + Send + Values,
{
    fn form(&self) -> &Form {
        &self.form
    }

    fn start(&'static self) -> bool {
        Channel::start(self)
    }

    fn stop(&self) {
        self.disable();
    }

    fn get(&self) -> Option<AnyMessage> {
        Channel::get(self).map(Either::any)
    }

    fn wait(&self, longest: Duration) -> Option<AnyMessage> {
        Channel::wait(self, longest).map(Either::any)
    }

    fn queued(&self) -> u64 {
        Channel::queued(self)
    }

    fn dropped(&self) -> u64 {
        Channel::dropped(self)
    }

    fn hold(&self) -> bool {
        self.lock.take().map(std::mem::forget).is_ok()
    }

    fn let_go(&self) {
        self.lock.reset();
    }

    fn begin_anew(&self, is_whole: bool) {
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
}

impl From<NotHeld> for MessageDrop {
    fn from(why: NotHeld) -> Self {
        match why {
            NotHeld::Nested => MessageDrop::Nested,
            NotHeld::Busy => MessageDrop::Busy,
        }
    }
}
