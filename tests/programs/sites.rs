//! Functions whose assembly is read: each has one emitter and nothing else.

use telemetry::telemetry_event;

#[telemetry_event("work.toml")]
pub mod work {}

#[telemetry_event("heard.toml")]
pub mod heard {}

#[unsafe(no_mangle)]
pub fn empty(_: u64, _: u64) {}

/// Not on a critical path: in the hot variety too.
#[unsafe(no_mangle)]
pub fn always(a: u64, b: u64) {
    work::alloc!(a, b, 16_u64, 7);
}

/// As other languages call it: nothing may unwind out of it.
#[unsafe(no_mangle)]
pub extern "C" fn embedded(a: u64, b: u64) {
    work::alloc!(b, a, 16_u64, 7);
}

/// On a critical path: in the cool variety only.
#[unsafe(no_mangle)]
pub fn critical(a: u64, b: u64) {
    work::fix!(a, b, 16_u64, 7);
}

/// Its arguments cost something, where they are evaluated.
#[unsafe(no_mangle)]
pub fn costly(a: u64, b: u64) {
    work::fix!(a / b, b, std::env::args().count(), 7);
}

#[unsafe(no_mangle)]
pub fn text(a: u64, b: u64) {
    work::named!(a, b, 16_u64, 7, "text");
}

/// Of a message, which the program may hear in every variety.
#[unsafe(no_mangle)]
pub fn messaged(a: u64, b: u64) {
    heard::trace_start!(a, heard::Why::Full, b, 16_u64);
}

/// Of the same relation, and of no message.
#[unsafe(no_mangle)]
pub fn unheard(a: u64, _: u64) {
    heard::unheard!(a);
}
