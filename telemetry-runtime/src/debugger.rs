//! The runtime for debuggers and C: functions to be called by name in a process that stands still.
//!
//! `include/telemetry.h` describes them. Nothing in a Rust program calls them, so [`keep`] has the linker keep
//! them. They have no namespace but their prefix: a shared library with a runtime of its own has its own
//! ones, and a debugger must say whose it means.
#![allow(unsafe_code)]

use core::ffi::{CStr, c_char, c_int};

use telemetry_format::{BlockType, Header, flags};

use crate::clock;
use crate::pool::POOL;
use crate::raw_file::{BUSY, INVALID, NO_MEMORY, RawFile};
use crate::text::Buffer;
use crate::traceback::{CHUNK, Guard, Scratch, Seen, Traceback, each_block};
use crate::{control, drain, facts, registry, start};

/// Longest text that is taken.
const MOST_TEXT: usize = 4096;

/// Has the functions end up in the program though nothing calls them; and what tells whoever looks into its
/// file which runtime it has.
pub(crate) fn keep() {
    use core::hint::black_box;
    black_box(crate::variety::MARK);
    black_box(telemetry_set as *const ());
    black_box(telemetry_reset as *const ());
    black_box(telemetry_flush as *const ());
    black_box(telemetry_dump as *const ());
    black_box(telemetry_describe_last as *const ());
    crate::messages::keep();
}

/// Switches on what the words name.
///
/// # Safety
/// `words` must be null or end in a NUL.
#[unsafe(no_mangle)]
unsafe extern "C" fn telemetry_set(words: *const c_char) -> c_int {
    // SAFETY: as promised to us.
    match unsafe { text(words) }.and_then(|words| words.to_str().ok()) {
        Some(words) => control::set(words),
        None => return INVALID,
    }
    0
}

/// Switches off what the words name.
///
/// # Safety
/// As of [`telemetry_set`].
#[unsafe(no_mangle)]
unsafe extern "C" fn telemetry_reset(words: *const c_char) -> c_int {
    // SAFETY: as promised to us.
    match unsafe { text(words) }.and_then(|words| words.to_str().ok()) {
        Some(words) => control::reset(words),
        None => return INVALID,
    }
    0
}

/// Writes what all threads have recorded to the sinks.
#[unsafe(no_mangle)]
extern "C" fn telemetry_flush() {
    drain::flush();
}

/// Prints the last events of all threads to standard error.
#[unsafe(no_mangle)]
extern "C" fn telemetry_describe_last(events: c_int) {
    Traceback::of_all(usize::try_from(events).unwrap_or(0)).to_stderr();
}

/// Writes all that is in memory as a stream, and gives 0 or the system's number of an error.
///
/// # Safety
/// As of [`telemetry_set`].
#[unsafe(no_mangle)]
unsafe extern "C" fn telemetry_dump(path: *const c_char) -> c_int {
    // SAFETY: as promised to us.
    match unsafe { text(path) } {
        Some(path) => dump(path).err().unwrap_or(0),
        None => INVALID,
    }
}

/// The text at a pointer, unless that is null or the text too long.
///
/// # Safety
/// The pointer must be null or the text end in a NUL.
pub(crate) unsafe fn text<'t>(at: *const c_char) -> Option<&'t CStr> {
    if at.is_null() {
        return None;
    }
    // SAFETY: no byte beyond the first NUL is read.
    let len = (0..MOST_TEXT).find(|&index| unsafe { *at.add(index) } == 0)?;
    // SAFETY: there are so many bytes, and the NUL.
    CStr::from_bytes_with_nul(unsafe { core::slice::from_raw_parts(at.cast(), len + 1) }).ok()
}

/// Neither allocates nor waits for a lock, and changes nothing in the blocks.
fn dump(path: &CStr) -> Result<(), c_int> {
    if POOL.memory().is_empty() && !start::ensure() {
        return Err(NO_MEMORY);
    }
    let mut scratch = Guard::take().ok_or(BUSY)?;
    let Scratch { payload, .. } = &mut *scratch;
    let mut file = RawFile::create(path)?;
    let mut text = Buffer::<2048>::new();
    let _ = facts::session(&mut text, Some(facts::ticks_per_second()));
    let header = Header::new(BlockType::Session, start::session());
    write_fact(&mut file, header, text.as_bytes())?;
    for registry in registry::all() {
        let relation = registry.relation();
        let header =
            Header { registry: relation.fingerprint, ..Header::new(BlockType::Registry, start::session()) };
        write_fact(&mut file, header, relation.text.as_bytes())?;
    }
    let (mut result, mut told) = (Ok(()), [0; 256]);
    each_block(|block| {
        result = result.and_then(|()| write_events(&mut file, block, payload, &mut told));
    });
    result
}

/// Writes the committed part of a block, and the block of its thread unless that is among the `told`.
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
        let header = Header { thread, ..Header::new(BlockType::Thread, start::session()) };
        write_fact(file, header, text.as_bytes())?;
    }
    // Not before the state was read, so that no event is later.
    let now = clock::ticks();
    // One that was recycled meanwhile has been written, or counted as lost.
    let Some(payload) = block.payload(payload).filter(|payload| !payload.is_empty()) else { return Ok(()) };
    let header = Header {
        flags: if block.sealed.is_some() { flags::LAST } else { 0 },
        end_ticks: block.sealed.unwrap_or(now),
        ..block.header.clone()
    };
    write_block(file, header, payload)
}

/// Writes a block of text about the session.
fn write_fact(file: &mut RawFile, header: Header, text: &[u8]) -> Result<(), c_int> {
    let moment = start::moment();
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
