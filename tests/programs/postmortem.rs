//! Prints its last events in the way that its argument names, and reports whether it allocated.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};

use telemetry::{Config, recorder::Traceback, sinks::{Batch, Sink}, telemetry_event};

#[telemetry_event("work.toml")]
mod work {}

/// Counts the allocations of threads on which counting is on.
struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;
static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static COUNTS: Cell<bool> = const { Cell::new(false) };
}

// SAFETY: the system's allocator, whose results are passed on.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(COUNTS.get().into(), Ordering::Relaxed);
        // SAFETY: the caller's promises are the system allocator's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(at, layout) }
    }
}

/// Runs `body`, and reports its allocations.
fn counted(body: impl FnOnce()) {
    COUNTS.set(true);
    body();
    COUNTS.set(false);
    println!("\nnumber allocations={}", ALLOCATIONS.load(Ordering::SeqCst));
}

/// Text of a fixed size.
struct Fixed([u8; 4096], usize);

impl Write for Fixed {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        let room = self.0[self.1..].get_mut(..text.len()).ok_or(std::fmt::Error)?;
        room.copy_from_slice(text.as_bytes());
        self.1 += text.len();
        Ok(())
    }
}

/// A sink that takes nothing and does not return.
struct Stuck;

impl Sink for Stuck {
    fn write(&mut self, _: &Batch<'_>) -> std::io::Result<()> {
        loop {
            std::thread::park();
        }
    }
}

fn emit() {
    for number in 0..1000_u64 {
        work::alloc!(number, number << 4, number, 1);
        work::named!(number, 0_u64, 0_u64, 2, "a \"name\"");
        work::fix!(number, 0_u64, 0_u64, 3);
    }
}

extern "C" fn on_signal(_: libc::c_int) {
    Traceback::current_thread(4).write_to_stderr();
}

/// Signals arrive on the smallest possible stack.
fn get_signals() {
    static STACK: [AtomicU64; 2048] = [const { AtomicU64::new(0) }; 2048];
    // SAFETY: the stack is static, writable memory that nothing else uses. The handler is the
    // subject of this test.
    unsafe {
        let stack = libc::stack_t {
            ss_sp: STACK.as_ptr().cast_mut().cast(),
            ss_flags: 0,
            ss_size: size_of_val(&STACK),
        };
        assert_eq!(libc::sigaltstack(&stack, std::ptr::null_mut()), 0);
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_signal as *const () as usize;
        action.sa_flags = libc::SA_ONSTACK;
        assert_eq!(libc::sigaction(libc::SIGUSR1, &action, std::ptr::null_mut()), 0);
    }
    // Between two events, and during a traceback.
    raise();
    write!(Raising(Fixed([0; 4096], 0)), "{}", Traceback::current_thread(1)).expect("room");
}

/// Receives a signal during each write.
struct Raising(Fixed);

impl Write for Raising {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        if self.0.1 == 0 {
            raise();
        }
        self.0.write_str(text)
    }
}

fn raise() {
    // SAFETY: the handler is set.
    assert_eq!(unsafe { libc::raise(libc::SIGUSR1) }, 0);
}

fn main() {
    let how = std::env::args().nth(1).expect("how");
    match how.as_str() {
        // Without it, the runtime's own thread may change the hook at the same time.
        "panic at once" | "panic with a hook" => telemetry::recorder::flush_on_panic(),
        "panic while the drain waits" => Config::new().sink(Stuck).start().unwrap(),
        _ => {}
    }
    emit();
    match how.as_str() {
        "display" => {
            let mut text = Fixed([0; 4096], 0);
            counted(|| write!(text, "{}", Traceback::all_threads(6)).expect("room"));
            println!("{}", std::str::from_utf8(&text.0[..text.1]).expect("text"));
        }
        "stderr" => counted(|| Traceback::all_threads(256).write_to_stderr()),
        "signal" => counted(get_signals),
        "panic" => {
            // After the runtime's own thread has started.
            std::thread::sleep(std::time::Duration::from_millis(300));
            panic!("in main")
        }
        // The program may end before its other threads have run.
        "panic at once" => {
            let _ = std::panic::catch_unwind(|| panic!("at once"));
            std::process::abort();
        }
        // For its sink, which needs its lock.
        "panic while the drain waits" => {
            std::thread::sleep(std::time::Duration::from_millis(300));
            let _ = std::panic::catch_unwind(|| panic!("in vain"));
            std::process::abort();
        }
        "panic with a hook" => {
            std::panic::set_hook(Box::new(|_| eprintln!("the program's hook")));
            telemetry::recorder::flush_on_panic();
            telemetry::recorder::flush_on_panic();
            let _ = std::panic::catch_unwind(|| panic!("unseen"));
            std::process::abort();
        }
        other => panic!("no such end: {other}"),
    }
}
