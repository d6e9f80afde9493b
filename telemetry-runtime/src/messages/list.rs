//! The list of all messages that were ever enabled, for the end of the process and for its forks.
#![allow(unsafe_code)]

use core::ptr::null_mut;
use std::sync::OnceLock;

#[cfg(feature = "async")]
use super::wakers;
use crate::model::channel::AnyChannel;
use crate::sys;
use crate::sys::atomic::{AtomicBool, AtomicPtr, Ordering};

/// The link of a message in the list.
pub(super) struct Link {
    next: AtomicPtr<Link>,
    channel: OnceLock<&'static dyn AnyChannel>,
    is_listed: AtomicBool,
    /// The result of `hold` before a fork.
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

/// Adds a message to the list, unless it is there.
pub(super) fn add(link: &'static Link, channel: &'static dyn AnyChannel) {
    if link.is_listed.swap(true, Ordering::Relaxed) {
        return;
    }
    link.channel.get_or_init(|| channel);
    let mut first = FIRST.load(Ordering::Acquire);
    loop {
        link.next.store(first, Ordering::Relaxed);
        let this = core::ptr::from_ref(link).cast_mut();
        // Release: a thread that finds the link sees its content.
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
    // SAFETY: links are parts of statics.
    while let Some(link) = unsafe { at.as_ref() } {
        if let Some(channel) = link.channel.get() {
            work(link, *channel);
        }
        at = link.next.load(Ordering::Acquire);
    }
}

/// Frees the memory of all messages.
extern "C" fn at_exit() {
    each(|_, channel| channel.stop());
}

extern "C" fn prepare() {
    #[cfg(feature = "async")]
    wakers::hold();
    each(|link, channel| link.is_held.store(channel.hold(), Ordering::Relaxed));
}

extern "C" fn in_parent() {
    #[cfg(feature = "async")]
    wakers::let_go();
    each(|link, channel| {
        if link.is_held.swap(false, Ordering::Relaxed) {
            channel.let_go();
        }
    });
}

extern "C" fn in_child() {
    #[cfg(feature = "async")]
    wakers::reset_in_child();
    each(|link, channel| channel.reset_in_child(link.is_held.swap(false, Ordering::Relaxed)));
}

/// Wakes the tasks that wait for a message, after one was posted.
pub(super) fn ring() {
    #[cfg(feature = "async")]
    wakers::ring();
}
