//! What the tests ask of the system: limits, disks, signals, forks.
#![allow(unsafe_code)]

use std::ffi::CString;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

/// Files may not grow beyond this many bytes.
pub(crate) fn limit_file_size(bytes: u64) {
    limit(libc::RLIMIT_FSIZE, bytes);
}

/// A write beyond the limit is an error and not the end of the process.
pub(crate) fn ignore_file_size_signal() {
    // SAFETY: ignoring a signal has no handler that could be unsound.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

/// The process may have this many more bytes of memory than it has now.
pub(crate) fn limit_memory(more: u64) {
    let text = std::fs::read_to_string("/proc/self/statm").expect("what the kernel says of us");
    let pages = text.split(' ').next().and_then(|pages| pages.parse::<u64>().ok());
    limit(libc::RLIMIT_AS, pages.expect("a number of pages") * 4096 + more);
}

/// Numbers in a file of one page, which keeps them when the process is killed. Zeros if the file is new.
pub(crate) fn shared_numbers(path: &Path) -> &'static [AtomicU64; 512] {
    let file = std::fs::File::options().read(true).write(true).create(true).truncate(false).open(path);
    let file = file.expect("a file");
    file.set_len(4096).expect("room in the file");
    // SAFETY: a new mapping of a file that nobody makes shorter, and that is never unmapped.
    unsafe {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let at = libc::mmap(std::ptr::null_mut(), 4096, access, libc::MAP_SHARED, file.as_raw_fd(), 0);
        assert_ne!(at, libc::MAP_FAILED, "{}", io::Error::last_os_error());
        &*at.cast()
    }
}

fn limit(which: libc::__rlimit_resource_t, bytes: u64) {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: both calls are given a limit of our own.
    let set = unsafe {
        libc::getrlimit(which, &mut limit);
        limit.rlim_cur = libc::rlim_t::try_from(bytes).unwrap_or(limit.rlim_max).min(limit.rlim_max);
        libc::setrlimit(which, &limit)
    };
    assert_eq!(set, 0, "{}", io::Error::last_os_error());
}

/// Makes a directory a disk of so many bytes, for this process and those that it starts.
pub(crate) fn mount_small_disk(at: &Path, bytes: u32) -> io::Result<()> {
    std::fs::create_dir_all(at)?;
    let path = CString::new(at.as_os_str().as_encoded_bytes())?;
    let check = |result| if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) };
    // SAFETY: all strings end in NUL; the mounts are this process's own and end with it.
    unsafe {
        check(libc::unshare(libc::CLONE_NEWNS))?;
        let private = libc::MS_REC | libc::MS_PRIVATE;
        check(libc::mount(c"none".as_ptr(), c"/".as_ptr(), std::ptr::null(), private, std::ptr::null()))?;
        let size = CString::new(format!("size={bytes}"))?;
        check(libc::mount(c"tmpfs".as_ptr(), path.as_ptr(), c"tmpfs".as_ptr(), 0, size.as_ptr().cast()))
    }
}

/// Has `handler` called for a signal, on the thread that gets it.
pub(crate) fn on_signal(signal: libc::c_int, handler: extern "C" fn(libc::c_int)) {
    // SAFETY: all zeros is a valid action. That the handler is sound wherever it interrupts is what the
    // tests are about: it only emits events and counts.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as *const () as usize;
        action.sa_flags = libc::SA_RESTART;
        assert_eq!(libc::sigaction(signal, &action, std::ptr::null_mut()), 0);
    }
}

/// Signals that come to the calling thread at short intervals, whatever it does, until this is dropped.
pub(crate) struct Alarm(libc::timer_t);

impl Alarm {
    /// Sends `SIGALRM` every so often.
    pub(crate) fn every(interval: Duration) -> Alarm {
        let interval = libc::timespec { tv_sec: 0, tv_nsec: interval.subsec_nanos() as libc::c_long };
        let timer = libc::itimerspec { it_interval: interval, it_value: interval };
        // SAFETY: all zeros is a valid event; what the calls are given is ours.
        unsafe {
            let mut event: libc::sigevent = std::mem::zeroed();
            event.sigev_notify = libc::SIGEV_THREAD_ID;
            event.sigev_signo = libc::SIGALRM;
            event.sigev_notify_thread_id = libc::gettid();
            let mut id = std::ptr::null_mut();
            assert_eq!(libc::timer_create(libc::CLOCK_MONOTONIC, &mut event, &mut id), 0);
            assert_eq!(libc::timer_settime(id, 0, &timer, std::ptr::null_mut()), 0);
            Alarm(id)
        }
    }
}

impl Drop for Alarm {
    fn drop(&mut self) {
        // SAFETY: the timer is ours, and used no more.
        unsafe { libc::timer_delete(self.0) };
    }
}

/// The calling thread, for [`signal_thread`].
pub(crate) fn this_thread() -> libc::pthread_t {
    // SAFETY: takes nothing and cannot fail.
    unsafe { libc::pthread_self() }
}

/// Sends a signal to a thread that has not been joined.
pub(crate) fn signal_thread(thread: libc::pthread_t, signal: libc::c_int) {
    // SAFETY: a thread's number is valid until it is joined.
    unsafe { libc::pthread_kill(thread, signal) };
}

/// Runs `body` in a forked child, which then exits as programs do. The child's status.
pub(crate) fn fork(body: impl FnOnce()) -> ExitStatus {
    // SAFETY: only the calling thread goes on in the child, where it runs the body and exits.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // A child that waits for what only another thread could give fails the test, and does not hang it.
        // SAFETY: has the kernel end the child if it takes longer.
        unsafe { libc::alarm(20) };
        if std::panic::catch_unwind(std::panic::AssertUnwindSafe(body)).is_err() {
            // SAFETY: ends the child at once: its caller's frames wait for threads that it does not have.
            unsafe { libc::_exit(101) };
        }
        // SAFETY: ends the child by way of its exit handlers.
        unsafe { libc::exit(0) };
    }
    assert!(child > 0, "{}", io::Error::last_os_error());
    let mut status = 0;
    // SAFETY: the child is ours and the status too.
    while unsafe { libc::waitpid(child, &mut status, 0) } != child {}
    ExitStatus::from_raw(status)
}

/// Forks. True in the child, which is to end by [`exit_at_once`], and whom nobody waits for.
pub(crate) fn fork_alone() -> bool {
    // SAFETY: only the calling thread goes on in the child. The parent has its ended children taken away.
    unsafe {
        libc::signal(libc::SIGCHLD, libc::SIG_IGN);
        let child = libc::fork();
        assert!(child >= 0, "{}", io::Error::last_os_error());
        if child == 0 {
            libc::alarm(20);
        }
        child == 0
    }
}

/// Ends the process, without its exit handlers.
pub(crate) fn exit_at_once() -> ! {
    // SAFETY: nothing is left to be done.
    unsafe { libc::_exit(0) }
}
