//! Calls the functions that programs in C call, of the registry of every parameter type.
#![allow(unsafe_code, missing_docs)]

use core::ffi::c_void;

use crate::support::stream::Owned;

type Address = *const c_void;

// Declared as the header of `telemetry c` has them.
#[rustfmt::skip]
unsafe extern "C" {
    fn telemetry_emit_sorts__numbers(
        pointer: Address, addr: Address, word: u64, n_u8: u8, n_u16: u16, n_u32: u32, n_u64: u64, n_i8: i8, n_i16: i16,
        n_i32: i32, n_i64: i64, n_f32: f32, n_f64: f64, flag: u8, label: u64,
    );
    fn telemetry_emit_sorts__types(
        e_u8: u8, e_u16: u16, e_u32: u32, e_u64: u64, e_i8: i8, e_i16: i16, e_i32: i32, e_i64: i64, f_u8: u8,
        f_u16: u16, f_u32: u32, f_u64: u64,
    );
    fn telemetry_emit_sorts__runs(
        word: u64, text: *const u8, text_len: usize, short: *const u8, short_len: usize, raw: *const u8, raw_len: usize,
        most: *const u8, most_len: usize, after: u64,
    );
    fn telemetry_emit_sorts__nothing();
    fn telemetry_emit_sorts__up_to(
        pointers: *const Address, pointers_len: usize, addrs: *const Address, addrs_len: usize, words: *const u64,
        words_len: usize, n_u8s: *const u8, n_u8s_len: usize, n_u16s: *const u16, n_u16s_len: usize, n_u32s: *const u32,
        n_u32s_len: usize, n_u64s: *const u64, n_u64s_len: usize, n_i8s: *const i8, n_i8s_len: usize,
        n_i16s: *const i16, n_i16s_len: usize, n_i32s: *const i32, n_i32s_len: usize, n_i64s: *const i64,
        n_i64s_len: usize, n_f32s: *const f32, n_f32s_len: usize, n_f64s: *const f64, n_f64s_len: usize,
        flags: *const u8, flags_len: usize, labels: *const u64, labels_len: usize,
    );
    fn telemetry_emit_sorts__fixed(
        pointers: *const Address, addrs: *const Address, words: *const u64, n_u8s: *const u8, n_u16s: *const u16,
        n_u32s: *const u32, n_u64s: *const u64, n_i8s: *const i8, n_i16s: *const i16, n_i32s: *const i32,
        n_i64s: *const i64, n_f32s: *const f32, n_f64s: *const f64, flags: *const u8, labels: *const u64,
    );
    fn telemetry_emit_sorts__type_arrays(
        e_u8: *const u8, e_u8_len: usize, e_u16: *const u16, e_u16_len: usize, e_u32: *const u32, e_u32_len: usize,
        e_u64: *const u64, e_u64_len: usize, e_i8: *const i8, e_i8_len: usize, e_i16: *const i16, e_i16_len: usize,
        e_i32: *const i32, e_i32_len: usize, e_i64: *const i64, e_i64_len: usize, f_u8: *const u8, f_u8_len: usize,
        f_u16: *const u16, f_u16_len: usize, f_u32: *const u32, f_u32_len: usize, f_u64: *const u64, f_u64_len: usize,
    );
}

/// Emits an event by name.
#[rustfmt::skip]
pub(crate) fn emit(name: &str, v: &[Owned]) {
    let address = |value: &Owned| value.int::<u64>() as usize as Address;
    let pointers = |at: usize| v[at].each(address);
    macro_rules! call {
        ($function:ident: $($argument:expr),*) => {
            // SAFETY: each length is that of its list.
            unsafe { $function($($argument),*) }
        };
    }
    // Calls a function with lists, which live until it returns.
    macro_rules! call_with {
        ($function:ident: $($list:ident = $value:expr;)*; $($argument:expr),*) => {{
            $(let $list = $value;)*
            call!($function: $($argument),*);
        }};
    }
    match name {
        "Numbers" => call!(
            telemetry_emit_sorts__numbers: address(&v[0]), address(&v[1]), v[2].int(), v[3].int(), v[4].int(),
            v[5].int(), v[6].int(), v[7].int(), v[8].int(), v[9].int(), v[10].int(), v[11].f32(), v[12].f64(),
            v[13].int(), v[14].int()
        ),
        "Types" => call!(
            telemetry_emit_sorts__types: v[0].int(), v[1].int(), v[2].int(), v[3].int(), v[4].int(), v[5].int(),
            v[6].int(), v[7].int(), v[8].int(), v[9].int(), v[10].int(), v[11].int()
        ),
        "Runs" => call!(
            telemetry_emit_sorts__runs: v[0].int(), v[1].text().as_ptr(), v[1].text().len(), v[2].text().as_ptr(),
            v[2].text().len(), v[3].bytes().as_ptr(), v[3].bytes().len(), v[4].bytes().as_ptr(), v[4].bytes().len(),
            v[5].int()
        ),
        "Nothing" => call!(telemetry_emit_sorts__nothing:),
        "UpTo" => call_with!(
            telemetry_emit_sorts__up_to:
            a = pointers(0); b = pointers(1); c = v[2].each(Owned::int); d = v[3].each(Owned::int);
            e = v[4].each(Owned::int); f = v[5].each(Owned::int); g = v[6].each(Owned::int);
            h = v[7].each(Owned::int); i = v[8].each(Owned::int); j = v[9].each(Owned::int);
            k = v[10].each(Owned::int); l = v[11].each(Owned::f32); m = v[12].each(Owned::f64);
            n = v[13].each(Owned::int); o = v[14].each(Owned::int);;
            a.as_ptr(), a.len(), b.as_ptr(), b.len(), c.as_ptr(), c.len(), d.as_ptr(), d.len(), e.as_ptr(), e.len(),
            f.as_ptr(), f.len(), g.as_ptr(), g.len(), h.as_ptr(), h.len(), i.as_ptr(), i.len(), j.as_ptr(), j.len(),
            k.as_ptr(), k.len(), l.as_ptr(), l.len(), m.as_ptr(), m.len(), n.as_ptr(), n.len(), o.as_ptr(), o.len()
        ),
        "Fixed" => call_with!(
            telemetry_emit_sorts__fixed:
            a = pointers(0); b = pointers(1); c = v[2].each(Owned::int); d = v[3].each(Owned::int);
            e = v[4].each(Owned::int); f = v[5].each(Owned::int); g = v[6].each(Owned::int);
            h = v[7].each(Owned::int); i = v[8].each(Owned::int); j = v[9].each(Owned::int);
            k = v[10].each(Owned::int); l = v[11].each(Owned::f32); m = v[12].each(Owned::f64);
            n = v[13].each(Owned::int); o = v[14].each(Owned::int);;
            a.as_ptr(), b.as_ptr(), c.as_ptr(), d.as_ptr(), e.as_ptr(), f.as_ptr(), g.as_ptr(), h.as_ptr(), i.as_ptr(),
            j.as_ptr(), k.as_ptr(), l.as_ptr(), m.as_ptr(), n.as_ptr(), o.as_ptr()
        ),
        "TypeArrays" => call_with!(
            telemetry_emit_sorts__type_arrays:
            a = v[0].each(Owned::int); b = v[1].each(Owned::int); c = v[2].each(Owned::int);
            d = v[3].each(Owned::int); e = v[4].each(Owned::int); f = v[5].each(Owned::int);
            g = v[6].each(Owned::int); h = v[7].each(Owned::int); i = v[8].each(Owned::int);
            j = v[9].each(Owned::int); k = v[10].each(Owned::int); l = v[11].each(Owned::int);;
            a.as_ptr(), a.len(), b.as_ptr(), b.len(), c.as_ptr(), c.len(), d.as_ptr(), d.len(), e.as_ptr(), e.len(),
            f.as_ptr(), f.len(), g.as_ptr(), g.len(), h.as_ptr(), h.len(), i.as_ptr(), i.len(), j.as_ptr(), j.len(),
            k.as_ptr(), k.len(), l.as_ptr(), l.len()
        ),
        // The others differ only in their lengths, and `Late` in its clock.
        other => super::emit::emit(other, v),
    }
}
