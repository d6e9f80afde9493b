//! Captures in processes that fork.
#![allow(unsafe_code)]

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use telemetry::testing::{Captured, capture};

use crate::cache::{self, Hit, Miss};
use crate::processes::check;

/// The seconds after which the system ends a child that waits in vain.
const LONGEST: u32 = 60;

/// Forks. Returns the child's number in the parent, and nothing in the child.
fn fork() -> Option<libc::pid_t> {
    // SAFETY: the calling thread continues in the child, and ends it by `exit`.
    let child = unsafe { libc::fork() };
    assert!(child >= 0, "{}", io::Error::last_os_error());
    if child > 0 {
        return Some(child);
    }
    // SAFETY: takes no pointer.
    unsafe { libc::alarm(LONGEST) };
    None
}

/// Ends a child at once. The frames of its caller wait for threads that it does not have.
fn exit(is_right: bool) -> ! {
    // SAFETY: takes no pointer.
    unsafe { libc::_exit(if is_right { 0 } else { 101 }) }
}

/// Waits for the end of a child, and checks that it found all as it should be.
#[track_caller]
fn expect_success(child: libc::pid_t) {
    let mut status = 0;
    // SAFETY: the child is ours, and the status too.
    let ended = unsafe { libc::waitpid(child, &mut status, 0) };
    assert_eq!((ended, status), (child, 0), "{}", io::Error::last_os_error());
}

fn keys<R>(captured: &Captured<R>) -> Vec<u64> {
    captured.of::<Hit>().map(|hit| hit.key).collect()
}

/// Its threads are not in the capture either, and it cannot make captures.
#[test]
fn a_forked_child_is_not_in_the_capture() {
    check("forks::a_forked_child_is_not_in_the_capture", &[], || {
        let captured = capture(|| {
            cache::hit!(1_u64);
            let Some(child) = fork() else {
                let body = || {
                    cache::hit!(2_u64);
                    thread::spawn(|| cache::miss!(3_u64)).join().unwrap();
                    telemetry::flush();
                    assert!(catch_unwind(|| capture(|| ())).is_err(), "a capture in the child");
                };
                exit(catch_unwind(AssertUnwindSafe(body)).is_ok());
            };
            cache::hit!(4_u64);
            expect_success(child);
            cache::hit!(5_u64);
        });
        assert_eq!((keys(&captured), captured.count::<Miss>()), (vec![1, 4, 5], 0));
    });
}

/// The closure returns twice: in the parent, whose capture it is, and in the child.
#[test]
fn a_closure_that_returns_in_a_forked_child_panics_there() {
    check("forks::a_closure_that_returns_in_a_forked_child_panics_there", &[], || {
        let parent = std::process::id();
        let ended = catch_unwind(|| {
            capture(|| {
                cache::hit!(1_u64);
                fork()
            })
        });
        if std::process::id() != parent {
            let panic = ended.err();
            let text = panic.as_ref().and_then(|panic| panic.downcast_ref::<&str>());
            exit(text.is_some_and(|text| text.contains("returned in a forked child")));
        }
        let captured = ended.expect("the capture of the parent");
        assert_eq!(keys(&captured), [1]);
        expect_success(captured.result.expect("the number of the child"));
    });
}
