//! The runtime's functions for debuggers and C, which are called by name in a stopped process.
//!
//! `include/telemetry.h` describes them. Nothing in a Rust program calls them, so [`keep`] makes
//! the linker keep them. Their prefix is their only namespace. A shared library with its own
//! runtime has its own functions, and the user of a debugger must say which ones to call.
#![allow(unsafe_code)]

use core::ffi::{CStr, c_char, c_int};

use telemetry_format::{BlockType, Header, flags};

use crate::control::switches::Mask;
use crate::drain::passes as drain;
use crate::memory::facts;
use crate::memory::pool::POOL;
use crate::memory::registry;
use crate::own::registry as own;
use crate::own::switches as control;
use crate::postmortem::traceback::{CHUNK, Guard, Scratch, Seen, Traceback, each_block};
use crate::run::clock;
use crate::run::state;
use crate::sys::c_text::text;
use crate::sys::errno::{BUSY, INVALID, NO_MEMORY};
use crate::sys::raw_file::RawFile;
use crate::sys::text::Buffer;

/// Keeps the functions in the program although nothing calls them. Also keeps the mark in its file
/// that says which runtime it has.
pub(crate) fn keep() {
    use core::hint::black_box;
    black_box(crate::model::variety::MARK);
    black_box(telemetry_set as *const ());
    black_box(telemetry_reset as *const ());
    black_box(telemetry_get as *const ());
    black_box(telemetry_flush as *const ());
    black_box(telemetry_dump as *const ());
    black_box(telemetry_describe_last as *const ());
    crate::messages::keep();
}

/// Switches on what the words name.
///
/// # Safety
/// `words` must be null or end in NUL.
#[unsafe(no_mangle)]
unsafe extern "C" fn telemetry_set(words: *const c_char) -> c_int {
    // SAFETY: by the contract of this function.
    unsafe { change(Mask::Output, words, true) }
}

/// Switches off what the words name.
///
/// # Safety
/// As for [`telemetry_set`].
#[unsafe(no_mangle)]
unsafe extern "C" fn telemetry_reset(words: *const c_char) -> c_int {
    // SAFETY: by the contract of this function.
    unsafe { change(Mask::Output, words, false) }
}

/// Writes the words that say what is output, and a NUL, as far as there is room. Returns their
/// length.
///
/// # Safety
/// `to` must be null or point to `size` writable bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn telemetry_get(to: *mut c_char, size: usize) -> usize {
    // SAFETY: by the contract of this function.
    unsafe { copy(&control::get(), to, size) }
}

/// Writes text and a NUL, as far as there is room. Returns its length.
///
/// # Safety
/// `to` must be null or point to `size` writable bytes.
pub(crate) unsafe fn copy(text: &str, to: *mut c_char, size: usize) -> usize {
    if let Some(room) = size.checked_sub(1).filter(|_| !to.is_null()) {
        let len = text.floor_char_boundary(room);
        // SAFETY: by the contract of this function, there is room for these bytes and the NUL.
        unsafe {
            core::ptr::copy_nonoverlapping(text.as_ptr(), to.cast(), len);
            to.add(len).write(0);
        }
    }
    text.len()
}

/// Writes what all threads have recorded to the sinks.
#[unsafe(no_mangle)]
extern "C" fn telemetry_flush() {
    drain::flush();
}

/// Prints the last events of all threads to standard error.
#[unsafe(no_mangle)]
extern "C" fn telemetry_describe_last(events: c_int) {
    Traceback::all_threads(usize::try_from(events).unwrap_or(0)).write_to_stderr();
}

/// Writes all that is in memory as a stream. Returns 0 or the system's error number.
///
/// # Safety
/// As for [`telemetry_set`].
#[unsafe(no_mangle)]
unsafe extern "C" fn telemetry_dump(path: *const c_char) -> c_int {
    // SAFETY: by the contract of this function.
    match unsafe { text(path) } {
        Some(path) => dump(path).err().unwrap_or(0),
        None => INVALID,
    }
}

/// Switches words of a mask on or off. Returns 0 or the system's error number.
///
/// # Safety
/// As for [`telemetry_set`].
pub(crate) unsafe fn change(mask: Mask, words: *const c_char, set: bool) -> c_int {
    // SAFETY: by the contract of this function.
    match unsafe { text(words) }.and_then(|words| words.to_str().ok()) {
        Some(words) if control::try_change(mask, words, set) => 0,
        Some(_) => BUSY,
        None => INVALID,
    }
}

/// Writes all that is in memory. Neither allocates nor waits for a lock, and changes nothing in the
/// blocks.
fn dump(path: &CStr) -> Result<(), c_int> {
    if POOL.memory().is_empty() && !own::ensure() {
        return Err(NO_MEMORY);
    }
    let mut scratch = Guard::take().ok_or(BUSY)?;
    let Scratch { payload, .. } = &mut *scratch;
    let mut file = RawFile::create(path)?;
    let mut text = Buffer::<2048>::new();
    let _ = facts::session(&mut text, Some(facts::ticks_per_second()));
    let header = Header::new(BlockType::Session, state::session());
    write_fact(&mut file, header, text.as_bytes())?;
    for registry in registry::all() {
        let def = registry.def();
        let header =
            Header { registry: def.fingerprint, ..Header::new(BlockType::Registry, state::session()) };
        write_fact(&mut file, header, def.text.as_bytes())?;
    }
    let (mut result, mut told) = (Ok(()), [0; 256]);
    each_block(|block| {
        result = result.and_then(|()| write_events(&mut file, block, payload, &mut told));
    });
    result
}

/// Writes the committed part of a block, and the block of its thread unless `told` contains that
/// thread.
fn write_events(
    file: &mut RawFile,
    block: &Seen,
    payload: &mut [u8; CHUNK],
    told: &mut [u32; 256],
) -> Result<(), c_int> {
    let thread = block.header.thread;
    let slot = &mut told[thread as usize % 256];
    if *slot != thread {
        *slot = thread;
        let mut text = Buffer::<128>::new();
        let _ = facts::of_thread(&mut text, &block.thread_name, block.thread_id);
        let header = Header { thread, ..Header::new(BlockType::Thread, state::session()) };
        write_fact(file, header, text.as_bytes())?;
    }
    // After the state was read, so that no event is later.
    let now = clock::ticks();
    // A block that was evicted meanwhile was written, or is counted as lost.
    let Some(payload) = block.payload(payload).filter(|payload| !payload.is_empty()) else { return Ok(()) };
    let header = Header {
        flags: if block.sealed.is_some() { flags::LAST } else { 0 },
        end_ticks: block.sealed.unwrap_or(now),
        ..block.header.clone()
    };
    write_block(file, header, payload)
}

/// Writes a text block about the session.
fn write_fact(file: &mut RawFile, header: Header, text: &[u8]) -> Result<(), c_int> {
    let moment = state::moment();
    let header = Header {
        flags: flags::LAST,
        payload_len: text.len() as u32,
        unpacked_len: text.len() as u32,
        base_ticks: moment.ticks,
        base_wall: moment.wall,
        end_ticks: moment.ticks,
        ..header
    };
    write_block(file, header, text)
}

fn write_block(file: &mut RawFile, header: Header, payload: &[u8]) -> Result<(), c_int> {
    let header = Header { payload_crc: crc32c::crc32c(payload), ..header };
    file.write(&header.encode(crc32c::crc32c))?;
    file.write(payload)
}
