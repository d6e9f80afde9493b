//! The headers of a file and of a buffer, read and written.
//!
//! ```text
//! file, 32 bytes    0 id           4 major 5 minor 6 data version 7 bytes of a pointer
//!                   8 started, ms since 1970      16 cost of a clock reading, ns   20 flags
//!                  24 process id  28 never used
//! file, version 17  as above to started, then
//!                  16 started, by the clock of the events   24 cost   28 flags   32 process id
//!                  36 port (2)   38 arguments, architecture, system: each a length (4) and text
//!                  that ends with 0
//! buffer, 48 bytes  0 id   4 bytes of events   8 time   16 pointers' base   24 objects' base / 8
//!                  32 thread (pthread_self)   40 methods' base
//! ```

use super::layout::Version;

/// The ids at the start of a file and of each buffer, as little-endian numbers.
pub(super) const FILE_ID: u32 = 0x4D50_5A01;
pub(super) const BUFFER_ID: u32 = 0x4D50_4C01;

/// Bytes of a file header of data version 1, and of the common part of all.
pub(super) const FILE_LEN: usize = 32;
/// Bytes of a buffer header.
pub(super) const BUFFER_LEN: usize = 48;
/// Where the texts of a file header begin in version 17.
const TEXTS_AT: usize = 38;
/// The most bytes of a text in a file header.
pub(super) const MAX_TEXT: usize = 64 << 10;

/// The facts of a file about the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FileHead {
    pub(super) version: Version,
    pub(super) major: u8,
    pub(super) minor: u8,
    pub(super) pointer_size: u8,
    pub(super) start_ms: u64,
    /// By the clock of the events; 0 in version 1, which does not have it.
    pub(super) start_ns: u64,
    pub(super) overhead_ns: u32,
    pub(super) flags: u32,
    pub(super) pid: u32,
    /// In version 1, the unused number.
    pub(super) port: u32,
    /// Arguments, architecture, system.
    pub(super) texts: [Vec<u8>; 3],
}

/// The facts of a buffer about its events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct BufferHead {
    pub(super) len: i32,
    pub(super) time: u64,
    pub(super) ptr_base: u64,
    /// In units of 8 bytes.
    pub(super) obj_base: u64,
    pub(super) thread: u64,
    pub(super) method_base: u64,
}

/// The reason why a file header cannot be read.
pub(super) enum BadFile {
    /// The bytes end inside it.
    Cut,
    /// Another reason, in words.
    Because(String),
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// Returns true if a file that begins with these bytes is a log of the Mono log profiler, of any
/// data version.
pub fn recognize(first: &[u8]) -> bool {
    is_file(first)
}

/// Returns true if bytes begin a file.
pub(super) fn is_file(bytes: &[u8]) -> bool {
    u32_at(bytes, 0) == Some(FILE_ID)
}

/// Returns true if bytes begin a buffer.
pub(super) fn is_buffer(bytes: &[u8]) -> bool {
    u32_at(bytes, 0) == Some(BUFFER_ID)
}

impl FileHead {
    /// Reads a header, and returns its length.
    pub(super) fn read(bytes: &[u8]) -> Result<(FileHead, usize), BadFile> {
        let numbers = bytes.get(..FILE_LEN).ok_or(BadFile::Cut)?;
        let data = numbers[6];
        let Some(version) = Version::of(data.into()) else {
            return Err(BadFile::Because(format!("data version {data}, expected 1 or 17")));
        };
        let (u32_at, u64_at) =
            (|at| u32_at(bytes, at).ok_or(BadFile::Cut), |at| u64_at(bytes, at).ok_or(BadFile::Cut));
        let mut head = FileHead {
            version,
            major: numbers[4],
            minor: numbers[5],
            pointer_size: numbers[7],
            start_ms: u64_at(8)?,
            start_ns: 0,
            overhead_ns: 0,
            flags: 0,
            pid: 0,
            port: 0,
            texts: Default::default(),
        };
        let len = match version {
            Version::One => {
                (head.overhead_ns, head.flags) = (u32_at(16)?, u32_at(20)?);
                (head.pid, head.port) = (u32_at(24)?, u32_at(28)?);
                FILE_LEN
            }
            Version::Seventeen => {
                head.start_ns = u64_at(16)?;
                (head.overhead_ns, head.flags, head.pid) = (u32_at(24)?, u32_at(28)?, u32_at(32)?);
                head.port = u32_at(34)? >> 16;
                let mut at = TEXTS_AT;
                for text in &mut head.texts {
                    let len = u32_at(at)? as usize;
                    if len > MAX_TEXT {
                        let why = format!("a text of {len} bytes in the header, expected at most {MAX_TEXT}");
                        return Err(BadFile::Because(why));
                    }
                    let bytes = bytes.get(at + 4..at + 4 + len).ok_or(BadFile::Cut)?;
                    text.extend(bytes.iter().take_while(|byte| **byte != 0));
                    at += 4 + len;
                }
                at
            }
        };
        Ok((head, len))
    }

    /// Appends a header of data version 1.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let stamp = Version::One.stamp();
        out.extend_from_slice(&FILE_ID.to_le_bytes());
        out.extend_from_slice(&[self.major, self.minor, stamp.data, self.pointer_size]);
        out.extend_from_slice(&self.start_ms.to_le_bytes());
        for number in [self.overhead_ns, self.flags, self.pid, self.port] {
            out.extend_from_slice(&number.to_le_bytes());
        }
    }
}

impl BufferHead {
    pub(super) fn read(bytes: &[u8]) -> Option<BufferHead> {
        Some(BufferHead {
            len: u32_at(bytes, 4)? as i32,
            time: u64_at(bytes, 8)?,
            ptr_base: u64_at(bytes, 16)?,
            obj_base: u64_at(bytes, 24)?,
            thread: u64_at(bytes, 32)?,
            method_base: u64_at(bytes, 40)?,
        })
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&BUFFER_ID.to_le_bytes());
        out.extend_from_slice(&self.len.to_le_bytes());
        for number in [self.time, self.ptr_base, self.obj_base, self.thread, self.method_base] {
            out.extend_from_slice(&number.to_le_bytes());
        }
    }
}
