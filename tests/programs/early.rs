//! Emits before `main`, and from exit handlers that are older and younger than the runtime.

use telemetry::telemetry_event;

#[telemetry_event("work.toml")]
mod work {}

#[used]
#[unsafe(link_section = ".init_array")]
static BEFORE_MAIN: extern "C" fn() = before_main;

extern "C" fn before_main() {
    // SAFETY: the handlers may be called at any time.
    unsafe { libc::atexit(older) };
    work::alloc!(1_u64, 0_u64, 0_u64, 1);
    // SAFETY: as above.
    unsafe { libc::atexit(younger) };
}

/// Called after the runtime has ended.
extern "C" fn older() {
    work::alloc!(4_u64, 0_u64, 0_u64, 4);
    telemetry::set("all");
    work::alloc!(5_u64, 0_u64, 0_u64, 5);
    telemetry::flush();
}

/// Called before the runtime ends.
extern "C" fn younger() {
    work::alloc!(3_u64, 0_u64, 0_u64, 3);
}

fn main() {
    work::alloc!(2_u64, 0_u64, 0_u64, 2);
}
