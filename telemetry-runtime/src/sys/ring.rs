//! The ring file on Unix.
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

use crate::sys::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use crate::sys::no_ring::NoRing;
use crate::sys::text::Buffer;
use crate::sys::unix;
use crate::sys::wait::wait;

/// Maximum number of mappings of the file: the pool, some registries, and all blocks of labels.
const MAX_MAPPINGS: usize = 1 << 11;

/// Maximum length of the path, with NUL.
const MAX_PATH_LEN: usize = 1024;

/// The mode of the file. The process that created it has it open for writing already.
const MODE: u32 = 0o400;

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

/// What a file is.
enum Ring {
    Empty,
    Whose(RingHead),
    Other,
    /// A file of another user.
    Theirs(u32),
}

fn found(file: &File) -> io::Result<Ring> {
    let metadata = file.metadata()?;
    if metadata.uid() != unix::user() {
        return Ok(Ring::Theirs(metadata.uid()));
    }
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

/// Creates a file that only its owner may read. Its owner must change the mode to open it for
/// writing: a process that has the file mapped would end if the file were shortened.
fn create(path: &CStr) -> io::Result<File> {
    let file = open(path, libc::O_RDWR | libc::O_CREAT | libc::O_EXCL)?;
    // Sets the mode whatever the umask and the access list of the directory say.
    // SAFETY: the descriptor is open.
    unsafe { libc::fchmod(file.as_raw_fd(), MODE as libc::mode_t) };
    Ok(file)
}

/// Refuses a new file that other users may open. Some file systems store no modes.
fn expect_private(file: &File) -> Result<(), NoRing> {
    let metadata = file.metadata()?;
    if metadata.mode() & 0o077 != 0 || metadata.nlink() > 1 {
        return Err(NoRing::Open);
    }
    Ok(())
}

/// Removes the file at the path, or moves it aside. The file must be this user's, and no process
/// may use it.
fn make_way(path: &CStr) -> Result<(), NoRing> {
    let file = match open(path, libc::O_RDONLY) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(explained(error, path)),
    };
    expect_ring(&file)?;
    lock(&file)?;
    // The process that had the lock before may have moved or removed the file.
    if !is_at(&file, path) {
        return Ok(());
    }
    // That process may also have written to the file.
    if expect_ring(&file)? {
        return set_aside(path);
    }
    // SAFETY: the path ends in NUL.
    match unsafe { libc::unlink(path.as_ptr()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error().into()),
    }
}

/// Returns true for a ring file and false for an empty file. Refuses any other file, and files of
/// other users.
fn expect_ring(file: &File) -> Result<bool, NoRing> {
    match found(file)? {
        Ring::Whose(_) => Ok(true),
        Ring::Empty => Ok(false),
        Ring::Other => Err(NoRing::Foreign),
        Ring::Theirs(user) => Err(NoRing::Theirs(user, unix::user())),
    }
}

/// Returns why the file at the path cannot be opened.
fn explained(error: io::Error, path: &CStr) -> NoRing {
    match there(path) {
        Some(there) if there.st_mode & libc::S_IFMT == libc::S_IFLNK => NoRing::Link,
        Some(there) if there.st_uid != unix::user() => NoRing::Theirs(there.st_uid, unix::user()),
        // A socket, for example.
        Some(there) if there.st_mode & libc::S_IFMT != libc::S_IFREG => NoRing::Foreign,
        _ => error.into(),
    }
}

/// Opens a file of any type. Does not allocate, whereas the standard library does for a long path.
fn open(path: &CStr, flags: libc::c_int) -> io::Result<File> {
    let flags = flags | libc::O_CLOEXEC | libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY;
    // SAFETY: the path ends in NUL, and nothing else uses the descriptor.
    unsafe {
        match libc::open(path.as_ptr(), flags, 0o600 as libc::c_uint) {
            -1 => Err(io::Error::last_os_error()),
            fd => Ok(File::from_raw_fd(fd)),
        }
    }
}

/// Opens the file of a descriptor a second time, on systems that can do so. A mapping keeps its
/// file open, and thereby locked: a child's mapping must not keep the lock of its parent.
fn reopened(fd: libc::c_int) -> Option<File> {
    let mut path = Buffer::<32>::new();
    write!(path, "/proc/self/fd/{fd}\0").ok()?;
    // SAFETY: the path ends in NUL, and only this code uses the new descriptor.
    unsafe {
        let fd = libc::open(path.as_bytes().as_ptr().cast(), libc::O_RDONLY | libc::O_CLOEXEC);
        (fd >= 0).then(|| File::from_raw_fd(fd))
    }
}

/// Locks a file for this process. Waits a moment, since a process that only examines the file soon
/// unlocks it.
fn lock(file: &File) -> Result<(), NoRing> {
    let mut locked = Err(TryLockError::WouldBlock);
    wait(Duration::from_millis(2), || {
        locked = file.try_lock();
        !matches!(locked, Err(TryLockError::WouldBlock))
    });
    locked.map_err(|error| match error {
        TryLockError::WouldBlock => NoRing::Busy,
        // Network file systems lock only files that are open for writing. A process may be using
        // this one.
        TryLockError::Error(error) if error.raw_os_error() == Some(libc::EBADF) => NoRing::Busy,
        TryLockError::Error(error) => error.into(),
    })
}

/// Returns true if the file still has this name.
// The types of the fields differ among systems.
#[allow(clippy::unnecessary_cast)]
fn is_at(file: &File, path: &CStr) -> bool {
    there(path).is_some_and(|there| {
        file.metadata().is_ok_and(|own| (own.dev(), own.ino()) == (there.st_dev as u64, there.st_ino as u64))
    })
}

/// Returns the status of a path. Does not follow links.
fn there(path: &CStr) -> Option<libc::stat> {
    // SAFETY: the path ends in NUL. The pointer is to a local value, for which zeros are valid.
    unsafe {
        let mut there: libc::stat = core::mem::zeroed();
        (libc::lstat(path.as_ptr(), &mut there) == 0).then_some(there)
    }
}

/// Moves a ring file that this process has locked to the name for old ones, and replaces an older
/// one there.
fn set_aside(path: &CStr) -> Result<(), NoRing> {
    let mut old = Buffer::<1100>::new();
    let is_whole = old.push(path.to_bytes()).and_then(|()| write!(old, "{RING_OLD}\0")).is_ok();
    let Some(old) = CStr::from_bytes_with_nul(old.as_bytes()).ok().filter(|_| is_whole) else {
        return Err(io::Error::from_raw_os_error(libc::ENAMETOOLONG).into());
    };
    // Kept open until it is replaced, so that no running process begins to use it meanwhile.
    let older = match open(old, libc::O_RDONLY) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        // A link, for example, which is not followed.
        Err(_) => return Err(NoRing::Old),
        Ok(older) => Some(older),
    };
    if let Some(older) = &older
        && (matches!(found(older)?, Ring::Other | Ring::Theirs(_)) || lock(older).is_err())
    {
        return Err(NoRing::Old);
    }
    // SAFETY: both paths end in NUL.
    match unsafe { libc::rename(path.as_ptr(), old.as_ptr()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error().into()),
    }
}

/// Returns the head of the ring file that a path leads to. Does not allocate.
pub(crate) fn ring_at(path: &CStr) -> Option<RingHead> {
    match found(&open(path, libc::O_RDONLY).ok()?) {
        Ok(Ring::Whose(head)) => Some(head),
        _ => None,
    }
}
