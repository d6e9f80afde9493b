//! Memory that a post-mortem finds.
//!
//! With `TELEMETRY_RING` it is a shared mapping of a file, whose pages the kernel keeps if the
//! process is killed. Otherwise it is private memory, which a core dump contains.

use core::ffi::CStr;
use core::fmt::Write;
use core::ptr::null_mut;

use telemetry_format::{NOTICE_PREFIX, Notice, NoticeTag, RING_START, RingHead};

use crate::memory::block::PAGE;
use crate::run::state;
use crate::sys;
use crate::sys::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use crate::sys::raw_file::RawFile;
use crate::sys::text::{Buffer, Shown};
use crate::sys::{NoRing, RingFile};

/// The ring file, and its length.
static FILE: RingFile = RingFile::new();
static LEN: AtomicU64 = AtomicU64::new(0);

/// Maximum number of other names that are tried if another process uses the ring file.
const MAX_NAMES: u32 = 16;

/// Opens the ring file for the memory that is mapped later. Without a file, or if it cannot be
/// opened, memory is private.
///
/// If another process uses the file, opens a file beside it. The same happens if a shared library
/// in this process has its own copy of the runtime, and that copy uses the file.
pub(crate) fn begin(path: Option<&CStr>) {
    LEN.store(RING_START, Ordering::Relaxed);
    LEFT.store(0, Ordering::Relaxed);
    FULL.store(false, Ordering::Relaxed);
    let Some(path) = path else { return };
    let head = RingHead { pid: std::process::id(), session: state::session() };
    let mut opened = FILE.open(path, head);
    for number in 1..=MAX_NAMES {
        if !matches!(opened, Err(NoRing::Busy)) {
            break;
        }
        let mut text = Buffer::new();
        let Some(beside) = beside(path, number, &mut text) else { break };
        opened = FILE.open(beside, head);
        if opened.is_ok() {
            let (path, beside) = (Shown(path.to_bytes()), Shown(beside.to_bytes()));
            sys::report(
                Notice::RingInUse,
                format_args!("the ring file `{path}` is in use; this ring is `{beside}`"),
            );
        }
    }
    if let Err(error) = opened {
        let (tag, path) =
            (NoticeTag { notice: Notice::RingFailed, errno: error.errno() }, Shown(path.to_bytes()));
        sys::report(tag, format_args!("no ring file `{path}`: {error}; {LOST_IF_KILLED}"));
    }
}

/// Returns the path followed by the number of the process, and from 2 on by the number of the ring
/// file.
fn beside<'b>(path: &CStr, number: u32, into: &'b mut Buffer<1100>) -> Option<&'b CStr> {
    into.push(path.to_bytes()).ok()?;
    write!(into, ".{}", std::process::id()).ok()?;
    if number > 1 {
        write!(into, "-{number}").ok()?;
    }
    into.write_char('\0').ok()?;
    CStr::from_bytes_with_nul(into.as_bytes()).ok()
}

/// Maps the pool: zeros, in whole pages. Returns `None` if there is no memory. Does not allocate.
pub(crate) fn map_pool(len: usize) -> Option<*mut u8> {
    let len = len.next_multiple_of(PAGE);
    if !FILE.is_open() {
        return sys::map(len);
    }
    match FILE.map(LEN.fetch_add(len as u64, Ordering::Relaxed), len) {
        Ok(pool) => Some(pool),
        Err(error) => {
            let tag = sys::with_errno(Notice::RingFailed, &error);
            sys::report(tag, format_args!("no space for the ring file: {error}; {LOST_IF_KILLED}"));
            FILE.close(true);
            sys::map(len)
        }
    }
}

/// Maps zeros beside the pool, in whole pages. Returns `None` if there is no memory, or no room in
/// the file. Does not allocate, and is async-signal-safe.
///
/// Reserves the space in the file first, so that no write to the memory finds the disk full.
pub(crate) fn map(len: usize) -> Option<*mut u8> {
    let len = len.next_multiple_of(PAGE);
    if !FILE.is_open() {
        return sys::map(len);
    }
    let mapped = FILE.map(LEN.fetch_add(len as u64, Ordering::Relaxed), len);
    if let Err(error) = &mapped
        && !FULL.swap(true, Ordering::Relaxed)
    {
        // Neither allocates nor takes a lock.
        let _ = RawFile::stderr().print(format_args!(
            "{NOTICE_PREFIX}{} the ring file cannot grow: {error}; new registries and labels are not in it\n",
            sys::with_errno(Notice::RingFull, error),
        ));
    }
    mapped.ok()
}

/// What the lack of a ring file means for the user.
const LOST_IF_KILLED: &str = "events are lost if the process is killed";

/// True once the runtime has reported that the file cannot grow.
static FULL: AtomicBool = AtomicBool::new(false);

/// Memory for what is kept beside the blocks, and how much of it is left. Used at the start, and
/// then only by the thread that has the lock of `control`.
static ROOM: AtomicPtr<u8> = AtomicPtr::new(null_mut());
static LEFT: AtomicUsize = AtomicUsize::new(0);

/// Length of one such mapping after the first, which is a part of the pool's. Pages that are not
/// written cost nothing.
const MORE: usize = 1 << 16;

/// Sets the memory for [`room`], which is never unmapped. A file thus has both the pool and what is
/// needed to read it, or neither.
pub(crate) fn set_room(at: *mut u8, len: usize) {
    ROOM.store(at, Ordering::Relaxed);
    LEFT.store(len, Ordering::Relaxed);
}

/// Returns memory of this length beside the blocks, which is never freed.
pub(crate) fn room(len: usize) -> Option<*mut u8> {
    if LEFT.load(Ordering::Relaxed) < len {
        ROOM.store(map(len.max(MORE))?, Ordering::Relaxed);
        LEFT.store(len.max(MORE), Ordering::Relaxed);
    }
    let at = ROOM.load(Ordering::Relaxed);
    LEFT.fetch_sub(len, Ordering::Relaxed);
    ROOM.store(at.wrapping_add(len), Ordering::Relaxed);
    Some(at)
}

/// Returns the last `len` bytes of what [`room`] returned last.
pub(crate) fn give_back(len: usize) {
    ROOM.store(ROOM.load(Ordering::Relaxed).wrapping_sub(len), Ordering::Relaxed);
    LEFT.fetch_add(len, Ordering::Relaxed);
}

/// Returns true if the memory is that of a file.
pub(crate) fn is_file() -> bool {
    FILE.is_open()
}

/// Returns the path of the ring file, if there is one.
pub(crate) fn ring() -> Option<&'static CStr> {
    FILE.path()
}

/// Closes the file, and removes it unless it is needed. Returns true if there was a file and it was
/// removed.
pub(crate) fn close(is_needed: bool) -> bool {
    FILE.close(!is_needed)
}

/// Leaves file and memory to the parent, in the child of a fork. The child keeps a copy of the
/// memory for an emission that the fork may have interrupted.
pub(crate) fn forget() {
    FILE.part();
    FILE.close(false);
}

/// Returns the path with `%p` replaced by the number of the process, and a NUL at its end. Returns
/// `None` if it does not fit into the buffer.
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

    #[test]
    fn a_ring_file_beside_another_has_the_process_and_a_number() {
        let check = |path: &CStr, number, expected: Option<String>| {
            let mut buffer = Buffer::new();
            let found = beside(path, number, &mut buffer).map(|path| Shown(path.to_bytes()).to_string());
            assert_eq!(found, expected, "{number}");
        };
        let id = std::process::id();
        check(c"/tmp/ring", 1, Some(format!("/tmp/ring.{id}")));
        check(c"/tmp/ring", 2, Some(format!("/tmp/ring.{id}-2")));
        check(c"/tmp/ring", 16, Some(format!("/tmp/ring.{id}-16")));
        let long = std::ffi::CString::new([b'x'; 1100]).expect("no NUL");
        check(&long, 1, None);
    }
}
