//! The ring file on Unix.
#![allow(unsafe_code)]

use core::cell::UnsafeCell;
use core::ffi::CStr;
use core::ptr::null_mut;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd};
use std::os::unix::fs::FileExt;

use telemetry_format::RingHead;

use crate::sys::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use crate::sys::no_ring::NoRing;
use crate::sys::ring_place::{create, expect_private, is_at, lock, make_way, reopened};
use crate::sys::text::Buffer;
use crate::sys::unix;

/// Maximum number of mappings of the file: the pool, some registries, and all blocks of labels.
const MAX_MAPPINGS: usize = 1 << 11;

/// Maximum length of the path, with NUL.
const MAX_PATH_LEN: usize = 1024;

/// The ring file of the process.
pub(crate) struct RingFile {
    /// The descriptor plus 1; 0 is none.
    fd: AtomicUsize,
    path: RingPath,
    /// The number of mappings.
    mapped: AtomicUsize,
    /// A table of `MAX_MAPPINGS` entries, allocated with the first file, since most programs have
    /// none.
    mappings: AtomicPtr<Mapping>,
}

/// A part of the file in memory. An entry without an address is not a mapping yet.
struct Mapping {
    at: AtomicPtr<u8>,
    len: AtomicUsize,
    offset: AtomicU64,
}

/// The path of the file. Written once, before the descriptor is stored.
struct RingPath(UnsafeCell<[u8; MAX_PATH_LEN]>);

// SAFETY: one thread calls `open`, at the start, and writes the path before it stores the
// descriptor.
unsafe impl Sync for RingPath {}

impl RingFile {
    /// Creates a value without a file.
    pub(crate) const fn new() -> RingFile {
        RingFile {
            fd: AtomicUsize::new(0),
            path: RingPath(UnsafeCell::new([0; MAX_PATH_LEN])),
            mapped: AtomicUsize::new(0),
            mappings: AtomicPtr::new(null_mut()),
        }
    }

    /// Creates the file and writes its head. Does not allocate.
    ///
    /// Never writes to a file that exists: another user may own it, or may have it open. The ring
    /// file that an earlier process left is moved to another name. An empty file is replaced, and
    /// any other file is left alone.
    pub(crate) fn open(&self, path: &CStr, head: RingHead) -> Result<(), NoRing> {
        if path.to_bytes_with_nul().len() > MAX_PATH_LEN {
            return Err(io::Error::from_raw_os_error(libc::ENAMETOOLONG).into());
        }
        if self.mappings().is_empty() {
            let table = unix::map(MAX_MAPPINGS * size_of::<Mapping>());
            let table = table.ok_or_else(|| io::Error::from(io::ErrorKind::OutOfMemory))?;
            self.mappings.store(table.cast(), Ordering::Release);
        }
        for _ in 0..8 {
            let file = match create(path) {
                Ok(file) => file,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    make_way(path)?;
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            // Another process may have found the empty file before it was locked, and may have
            // replaced it.
            if matches!(lock(&file), Err(NoRing::Busy)) || !is_at(&file, path) {
                continue;
            }
            let head = head.encode(crc32c::crc32c);
            let written = expect_private(&file).and_then(|()| Ok(file.write_all_at(&head, 0)?));
            if let Err(why) = written {
                // The file would be in the way of the next process.
                // SAFETY: the path ends in NUL.
                unsafe { libc::unlink(path.as_ptr()) };
                return Err(why);
            }
            self.path.write(path);
            self.fd.store(file.into_raw_fd() as usize + 1, Ordering::Release);
            return Ok(());
        }
        Err(NoRing::Busy)
    }

    /// Returns the table of mappings. It is empty before the first `open`.
    fn mappings(&self) -> &'static [Mapping] {
        let at = self.mappings.load(Ordering::Acquire);
        if at.is_null() {
            return &[];
        }
        // SAFETY: `open` mapped this number of entries as zeros, which are valid, and they are
        // never unmapped.
        unsafe { core::slice::from_raw_parts(at, MAX_MAPPINGS) }
    }

    /// Returns true between `open` and `close`.
    pub(crate) fn is_open(&self) -> bool {
        self.fd.load(Ordering::Acquire) != 0
    }

    /// Reserves `len` bytes in the file from `at` on, and maps them.
    pub(crate) fn map(&self, at: u64, len: usize) -> io::Result<*mut u8> {
        let fd = self.fd.load(Ordering::Acquire) as libc::c_int - 1;
        let Some(mapping) = self.mappings().get(self.mapped.fetch_add(1, Ordering::Relaxed)) else {
            return Err(io::ErrorKind::OutOfMemory.into());
        };
        #[cfg(any(target_os = "linux", target_os = "android", target_os = "freebsd"))]
        // SAFETY: touches no memory.
        let failed = unsafe { libc::posix_fallocate(fd, at as libc::off_t, len as libc::off_t) };
        // On systems without a call that reserves space, the space is written.
        #[cfg(not(any(target_os = "linux", target_os = "android", target_os = "freebsd")))]
        let failed = {
            let zeros = [0_u8; 4096];
            (0..len)
                .step_by(zeros.len())
                .map(|from| {
                    let at = at + from as u64;
                    // SAFETY: the bytes are in memory of this thread.
                    unsafe { libc::pwrite(fd, zeros.as_ptr().cast(), zeros.len(), at as libc::off_t) }
                })
                .find(|&written| written != zeros.len() as isize)
                .map_or(0, |_| libc::ENOSPC)
        };
        if failed != 0 {
            return Err(io::Error::from_raw_os_error(failed));
        }
        // SAFETY: asks for a new mapping anywhere, and touches no existing memory.
        let memory = unsafe {
            libc::mmap(
                core::ptr::null_mut(),
                len,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                fd,
                at as libc::off_t,
            )
        };
        if memory == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        mapping.len.store(len, Ordering::Relaxed);
        mapping.offset.store(at, Ordering::Relaxed);
        mapping.at.store(memory.cast(), Ordering::Release);
        Ok(memory.cast())
    }

    /// Replaces each mapping by a private copy, in the child of a fork, so that the child's writes
    /// do not reach the parent's file. Async-signal-safe.
    pub(crate) fn part(&self) {
        let fd = self.fd.load(Ordering::Acquire) as libc::c_int - 1;
        if fd < 0 {
            return;
        }
        let again = reopened(fd);
        let fd = again.as_ref().map_or(fd, File::as_raw_fd);
        for mapping in self.mappings().iter().take(self.mapped.load(Ordering::Relaxed)) {
            let at = mapping.at.load(Ordering::Acquire);
            let len = mapping.len.load(Ordering::Relaxed);
            if at.is_null() {
                continue;
            }
            let replace = |flags, fd, offset| {
                let access = libc::PROT_READ | libc::PROT_WRITE;
                // SAFETY: `map` made this range. Only this thread is in the process, and it finds
                // the same bytes, or zeros in the worst case.
                let found =
                    unsafe { libc::mmap(at.cast(), len, access, libc::MAP_FIXED | flags, fd, offset) };
                found != libc::MAP_FAILED
            };
            // Zeros if the system refuses: the events that were committed there are not kept.
            let _ = replace(libc::MAP_PRIVATE, fd, mapping.offset.load(Ordering::Relaxed) as libc::off_t)
                || replace(libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0);
        }
    }

    /// Returns the path while the file is open.
    pub(crate) fn path(&self) -> Option<&CStr> {
        // SAFETY: the path ends in NUL and was written before the descriptor was stored.
        self.is_open().then(|| unsafe { CStr::from_ptr(self.path.0.get().cast()) })
    }

    /// Closes the file. Its mappings stay. With `remove` its name goes too, unless another file has
    /// that name by now. Returns true if the name was removed.
    pub(crate) fn close(&self, remove: bool) -> bool {
        let fd = self.fd.swap(0, Ordering::AcqRel);
        if fd == 0 {
            return false;
        }
        let mapped = self.mapped.swap(0, Ordering::Relaxed);
        self.mappings()
            .iter()
            .take(mapped)
            .for_each(|mapping| mapping.at.store(null_mut(), Ordering::Relaxed));
        // SAFETY: this value owned the descriptor. The path ends in NUL and was written before the
        // descriptor. The lock is held until the file is closed, so no other runtime takes the path
        // before.
        unsafe {
            let file = File::from_raw_fd(fd as libc::c_int - 1);
            let path = CStr::from_ptr(self.path.0.get().cast());
            remove && is_at(&file, path) && libc::unlink(path.as_ptr()) == 0
        }
    }
}

impl RingPath {
    /// Writes the absolute path, since the program may change its directory. Writes a path as it is
    /// if the absolute one is too long.
    fn write(&self, path: &CStr) {
        let mut absolute = Buffer::<MAX_PATH_LEN>::new();
        let is_absolute =
            unix::absolute(path.to_bytes(), &mut absolute).is_some() && absolute.push(b"\0").is_ok();
        let bytes = if is_absolute { absolute.as_bytes() } else { path.to_bytes_with_nul() };
        // SAFETY: see `RingPath`.
        unsafe { core::ptr::copy_nonoverlapping(bytes.as_ptr(), self.0.get().cast(), bytes.len()) };
    }
}
