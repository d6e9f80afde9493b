//! Emits stacks from hard places, as its argument says. Its functions print where they are.

use std::alloc::{GlobalAlloc, Layout, System};
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};

use telemetry::telemetry_event;

#[telemetry_event("stacks.toml")]
mod stacks {}

#[inline(never)]
fn inner(which: u64) {
    stacks::reached!(which);
    black_box(which);
}

#[inline(never)]
fn middle(which: u64) {
    inner(which);
    black_box(which);
}

#[inline(never)]
fn outer(which: u64) {
    middle(which);
    black_box(which);
}

/// More frames than a stack has.
#[inline(never)]
fn deep(left: u64) {
    match left {
        0 => outer(64),
        _ => deep(left - 1),
    }
    black_box(left);
}

extern "C" fn emit_seven() {
    outer(7);
}

extern "C" fn emit_in_handler(_: libc::c_int) {
    outer(8);
}

/// Calls a function with anything in the register that should have a frame.
#[inline(never)]
fn astray(frame: u64) {
    // SAFETY: the register is restored after the call, and the function is safe to call.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        std::arch::asm!(
            "push rbp", "sub rsp, 136", "mov rbp, {frame}", "call {emit}", "add rsp, 136", "pop rbp",
            frame = in(reg) frame, emit = sym emit_seven, clobber_abi("C"),
        );
        #[cfg(target_arch = "aarch64")]
        std::arch::asm!(
            "stp x29, x30, [sp, #-16]!", "mov x29, {frame}", "bl {emit}", "ldp x29, x30, [sp], #16",
            frame = in(reg) frame, emit = sym emit_seven, clobber_abi("C"),
        );
    }
}

/// Allocates with the system's allocator, and emits for each allocation while it is told to.
struct Telling;

static TELLS: AtomicBool = AtomicBool::new(false);

#[global_allocator]
static ALLOCATOR: Telling = Telling;

// SAFETY: the system's allocator, whose results are passed on.
unsafe impl GlobalAlloc for Telling {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if TELLS.load(Ordering::Relaxed) {
            stacks::reached!(9);
        }
        // SAFETY: the caller's promises are the system allocator's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(at, layout) }
    }
}

/// Works until the thread has been sampled often.
#[inline(never)]
fn spin_inner() {
    let since = std::time::Instant::now();
    while since.elapsed() < std::time::Duration::from_millis(300) {
        (0..10_000).for_each(|step| _ = black_box(step));
    }
}

#[inline(never)]
fn spin_outer() {
    spin_inner();
    black_box(());
}

#[inline(never)]
fn allocate() {
    drop(black_box(vec![0_u8; 100]));
}

fn main() {
    for (name, place) in [
        ("inner", inner as *const () as usize),
        ("middle", middle as *const () as usize),
        ("outer", outer as *const () as usize),
        ("deep", deep as *const () as usize),
        ("astray", astray as *const () as usize),
        ("handler", emit_in_handler as *const () as usize),
        ("allocate", allocate as *const () as usize),
        ("spin_inner", spin_inner as *const () as usize),
        ("spin_outer", spin_outer as *const () as usize),
        ("main", main as *const () as usize),
    ] {
        println!("\nplace {name}={place}");
    }
    match std::env::args().nth(1).as_deref() {
        Some("deep") => return deep(100),
        Some("threads") => {
            let threads: Vec<_> =
                (0..4).map(|_| std::thread::spawn(|| (0..1000).for_each(|_| outer(1)))).collect();
            return threads.into_iter().for_each(|thread| thread.join().expect("a thread that emits"));
        }
        Some("astray") => {
            let local = [0_u64; 2];
            let here = local.as_ptr() as u64;
            let others = (0..64).map(|bit| 1_u64 << bit);
            let all = others.chain([0, 1, here, here + 1, here - 8, !0, !7, main as *const () as u64]);
            // Behind the end of the stack, and words all the way up.
            for frame in all.chain((0..4000).map(|word| here + 8 * word)) {
                astray(frame);
            }
            return;
        }
        Some("signal") => {
            let mut stack = vec![0_u8; 64 << 10];
            // SAFETY: the stack outlives the handler, which may emit.
            unsafe {
                let alternate =
                    libc::stack_t { ss_sp: stack.as_mut_ptr().cast(), ss_flags: 0, ss_size: stack.len() };
                libc::sigaltstack(&alternate, std::ptr::null_mut());
                let mut action: libc::sigaction = std::mem::zeroed();
                action.sa_sigaction = emit_in_handler as *const () as usize;
                action.sa_flags = libc::SA_ONSTACK;
                libc::sigaction(libc::SIGUSR1, &action, std::ptr::null_mut());
                libc::raise(libc::SIGUSR1);
            }
            return outer(1);
        }
        Some("sampled") => {
            outer(1);
            return spin_outer();
        }
        Some("allocator") => {
            TELLS.store(true, Ordering::Relaxed);
            (0..100).for_each(|_| allocate());
            return TELLS.store(false, Ordering::Relaxed);
        }
        Some("fork") => {
            outer(1);
            // SAFETY: this program has one thread of its own.
            let child = unsafe { libc::fork() };
            if child == 0 {
                outer(1);
                middle(2);
                return;
            }
            // SAFETY: waits for the child.
            unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) };
            return;
        }
        _ => {}
    }
    for _ in 0..3 {
        outer(1);
        middle(2);
        stacks::left!();
        let _stay = stacks::stay_scope!(3);
    }
}
