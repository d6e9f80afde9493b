//! Functions whose assembly is read. Each has one emitter and nothing else.

use telemetry::telemetry_event;

#[telemetry_event("work.toml")]
pub mod work {}

#[telemetry_event("heard.toml")]
pub mod heard {}

#[unsafe(no_mangle)]
pub fn empty(_: u64, _: u64) {}

/// Not on a critical path: also in the hot variety.
#[unsafe(no_mangle)]
pub fn always(a: u64, b: u64) {
    work::alloc!(a, b, 16_u64, 7);
}

/// Callable from other languages: nothing may unwind out of it.
#[unsafe(no_mangle)]
pub extern "C" fn embedded(a: u64, b: u64) {
    work::alloc!(b, a, 16_u64, 7);
}

/// On a critical path: in the cool variety only.
#[unsafe(no_mangle)]
pub fn critical(a: u64, b: u64) {
    work::fix!(a, b, 16_u64, 7);
}

/// Its arguments take time to evaluate.
#[unsafe(no_mangle)]
pub fn costly(a: u64, b: u64) {
    work::fix!(a / b, b, std::env::args().count(), 7);
}

#[unsafe(no_mangle)]
pub fn text(a: u64, b: u64) {
    work::named!(a, b, 16_u64, 7, "text");
}

/// Part of a message, which the program may receive in every variety.
#[unsafe(no_mangle)]
pub fn messaged(a: u64, b: u64) {
    heard::trace_start!(a, heard::Why::Full, b, 16_u64);
}

/// In the same registry, but not part of a message.
#[unsafe(no_mangle)]
pub fn unheard(a: u64, _: u64) {
    heard::unheard!(a);
}
