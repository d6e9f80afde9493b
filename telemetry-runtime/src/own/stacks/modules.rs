//! The files of code that are mapped into the process, so that readers can name its addresses.
//!
//! They are looked up when a stack has an address outside of all that are known: in the system's
//! list of mappings, since the loader's list has a lock.
#![allow(unsafe_code)]

use core::cell::UnsafeCell;

use telemetry_format::put;
use telemetry_format::put::MAX_VARINT;

use crate::own::labels::{Slot, Store};
use crate::own::registry::{MAX_BUILD_ID, MAX_PATH, MODULE};
use crate::sys;
use crate::sys::atomic::{AtomicU64, AtomicUsize, Ordering};
use crate::sys::maps::{self, Maps, Region, read_memory};

/// Maximum number of mappings with code that are known. With more, every address counts as code.
const MAX_REGIONS: usize = 1024;
/// How many addresses without code are looked up at once, and how long after these the next may be.
const FREE_MISSES: u64 = 64;
const PAUSE_NS: u64 = 100_000_000;

/// The mappings with code. All that it does is done under the lock of the lane.
pub(crate) struct Modules {
    starts: [AtomicU64; MAX_REGIONS],
    ends: [AtomicU64; MAX_REGIONS],
    len: AtomicUsize,
    /// Number of addresses that were looked up in vain, and when the last was.
    misses: AtomicU64,
    missed: AtomicU64,
    scratch: UnsafeCell<Scratch>,
}

/// Memory that a look-up uses, which may be on the small stack of a signal handler.
struct Scratch {
    lines: [u8; 8192],
    path: [u8; MAX_PATH],
}

// SAFETY: only the owner of the lane's lock uses the scratch.
unsafe impl Sync for Modules {}

/// A file whose mappings follow each other.
struct File {
    base: u64,
    end: u64,
    path_len: usize,
    /// True if it has code that was unknown.
    is_new: bool,
}

impl Modules {
    pub(crate) const fn new() -> Modules {
        Modules {
            starts: [const { AtomicU64::new(0) }; MAX_REGIONS],
            ends: [const { AtomicU64::new(0) }; MAX_REGIONS],
            len: AtomicUsize::new(0),
            misses: AtomicU64::new(0),
            missed: AtomicU64::new(0),
            scratch: UnsafeCell::new(Scratch { lines: [0; 8192], path: [0; MAX_PATH] }),
        }
    }

    /// Returns true if there is code at an address. Appends the files with code that are new to the
    /// lane, whose lock the caller has.
    pub(crate) fn has(&self, lane: &Store, code: u64) -> bool {
        if self.knows(code) {
            return true;
        }
        let misses = self.misses.load(Ordering::Relaxed);
        let now = sys::monotonic_ns();
        if misses >= FREE_MISSES && now.wrapping_sub(self.missed.load(Ordering::Relaxed)) < PAUSE_NS {
            return false;
        }
        // If the system does not tell, any address may be code.
        let is_known = maps::quietly(|| self.look_up(lane)).is_none() || self.knows(code);
        if !is_known {
            self.misses.store(misses + 1, Ordering::Relaxed);
            self.missed.store(now, Ordering::Relaxed);
        }
        is_known
    }

    fn knows(&self, code: u64) -> bool {
        let len = self.len.load(Ordering::Relaxed);
        let is_in = |(start, end): (&AtomicU64, &AtomicU64)| {
            (start.load(Ordering::Relaxed)..end.load(Ordering::Relaxed)).contains(&code)
        };
        len == MAX_REGIONS || self.starts[..len].iter().zip(&self.ends).any(is_in)
    }

    /// Looks through all mappings. Returns `None` if the system has no list.
    fn look_up(&self, lane: &Store) -> Option<()> {
        // SAFETY: the caller has the lane's lock.
        let Scratch { lines, path } = unsafe { &mut *self.scratch.get() };
        let mut maps = Maps::open(lines)?;
        let mut file = File { base: 0, end: 0, path_len: 0, is_new: false };
        while let Some(region) = maps.next() {
            let kept = &region.path[..region.path.len().min(MAX_PATH)];
            if kept != &path[..file.path_len] {
                file.tell(lane, path);
                let base = region.start.wrapping_sub(region.offset);
                path[..kept.len()].copy_from_slice(kept);
                file = File { base, end: region.end, path_len: kept.len(), is_new: false };
            }
            file.end = region.end;
            if region.is_code {
                file.is_new |= self.add(&region);
            }
        }
        file.tell(lane, path);
        Some(())
    }

    /// Adds a mapping with code. Returns true if it was unknown.
    fn add(&self, region: &Region<'_>) -> bool {
        let len = self.len.load(Ordering::Relaxed);
        let is_same = |(start, end): (&AtomicU64, &AtomicU64)| {
            start.load(Ordering::Relaxed) == region.start && end.load(Ordering::Relaxed) == region.end
        };
        if len == MAX_REGIONS || self.starts[..len].iter().zip(&self.ends).any(is_same) {
            return false;
        }
        self.starts[len].store(region.start, Ordering::Relaxed);
        self.ends[len].store(region.end, Ordering::Relaxed);
        self.len.store(len + 1, Ordering::Relaxed);
        true
    }
}

impl File {
    /// Appends the file to the lane, if it is one and is new.
    fn tell(&self, lane: &Store, path: &[u8]) {
        if !self.is_new || self.path_len == 0 {
            return;
        }
        // The path was cut before a character, or is no text.
        let path = &path[..self.path_len];
        let path = match core::str::from_utf8(path) {
            Ok(path) => path,
            Err(error) => core::str::from_utf8(&path[..error.valid_up_to()]).unwrap_or_default(),
        };
        let mut build_id = [0; MAX_BUILD_ID];
        let len = build_id_at(self.base, &mut build_id).unwrap_or(0);
        let need = 4 * MAX_VARINT + MAX_BUILD_ID + path.len();
        let appended = lane.append(MODULE, need, |out| {
            let out = put::delta(out, lane.slot(Slot::Base), self.base);
            let out = put::delta(out, lane.slot(Slot::End), self.end);
            put::bytes(put::bytes(out, &build_id[..len]), path.as_bytes())
        });
        match appended {
            Some(_) => {
                lane.set_slot(Slot::Base, self.base);
                lane.set_slot(Slot::End, self.end);
            }
            None => lane.count_full(),
        }
    }
}

/// Reads the build ID of the ELF file that is mapped there. Returns its length.
fn build_id_at(base: u64, into: &mut [u8; MAX_BUILD_ID]) -> Option<usize> {
    let mut head = [0; 64];
    if !read_memory(base, &mut head) || !head.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let (first, size) = (u64_at(&head, 32)?, u64::from(u16_at(&head, 54)?));
    let mut moved = None;
    for index in 0..u64::from(u16_at(&head, 56)?).min(64) {
        let mut segment = [0; 56];
        if !read_memory(base.checked_add(first)?.checked_add(index * size)?, &mut segment) {
            return None;
        }
        let (kind, address) = (u32_at(&segment, 0)?, u64_at(&segment, 16)?);
        if kind == libc::PT_LOAD && moved.is_none() {
            // The file's first segment is at its base.
            moved = Some(base.wrapping_sub(address - address % 4096));
        }
        if kind != libc::PT_NOTE {
            continue;
        }
        let mut notes = [0; 512];
        let len = (u64_at(&segment, 40)? as usize).min(notes.len());
        let at = moved?.wrapping_add(address);
        if read_memory(at, &mut notes[..len])
            && let Some(found) = sys::find_build_id(&notes[..len], u64_at(&segment, 48)? as usize)
        {
            let kept = found.len().min(MAX_BUILD_ID);
            into[..kept].copy_from_slice(&found[..kept]);
            return Some(kept);
        }
    }
    None
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}
