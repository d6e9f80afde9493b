//! Pages of the pool, and the lock of the sorter: one owner at a time.

use std::sync::Arc;

use crate::model;
use crate::sync::pages;
use crate::sync::spin::Spin;
use crate::sys;
use crate::sys::atomic::AtomicU16;
use crate::world::Owned;

/// Two threads take and return runs of pages: a page has one owner at a time, and is returned.
#[test]
fn pages_have_one_owner() {
    model(3, || {
        // Four pages are free, so two of the runs are the same pages.
        let shared = Arc::new((AtomicU16::new(!0xf), [(); 4].map(|()| Owned::new())));
        let threads = [1, 4].map(|pages| {
            let shared = shared.clone();
            loom::thread::spawn(move || {
                for _ in 0..2 {
                    let (map, cells) = &*shared;
                    let Some(first) = pages::take(map, pages) else { continue };
                    cells[first..first + pages].iter().for_each(|cell| cell.set(pages as u64));
                    assert!(cells[first..first + pages].iter().all(|cell| cell.get() == pages as u64));
                    pages::give(map, first, pages);
                }
            })
        });
        threads.into_iter().for_each(|thread| thread.join().expect("a thread"));
        assert_eq!(pages::take(&shared.0, 4), Some(0), "all pages came back");
    });
}

/// One thread at a time owns a lock, and the next owner sees what it did.
#[test]
fn a_lock_has_one_owner() {
    model(3, || {
        let shared = Arc::new((Spin::new(), Owned::new()));
        let add = |shared: &(Spin, Owned)| {
            let _held = shared.0.lock(sys::me()).expect("a lock that is held for moments");
            assert!(shared.0.lock(sys::me()).is_err(), "a handler on the same thread goes without");
            shared.1.set(shared.1.get() + 1);
        };
        let threads = [(); 2].map(|()| {
            let shared = shared.clone();
            loom::thread::spawn(move || add(&shared))
        });
        // Each thread gets it, however long another owner does not get to run.
        threads.into_iter().for_each(|thread| thread.join().expect("a thread"));
        let _held = shared.0.lock(sys::me()).expect("the lock is free at last");
        assert_eq!(shared.1.get(), 2);
    });
}
