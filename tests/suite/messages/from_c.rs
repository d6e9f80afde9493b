//! The accessors for C.
#![allow(unsafe_code)]

use telemetry::messages::memory_used;

use super::{end, quiet, start};
use crate::heard::{self, Mode, Why};

unsafe extern "C" {
    fn telemetry_message_enable(name: *const std::ffi::c_char) -> std::ffi::c_int;
    fn telemetry_message_disable(name: *const std::ffi::c_char) -> std::ffi::c_int;
    fn telemetry_message_queued(name: *const std::ffi::c_char) -> u64;
    fn telemetry_message_get(name: *const std::ffi::c_char) -> *mut std::ffi::c_void;
    fn telemetry_message_wait(name: *const std::ffi::c_char, seconds: f64) -> *mut std::ffi::c_void;
    fn telemetry_message_free(message: *mut std::ffi::c_void);
    fn telemetry_message_is_end(message: *const std::ffi::c_void) -> std::ffi::c_int;
    fn telemetry_message_count(message: *const std::ffi::c_void, name: *const std::ffi::c_char) -> usize;
    fn telemetry_message_integer(
        message: *const std::ffi::c_void,
        name: *const std::ffi::c_char,
        index: usize,
        into: *mut u64,
    ) -> std::ffi::c_int;
    fn telemetry_message_real(
        message: *const std::ffi::c_void,
        name: *const std::ffi::c_char,
        index: usize,
        into: *mut f64,
    ) -> std::ffi::c_int;
    fn telemetry_message_text(
        message: *const std::ffi::c_void,
        name: *const std::ffi::c_char,
        bytes: *mut *const u8,
        len: *mut usize,
    ) -> std::ffi::c_int;
}

#[test]
fn accessors_for_c_poll_a_message_by_name() {
    quiet("from_c::accessors_for_c_poll_a_message_by_name", || {
        assert_eq!(heard::REGISTRY.kinds_on(), 0);
        // SAFETY: all names end in NUL, and messages are used until they are freed.
        unsafe {
            let integer = |message, name: &std::ffi::CStr, index| {
                let mut value = 0;
                let error = telemetry_message_integer(message, name.as_ptr(), index, &mut value);
                (error, value)
            };
            assert_eq!(telemetry_message_enable(std::ptr::null()), libc::EINVAL);
            assert_eq!(telemetry_message_enable(c"Gd".as_ptr()), libc::ENOENT);
            assert_eq!(telemetry_message_enable(c"other:Gc".as_ptr()), libc::ENOENT);
            assert_eq!(telemetry_message_enable(c"heard:Gc".as_ptr()), 0);
            assert_eq!(telemetry_message_enable(c"Everything".as_ptr()), 0);
            assert!(telemetry_message_get(c"Gc".as_ptr()).is_null());
            start(4);
            end(4);
            assert_eq!(telemetry_message_queued(c"Gc".as_ptr()), 2);
            let begin = telemetry_message_get(c"Gc".as_ptr());
            assert_eq!(telemetry_message_is_end(begin), 0);
            assert_eq!(integer(begin, c"condemned_size", 0), (0, 40));
            assert_eq!(integer(begin, c"live_size", 0), (libc::ENOENT, 0));
            telemetry_message_free(begin);
            let end = telemetry_message_wait(c"Gc".as_ptr(), 1.0);
            assert_eq!(telemetry_message_is_end(end), 1);
            assert_eq!(integer(end, c"condemned_size", 0), (0, 36));
            assert_eq!(integer(end, c"why", 0), (0, 1));
            telemetry_message_free(end);
            telemetry_message_free(std::ptr::null_mut());
            assert!(telemetry_message_wait(c"Gc".as_ptr(), 0.001).is_null());

            let label = telemetry::Label(1);
            heard::everything!(
                1_usize,
                -2,
                0.5,
                0.25,
                true,
                label,
                Why::Full,
                Mode::Fast,
                "text",
                b"raw",
                &[5_u64, 6],
                &[1, 2, 3, 4],
                &[]
            );
            let all = telemetry_message_get(c"Everything".as_ptr());
            let count = |name: &std::ffi::CStr| telemetry_message_count(all, name.as_ptr());
            assert_eq!((count(c"words"), count(c"quad"), count(c"whys"), count(c"none")), (2, 4, 0, 0));
            assert_eq!((integer(all, c"words", 1), integer(all, c"words", 2)), ((0, 6), (libc::ENOENT, 0)));
            assert_eq!((integer(all, c"signed", 0), integer(all, c"flag", 0)), ((0, -2_i64 as u64), (0, 1)));
            let (mut real, mut bytes, mut len) = (0.0, std::ptr::null(), 0);
            assert_eq!((telemetry_message_real(all, c"real".as_ptr(), 0, &mut real), real), (0, 0.5));
            for (name, text) in [(c"text", "text"), (c"bytes", "raw")] {
                assert_eq!(telemetry_message_text(all, name.as_ptr(), &mut bytes, &mut len), 0);
                assert_eq!(std::slice::from_raw_parts(bytes, len), text.as_bytes());
            }
            assert_eq!(telemetry_message_text(all, c"real".as_ptr(), &mut bytes, &mut len), libc::ENOENT);
            assert_eq!(
                telemetry_message_text(all, c"text".as_ptr(), std::ptr::null_mut(), &mut len),
                libc::EINVAL
            );
            telemetry_message_free(all);
            assert_eq!(telemetry_message_disable(c"Gc".as_ptr()), 0);
            assert_eq!(telemetry_message_disable(c"Everything".as_ptr()), 0);
        }
        assert_eq!(memory_used(), 0);
        vec![]
    });
}
