//! The headers and buffers of a log, in order, also after damage between them.

use std::io;
use std::ops::Range;
use std::sync::OnceLock;

use telemetry_decode::completeness::{Cause, Damage};
use telemetry_decode::foreign::{LogBytes, Survey};

use super::decode::{Decoded, Item, Visit, decode};
use super::header::{BUFFER_LEN, BadFile, BufferHead, FILE_LEN, FileHead, MAX_TEXT, is_buffer, is_file};
use super::layout::{Layout, Version};
use super::registry::{parsed, registry_of_one};
use super::what::What;

/// The most bytes of events in a buffer. Mono's have 64 KiB, or the length of their only event.
pub(super) const MAX_PAYLOAD: usize = 4 << 20;

/// Bytes that are searched together for a header.
const SEARCH: usize = 256 << 10;

/// Walks through a log.
pub(super) struct Walk<'l> {
    layouts: &'l Layouts,
    at: u64,
    version: Option<Version>,
    /// Files, buffers and damaged ranges found so far.
    files: usize,
    buffers: u32,
    damaged: usize,
}

/// The tables of all versions.
pub(super) struct Layouts {
    one: Layout,
    seventeen: Layout,
}

impl Layouts {
    /// Returns the tables, which are made once.
    pub(super) fn shared() -> &'static Layouts {
        static SHARED: OnceLock<Layouts> = OnceLock::new();
        SHARED.get_or_init(|| {
            // Indices of events are those in the version's own registry.
            Layouts {
                one: Layout::new(Version::One, &registry_of_one()),
                seventeen: Layout::new(Version::Seventeen, parsed()),
            }
        })
    }

    pub(super) fn of(&self, version: Version) -> &Layout {
        match version {
            Version::One => &self.one,
            Version::Seventeen => &self.seventeen,
        }
    }
}

/// The next item of a log.
pub(super) enum Step {
    /// A file begins.
    File(Box<FileHead>),
    /// A buffer.
    Buffer(Placed),
    /// Bytes that are neither.
    Damage(Damage),
    End,
}

/// A buffer of a log.
#[derive(Debug, Clone, Copy)]
pub(super) struct Placed {
    pub(super) head: BufferHead,
    pub(super) version: Version,
    /// Its number in the log.
    pub(super) index: u32,
    /// Offset of its header.
    pub(super) at: u64,
    /// Bytes after its header that are to be decoded.
    pub(super) len: usize,
}

impl Placed {
    /// Returns the place where its events begin.
    pub(super) fn payload_at(&self) -> u64 {
        self.at + BUFFER_LEN as u64
    }

    /// Returns the damage in it, if any.
    fn damage(&self, decoded: &Decoded) -> Option<Damage> {
        if let Some(wrong) = &decoded.wrong {
            let range = self.payload_at() + decoded.end as u64..self.payload_at() + self.len as u64;
            return Some(damage(range, wrong.to_string()));
        }
        if i64::from(self.head.len) == self.len as i64 {
            return None;
        }
        // No event is lost by it.
        let why = format!("a buffer of {} bytes, found {} before the next header", self.head.len, self.len);
        Some(damage(self.at + 4..self.at + 4, why))
    }
}

impl<'l> Walk<'l> {
    pub(super) fn new(layouts: &'l Layouts) -> Self {
        Walk { layouts, at: 0, version: None, files: 0, buffers: 0, damaged: 0 }
    }

    /// Returns the place where the next step begins.
    pub(super) fn at(&self) -> u64 {
        self.at
    }

    /// Returns the damage in a buffer, if any.
    pub(super) fn damage(&mut self, placed: &Placed, decoded: &Decoded) -> Option<Damage> {
        let found = placed.damage(decoded);
        self.damaged += usize::from(found.is_some());
        found
    }

    /// Leaves out the rest of the log from an offset on, and returns it.
    pub(super) fn leave_out(&mut self, bytes: &LogBytes<'_>, from: u64, why: String) -> Damage {
        self.at = bytes.len();
        Damage::new(from..self.at, Cause::LeftOut(why), 0)
    }

    /// Returns the next step. The caller reads the bytes of a buffer if it wants them. A log with
    /// more files or damaged ranges than can be listed ends there.
    pub(super) fn next(&mut self, bytes: &mut LogBytes<'_>) -> io::Result<Step> {
        let at = self.at;
        let step = self.step(bytes)?;
        let full = match &step {
            Step::File(_) => {
                self.files += 1;
                Survey::full_of_sessions(self.files - 1)
            }
            Step::Damage(_) => {
                self.damaged += 1;
                Survey::full(0, self.damaged - 1)
            }
            Step::Buffer(_) => Survey::full(0, self.damaged),
            Step::End => None,
        };
        Ok(full.map_or(step, |why| Step::Damage(self.leave_out(bytes, at, why))))
    }

    fn step(&mut self, bytes: &mut LogBytes<'_>) -> io::Result<Step> {
        let len = bytes.len();
        if self.at >= len {
            return Ok(Step::End);
        }
        let here = bytes.at(self.at, BUFFER_LEN)?;
        if is_file(here) {
            return self.file(bytes);
        }
        if let (true, Some(version)) = (is_buffer(here), self.version) {
            return self.buffer(bytes, version);
        }
        // A log whose first bytes are damaged may still state its version.
        if self.version.is_none() {
            self.version = here.get(6).and_then(|data| Version::of(u64::from(*data)));
        }
        let found = here.iter().take(4).map(|byte| format!("{byte:02x}")).collect::<String>();
        let expected =
            if self.at == 0 { "that of a Mono log, 015a504d" } else { "that of a buffer, 014c504d" };
        let why = match self.version {
            None => "no header says what the log's version is".to_string(),
            Some(_) => format!("the bytes {found}, expected {expected}"),
        };
        let accept = if self.version.is_some() { |b: &[u8]| is_file(b) || is_buffer(b) } else { is_file };
        self.skip(bytes, self.at + 1, accept, why)
    }

    fn file(&mut self, bytes: &mut LogBytes<'_>) -> io::Result<Step> {
        let at = self.at;
        match FileHead::read(bytes.at(at, FILE_LEN + 3 * (MAX_TEXT + 4) + 16)?) {
            Ok((head, len)) => {
                self.version = Some(head.version);
                self.at += len as u64;
                Ok(Step::File(Box::new(head)))
            }
            Err(BadFile::Cut) => {
                self.at = bytes.len();
                Ok(Step::Damage(damage(at..self.at, "the log ends inside its header".to_string())))
            }
            Err(BadFile::Because(why)) => {
                let data = bytes.at(at, FILE_LEN)?.get(6).copied().unwrap_or_default();
                self.version = Version::of(data.into());
                let accept =
                    if self.version.is_some() { |b: &[u8]| is_file(b) || is_buffer(b) } else { is_file };
                self.skip(bytes, at + 4, accept, why)
            }
        }
    }

    fn buffer(&mut self, bytes: &mut LogBytes<'_>, version: Version) -> io::Result<Step> {
        let (at, all) = (self.at, bytes.len());
        let Some(head) = BufferHead::read(bytes.at(at, BUFFER_LEN)?) else {
            self.at = all;
            return Ok(Step::Damage(damage(
                at..all,
                "the log ends inside the header of a buffer".to_string(),
            )));
        };
        let payload = at + BUFFER_LEN as u64;
        let claimed = usize::try_from(head.len).ok().filter(|len| *len <= MAX_PAYLOAD);
        let mut placed = Placed { head, version, index: self.buffers, at, len: 0 };
        self.buffers = self.buffers.saturating_add(1);
        if let Some(len) = claimed {
            let end = payload + len as u64;
            if end == all || end < all && is_header(bytes.at(end, 4)?) {
                placed.len = len;
                self.at = end;
                return Ok(Step::Buffer(placed));
            }
        }
        // The length does not lead to another header: either it is wrong, or its target is.
        let next = search(bytes, payload, |b| is_file(b) || is_buffer(b))?;
        let most = (next - payload).min(MAX_PAYLOAD as u64) as usize;
        if let Some(len) = claimed.filter(|len| *len <= most) {
            let payload = bytes.at(payload, len)?;
            let payload = &payload[..len.min(payload.len())];
            if decode(self.layouts.of(version), &head, payload, &mut Ignore).wrong.is_none() {
                placed.len = len;
                self.at += (BUFFER_LEN + len) as u64;
                return Ok(Step::Buffer(placed));
            }
        }
        placed.len = most;
        self.at = payload + most as u64;
        Ok(Step::Buffer(placed))
    }

    /// Continues at the next header.
    fn skip(
        &mut self,
        bytes: &mut LogBytes<'_>,
        from: u64,
        accept: fn(&[u8]) -> bool,
        why: String,
    ) -> io::Result<Step> {
        let start = self.at;
        self.at = search(bytes, from, accept)?;
        Ok(Step::Damage(damage(start..self.at, why)))
    }
}

fn is_header(bytes: &[u8]) -> bool {
    is_file(bytes) || is_buffer(bytes)
}

fn damage(range: Range<u64>, why: String) -> Damage {
    Damage::new(range, Cause::Log(why), 0)
}

/// Returns the place of the next header, or the end of the log.
fn search(bytes: &mut LogBytes<'_>, from: u64, accept: fn(&[u8]) -> bool) -> io::Result<u64> {
    let (mut at, len) = (from, bytes.len());
    while at + 4 <= len {
        let here = bytes.at(at, SEARCH)?;
        let here = &here[..here.len().min(SEARCH)];
        if let Some(index) = here.windows(4).position(accept) {
            return Ok(at + index as u64);
        }
        at += (here.len().max(4) - 3) as u64;
    }
    Ok(len)
}

/// Ignores all events.
struct Ignore;

impl Visit for Ignore {
    fn call(&mut self, _: What, _: u64, _: u64, _: usize, _: usize) {}
    fn event(&mut self, _: &Item<'_>) {}
}
