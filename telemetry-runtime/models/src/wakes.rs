//! The drain is woken for blocks that are handed over, and misses no wake.

use std::sync::Arc;

use crate::model;
use crate::sync::bell::Bell;
use crate::sync::list::{Linked, List};
use crate::sys::atomic::{AtomicBool, AtomicPtr, Ordering};

struct Item(AtomicPtr<Item>);

impl Linked for Item {
    fn next(&self) -> &AtomicPtr<Item> {
        &self.0
    }
}

/// The drain takes what two threads hand over when it looks, or the bell has rung for it.
#[test]
fn no_wake_is_missed() {
    model(3, || {
        let shared = Arc::new((Bell::new(), List::<Item>::new(), AtomicBool::new(false)));
        let threads = [(); 2].map(|()| {
            let shared = shared.clone();
            loom::thread::spawn(move || {
                let item = Box::into_raw(Box::new(Item(AtomicPtr::new(std::ptr::null_mut()))));
                // SAFETY: the item is on the heap until it is taken.
                unsafe { shared.1.push(item) };
                shared.0.ring();
            })
        });
        let mut taken = 0;
        let mut take = || {
            let mut next = shared.1.take();
            while !next.is_null() {
                // SAFETY: this thread owns the items that it has taken.
                let item = unsafe { Box::from_raw(next) };
                next = item.0.load(Ordering::Relaxed);
                taken += 1;
            }
        };
        // The same as the drain: it looks after each answer, and then sleeps unless the bell has
        // rung again.
        shared.0.answer();
        take();
        threads.into_iter().for_each(|thread| thread.join().expect("a thread"));
        if shared.0.has_rung() {
            shared.0.answer();
            take();
        }
        assert_eq!(taken, 2, "handed over, not taken, and the drain sleeps");
    });
}
