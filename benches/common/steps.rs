//! Counts the instructions of a function by single steps, under a clock of its own.
//!
//! Under callgrind, the cycle counter goes on while each instruction takes long. So the time of an
//! event takes a byte more than it does natively, which takes more instructions. Here each reading
//! of the counter is [`TICKS`] after the last.

#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicU64, Ordering};

/// Ticks between two readings of the counter: its time takes one byte in the stream.
const TICKS: u64 = 40;

static STEPS: AtomicU64 = AtomicU64::new(0);
static CLOCK: AtomicU64 = AtomicU64::new(0);

/// Returns how many instructions `work` executes in this thread, or `None` if the system cannot
/// keep the counter from the thread. The few instructions that begin and end the count are in it.
pub(crate) fn count(work: impl FnOnce()) -> Option<u64> {
    // SAFETY: the handlers match the signals, and make no calls. The counter is forbidden for this
    // thread alone, and allowed again. The code that sets and clears the flag keeps the stack as it
    // was. Each instruction in between causes a signal that a handler takes.
    unsafe {
        CLOCK.store(core::arch::x86_64::_rdtsc(), Ordering::Relaxed);
        let handle = |signal, handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void)| {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handler as usize;
            action.sa_flags = libc::SA_SIGINFO;
            libc::sigaction(signal, &raw const action, std::ptr::null_mut()) == 0
        };
        if !handle(libc::SIGTRAP, on_step) || !handle(libc::SIGSEGV, on_counter) {
            return None;
        }
        if libc::prctl(libc::PR_SET_TSC, libc::PR_TSC_SIGSEGV) != 0 {
            return None;
        }
        STEPS.store(0, Ordering::Relaxed);
        core::arch::asm!("pushfq", "or dword ptr [rsp], 0x100", "popfq");
        work();
        core::arch::asm!("pushfq", "and dword ptr [rsp], 0xfffffeff", "popfq");
        libc::prctl(libc::PR_SET_TSC, libc::PR_TSC_ENABLE);
    }
    Some(STEPS.load(Ordering::Relaxed))
}

extern "C" fn on_step(_: c_int, _: *mut libc::siginfo_t, _: *mut c_void) {
    STEPS.fetch_add(1, Ordering::Relaxed);
}

/// Does what the instruction at the fault would do, if that reads the counter.
extern "C" fn on_counter(_: c_int, _: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes the context of the instruction that it interrupted.
    let (context, code) = unsafe {
        let context = &mut *context.cast::<libc::ucontext_t>();
        let code = context.uc_mcontext.gregs[libc::REG_RIP as usize] as *const [u8; 3];
        (context, *code)
    };
    let registers = &mut context.uc_mcontext.gregs;
    let length = match code {
        [0x0f, 0x31, _] => 2,
        // `rdtscp` also tells the processor's number.
        [0x0f, 0x01, 0xf9] => {
            registers[libc::REG_RCX as usize] = 0;
            3
        }
        _ => std::process::abort(),
    };
    let now = CLOCK.fetch_add(TICKS, Ordering::Relaxed);
    registers[libc::REG_RAX as usize] = (now & 0xffff_ffff) as i64;
    registers[libc::REG_RDX as usize] = (now >> 32) as i64;
    registers[libc::REG_RIP as usize] += length;
    STEPS.fetch_add(1, Ordering::Relaxed);
}
