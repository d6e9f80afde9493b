//! Emits while thread-locals are destroyed, from older and younger ones than the thread's first
//! event.

use telemetry::telemetry_event;

#[telemetry_event("work.toml")]
mod work {}

struct Emits(u32);

impl Drop for Emits {
    fn drop(&mut self) {
        work::alloc!(&*self, 0_u64, 0_u64, self.0);
    }
}

thread_local! {
    static OLDER: Emits = const { Emits(1) };
    static YOUNGER: Emits = const { Emits(2) };
}

fn emit() {
    OLDER.with(|_| {});
    work::tick!();
    YOUNGER.with(|_| {});
}

fn main() {
    for _ in 0..100 {
        std::thread::spawn(emit).join().expect("a thread that only emits");
    }
    emit();
}
