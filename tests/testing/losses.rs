//! Captures that lost events fail, and say how many and why.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use telemetry::sinks::{self, Batch, Sink};
use telemetry::testing::capture;

use crate::cache;
use crate::processes::child;

/// How long a test waits for another thread before it fails.
const LONGEST: Duration = Duration::from_secs(60);

/// Runs a test in a process of its own, with a small memory and a policy. Checks that it fails, and
/// that its message has these parts.
#[track_caller]
fn check(name: &str, policy: &str, parts: &[&str], test: impl FnOnce()) {
    let settings = [("TELEMETRY_BUFFER", "64k"), ("TELEMETRY_POLICY", policy)];
    let Some(output) = child(name, &settings, test) else { return };
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "the capture fails: {error}");
    parts.iter().for_each(|part| assert!(error.contains(part), "no {part:?} in: {error}"));
}

/// A sink that holds up a pass when it is told to, so that no sink takes anything meanwhile.
struct HoldsUp {
    tell: Sender<()>,
    go_on: Receiver<()>,
}

static HOLDS_UP: AtomicBool = AtomicBool::new(false);

impl Sink for HoldsUp {
    fn write(&mut self, _: &Batch<'_>) -> io::Result<()> {
        if HOLDS_UP.swap(false, Ordering::Relaxed) {
            self.tell.send(()).map_err(io::Error::other)?;
            self.go_on.recv_timeout(LONGEST).map_err(io::Error::other)?;
        }
        Ok(())
    }
}

/// Emits events while the sinks are held up, so that no memory becomes free.
fn capture_held_up(emit: impl FnOnce()) {
    let ((tell, told), (go_on, goes_on)) = (channel(), channel());
    sinks::add_for("all", HoldsUp { tell, go_on: goes_on }).unwrap();
    let captured = capture(|| {
        cache::miss!(1_u64);
        HOLDS_UP.store(true, Ordering::Relaxed);
        let flushes = thread::spawn(telemetry::flush);
        told.recv_timeout(LONGEST).unwrap();
        emit();
        go_on.send(()).unwrap();
        flushes.join().unwrap();
    });
    eprintln!("found {} events", captured.events().len());
}

/// Emits this number of events, of which each needs twelve bytes or more.
fn emit(events: u64) {
    (0..events).for_each(|number| cache::hit!(u64::MAX - number));
}

const OVERWRITTEN: [&str; 3] =
    [" of 100,001 events of the capture were lost: ", " overwritten", "help: `TELEMETRY_BUFFER`"];

#[test]
fn events_that_others_overwrite() {
    check("losses::events_that_others_overwrite", "overwrite", &OVERWRITTEN, || {
        capture_held_up(|| emit(100_000));
    });
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[test]
fn events_of_threads_that_others_overwrite() {
    check("losses::events_of_threads_that_others_overwrite", "overwrite", &OVERWRITTEN, || {
        capture_held_up(|| thread::spawn(|| emit(100_000)).join().unwrap());
    });
}

/// The program has chosen how long an event waits for memory: so short that it is in vain.
#[test]
fn events_that_find_no_memory() {
    let parts = [" of 8,001 events of the capture were lost: ", " without memory; help: `TELEMETRY_BUFFER`"];
    check("losses::events_that_find_no_memory", "wait:0.00001", &parts, || {
        capture_held_up(|| emit(8_000));
    });
}

/// An event whose string cannot be read yet: a handler emits, and then makes it readable. So the
/// handler interrupts the event each time.
#[cfg(target_os = "linux")]
mod interrupted {
    #![allow(unsafe_code)]

    use std::ffi::{c_int, c_void};
    use std::ptr::null_mut;
    use std::sync::atomic::AtomicPtr;

    use super::*;

    /// Length of the string. The system maps and protects whole pages.
    const LEN: usize = 200;

    static PAGE: AtomicPtr<c_void> = AtomicPtr::new(null_mut());

    extern "C" fn on_fault(_: c_int) {
        cache::hit!(2_u64);
        protect(libc::PROT_READ);
    }

    fn protect(access: c_int) {
        // SAFETY: the page is a mapping of this test, or null, which the call refuses.
        let done = unsafe { libc::mprotect(PAGE.load(Ordering::Relaxed), LEN, access) };
        if done != 0 {
            // A handler must not come here again and again.
            std::process::abort();
        }
    }

    /// Returns a string that no code can read until [`on_fault`] has run.
    fn unreadable() -> &'static str {
        // SAFETY: a new mapping, which is never unmapped. Its bytes do not change after they are
        // set. All zeros is a valid action.
        unsafe {
            let access = libc::PROT_READ | libc::PROT_WRITE;
            let page = libc::mmap(null_mut(), LEN, access, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0);
            assert_ne!(page, libc::MAP_FAILED, "{}", io::Error::last_os_error());
            page.cast::<u8>().write_bytes(b'x', LEN);
            PAGE.store(page, Ordering::Relaxed);
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = on_fault as *const () as usize;
            assert_eq!(libc::sigaction(libc::SIGSEGV, &action, null_mut()), 0);
            let text = std::str::from_utf8(std::slice::from_raw_parts(page.cast::<u8>(), LEN)).unwrap();
            protect(libc::PROT_NONE);
            text
        }
    }

    #[test]
    fn events_that_interrupt_another_one() {
        let parts = [
            "1 of 3 events of the capture were lost: ",
            ": 1 inside of another event; help: `TELEMETRY_BUFFER`",
        ];
        check("losses::interrupted::events_that_interrupt_another_one", "drop", &parts, || {
            let captured = capture(|| {
                cache::miss!(1_u64);
                cache::loaded!(3_u64, unreadable());
            });
            eprintln!("found {} events", captured.events().len());
        });
    }
}
