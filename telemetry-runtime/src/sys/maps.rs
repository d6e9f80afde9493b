//! What is mapped into the process, and its memory as another process would read it: at addresses
//! that may lead nowhere. No allocation, no lock.
#![allow(unsafe_code)]

use core::ffi::c_int;

/// A mapping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Region<'l> {
    pub(crate) start: u64,
    /// The address after it.
    pub(crate) end: u64,
    pub(crate) is_code: bool,
    /// Where it begins in its file.
    pub(crate) offset: u64,
    /// The file, or a name such as `[stack]`; empty for other memory. It may be cut.
    pub(crate) path: &'l [u8],
}

/// The list of all mappings, by address. The system makes it while it is read.
pub(crate) struct Maps<'b> {
    descriptor: c_int,
    buffer: &'b mut [u8],
    /// What of the buffer was read and not used yet.
    from: usize,
    to: usize,
}

impl<'b> Maps<'b> {
    /// Opens the list. The buffer holds a line; of longer lines the rest is left out.
    pub(crate) fn open(buffer: &'b mut [u8]) -> Option<Maps<'b>> {
        // SAFETY: the path is a constant C string.
        let descriptor = unsafe { libc::open(c"/proc/self/maps".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC) };
        (descriptor >= 0).then_some(Maps { descriptor, buffer, from: 0, to: 0 })
    }

    /// Returns the next mapping.
    pub(crate) fn next(&mut self) -> Option<Region<'_>> {
        loop {
            let range = self.line()?;
            if region(&self.buffer[range.clone()]).is_some() {
                return region(&self.buffer[range]);
            }
        }
    }

    /// Returns where the next line is in the buffer.
    fn line(&mut self) -> Option<core::ops::Range<usize>> {
        loop {
            let line_end = self.buffer[self.from..self.to].iter().position(|&byte| byte == b'\n');
            if let Some(len) = line_end {
                let line = self.from..self.from + len;
                self.from = line.end + 1;
                return Some(line);
            }
            self.buffer.copy_within(self.from..self.to, 0);
            (self.from, self.to) = (0, self.to - self.from);
            if self.to == self.buffer.len() {
                // Too long: what there is of it counts.
                let line = 0..self.to;
                let is_ended = self.skip();
                self.from = self.to;
                return is_ended.then_some(line);
            }
            if self.fill() == 0 {
                return None;
            }
        }
    }

    /// Reads on to the end of the line, one byte at a time. Returns false at the end of the list.
    fn skip(&mut self) -> bool {
        let mut byte = [0; 1];
        while read(self.descriptor, &mut byte) == 1 {
            if byte[0] == b'\n' {
                return true;
            }
        }
        false
    }

    /// Reads more behind what there is.
    fn fill(&mut self) -> usize {
        let read = read(self.descriptor, &mut self.buffer[self.to..]);
        self.to += read;
        read
    }
}

impl Drop for Maps<'_> {
    fn drop(&mut self) {
        // SAFETY: this value opened it, and does not use it again.
        unsafe { libc::close(self.descriptor) };
    }
}

/// Returns the number of bytes read: 0 at the end, and after an error.
fn read(descriptor: c_int, into: &mut [u8]) -> usize {
    loop {
        // SAFETY: the buffer has the given length.
        let read = unsafe { libc::read(descriptor, into.as_mut_ptr().cast(), into.len()) };
        if let Ok(read) = usize::try_from(read) {
            return read;
        }
        if std::io::Error::last_os_error().raw_os_error() != Some(libc::EINTR) {
            return 0;
        }
    }
}

/// Reads a line: `start-end rwxp offset device inode path`.
fn region(line: &[u8]) -> Option<Region<'_>> {
    let mut words = line.splitn(6, |&byte| byte == b' ');
    let mut range = words.next()?.split(|&byte| byte == b'-');
    let (start, end) = (number(range.next()?)?, number(range.next()?)?);
    let is_code = words.next()?.get(2) == Some(&b'x');
    let offset = number(words.next()?)?;
    let path = words.nth(2).unwrap_or_default().trim_ascii_start();
    Some(Region { start, end, is_code, offset, path })
}

/// Reads a hexadecimal number.
fn number(digits: &[u8]) -> Option<u64> {
    u64::from_str_radix(core::str::from_utf8(digits).ok()?, 16).ok()
}

/// Reads memory of this process. Returns false if some of it is not readable, or if the system does
/// not allow it.
pub(crate) fn read_memory(at: u64, into: &mut [u8]) -> bool {
    let to = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
    let from = libc::iovec { iov_base: core::ptr::without_provenance_mut(at as usize), iov_len: into.len() };
    // SAFETY: the system writes only to the buffer, and fails at addresses that cannot be read.
    let read = unsafe {
        libc::syscall(
            libc::SYS_process_vm_readv,
            libc::getpid(),
            &raw const to,
            1_usize,
            &raw const from,
            1_usize,
            0_usize,
        )
    };
    usize::try_from(read) == Ok(into.len())
}

/// Calls a function that makes system calls, and leaves the error number of the thread as it was.
pub(crate) fn quietly<T>(call: impl FnOnce() -> T) -> T {
    // SAFETY: the function returns the place of the thread's own number.
    let place = unsafe { libc::__errno_location() };
    // SAFETY: as above.
    let before = unsafe { *place };
    let result = call();
    // SAFETY: as above.
    unsafe { *place = before };
    result
}

#[cfg(test)]
mod tests {
    use super::{Maps, read_memory, region};

    #[test]
    fn a_line_of_the_list_is_read() {
        let found = region(b"7f00-7fff r-xp 00001000 08:01 42                 /usr/lib/a b.so").unwrap();
        assert_eq!((found.start, found.end, found.offset), (0x7f00, 0x7fff, 0x1000));
        assert_eq!((found.is_code, found.path), (true, &b"/usr/lib/a b.so"[..]));
        let found = region(b"7f00-7fff rw-p 00000000 00:00 0 ").unwrap();
        assert_eq!((found.is_code, found.path), (false, &b""[..]));
        assert_eq!(region(b"a line of another form"), None);
        assert_eq!(region(b""), None);
    }

    /// With buffers that hold many lines, one line, and less than a line.
    #[test]
    fn the_list_is_whole_whatever_the_buffer() {
        let all = |len: usize| -> Vec<(u64, bool)> {
            let mut buffer = vec![0; len];
            let mut maps = Maps::open(&mut buffer).expect("the list of the mappings");
            let mut all = Vec::new();
            while let Some(region) = maps.next() {
                all.push((region.start, region.is_code));
            }
            all
        };
        for len in [8192, 512, 100] {
            let regions = all(len);
            assert!(regions.len() > 5, "{len}: {regions:?}");
            assert!(regions.is_sorted(), "{len}: {regions:?}");
            assert!(regions.iter().any(|(_, is_code)| *is_code), "{len}: {regions:?}");
        }
    }

    #[test]
    fn memory_is_read_where_there_is_some() {
        let words = [1_u64, 2, 3];
        let mut read = [0; 24];
        assert!(read_memory(words.as_ptr().addr() as u64, &mut read));
        assert_eq!(read[8..16], 2_u64.to_ne_bytes());
        assert!(!read_memory(8, &mut read));
        assert!(!read_memory(u64::MAX - 8, &mut read));
    }
}
