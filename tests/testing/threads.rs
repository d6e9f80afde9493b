//! Which events belong to a capture: those of its thread and of the threads that it starts.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use telemetry::testing::{Captured, capture, inherit};

use crate::cache::{self, Hit, Miss};
use crate::work;

/// How long a test waits for another thread before it fails.
const LONGEST: Duration = Duration::from_secs(60);

/// Returns the keys of all hits, sorted.
fn keys<R>(captured: &Captured<R>) -> Vec<u64> {
    let mut keys: Vec<u64> = captured.of::<Hit>().map(|hit| hit.key).collect();
    keys.sort_unstable();
    keys
}

#[test]
fn a_capture_has_the_events_of_its_closure_alone() {
    cache::hit!(1_u64);
    let captured = capture(|| {
        cache::hit!(2_u64);
        cache::miss!(3_u64);
        "done"
    });
    cache::hit!(4_u64);
    assert_eq!(captured.result, "done");
    assert_eq!(keys(&captured), [2]);
    assert_eq!(captured.count::<Miss>(), 1);
    assert_eq!(captured.events().len(), 2);
    assert!(capture(|| ()).events().is_empty());
}

#[test]
fn captures_one_after_the_other_do_not_mix() {
    for round in 0..50_u64 {
        let captured = capture(|| (0..round).for_each(|key| cache::hit!(round * 100 + key)));
        assert_eq!(keys(&captured), (0..round).map(|key| round * 100 + key).collect::<Vec<_>>());
    }
}

#[test]
fn parallel_captures_do_not_mix() {
    let barrier = Arc::new(Barrier::new(8));
    let threads: Vec<_> = (0..8_u64)
        .map(|number| {
            let barrier = Arc::clone(&barrier);
            thread::spawn(move || {
                barrier.wait();
                for round in 0..20 {
                    let first = number * 1_000_000 + round * 1000;
                    let captured = capture(|| {
                        for key in first..first + 100 {
                            cache::hit!(key);
                        }
                        let other = thread::spawn(move || {
                            for key in first + 100..first + 200 {
                                cache::hit!(key);
                            }
                        });
                        other.join().unwrap();
                    });
                    assert_eq!(keys(&captured), (first..first + 200).collect::<Vec<_>>());
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

#[test]
fn a_capture_has_what_fills_many_blocks() {
    let captured = capture(|| (0..300_000_u64).for_each(|key| cache::hit!(key)));
    assert!(captured.of::<Hit>().map(|hit| hit.key).eq(0..300_000));
}

#[test]
fn a_capture_begins_in_the_middle_of_a_block_that_others_had_written() {
    let captured = capture(|| {
        cache::hit!(1_u64);
        telemetry::flush();
        let inner = capture(|| cache::hit!(2_u64));
        cache::hit!(3_u64);
        inner
    });
    assert_eq!(keys(&captured.result), [2]);
    assert_eq!(keys(&captured), [1, 2, 3]);
}

/// Spawned threads are found by `pthread_create`.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod started {
    use super::*;

    #[test]
    fn threads_that_are_started_in_a_capture_belong_to_it() {
        let captured = capture(|| {
            cache::hit!(1_u64);
            thread::spawn(|| {
                cache::hit!(2_u64);
                thread::scope(|scope| {
                    scope.spawn(|| cache::hit!(3_u64));
                    scope.spawn(|| cache::hit!(4_u64));
                });
                thread::spawn(|| cache::hit!(5_u64)).join().unwrap();
            })
            .join()
            .unwrap();
        });
        assert_eq!(keys(&captured), [1, 2, 3, 4, 5]);
    }

    #[test]
    fn a_thread_that_outlives_the_capture_emits_no_more_to_it() {
        let (go_on, goes_on): (Sender<()>, Receiver<()>) = channel();
        let (tell, told) = channel();
        let mut outlives = None;
        let captured = capture(|| {
            outlives = Some(thread::Builder::new().name("outlives".into()).spawn(move || {
                cache::hit!(1_u64);
                tell.send(()).unwrap();
                goes_on.recv_timeout(LONGEST).unwrap();
                cache::hit!(2_u64);
            }));
            told.recv_timeout(LONGEST).unwrap();
        });
        let later = capture(|| {
            go_on.send(()).unwrap();
            outlives.take().unwrap().unwrap().join().unwrap();
        });
        assert_eq!(keys(&captured), [1]);
        assert_eq!(captured.events()[0].thread_name(), Some("outlives"));
        assert!(later.events().is_empty());
    }

    #[test]
    fn events_of_destructors_at_the_end_of_a_thread_belong_to_it() {
        struct AtEnd;
        impl Drop for AtEnd {
            fn drop(&mut self) {
                cache::hit!(2_u64);
            }
        }
        thread_local!(static AT_END: AtEnd = const { AtEnd });
        let captured = capture(|| {
            thread::spawn(|| {
                AT_END.with(|_| cache::hit!(1_u64));
            })
            .join()
            .unwrap();
        });
        assert_eq!(keys(&captured), [1, 2]);
    }
}

#[test]
fn a_thread_from_before_belongs_to_the_captures_that_it_inherits() {
    let (to_worker, work) = channel::<Box<dyn FnOnce() + Send>>();
    let worker = thread::spawn(move || work.iter().for_each(|work| work()));
    let run = |work: Box<dyn FnOnce() + Send>| {
        let (done, is_done) = channel();
        to_worker
            .send(Box::new(move || {
                work();
                done.send(()).unwrap();
            }))
            .unwrap();
        is_done.recv_timeout(LONGEST).unwrap();
    };
    run(Box::new(|| cache::hit!(1_u64)));
    let captured = capture(|| {
        run(Box::new(|| cache::hit!(2_u64)));
        let inherited = inherit();
        let again = inherited.clone();
        run(Box::new(move || inherited.run(|| cache::hit!(3_u64))));
        run(Box::new(|| cache::hit!(4_u64)));
        run(Box::new(move || again.run(|| again.run(|| cache::hit!(5_u64)))));
    });
    assert_eq!(keys(&captured), [3, 5]);
    drop(to_worker);
    worker.join().unwrap();
}

#[test]
fn a_panic_ends_the_capture_and_goes_on() {
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        capture(|| {
            cache::hit!(1_u64);
            std::panic::resume_unwind(Box::new("as expected"));
        })
    }));
    assert_eq!(panicked.unwrap_err().downcast_ref(), Some(&"as expected"));
    let captured = capture(|| cache::hit!(2_u64));
    assert_eq!(keys(&captured), [2]);
    assert_eq!(inherit().run(|| 1), 1);
}

#[test]
fn events_of_several_registries_are_in_the_order_of_time() {
    let captured = capture(|| {
        cache::hit!(1_u64);
        work::tick!();
        cache::miss!(2_u64);
    });
    let names: Vec<_> = captured.events().iter().map(|event| event.name()).collect();
    assert_eq!(names, ["Hit", "Tick", "Miss"]);
    captured.expect::<Hit>().then::<work::Tick>().then::<Miss>();
}
