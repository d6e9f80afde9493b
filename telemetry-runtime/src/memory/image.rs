//! Blocks beside the pool that are never overwritten: those of the session and of the registries.
//! Without them, a post-mortem cannot read the blocks in the pool.
#![allow(unsafe_code)]

use core::fmt::Display;

use telemetry_format::{BlockType, HEADER_LEN, Header, Loss, flags};

use crate::memory::facts;
use crate::memory::mapping::{self, give_back, room};
use crate::model::registry_def::RegistryDef;
use crate::run::state;
use crate::sys::text::Region;

/// Writes the session's block beside the pool, with the words of the output and of the flight
/// recorder. Without memory for it, streams contain fewer facts. Does not allocate.
pub(crate) fn keep_session(wanted: Option<&str>, output: &dyn Display, record: &dyn Display) {
    let Some(at) = room(HEADER_LEN + facts::MAX_START_LEN) else { return };
    // SAFETY: the memory is new, belongs to this function, and has room for both. It is never
    // freed.
    let memory = unsafe { core::slice::from_raw_parts_mut(at.add(HEADER_LEN), facts::MAX_START_LEN) };
    let mut text = Region::new(memory);
    facts::of_start(&mut text, wanted, &[("control_at_start", output), ("record_at_start", record)]);
    let len = text.as_bytes().len();
    give_back(facts::MAX_START_LEN - len);
    let (text, _) = memory.split_at(len);
    put(at, &Header::new(BlockType::Session, state::session()), text);
    facts::keep(text);
}

/// Writes a registry's block beside the pool. Does not allocate.
pub(crate) fn keep_registry(def: &RegistryDef) {
    let header = Header { registry: def.fingerprint, ..Header::new(BlockType::Registry, state::session()) };
    keep(&header, def.text);
}

fn keep(header: &Header, text: &str) {
    let Some(at) = room(HEADER_LEN + text.len()) else { return };
    // SAFETY: the memory is new, belongs to this function, and has room for both.
    let memory = unsafe { core::slice::from_raw_parts_mut(at.add(HEADER_LEN), text.len()) };
    memory.copy_from_slice(text.as_bytes());
    put(at, header, memory);
}

/// Writes the header of the text that follows it.
fn put(at: *mut u8, header: &Header, text: &[u8]) {
    let moment = state::moment();
    let header = Header {
        payload_len: text.len() as u32,
        unpacked_len: text.len() as u32,
        flags: header.flags | flags::LAST,
        base_ticks: moment.ticks,
        base_wall: moment.wall,
        end_ticks: moment.ticks,
        payload_crc: crc32c::crc32c(text),
        ..header.clone()
    };
    let head = header.encode(crc32c::crc32c);
    // SAFETY: the caller has room for a header there.
    unsafe { core::ptr::copy_nonoverlapping(head.as_ptr(), at, HEADER_LEN) };
}

/// Ends the session's memory image, and removes the file if it is not needed. A needed file gets
/// the end of the session, and the losses without a lane. Returns true if there was a file and it
/// was removed. The caller has the lock of `control`.
pub(crate) fn end(is_needed: bool, lost: Loss) -> bool {
    if is_needed && mapping::is_file() {
        let end = Header { flags: flags::END, lost, ..Header::new(BlockType::Sync, state::session()) };
        keep(&end, "");
    }
    mapping::close(is_needed)
}
