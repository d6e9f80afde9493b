//! The file that a post-mortem reads, on Unix.
#![allow(unsafe_code)]

use core::cell::UnsafeCell;
use core::ffi::CStr;
use core::fmt::Write;
use core::ptr::null_mut;
use core::time::Duration;
use std::fs::{File, TryLockError};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd};
use std::os::unix::fs::{FileExt, MetadataExt};

use telemetry_format::{RING_OLD, RingHead};

use super::NoRing;
use crate::sync::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use crate::text::Buffer;

/// Most mappings of the file: the pool, some for registries, and all blocks of labels.
const MOST_MAPPINGS: usize = 1 << 11;

/// Most bytes of its path, with NUL.
const MOST_PATH: usize = 1024;

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
struct RingPath(UnsafeCell<[u8; MOST_PATH]>);

// SAFETY: `open`, which one thread calls at the start, writes the path before it stores the descriptor.
unsafe impl Sync for RingPath {}

impl RingFile {
    /// No file.
    pub(crate) const fn new() -> RingFile {
        RingFile {
            fd: AtomicUsize::new(0),
            path: RingPath(UnsafeCell::new([0; MOST_PATH])),
            mapped: AtomicUsize::new(0),
            mappings: [const { Mapping::none() }; MOST_MAPPINGS],
        }
    }

    /// Opens a file that no other process has open as its ring, and writes whose it is. The ring that an earlier
    /// process has left there is kept under another name; what is no ring is left alone. Does not allocate.
    pub(crate) fn open(&self, path: &CStr, head: RingHead) -> Result<(), NoRing> {
        if path.to_bytes_with_nul().len() > MOST_PATH {
            return Err(io::Error::from_raw_os_error(libc::ENAMETOOLONG).into());
        }
        for _ in 0..8 {
            let file = open(path, libc::O_RDWR | libc::O_CREAT)?;
            match found(&file)? {
                Ring::Other => return Err(NoRing::Foreign),
                Ring::Empty | Ring::Whose(_) => lock(&file)?,
            }
            // Whoever had the lock before may have moved the file aside, or removed it.
            if !is_at(&file, path) {
                continue;
            }
            match found(&file)? {
                Ring::Other => return Err(NoRing::Foreign),
                Ring::Whose(_) => set_aside(path)?,
                Ring::Empty => {
                    let head = head.encode(crc32c::crc32c);
                    if let Err(error) = file.write_all_at(&head, 0) {
                        // A part of it would be in the way of who comes next.
                        let _ = file.set_len(0);
                        return Err(error.into());
                    }
                    self.path.write(path);
                    self.fd.store(file.into_raw_fd() as usize + 1, Ordering::Release);
                    return Ok(());
                }
            }
        }
        Err(NoRing::Busy)
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
        if fd < 0 {
            return;
        }
        let again = reopened(fd);
        let fd = again.as_ref().map_or(fd, File::as_raw_fd);
        for mapping in self.mappings.iter().take(self.mapped.load(Ordering::Relaxed)) {
            let at = mapping.at.load(Ordering::Acquire);
            let len = mapping.len.load(Ordering::Relaxed);
            if at.is_null() {
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
    pub(crate) fn path(&self) -> Option<&CStr> {
        // SAFETY: the path was written before the descriptor was stored, and ends in NUL.
        self.is_open().then(|| unsafe { CStr::from_ptr(self.path.0.get().cast()) })
    }

    /// Lets the file go; mappings of it stay. With `remove` its name goes too, unless another file has it by now.
    /// True if it is removed.
    pub(crate) fn close(&self, remove: bool) -> bool {
        let fd = self.fd.swap(0, Ordering::AcqRel);
        if fd == 0 {
            return false;
        }
        let mapped = self.mapped.swap(0, Ordering::Relaxed);
        self.mappings.iter().take(mapped).for_each(|mapping| mapping.at.store(null_mut(), Ordering::Relaxed));
        // SAFETY: the descriptor was ours, and the path, which was written before it, ends in NUL. The lock is held
        // until the file is closed: no other runtime takes the path before.
        unsafe {
            let file = File::from_raw_fd(fd as libc::c_int - 1);
            let path = CStr::from_ptr(self.path.0.get().cast());
            remove && is_at(&file, path) && libc::unlink(path.as_ptr()) == 0
        }
    }
}

impl RingPath {
    /// An absolute path: the program may change its directory. If that is too long, as it is.
    fn write(&self, path: &CStr) {
        let mut absolute = Buffer::<MOST_PATH>::new();
        let is_absolute =
            super::absolute(path.to_bytes(), &mut absolute).is_some() && absolute.push(b"\0").is_ok();
        let bytes = if is_absolute { absolute.as_bytes() } else { path.to_bytes_with_nul() };
        // SAFETY: see `RingPath`.
        unsafe { core::ptr::copy_nonoverlapping(bytes.as_ptr(), self.0.get().cast(), bytes.len()) };
    }
}

/// What a file is.
enum Ring {
    Empty,
    Whose(RingHead),
    Other,
}

fn found(file: &File) -> io::Result<Ring> {
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Ok(Ring::Other);
    }
    let mut head = [0; RingHead::LEN];
    let read = file.read_at(&mut head, 0)?;
    Ok(match RingHead::decode(&head[..read], crc32c::crc32c) {
        Some(head) => Ring::Whose(head),
        None if metadata.len() == 0 => Ring::Empty,
        None => Ring::Other,
    })
}

/// Opens a file, whatever it is. Does not allocate, as the standard library does for a long path.
fn open(path: &CStr, flags: libc::c_int) -> io::Result<File> {
    let flags = flags | libc::O_CLOEXEC | libc::O_NOFOLLOW | libc::O_NONBLOCK;
    // SAFETY: the path ends in NUL, and the descriptor is nobody else's.
    unsafe {
        match libc::open(path.as_ptr(), flags, 0o600 as libc::c_uint) {
            -1 => Err(io::Error::last_os_error()),
            fd => Ok(File::from_raw_fd(fd)),
        }
    }
}

/// The file of a descriptor, opened once more, where the system has such a way. Memory that is mapped of a file keeps it
/// open, and with it the lock: what a child maps shall not keep that of its parent.
fn reopened(fd: libc::c_int) -> Option<File> {
    let mut path = Buffer::<32>::new();
    write!(path, "/proc/self/fd/{fd}\0").ok()?;
    // SAFETY: the path ends in NUL, and the descriptor is nobody else's.
    unsafe {
        let fd = libc::open(path.as_bytes().as_ptr().cast(), libc::O_RDONLY | libc::O_CLOEXEC);
        (fd >= 0).then(|| File::from_raw_fd(fd))
    }
}

/// Takes a file for this process. Whoever only looks at it lets it go in a moment.
fn lock(file: &File) -> Result<(), NoRing> {
    let mut locked = Err(TryLockError::WouldBlock);
    super::wait(Duration::from_millis(2), || {
        locked = file.try_lock();
        !matches!(locked, Err(TryLockError::WouldBlock))
    });
    locked.map_err(|error| match error {
        TryLockError::WouldBlock => NoRing::Busy,
        TryLockError::Error(error) => error.into(),
    })
}

/// True if a file has this name, still.
// Systems have other types.
#[allow(clippy::unnecessary_cast)]
fn is_at(file: &File, path: &CStr) -> bool {
    // SAFETY: the path ends in NUL, and the pointer is to a value of our own.
    let (status, there) = unsafe {
        let mut there: libc::stat = core::mem::zeroed();
        (libc::lstat(path.as_ptr(), &mut there), there)
    };
    status == 0
        && file
            .metadata()
            .is_ok_and(|own| (own.dev(), own.ino()) == (there.st_dev as u64, there.st_ino as u64))
}

/// Gives a ring that this process has locked the name that old ones have, in the place of an older one.
fn set_aside(path: &CStr) -> Result<(), NoRing> {
    let mut old = Buffer::<1100>::new();
    let is_whole = old.push(path.to_bytes()).and_then(|()| write!(old, "{RING_OLD}\0")).is_ok();
    let Some(old) = CStr::from_bytes_with_nul(old.as_bytes()).ok().filter(|_| is_whole) else {
        return Err(io::Error::from_raw_os_error(libc::ENAMETOOLONG).into());
    };
    // Open until it is replaced: a process that runs may not begin with it meanwhile.
    let older = match open(old, libc::O_RDONLY) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        // A link, say, which is not followed.
        Err(_) => return Err(NoRing::Old),
        Ok(older) => Some(older),
    };
    if let Some(older) = &older
        && (matches!(found(older)?, Ring::Other) || lock(older).is_err())
    {
        return Err(NoRing::Old);
    }
    // SAFETY: both paths end in NUL.
    match unsafe { libc::rename(path.as_ptr(), old.as_ptr()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error().into()),
    }
}

/// Whose ring a path leads to. Does not allocate.
pub(crate) fn ring_at(path: &CStr) -> Option<RingHead> {
    match found(&open(path, libc::O_RDONLY).ok()?) {
        Ok(Ring::Whose(head)) => Some(head),
        _ => None,
    }
}
