//! The file that a post-mortem reads, on Unix.
#![allow(unsafe_code)]

use core::cell::UnsafeCell;
use core::ffi::CStr;
use core::ptr::null_mut;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use crate::sync::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use crate::text::Buffer;

/// Most mappings of the file: the pool, some for registries, and all blocks of labels.
const MOST_MAPPINGS: usize = 1 << 11;

/// The file that is mapped for a post-mortem.
pub(crate) struct RingFile {
    /// Its descriptor, plus 1; 0 is none.
    fd: AtomicUsize,
    path: RingPath,
    /// How many mappings there are, and which.
    mapped: AtomicUsize,
    mappings: [Mapping; MOST_MAPPINGS],
}

/// A part of the file in memory. Without an address it is none yet.
struct Mapping {
    at: AtomicPtr<u8>,
    len: AtomicUsize,
    offset: AtomicU64,
}

impl Mapping {
    const fn none() -> Mapping {
        Mapping { at: AtomicPtr::new(null_mut()), len: AtomicUsize::new(0), offset: AtomicU64::new(0) }
    }
}

/// Where it is. Written once, before the descriptor.
struct RingPath(UnsafeCell<[u8; 1024]>);

// SAFETY: `open`, which one thread calls at the start, writes the path before it stores the descriptor.
unsafe impl Sync for RingPath {}

impl RingFile {
    /// No file.
    pub(crate) const fn new() -> RingFile {
        RingFile {
            fd: AtomicUsize::new(0),
            path: RingPath(UnsafeCell::new([0; 1024])),
            mapped: AtomicUsize::new(0),
            mappings: [const { Mapping::none() }; MOST_MAPPINGS],
        }
    }

    /// Opens a file that no other process has open as its ring. What an earlier process has left in it is kept
    /// under another name. Does not allocate.
    pub(crate) fn open(&self, path: &CStr) -> io::Result<()> {
        let mut old = Buffer::<1100>::new();
        let _ = old.push(path.to_bytes());
        let _ = old.push(b".old\0");
        for _ in 0..4 {
            let flags = libc::O_RDWR | libc::O_CREAT | libc::O_CLOEXEC | libc::O_NOFOLLOW;
            // SAFETY: the path ends in NUL.
            let fd = unsafe { libc::open(path.as_ptr(), flags, 0o600 as libc::c_uint) };
            if fd < 0 {
                return Err(io::Error::last_os_error());
            }
            let give_up = |error| {
                // SAFETY: the descriptor is ours.
                unsafe { libc::close(fd) };
                Err(error)
            };
            // SAFETY: as above.
            if unsafe { libc::flock(fd, libc::LOCK_EX | libc::LOCK_NB) } != 0 {
                // A running process has it.
                return give_up(io::Error::from_raw_os_error(libc::EBUSY));
            }
            // SAFETY: the pointer is to a value of our own.
            let (found, status) = unsafe {
                let mut status: libc::stat = core::mem::zeroed();
                (libc::fstat(fd, &mut status), status)
            };
            if found != 0 || status.st_mode & libc::S_IFMT != libc::S_IFREG {
                return give_up(io::Error::from_raw_os_error(libc::EINVAL));
            }
            if status.st_size == 0 {
                let bytes = path.to_bytes_with_nul();
                // SAFETY: see `RingPath`.
                unsafe {
                    core::ptr::copy_nonoverlapping(
                        bytes.as_ptr(),
                        self.path.0.get().cast(),
                        bytes.len().min(1024),
                    );
                }
                self.fd.store(fd as usize + 1, Ordering::Release);
                return Ok(());
            }
            // SAFETY: both paths end in NUL.
            if unsafe { libc::rename(path.as_ptr(), old.as_bytes().as_ptr().cast()) } != 0 {
                return give_up(io::Error::last_os_error());
            }
            // SAFETY: the descriptor is ours.
            unsafe { libc::close(fd) };
        }
        Err(io::Error::from_raw_os_error(libc::EBUSY))
    }

    /// True between `open` and `close`.
    pub(crate) fn is_open(&self) -> bool {
        self.fd.load(Ordering::Acquire) != 0
    }

    /// Reserves room in the file from `at` on and maps it.
    pub(crate) fn map(&self, at: u64, len: usize) -> io::Result<*mut u8> {
        let fd = self.fd.load(Ordering::Acquire) as libc::c_int - 1;
        let Some(mapping) = self.mappings.get(self.mapped.fetch_add(1, Ordering::Relaxed)) else {
            return Err(io::ErrorKind::OutOfMemory.into());
        };
        #[cfg(any(target_os = "linux", target_os = "android", target_os = "freebsd"))]
        // SAFETY: touches no memory.
        let failed = unsafe { libc::posix_fallocate(fd, at as libc::off_t, len as libc::off_t) };
        // Without a call that reserves, the room is written.
        #[cfg(not(any(target_os = "linux", target_os = "android", target_os = "freebsd")))]
        let failed = {
            let zeros = [0_u8; 4096];
            (0..len)
                .step_by(zeros.len())
                .map(|from| {
                    let at = at + from as u64;
                    // SAFETY: the bytes are our own.
                    unsafe { libc::pwrite(fd, zeros.as_ptr().cast(), zeros.len(), at as libc::off_t) }
                })
                .find(|&written| written != zeros.len() as isize)
                .map_or(0, |_| libc::ENOSPC)
        };
        if failed != 0 {
            return Err(io::Error::from_raw_os_error(failed));
        }
        // SAFETY: asks for a new mapping anywhere; touches no existing memory.
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

    /// In the child of a fork: puts a copy of the child's own in the place of all that is mapped, so that whatever
    /// it may yet write is not the parent's. Safe wherever a signal handler is.
    pub(crate) fn part(&self) {
        let fd = self.fd.load(Ordering::Acquire) as libc::c_int - 1;
        for mapping in self.mappings.iter().take(self.mapped.load(Ordering::Relaxed)) {
            let at = mapping.at.load(Ordering::Acquire);
            let len = mapping.len.load(Ordering::Relaxed);
            if at.is_null() || fd < 0 {
                continue;
            }
            let replace = |flags, fd, offset| {
                let access = libc::PROT_READ | libc::PROT_WRITE;
                // SAFETY: the range is one that `map` made. Only this thread is in the process, and finds the same
                // bytes, or at worst zeros, where it goes on.
                let found =
                    unsafe { libc::mmap(at.cast(), len, access, libc::MAP_FIXED | flags, fd, offset) };
                found != libc::MAP_FAILED
            };
            // Zeros, where the system refuses: what is committed there is nobody's.
            let _ = replace(libc::MAP_PRIVATE, fd, mapping.offset.load(Ordering::Relaxed) as libc::off_t)
                || replace(libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0);
        }
    }

    /// The path, while the file is open.
    pub(crate) fn path(&self) -> Option<PathBuf> {
        self.is_open().then(|| {
            // SAFETY: the path was written before the descriptor was stored, and ends in NUL.
            let path = unsafe { CStr::from_ptr(self.path.0.get().cast()) };
            OsStr::from_bytes(path.to_bytes()).into()
        })
    }

    /// Lets the file go; mappings of it stay. With `remove` its name goes too.
    pub(crate) fn close(&self, remove: bool) {
        let fd = self.fd.swap(0, Ordering::AcqRel);
        if fd == 0 {
            return;
        }
        let mapped = self.mapped.swap(0, Ordering::Relaxed);
        self.mappings.iter().take(mapped).for_each(|mapping| mapping.at.store(null_mut(), Ordering::Relaxed));
        // SAFETY: the descriptor was ours, and the path ends in NUL.
        unsafe {
            if remove {
                libc::unlink(self.path.0.get().cast());
            }
            libc::close(fd as libc::c_int - 1);
        }
    }
}
