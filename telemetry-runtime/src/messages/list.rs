//! All messages that were ever enabled: what the end of the process and its forks must see to.
#![allow(unsafe_code)]

use core::ptr::null_mut;
use std::sync::OnceLock;
use std::time::Duration;

use super::channel::Form;
use super::posted::Posted;
use super::values::{Valued, Values};
use crate::sync::{AtomicBool, AtomicPtr, Ordering};
use crate::sys;

/// A message of any relation.
pub trait AnyChannel: Sync {
    /// What the relation says of it.
    fn form(&self) -> &Form;
    /// From now on the program hears of it. False if there is no memory for all pairs that may run at once.
    fn start(&'static self) -> bool;
    /// Nobody wants to hear of it any more: all its memory is given back.
    fn stop(&self);
    /// The oldest message.
    fn get(&self) -> Option<AnyMessage>;
    /// The oldest message, after so long at most.
    fn wait(&self, longest: Duration) -> Option<AnyMessage>;
    /// Messages that may be fetched.
    fn queued(&self) -> u64;
    /// Messages that could not be posted.
    fn dropped(&self) -> u64;
    /// Has nobody else be inside. False if somebody is, for long.
    fn hold(&self) -> bool;
    /// Ends that.
    fn let_go(&self);
    /// In the child of a fork: nothing is queued, and nothing runs. `is_whole` if nobody was inside.
    fn begin_anew(&self, is_whole: bool);
}

/// A message of any relation, fetched.
pub struct AnyMessage {
    /// It ends a pair.
    pub is_end: bool,
    /// When it was posted.
    pub ticks: u64,
    values: Box<dyn Values>,
}

impl AnyMessage {
    pub(super) fn new<T: Copy + Values + 'static>(is_end: bool, message: Posted<T>) -> Self {
        AnyMessage { is_end, ticks: Posted::ticks(&message), values: Box::new(*message) }
    }

    /// The parameter of a name.
    pub fn find(&self, name: &str) -> Option<&dyn Valued> {
        self.values.find(name)
    }
}

/// Ties a message into the list.
pub(super) struct Link {
    next: AtomicPtr<Link>,
    channel: OnceLock<&'static dyn AnyChannel>,
    is_listed: AtomicBool,
    /// What `hold` said before a fork.
    is_held: AtomicBool,
}

static FIRST: AtomicPtr<Link> = AtomicPtr::new(null_mut());

impl Link {
    pub(super) const fn new() -> Self {
        Link {
            next: AtomicPtr::new(null_mut()),
            channel: OnceLock::new(),
            is_listed: AtomicBool::new(false),
            is_held: AtomicBool::new(false),
        }
    }
}

/// Puts a message into the list, if it is not there.
pub(super) fn add(link: &'static Link, channel: &'static dyn AnyChannel) {
    if link.is_listed.swap(true, Ordering::Relaxed) {
        return;
    }
    link.channel.get_or_init(|| channel);
    let mut first = FIRST.load(Ordering::Acquire);
    loop {
        link.next.store(first, Ordering::Relaxed);
        let this = core::ptr::from_ref(link).cast_mut();
        // Release: who finds it sees what it is.
        match FIRST.compare_exchange_weak(first, this, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => break,
            Err(other) => first = other,
        }
    }
    static HANDLERS: AtomicBool = AtomicBool::new(false);
    if !HANDLERS.swap(true, Ordering::Relaxed) {
        sys::at_process_exit(at_exit);
        sys::at_fork(prepare, in_parent, in_child);
    }
}

fn each(mut work: impl FnMut(&'static Link, &'static dyn AnyChannel)) {
    let mut at = FIRST.load(Ordering::Acquire);
    // SAFETY: links are of statics.
    while let Some(link) = unsafe { at.as_ref() } {
        if let Some(channel) = link.channel.get() {
            work(link, *channel);
        }
        at = link.next.load(Ordering::Acquire);
    }
}

/// Gives all memory back.
extern "C" fn at_exit() {
    each(|_, channel| channel.stop());
}

extern "C" fn prepare() {
    #[cfg(feature = "async")]
    super::wakers::hold();
    each(|link, channel| link.is_held.store(channel.hold(), Ordering::Relaxed));
}

extern "C" fn in_parent() {
    #[cfg(feature = "async")]
    super::wakers::let_go();
    each(|link, channel| {
        if link.is_held.swap(false, Ordering::Relaxed) {
            channel.let_go();
        }
    });
}

extern "C" fn in_child() {
    #[cfg(feature = "async")]
    super::wakers::begin_anew();
    each(|link, channel| channel.begin_anew(link.is_held.swap(false, Ordering::Relaxed)));
}

/// A message was posted: for those who wait for any.
pub(super) fn ring() {
    #[cfg(feature = "async")]
    super::wakers::ring();
}
