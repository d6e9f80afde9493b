//! Joins the copies of a block.
//!
//! All copies of a block are ranges of the same encoded bytes: a part in one stream, a part in
//! another, the block in memory. Together they are one block again.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::io;
use std::ops::Range;

use telemetry_format::{Header, Loss, MAX_PAYLOAD, flags, memory};

use super::contents::Copy;
use super::recovered::{LastEvent, Refusal};
use super::scan::{end_ticks, live_header};
use crate::bytes::compression::unpack;
use crate::bytes::source::Source;
use crate::decode::decoder::Decoder;
use crate::decode::walk::{Walk, walk};

/// A joined block, or a part of it.
pub(super) struct Whole {
    pub(super) header: Header,
    pub(super) payload: Vec<u8>,
    /// Its last event, if that is needed.
    pub(super) last: Option<LastEvent>,
}

/// A copy with its bytes.
struct LoadedCopy {
    header: Header,
    bytes: Vec<u8>,
    is_live: bool,
    is_last: bool,
    at: u64,
}

impl LoadedCopy {
    fn range(&self) -> Range<usize> {
        let start = self.header.offset as usize;
        start..start + self.bytes.len()
    }

    /// Returns the number after that of the copy's last event.
    fn end_number(&self) -> u64 {
        self.header.before.saturating_add(self.header.events.into())
    }
}

/// The maximum total length of the joined copies of one block.
const MAX_BYTES: u64 = 4 * MAX_PAYLOAD as u64;

/// Joins the copies of a block into one, unless a part is missing. Calls `refuse` for copies that
/// are skipped.
pub(super) fn join(
    source: &Source<'_>,
    decoder: &Decoder,
    mut copies: Vec<&Copy>,
    next_at: impl Fn(&Copy) -> Option<u64>,
    wants_last: bool,
    mut refuse: impl FnMut(Refusal, u64),
) -> io::Result<Vec<Whole>> {
    copies.sort_by_key(|copy| (copy.is_live, Reverse(copy.len), copy.at));
    let are_only_losses = copies.iter().all(|copy| copy.is_only_losses);
    let mut loaded = Vec::new();
    let mut bytes = 0;
    for copy in copies {
        bytes += u64::from(copy.len);
        let part = match bytes <= MAX_BYTES {
            true => load(source, decoder, copy, next_at(copy))?,
            false => Err(Refusal::TooMany),
        };
        match part {
            Ok(part) => loaded.push(part),
            Err(why) => refuse(why, copy.at),
        }
    }
    // Checked copies come before others, and longer ones before shorter.
    loaded.sort_by_key(|part| (part.is_live, Reverse(part.bytes.len()), part.at));
    if let Some(first) = loaded.first().map(|part| part.header.base_ticks) {
        loaded.retain(|part| {
            let fits = part.header.base_ticks == first;
            if !fits {
                refuse(Refusal::Contradicted, part.at);
            }
            fits
        });
    }
    if are_only_losses {
        // Each may state something else. What they count only grows.
        loaded.sort_by_key(|part| {
            let Loss { pool, reentrant, sink, truncated } = part.header.lost;
            (part.header.before, part.header.excluded, pool, reentrant, sink, truncated)
        });
        loaded.dedup_by(|part, earlier| part.header == earlier.header);
    }
    if are_only_losses || loaded.iter().any(|part| part.header.codec != 0) {
        // Bytes of compressed parts are not ranges of the same bytes.
        return Ok(loaded.into_iter().map(|part| alone(part, decoder, wants_last)).collect());
    }
    let mut wholes = Vec::new();
    if let Some(anchor) = loaded.iter().position(|part| part.header.offset == 0) {
        let anchor = loaded[anchor].header.clone();
        loaded.sort_by_key(|part| part.header.offset);
        let (whole, end) = from_start(&loaded, anchor, decoder, wants_last);
        wholes.push(whole);
        loaded.retain(|part| part.range().end > end);
    }
    // A part after a gap stays separate: another stream may fill the gap.
    loaded.retain(|part| !part.is_live);
    loaded.sort_by_key(|part| part.header.offset);
    loaded.dedup_by_key(|part| part.range());
    wholes.extend(loaded.into_iter().map(|part| alone(part, decoder, wants_last)));
    Ok(wholes)
}

/// Reads the bytes of a copy. Of a block of memory, reads the bytes that can be decoded.
fn load(
    source: &Source<'_>,
    decoder: &Decoder,
    copy: &Copy,
    next_at: Option<u64>,
) -> io::Result<Result<LoadedCopy, Refusal>> {
    let mut head = [0; memory::HEADER_LEN];
    let head_len = source.read_all_at(copy.at, &mut head)?;
    let head = &head[..head_len];
    let decoded = match copy.is_live {
        true => live_header(head),
        false => Header::decode(head, crc32c::crc32c).ok(),
    };
    // The image may have changed since.
    let Some(header) = decoded.filter(|header| header.payload_len == copy.len) else {
        return Ok(Err(Refusal::Header));
    };
    let start = copy.at + u64::from(header.header_len);
    // If another block begins inside this one, its memory was freed and reused.
    let end = next_at.unwrap_or(u64::MAX).min(start + u64::from(header.payload_len));
    let mut bytes = vec![0; end.saturating_sub(start) as usize];
    let len = source.read_all_at(start, &mut bytes)?;
    bytes.truncate(len);
    let mut part = LoadedCopy { header, bytes, is_live: copy.is_live, is_last: copy.is_last, at: copy.at };
    if !copy.is_live {
        let is_right = crc32c::crc32c(&part.bytes) == part.header.payload_crc;
        if !is_right {
            return Ok(Err(Refusal::Payload));
        }
        // Copies are joined decompressed.
        if let Ok((header, Cow::Owned(bytes))) = unpack(&part.header, &part.bytes) {
            (part.header, part.bytes) = (header, bytes);
        }
        return Ok(Ok(part));
    }
    let promised = part.header.events;
    if promised == 0 {
        part.bytes.clear();
        return Ok(Ok(part));
    }
    let Some(index) = decoder.state.registry(part.header.registry) else {
        return Ok(Err(Refusal::NoRegistry(part.header.registry)));
    };
    let (registry, kind) = (&decoder.state.registries[index], part.header.kind);
    let mut at = Walk::from(&part.header);
    let walked = walk(registry, kind, &part.bytes, promised, &mut at, |_, _, _, _| {});
    if walked.events == 0 {
        return Ok(Err(Refusal::Undecodable));
    }
    part.is_last &= walked.events == promised;
    part.header.events = walked.events;
    // The header of an open block does not have its end.
    part.header.end_ticks = if part.is_last { end_ticks(head).max(at.time) } else { at.time };
    part.bytes.truncate(walked.len);
    Ok(Ok(part))
}

/// Joins the copies from the start of the block on, ordered by offset, up to the first gap. Returns
/// the block, with the header of its first part, and the offset of its end.
fn from_start(
    loaded: &[LoadedCopy],
    mut header: Header,
    decoder: &Decoder,
    wants_last: bool,
) -> (Whole, usize) {
    let mut payload = Vec::new();
    let (mut number, mut pieces) = (header.before, 0);
    (header.end_ticks, header.flags) = (header.base_ticks, header.flags & !flags::LAST);
    let mut is_checked = true;
    let mut coming = loaded.iter().peekable();
    // Of the copies that begin here or before, those that reach farthest: a checked one, and an
    // unchecked one.
    let mut farthest: [Option<&LoadedCopy>; 2] = [None; 2];
    loop {
        let here = payload.len();
        while let Some(next) = coming.next_if(|next| next.range().start <= here) {
            let farthest = &mut farthest[usize::from(next.is_live)];
            if farthest.is_none_or(|known| known.range().end < next.range().end) {
                *farthest = Some(next);
            }
        }
        let goes_on = |part: &&LoadedCopy| part.range().end > here;
        let Some(next) = farthest.into_iter().flatten().find(goes_on) else { break };
        payload.extend_from_slice(&next.bytes[here - next.range().start..]);
        number = next.end_number();
        header.end_ticks = header.end_ticks.max(next.header.end_ticks);
        header.flags |= if next.is_last { flags::LAST } else { 0 };
        pieces += 1;
        is_checked &= !next.is_live;
    }
    for LoadedCopy { header: Header { lost, .. }, .. } in loaded {
        header.lost = Loss {
            pool: header.lost.pool.max(lost.pool),
            reentrant: header.lost.reentrant.max(lost.reentrant),
            sink: header.lost.sink.max(lost.sink),
            truncated: header.lost.truncated.max(lost.truncated),
        };
    }
    let end = payload.len();
    header.events = u32::try_from(number.saturating_sub(header.before)).unwrap_or(u32::MAX);
    let mut whole = Whole { header, payload, last: None };
    if wants_last || pieces > 1 || !is_checked {
        look_at(&mut whole, decoder, pieces > 1);
    }
    (whole, end)
}

/// Returns a part as it is.
fn alone(part: LoadedCopy, decoder: &Decoder, wants_last: bool) -> Whole {
    let mut whole = Whole { header: part.header, payload: part.bytes, last: None };
    if wants_last && whole.header.offset == 0 && whole.header.codec == 0 {
        look_at(&mut whole, decoder, false);
    }
    whole
}

/// Looks for the last event of a block. Truncates a block of several parts where they do not match.
fn look_at(whole: &mut Whole, decoder: &Decoder, cuts: bool) {
    let Whole { header, payload, last } = whole;
    let Some(index) = decoder.state.registry(header.registry) else { return };
    let (mut found, mut raw) = (None, Vec::new());
    let mut at = Walk::from(&*header);
    let registry = &decoder.state.registries[index];
    let walked =
        walk(registry, header.kind, payload, header.events, &mut at, |event, ticks, params, bytes| {
            raw.clear();
            raw.extend_from_slice(params);
            found = Some((event, ticks, bytes));
        });
    *last = found.map(|(event, ticks, bytes)| {
        for raw in &mut raw {
            // Numbers have no bytes.
            raw.at = raw.at.saturating_sub(bytes.start as u32);
            raw.end = raw.end.saturating_sub(bytes.start as u32);
        }
        let payload = payload.get(bytes).unwrap_or_default().to_vec();
        LastEvent { registry: index, index: event, ticks, payload, raw }
    });
    if cuts && (walked.wrong.is_some() || walked.len < payload.len()) {
        payload.truncate(walked.len);
        (header.events, header.end_ticks) = (walked.events, at.time);
        header.flags &= !flags::LAST;
    }
}
