//! Memory that a post-mortem finds: the pool, and beside it, never overwritten, the blocks of session and
//! registries without which nobody could read what is in the pool.
//!
//! With `TELEMETRY_RING` it is a shared mapping of a file, whose pages the kernel keeps when the process is
//! killed; otherwise it is the process's own, for a core dump.
#![allow(unsafe_code)]

use core::ffi::CStr;
use core::fmt::Write;
use core::ptr::null_mut;

use telemetry_format::{BlockType, HEADER_LEN, Header, Loss, RING_START, RingHead, flags};

use crate::block::PAGE;
use crate::raw_file::RawFile;
use crate::relation::Relation;
use crate::sync::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use crate::sys::{NoRing, RingFile};
use crate::text::{Buffer, Shown};
use crate::{facts, socket, start, sys};

/// The ring file, and how far it reaches.
static FILE: RingFile = RingFile::new();
static LEN: AtomicU64 = AtomicU64::new(0);

/// Files beside the ring's that are tried where somebody else has it.
const MOST_NAMES: u32 = 16;

/// Opens the ring file for memory to come. Without one, or if it cannot be had, memory is the process's own.
///
/// Where another process has the file, or another copy of the runtime in this one, a shared library's, it is a
/// file beside it.
pub(crate) fn begin(path: Option<&CStr>) {
    LEN.store(RING_START, Ordering::Relaxed);
    LEFT.store(0, Ordering::Relaxed);
    FULL.store(false, Ordering::Relaxed);
    let Some(path) = path else { return };
    let head = RingHead { pid: std::process::id(), session: start::session() };
    let mut opened = FILE.open(path, head);
    for number in 1..=MOST_NAMES {
        if !matches!(opened, Err(NoRing::Busy)) {
            break;
        }
        let mut text = Buffer::new();
        let Some(beside) = beside(path, number, &mut text) else { break };
        opened = FILE.open(beside, head);
        if opened.is_ok() {
            sys::complain(format_args!(
                "the ring file `{}` is somebody else's; this ring is `{}`",
                Shown(path.to_bytes()),
                Shown(beside.to_bytes())
            ));
        }
    }
    if let Err(error) = opened {
        sys::complain(format_args!(
            "no ring file `{}`: {error}; a killed process leaves nothing behind",
            Shown(path.to_bytes())
        ));
    }
}

/// The path with the number of the process behind it, and from 2 on the number of the ring in it.
fn beside<'b>(path: &CStr, number: u32, into: &'b mut Buffer<1100>) -> Option<&'b CStr> {
    into.push(path.to_bytes()).ok()?;
    write!(into, ".{}", std::process::id()).ok()?;
    if number > 1 {
        write!(into, "-{number}").ok()?;
    }
    into.write_char('\0').ok()?;
    CStr::from_bytes_with_nul(into.as_bytes()).ok()
}

/// The pool: zeros, of whole pages, or nothing if there is no memory. Does not allocate.
///
/// In a file the first room for what nobody could read the pool without is behind it: a file has both or is none.
pub(crate) fn map_pool(len: usize) -> Option<*mut u8> {
    let len = len.next_multiple_of(PAGE);
    if !FILE.is_open() {
        return sys::map(len);
    }
    let all = len.checked_add(MORE)?;
    match FILE.map(LEN.fetch_add(all as u64, Ordering::Relaxed), all) {
        Ok(pool) => {
            ROOM.store(pool.wrapping_add(len), Ordering::Relaxed);
            LEFT.store(MORE, Ordering::Relaxed);
            Some(pool)
        }
        Err(error) => {
            sys::complain(format_args!(
                "no room for the ring file: {error}; a killed process leaves nothing behind"
            ));
            FILE.close(true);
            sys::map(len)
        }
    }
}

/// Zeros beside the pool, of whole pages, or nothing if there is no memory or no room in the file. Does not allocate,
/// and may be called in a signal handler.
///
/// All room in the file is reserved first, so that no write to the memory ever meets a full disk.
pub(crate) fn map(len: usize) -> Option<*mut u8> {
    let len = len.next_multiple_of(PAGE);
    if !FILE.is_open() {
        return sys::map(len);
    }
    let mapped = FILE.map(LEN.fetch_add(len as u64, Ordering::Relaxed), len);
    if let Err(error) = &mapped
        && !FULL.swap(true, Ordering::Relaxed)
    {
        // Neither allocates nor locks.
        let _ = RawFile::stderr().print(format_args!(
            "telemetry: no more room for the ring file: {error}; registries and labels that are new are not in it\n"
        ));
    }
    mapped.ok()
}

/// It was said that the file cannot have more.
static FULL: AtomicBool = AtomicBool::new(false);

/// Puts the session's block beside the pool, and leaves a link for whoever looks for the file of a dead process.
pub(crate) fn keep_session() {
    if let Some(path) = FILE.path() {
        socket::leave_link(path);
    }
    let mut text = Buffer::<2048>::new();
    let _ = facts::session(&mut text, None);
    keep(&Header::new(BlockType::Session, start::session()), text.as_str());
}

/// Puts a registry's block beside the pool. Does not allocate.
pub(crate) fn keep_registry(relation: &Relation) {
    let header =
        Header { registry: relation.fingerprint, ..Header::new(BlockType::Registry, start::session()) };
    keep(&header, relation.text);
}

/// Memory for what is kept beside the pool, and how much of it is left. Used at the start, and then by who has
/// the lock of control.
static ROOM: AtomicPtr<u8> = AtomicPtr::new(null_mut());
static LEFT: AtomicUsize = AtomicUsize::new(0);

/// Mapped at a time, first with the pool in a file. Pages that are not written to cost nothing.
const MORE: usize = 1 << 16;

fn room(len: usize) -> Option<*mut u8> {
    if LEFT.load(Ordering::Relaxed) < len {
        ROOM.store(map(len.max(MORE))?, Ordering::Relaxed);
        LEFT.store(len.max(MORE), Ordering::Relaxed);
    }
    let at = ROOM.load(Ordering::Relaxed);
    LEFT.fetch_sub(len, Ordering::Relaxed);
    ROOM.store(at.wrapping_add(len), Ordering::Relaxed);
    Some(at)
}

fn keep(header: &Header, text: &str) {
    let Some(at) = room(HEADER_LEN + text.len()) else { return };
    let moment = start::moment();
    let header = Header {
        payload_len: text.len() as u32,
        unpacked_len: text.len() as u32,
        flags: header.flags | flags::LAST,
        base_ticks: moment.ticks,
        base_wall: moment.wall,
        end_ticks: moment.ticks,
        payload_crc: crc32c::crc32c(text.as_bytes()),
        ..header.clone()
    };
    let head = header.encode(crc32c::crc32c);
    // SAFETY: the memory is new, ours, and as long as both.
    unsafe {
        core::ptr::copy_nonoverlapping(head.as_ptr(), at, HEADER_LEN);
        core::ptr::copy_nonoverlapping(text.as_ptr(), at.add(HEADER_LEN), text.len());
    }
}

/// The path of the ring file, if there is one.
#[cfg(all(unix, not(miri)))]
pub(crate) fn ring() -> Option<std::path::PathBuf> {
    use std::os::unix::ffi::OsStrExt;
    FILE.path().map(|path| std::ffi::OsStr::from_bytes(path.to_bytes()).into())
}

/// The end of the process: the file goes if nobody needs it any more. If somebody does, it tells that the session
/// ended in good order, and what was lost of no lane. The caller has the lock of control.
pub(crate) fn end(is_needed: bool, lost: Loss) {
    if is_needed && FILE.is_open() {
        let end = Header { flags: flags::END, lost, ..Header::new(BlockType::Sync, start::session()) };
        keep(&end, "");
    }
    if FILE.close(!is_needed) {
        socket::remove_link();
    }
}

/// In the child of a fork: file and memory are the parent's. The child keeps a copy, for the emission that
/// the fork may have interrupted.
pub(crate) fn forget() {
    FILE.part();
    FILE.close(false);
}

/// A path with `%p` replaced by the number of the process, NUL-ended, in a buffer. Nothing if it does not fit.
pub(crate) fn path<'b>(pattern: &[u8], into: &'b mut Buffer<1024>) -> Option<&'b CStr> {
    let mut rest = pattern;
    while let Some(at) = rest.windows(2).position(|two| two == b"%p") {
        into.push(&rest[..at]).ok()?;
        write!(into, "{}", std::process::id()).ok()?;
        rest = &rest[at + 2..];
    }
    into.push(rest).ok()?;
    into.push(b"\0").ok()?;
    CStr::from_bytes_with_nul(into.as_bytes()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_may_have_the_process_in_them() {
        let check = |pattern: &[u8], expected: Option<String>| {
            let mut buffer = Buffer::new();
            let found = path(pattern, &mut buffer).map(|path| Shown(path.to_bytes()).to_string());
            assert_eq!(found, expected, "{}", Shown(pattern));
        };
        let id = std::process::id();
        check(b"/tmp/ring", Some("/tmp/ring".into()));
        check(b"/tmp/%p.%p.ring", Some(format!("/tmp/{id}.{id}.ring")));
        check(b"r\xff%p%", Some(format!("r\\xff{id}%")));
        check(b"a\0b", None);
        check(&[b'x'; 5000], None);
    }
}
