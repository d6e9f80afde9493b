//! A timer for each thread, which interrupts it by a signal. Neither allocates nor locks.
#![allow(unsafe_code)]

use core::ffi::{c_int, c_long, c_void};
use core::mem::zeroed;
use core::ptr::null_mut;
use core::time::Duration;
use std::sync::OnceLock;

use crate::sys::maps::quietly;

/// The processor time of the thread that starts the timer.
pub(crate) const CPU_TIME: libc::clockid_t = libc::CLOCK_THREAD_CPUTIME_ID;
/// The time that passes.
pub(crate) const WALL_TIME: libc::clockid_t = libc::CLOCK_MONOTONIC;

/// Where a thread was when its timer interrupted it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Interrupted {
    /// The next instruction, the frame pointer and the stack pointer.
    pub(crate) code: u64,
    pub(crate) frame: u64,
    pub(crate) stack: u64,
    /// How often the timer has expired since the last signal, beyond once.
    pub(crate) overruns: u32,
}

/// The system's number of a timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Timer(c_int);

/// What is called for each signal of a timer.
static REPORT: OnceLock<fn(Interrupted)> = OnceLock::new();

/// The code of a signal that a timer sends.
const SI_TIMER: c_int = -2;

/// What marks the signals of these timers: the address of a variable, which no other code has.
fn mark() -> *mut c_void {
    (&raw const REPORT).cast_mut().cast()
}

/// The start of `siginfo_t` for a signal of a timer, on systems whose addresses have 64 bits.
#[repr(C)]
struct TimerInfo {
    signal: c_int,
    errno: c_int,
    code: c_int,
    _gap: c_int,
    _timer: c_int,
    overruns: c_int,
    value: *mut c_void,
}

/// Makes a signal call `report` when a timer sends it. Returns false, and changes nothing, if the
/// signal has a handler, or if there is no such signal. A signal from elsewhere does what it did
/// before.
pub(crate) fn handle_timers(signal: c_int, report: fn(Interrupted)) -> bool {
    let Some(action) = action_of(signal) else { return false };
    if action.sa_sigaction != libc::SIG_DFL && action.sa_sigaction != libc::SIG_IGN {
        return false;
    }
    let is_ignored = action.sa_sigaction == libc::SIG_IGN;
    if REPORT.set(report).is_err() {
        return false;
    }
    let handler = if is_ignored { on_signal_or_ignore } else { on_signal_or_default };
    // SAFETY: all zeros is valid for an action without handler and mask. The handler has the
    // signature that `SA_SIGINFO` asks for.
    unsafe {
        let mut action: libc::sigaction = zeroed();
        action.sa_sigaction = handler as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
        libc::sigemptyset(&mut action.sa_mask);
        libc::sigaction(signal, &action, null_mut()) == 0
    }
}

/// Returns true if a signal still calls the handler of [`handle_timers`].
pub(crate) fn is_handled(signal: c_int) -> bool {
    let handlers = [on_signal_or_ignore, on_signal_or_default];
    let is_ours = |action: libc::sigaction| {
        handlers.iter().any(|handler| action.sa_sigaction == *handler as *const () as usize)
    };
    quietly(|| action_of(signal)).is_some_and(is_ours)
}

fn action_of(signal: c_int) -> Option<libc::sigaction> {
    // SAFETY: all zeros is valid for the action, which the call fills in. It changes nothing.
    unsafe {
        let mut action: libc::sigaction = zeroed();
        (libc::sigaction(signal, core::ptr::null(), &mut action) == 0).then_some(action)
    }
}

/// Starts a timer of the calling thread, which sends it a signal at each interval. Otherwise
/// returns the system's error.
pub(crate) fn start_timer(clock: libc::clockid_t, signal: c_int, interval: Duration) -> Result<Timer, c_int> {
    let interval =
        libc::timespec { tv_sec: interval.as_secs() as _, tv_nsec: interval.subsec_nanos().into() };
    let times = libc::itimerspec { it_interval: interval, it_value: interval };
    quietly(|| {
        let mut number: c_int = 0;
        // SAFETY: all pointers are to local variables. The C library's own calls would allocate.
        unsafe {
            let mut event: libc::sigevent = zeroed();
            event.sigev_notify = libc::SIGEV_THREAD_ID;
            event.sigev_signo = signal;
            event.sigev_value = libc::sigval { sival_ptr: mark() };
            event.sigev_notify_thread_id = libc::syscall(libc::SYS_gettid) as c_int;
            check(libc::syscall(libc::SYS_timer_create, clock, &raw const event, &raw mut number))?;
            let timer = Timer(number);
            let none = core::ptr::null_mut::<libc::itimerspec>();
            check(libc::syscall(libc::SYS_timer_settime, number, 0, &raw const times, none))
                .inspect_err(|_| stop_timer(timer))?;
            Ok(timer)
        }
    })
}

/// Ends a timer.
pub(crate) fn stop_timer(timer: Timer) {
    // SAFETY: takes no pointer.
    quietly(|| unsafe { libc::syscall(libc::SYS_timer_delete, timer.0) });
}

fn check(result: c_long) -> Result<(), c_int> {
    match result {
        0.. => Ok(()),
        _ => Err(std::io::Error::last_os_error().raw_os_error().unwrap_or(0)),
    }
}

extern "C" fn on_signal_or_default(signal: c_int, info: *mut TimerInfo, context: *mut libc::ucontext_t) {
    if is_reported(info, context) {
        return;
    }
    // As if there were no handler. It is pending until this one returns.
    // SAFETY: the default action needs no handler.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
    }
}

extern "C" fn on_signal_or_ignore(_: c_int, info: *mut TimerInfo, context: *mut libc::ucontext_t) {
    is_reported(info, context);
}

/// Reports the signal of a timer. Returns false if the signal is from elsewhere.
fn is_reported(info: *mut TimerInfo, context: *mut libc::ucontext_t) -> bool {
    // SAFETY: the kernel passes what it knows of the signal, and where it interrupts the thread.
    let (Some(info), Some(context)) = (unsafe { info.as_ref() }, unsafe { context.as_ref() }) else {
        return false;
    };
    if info.code != SI_TIMER || info.value != mark() {
        return false;
    }
    let machine = &context.uc_mcontext;
    #[cfg(target_arch = "x86_64")]
    let [code, frame, stack] =
        [libc::REG_RIP, libc::REG_RBP, libc::REG_RSP].map(|register| machine.gregs[register as usize] as u64);
    #[cfg(target_arch = "aarch64")]
    let [code, frame, stack] = [machine.pc, machine.regs[29], machine.sp];
    let interrupted = Interrupted { code, frame, stack, overruns: u32::try_from(info.overruns).unwrap_or(0) };
    if let Some(report) = REPORT.get() {
        quietly(|| report(interrupted));
    }
    true
}
