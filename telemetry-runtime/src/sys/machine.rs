//! Facts about the machine, the user and the program.
#![allow(unsafe_code)]

#[cfg(any(target_os = "linux", target_os = "android"))]
use crate::sys::unix::{map, unmap};

/// Writes the path of the program.
pub(crate) fn program(into: &mut impl core::fmt::Write) {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    {
        let mut path = [0_u8; 1024];
        // SAFETY: the buffer has the given length.
        let len = unsafe { libc::readlink(c"/proc/self/exe".as_ptr(), path.as_mut_ptr().cast(), path.len()) };
        let text = path.get(..usize::try_from(len).unwrap_or(0)).unwrap_or_default();
        let _ = into.write_str(core::str::from_utf8(text).unwrap_or_default());
    }
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    if let Ok(path) = std::env::current_exe() {
        let _ = into.write_str(&path.to_string_lossy());
    }
}

/// Returns the number of bytes in a page of memory.
pub(crate) fn page_size() -> Option<u64> {
    // SAFETY: takes no pointer.
    u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).ok()
}

/// Writes the name and release of the kernel.
pub(crate) fn kernel(into: &mut impl core::fmt::Write) {
    // SAFETY: zeros are valid, and the call fills them with text that ends in NUL.
    let found = unsafe {
        let mut found: libc::utsname = core::mem::zeroed();
        if libc::uname(&mut found) < 0 {
            return;
        }
        found
    };
    for (before, text) in [("", &found.sysname), (" ", &found.release)] {
        // SAFETY: the text ends in NUL.
        let text = unsafe { core::ffi::CStr::from_ptr(text.as_ptr()) };
        let _ = into.write_str(before);
        let _ = into.write_str(text.to_str().unwrap_or_default());
    }
}

/// Writes the working directory. Writes nothing if there is none, or if its path is too long.
pub(crate) fn directory(into: &mut crate::sys::text::Buffer<1024>) {
    let mut dir = [0_u8; 1024];
    // SAFETY: the buffer has the given length.
    if !unsafe { libc::getcwd(dir.as_mut_ptr().cast(), dir.len()) }.is_null() {
        let dir = core::ffi::CStr::from_bytes_until_nul(&dir).unwrap_or_default();
        let _ = into.push(dir.to_bytes());
    }
}

/// Maximum number of bytes of a process's arguments that are read.
#[cfg(any(target_os = "linux", target_os = "android"))]
const MAX_ARGUMENTS_LEN: usize = 1 << 16;

/// Calls `each` with each argument of the process, the program's name first. Does not allocate.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) fn each_argument(each: impl FnMut(&[u8])) {
    let Some(at) = map(MAX_ARGUMENTS_LEN) else { return };
    let flags = libc::O_RDONLY | libc::O_CLOEXEC;
    // SAFETY: the path ends in NUL. Only this code uses the descriptor, and the memory, which has
    // the given length.
    let text = unsafe {
        let file = libc::open(c"/proc/self/cmdline".as_ptr(), flags);
        let mut len = 0;
        while let Ok(more @ 1..) =
            usize::try_from(libc::read(file, at.add(len).cast(), MAX_ARGUMENTS_LEN - len))
        {
            len += more;
        }
        if file >= 0 {
            libc::close(file);
        }
        core::slice::from_raw_parts(at, len)
    };
    text.strip_suffix(b"\0").unwrap_or(text).split(|&byte| byte == 0).for_each(each);
    // SAFETY: nothing uses the memory any more.
    unsafe { unmap(at, MAX_ARGUMENTS_LEN) };
}

/// Other systems do not tell without an allocation.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(crate) fn each_argument(_: impl FnMut(&[u8])) {}

/// Writes the name of the machine.
pub(crate) fn host(into: &mut impl core::fmt::Write) {
    let mut name = [0_u8; 256];
    // SAFETY: the buffer is one byte longer than the given length, so that it ends in NUL.
    unsafe { libc::gethostname(name.as_mut_ptr().cast(), name.len() - 1) };
    let name = core::ffi::CStr::from_bytes_until_nul(&name).unwrap_or_default();
    let _ = into.write_str(name.to_str().unwrap_or_default());
}

/// Returns the number of processors in use, or 0 if the system does not say.
pub(crate) fn cpus() -> u64 {
    // SAFETY: takes no pointer.
    u64::try_from(unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) }).unwrap_or(0)
}

/// Returns the user that owns the files that this process creates.
pub(crate) fn user() -> u32 {
    // SAFETY: takes no arguments and cannot fail.
    unsafe { libc::geteuid() }
}
