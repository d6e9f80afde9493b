//! Emits events with known values, for tracers that read them from the probes.

#[telemetry::telemetry_event("probed.toml", c)]
mod probed {}

use probed::Why;

unsafe extern "C" {
    /// The emitter of `Signed` that a program in C calls.
    fn telemetry_emit_probed__signed(a: i8, b: i16, c: i32, d: i64, why: i16);
}

/// Touches pages for the first time. Each is a page fault, which perf can record.
#[inline(never)]
fn touch_pages() {
    let pages = vec![0_u8; PAGES * 4096];
    for page in pages.chunks(4096) {
        std::hint::black_box(page[0]);
    }
}

/// More than a page that the allocator may already have.
const PAGES: usize = 4096;

fn main() {
    probed::no_params!();
    probed::unsigned!(
        0xfe_u8,
        0xfedc_u16,
        0xfedc_ba98_u32,
        u64::MAX - 1,
        7_u64,
        0x1000_usize,
        0x2000_usize,
        true
    );
    probed::signed!(-5_i8, -500_i16, -50_000_i32, i64::MIN, Why::Full);
    // SAFETY: numbers need no care.
    unsafe { telemetry_emit_probed__signed(1, 2, 3, 4, 3) };
    probed::runs!("héllo", b"\0\x01\x02", &[1, 2, 3, 4], 1.5, -0.25);
    probed::touch_begin!();
    touch_pages();
    probed::touch_end!();
    probed::too_many!(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14);
}
