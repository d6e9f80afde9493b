//! Lane records: claimed, filled in, closed, freed, claimed again.

use std::sync::Arc;

use crate::model;
use crate::sync::status::Status;
use crate::world::Owned;

/// One of two threads claims a record, or both do in turn. A pass reads what the claiming thread
/// has filled in, and frees the record when it is closed.
#[test]
fn a_record_has_one_owner() {
    model(3, || {
        let shared = Arc::new((Status::new(), Owned::new()));
        let threads = [1, 2].map(|owner| {
            let shared = shared.clone();
            loom::thread::spawn(move || {
                let (status, record) = &*shared;
                if !status.claim() {
                    return false;
                }
                record.set(owner);
                status.live();
                assert_eq!(record.get(), owner);
                status.close();
                true
            })
        });
        let (status, record) = &*shared;
        let mut freed = 0;
        for _ in 0..2 {
            if status.is_taken() {
                assert_ne!(record.get(), 0, "a record that is taken is filled in");
            }
            if status.is_closed() {
                record.set(0);
                status.free();
                freed += 1;
            }
            loom::thread::yield_now();
        }
        let claimed =
            threads.map(|thread| thread.join().expect("a thread")).iter().filter(|&&claimed| claimed).count();
        assert!((1..=freed + 1).contains(&claimed), "{claimed} claims, freed {freed} times");
    });
}
