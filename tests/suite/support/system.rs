//! Services of the system for tests: limits, disks, signals, forks.
#![allow(unsafe_code)]

use std::ffi::CString;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::sync::atomic::AtomicU64;
use std::time::Duration;

/// A user that is neither root nor the owner of anything.
pub(crate) const OTHER_USER: u32 = 12345;

/// The effective user of this process.
pub(crate) fn user() -> u32 {
    // SAFETY: takes no arguments and cannot fail.
    unsafe { libc::geteuid() }
}

/// True if this process can act as any user.
pub(crate) fn is_root() -> bool {
    user() == 0
}

/// A command that a user runs.
pub(crate) fn as_user(program: &str, user: u32) -> Command {
    let mut command = Command::new(program);
    be_user(&mut command, user);
    command
}

/// Makes a command run as a user, if this process can do that.
pub(crate) fn be_user(command: &mut Command, user: u32) {
    if is_root() {
        command.uid(user).gid(user);
    }
}

/// Sets the umask of this process.
pub(crate) fn set_umask(mask: u32) {
    // SAFETY: takes no pointer.
    unsafe { libc::umask(mask) };
}

/// Limits the size of files to this number of bytes.
pub(crate) fn limit_file_size(bytes: u64) {
    limit(libc::RLIMIT_FSIZE, bytes);
}

/// Makes a write beyond the limit an error, which would otherwise end the process.
pub(crate) fn ignore_file_size_signal() {
    // SAFETY: ignoring a signal has no handler that could be unsound.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

/// Bytes of memory that only this process uses, according to the kernel.
pub(crate) fn anonymous() -> u64 {
    let text = std::fs::read_to_string("/proc/self/smaps_rollup").expect("what the kernel says of us");
    let line = text.lines().find_map(|line| line.strip_prefix("Anonymous:")).expect("a line of that name");
    let kilobytes: u64 = line.trim().trim_end_matches(" kB").parse().expect("a number");
    kilobytes << 10
}

/// Limits the memory of the process to this number of bytes more than it has now.
pub(crate) fn limit_memory(more: u64) {
    let text = std::fs::read_to_string("/proc/self/statm").expect("what the kernel says of us");
    let pages = text.split(' ').next().and_then(|pages| pages.parse::<u64>().ok());
    limit(libc::RLIMIT_AS, pages.expect("a number of pages") * 4096 + more);
}

/// Makes the system refuse memory barriers for other threads from now on, as some containers do.
/// This applies to the calling thread and the threads that it starts.
pub(crate) fn refuse_barriers() {
    let step = |code: u32, jt, jf, k| libc::sock_filter { code: code as u16, jt, jf, k };
    let filter = [
        // The number of the system call.
        step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0, 1, libc::SYS_membarrier as u32),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_ptr().cast_mut() };
    // SAFETY: the call reads the program, which refuses one system call. Only the runtime makes it.
    let refused = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program)
    };
    assert_eq!(refused, 0, "{}", io::Error::last_os_error());
}

/// Numbers in a file of one page, which survive a kill of the process. Zeros if the file is new.
pub(crate) fn shared_numbers(path: &Path) -> &'static [AtomicU64; 512] {
    let file = std::fs::File::options().read(true).write(true).create(true).truncate(false).open(path);
    let file = file.expect("a file");
    file.set_len(4096).expect("room in the file");
    // SAFETY: a new mapping of a file that never becomes shorter, and that is never unmapped.
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

/// Mounts a disk of this number of bytes at a directory, for this process and its children.
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

/// Makes a signal call `handler`, on the thread that receives it.
pub(crate) fn on_signal(signal: libc::c_int, handler: extern "C" fn(libc::c_int)) {
    // SAFETY: all zeros is a valid action. The handler only emits events and counts. The tests
    // check that this is sound wherever it interrupts.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as *const () as usize;
        action.sa_flags = libc::SA_RESTART;
        assert_eq!(libc::sigaction(signal, &action, std::ptr::null_mut()), 0);
    }
}

/// Sends signals to the calling thread at short intervals, until this is dropped.
pub(crate) struct Alarm(libc::timer_t);

impl Alarm {
    /// Sends `SIGALRM` at this interval.
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

/// Runs `body` in a forked child, which then exits like a program. Returns the child's status.
pub(crate) fn fork(body: impl FnOnce()) -> ExitStatus {
    // SAFETY: only the calling thread continues in the child.
    end_child(unsafe { libc::fork() }, body)
}

/// Does the same by the bare system call, without the handlers that the runtime has for forks.
pub(crate) fn raw_fork(body: impl FnOnce()) -> ExitStatus {
    let none = std::ptr::null_mut::<libc::c_void>();
    // SAFETY: the child has a copy of the memory and of the stack, as after `fork`.
    let child = unsafe { libc::syscall(libc::SYS_clone, libc::SIGCHLD, none, none, none, none) };
    end_child(child as libc::pid_t, body)
}

/// Runs a body in a child, where `child` is 0, and then ends it. Waits for it in the parent.
fn end_child(child: libc::pid_t, body: impl FnOnce()) -> ExitStatus {
    if child == 0 {
        // A child that waits for another thread fails the test instead of blocking it.
        // SAFETY: the kernel ends the child if it takes longer.
        unsafe { libc::alarm(20) };
        if std::panic::catch_unwind(std::panic::AssertUnwindSafe(body)).is_err() {
            // SAFETY: ends the child at once. The frames of its caller wait for threads that it
            // does not have.
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

/// Forks. True in the child, which is to end by [`exit_at_once`], and is not waited for.
pub(crate) fn fork_alone() -> bool {
    // SAFETY: only the calling thread continues in the child. The system removes ended children of
    // the parent.
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

/// Sends a signal to this thread.
pub(crate) fn raise(signal: libc::c_int) {
    // SAFETY: takes no pointer.
    unsafe { libc::raise(signal) };
}

/// Blocks a signal in this thread.
pub(crate) fn block_signal(signal: libc::c_int) {
    // SAFETY: all zeros is a valid set, and the calls fill it.
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        libc::sigaddset(&mut set, signal);
        libc::pthread_sigmask(libc::SIG_BLOCK, &set, std::ptr::null_mut());
    }
}

/// The number of threads of this process. Does not allocate.
pub(crate) fn threads() -> usize {
    let mut text = [0_u8; 512];
    // SAFETY: the path ends in NUL, the buffer has the given length, and the descriptor is ours.
    let len = unsafe {
        let file = libc::open(c"/proc/self/stat".as_ptr(), libc::O_RDONLY);
        let len = libc::read(file, text.as_mut_ptr().cast(), text.len());
        libc::close(file);
        len.max(0).cast_unsigned()
    };
    let text = std::str::from_utf8(&text[..len]).unwrap_or_default();
    // The name of the program, in parentheses, may contain spaces.
    let fields = text.rsplit_once(')').map_or("", |(_, fields)| fields);
    fields.split_ascii_whitespace().nth(17).and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// Sends this thread a signal.
pub(crate) fn send(signal: libc::c_int) {
    // SAFETY: takes no pointers.
    unsafe { libc::raise(signal) };
}

/// The processor time of this thread so far.
pub(crate) fn thread_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a local time.
    assert_eq!(unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) }, 0);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Limits the number of signals that wait for processes of this user, and of their timers.
pub(crate) fn limit_pending_signals(most: u64) {
    limit(libc::RLIMIT_SIGPENDING, most);
}

/// Sets the number of the thread's last error, works for a moment, and returns true if it is still
/// there.
pub(crate) fn keeps_errno(number: libc::c_int) -> bool {
    // SAFETY: the place is that of this thread.
    unsafe { *libc::__errno_location() = number };
    (0..2_000).for_each(|step| _ = std::hint::black_box(step));
    // SAFETY: as above.
    unsafe { *libc::__errno_location() == number }
}
