//! The runtime's functions for programs in C that are more than a debugger needs: the flight
//! recorder's switches, snapshots, tracebacks, triggers, labels, marks and requests.
//!
//! `include/telemetry.h` describes them. [`keep`] makes the linker keep them, as in `debugger`.
#![allow(unsafe_code)]

use core::ffi::{c_char, c_int, c_void};
use core::fmt::Write;
use std::ffi::{CString, OsString};

use telemetry_format::Label;

use crate::control::switches::Mask;
use crate::drain::passes as drain;
use crate::model::given;
use crate::own::requests::{self, MAX_ANSWER, RequestError};
use crate::own::{labels, marks, switches};
use crate::postmortem::debugger::{change, copy};
use crate::postmortem::traceback::Traceback;
use crate::sys::c_text::text;
use crate::sys::errno::{BUSY, INVALID, IO, NO_MEMORY};
use crate::triggers::list as triggers;

/// The number of bytes of a string that gets a label, and of one character more. By that, a longer
/// string is counted as truncated.
const MAX_LABEL: usize = 4096 + 4;

/// A label as C has it: a structure of its own, so that it is not taken for a number.
#[repr(C)]
#[derive(Clone, Copy)]
struct Number {
    number: u64,
}

/// Makes the linker keep the functions in the program, though nothing calls them.
pub(crate) fn keep() {
    use core::hint::black_box;
    black_box(telemetry_record_set as *const ());
    black_box(telemetry_record_reset as *const ());
    black_box(telemetry_record_get as *const ());
    black_box(telemetry_snapshot as *const ());
    black_box(telemetry_traceback as *const ());
    black_box(telemetry_intern as *const ());
    black_box(telemetry_label as *const ());
    black_box(telemetry_mark as *const ());
    black_box(telemetry_on_request as *const ());
    black_box(telemetry_trigger_add as *const ());
    black_box(telemetry_trigger_remove as *const ());
}

/// Makes the flight recorder record what the words name.
///
/// # Safety
/// `words` must be null or end in NUL.
#[unsafe(no_mangle)]
unsafe extern "C" fn telemetry_record_set(words: *const c_char) -> c_int {
    // SAFETY: by the contract of this function.
    unsafe { change(Mask::Record, words, true) }
}

/// Removes what the words name from the flight recorder.
///
/// # Safety
/// As for [`telemetry_record_set`].
#[unsafe(no_mangle)]
unsafe extern "C" fn telemetry_record_reset(words: *const c_char) -> c_int {
    // SAFETY: by the contract of this function.
    unsafe { change(Mask::Record, words, false) }
}

/// Writes the words that say what the flight recorder records, as far as there is room. Returns
/// their length.
///
/// # Safety
/// `to` must be null or point to `size` writable bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn telemetry_record_get(to: *mut c_char, size: usize) -> usize {
    // SAFETY: by the contract of this function.
    unsafe { copy(&switches::get_record(), to, size) }
}

/// Writes everything that is retained to a file. Returns 0 or the system's error number.
///
/// # Safety
/// `path` must be null or end in NUL.
#[unsafe(no_mangle)]
unsafe extern "C" fn telemetry_snapshot(path: *const c_char) -> c_int {
    // SAFETY: by the contract of this function.
    let Some(path) = (unsafe { text(path) }) else { return INVALID };
    let Some(path) = os_path(path.to_bytes()) else { return INVALID };
    match drain::snapshot(path) {
        Ok(()) => 0,
        Err(error) => error.raw_os_error().unwrap_or(IO),
    }
}

/// Writes the last events of the calling thread as text, as far as there is room. Returns the
/// length of all of the text.
///
/// # Safety
/// `to` must be null or point to `size` writable bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn telemetry_traceback(events: c_int, to: *mut c_char, size: usize) -> usize {
    let mut room = Room { to, size, len: 0 };
    let events = usize::try_from(events).unwrap_or(0);
    let _ = write!(room, "{}", Traceback::current_thread(events));
    if !to.is_null() && size > 0 {
        // SAFETY: by the contract of this function; `write_str` leaves room for the NUL.
        unsafe { to.add(room.len.min(size - 1)).write(0) };
    }
    room.len
}

/// Returns the label of a string.
///
/// # Safety
/// `at` must be null, or point to `len` bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn telemetry_intern(at: *const u8, len: usize) -> Number {
    // SAFETY: by the contract of this function.
    let text = unsafe { label_text(at, len) };
    Number { number: text.map_or(Label::NONE, labels::intern).0 }
}

/// Marks this moment with a text.
///
/// # Safety
/// As for [`telemetry_intern`].
#[unsafe(no_mangle)]
unsafe extern "C" fn telemetry_mark(at: *const u8, len: usize) {
    // SAFETY: by the contract of this function.
    if let Some(text) = unsafe { label_text(at, len) } {
        marks::mark(text);
    }
}

/// Returns the text for a label, as far as it is UTF-8, or nothing if there is none.
///
/// # Safety
/// As for [`telemetry_intern`]. The text must not outlive these bytes.
unsafe fn label_text<'t>(at: *const u8, len: usize) -> Option<&'t str> {
    // SAFETY: by the contract of this function.
    let (text, _) = unsafe { given::text::<MAX_LABEL>(at, len) };
    (!at.is_null() && len <= isize::MAX as usize).then_some(text)
}

/// A function in C that answers a request. It writes the answer, or the reason for none.
type Answer = unsafe extern "C" fn(*mut c_void, *const c_char, *mut c_char, usize) -> c_int;

/// What a program in C gives with such a function.
struct Context(*mut c_void);

// SAFETY: only the function gets the pointer, and the program knows that threads call it.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

impl Context {
    /// Calls a function, and returns its text.
    ///
    /// # Safety
    /// The function must be one that `telemetry_on_request` accepts, for this context.
    unsafe fn answer(&self, answer: Answer, text: &str) -> Result<String, String> {
        let text = CString::new(text).map_err(|_| "found NUL, expected a line of text".to_owned())?;
        let mut buffer = vec![0_u8; MAX_ANSWER];
        // SAFETY: by the contract of this function. The text ends in NUL, and the buffer has the
        // size.
        let failed = unsafe { answer(self.0, text.as_ptr(), buffer.as_mut_ptr().cast(), buffer.len()) };
        let len = buffer.iter().position(|byte| *byte == 0).unwrap_or(buffer.len());
        let mut text = String::from_utf8_lossy(&buffer[..len]).into_owned();
        // Characters that stand for other bytes are longer than those.
        text.truncate(text.floor_char_boundary(MAX_ANSWER));
        if failed == 0 { Ok(text) } else { Err(text) }
    }
}

/// Has a function answer requests of a name. Returns 0 or an error number.
///
/// # Safety
/// `name` must be null or end in NUL. `answer` must be null, or a function that any thread may call
/// with `context`, at any time from now on.
#[unsafe(no_mangle)]
unsafe extern "C" fn telemetry_on_request(
    name: *const c_char,
    answer: Option<Answer>,
    context: *mut c_void,
) -> c_int {
    // SAFETY: by the contract of this function.
    let name = unsafe { text(name) }.and_then(|name| name.to_str().ok());
    let (Some(name), Some(answer)) = (name, answer) else { return INVALID };
    let context = Context(context);
    // SAFETY: by the contract of this function.
    match requests::on_request(name, move |text| unsafe { context.answer(answer, text) }) {
        Ok(()) => 0,
        Err(RequestError::Name) => INVALID,
        Err(RequestError::TooMany) => NO_MEMORY,
        Err(RequestError::Busy) => BUSY,
    }
}

/// Adds a trigger. Returns its number, or 0 and the reason as text, as far as there is room.
///
/// # Safety
/// `text` must be null or end in NUL. `to` must be null or point to `size` writable bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn telemetry_trigger_add(at: *const c_char, to: *mut c_char, size: usize) -> u32 {
    // SAFETY: by the contract of this function.
    let given = unsafe { text(at) }.and_then(|text| text.to_str().ok());
    let added = given.map_or_else(
        || Err("found null or no UTF-8, expected a trigger".to_owned()),
        |text| triggers::add(text).map_err(|error| error.to_string()),
    );
    let why = added.as_ref().err().map_or("", String::as_str);
    // SAFETY: by the contract of this function.
    unsafe { copy(why, to, size) };
    added.map_or(0, triggers::TriggerId::number)
}

/// Removes a trigger. Returns 0, or the error number for one that does not exist.
#[unsafe(no_mangle)]
extern "C" fn telemetry_trigger_remove(number: u32) -> c_int {
    if triggers::remove(triggers::TriggerId::of(number)) { 0 } else { INVALID }
}

/// Gives an address a name.
#[unsafe(no_mangle)]
extern "C" fn telemetry_label(address: *const c_void, label: Number) {
    labels::label(address, Label(label.number));
}

/// Room for text in C, which allocates nothing. What does not fit is only counted.
struct Room {
    to: *mut c_char,
    size: usize,
    len: usize,
}

impl Write for Room {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        let room = if self.to.is_null() { 0 } else { self.size.saturating_sub(1).saturating_sub(self.len) };
        let fits = text.len().min(room);
        if fits > 0 {
            // SAFETY: the caller of `telemetry_traceback` has given `size` bytes.
            unsafe { core::ptr::copy_nonoverlapping(text.as_ptr(), self.to.add(self.len).cast(), fits) };
        }
        self.len += text.len();
        Ok(())
    }
}

/// Returns a path as the standard library has it.
#[cfg(unix)]
fn os_path(path: &[u8]) -> Option<OsString> {
    use std::os::unix::ffi::OsStrExt;
    Some(std::ffi::OsStr::from_bytes(path).to_owned())
}

/// Returns a path as the standard library has it, if it is UTF-8.
#[cfg(not(unix))]
fn os_path(path: &[u8]) -> Option<OsString> {
    core::str::from_utf8(path).ok().map(OsString::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_that_does_not_fit_is_only_counted() {
        let check = |size: usize, expected: &str| {
            let mut bytes = [b'#'; 9];
            let mut room = Room { to: bytes.as_mut_ptr().cast(), size, len: 0 };
            for text in ["abc", "", "defg"] {
                room.write_str(text).expect("no error");
            }
            assert_eq!(room.len, 7, "{size}");
            assert_eq!(core::str::from_utf8(&bytes), Ok(expected), "{size}");
        };
        // The last byte of the size is for the NUL, which comes later.
        check(9, "abcdefg##");
        check(8, "abcdefg##");
        check(7, "abcdef###");
        check(4, "abc######");
        check(3, "ab#######");
        check(1, "#########");
        check(0, "#########");
        let mut none = Room { to: core::ptr::null_mut(), size: 9, len: 0 };
        none.write_str("abc").expect("no error");
        assert_eq!(none.len, 3);
    }
}
