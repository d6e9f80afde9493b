//! The copies of one block, put together.
//!
//! All copies of a block are stretches of the same packed bytes: a part of a stream, a part of another one, the
//! block in memory. What they have together is one block again.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::io;
use std::ops::Range;

use telemetry_format::{Header, Loss, MAX_PAYLOAD, flags, memory};

use super::found::Copy;
use super::recovered::{LastEvent, Refusal};
use super::scan::{end_ticks, live_header};
use crate::bytes::compression::unpack;
use crate::bytes::source::Source;
use crate::decode::decoder::Decoder;
use crate::decode::walk::{Walk, walk};

/// A block that was put together, or the part that is left of it.
pub(super) struct Whole {
    pub(super) header: Header,
    pub(super) payload: Vec<u8>,
    /// Its last event, where that was looked for.
    pub(super) last: Option<LastEvent>,
}

/// A copy with its bytes.
struct Stretch {
    header: Header,
    bytes: Vec<u8>,
    is_live: bool,
    is_last: bool,
    at: u64,
}

impl Stretch {
    fn range(&self) -> Range<usize> {
        let start = self.header.offset as usize;
        start..start + self.bytes.len()
    }

    /// Number of the lane's event behind the last.
    fn end_number(&self) -> u64 {
        self.header.before.saturating_add(self.header.events.into())
    }
}

/// Most bytes of the copies of one block that are put together.
const MAX_BYTES: u64 = 4 * MAX_PAYLOAD as u64;

/// Puts the copies of a block together: to one, unless parts of it are missing. Calls a function for copies that
/// are left out.
pub(super) fn join(
    source: &Source<'_>,
    decoder: &Decoder,
    mut copies: Vec<&Copy>,
    next_at: impl Fn(&Copy) -> Option<u64>,
    wants_last: bool,
    mut refuse: impl FnMut(Refusal, u64),
) -> io::Result<Vec<Whole>> {
    copies.sort_by_key(|copy| (copy.is_live, Reverse(copy.len), copy.at));
    let mut stretches = Vec::new();
    let mut bytes = 0;
    for copy in copies {
        bytes += u64::from(copy.len);
        let loaded = match bytes <= MAX_BYTES {
            true => load(source, decoder, copy, next_at(copy))?,
            false => Err(Refusal::TooMany),
        };
        match loaded {
            Ok(stretch) => stretches.push(stretch),
            Err(why) => refuse(why, copy.at),
        }
    }
    // What was checked, and what is longer, is believed before what was not.
    stretches.sort_by_key(|stretch| (stretch.is_live, Reverse(stretch.bytes.len()), stretch.at));
    if stretches.iter().any(|stretch| stretch.header.codec != 0) {
        // Bytes of compressed parts are no stretches of one text.
        return Ok(stretches.into_iter().map(|stretch| alone(stretch, decoder, wants_last)).collect());
    }
    if let Some(first) = stretches.first().map(|stretch| stretch.header.base_ticks) {
        stretches.retain(|stretch| {
            let fits = stretch.header.base_ticks == first;
            if !fits {
                refuse(Refusal::Contradicted, stretch.at);
            }
            fits
        });
    }
    let mut wholes = Vec::new();
    if let Some(anchor) = stretches.iter().position(|stretch| stretch.header.offset == 0) {
        let anchor = stretches[anchor].header.clone();
        stretches.sort_by_key(|stretch| stretch.header.offset);
        let (whole, end) = from_start(&stretches, anchor, decoder, wants_last);
        wholes.push(whole);
        stretches.retain(|stretch| stretch.range().end > end);
    }
    // What stands behind a gap stays a part: another stream may fill the gap.
    stretches.retain(|stretch| !stretch.is_live);
    stretches.sort_by_key(|stretch| stretch.header.offset);
    stretches.dedup_by_key(|stretch| stretch.range());
    wholes.extend(stretches.into_iter().map(|stretch| alone(stretch, decoder, wants_last)));
    Ok(wholes)
}

/// Reads the bytes of a copy; of a block of memory those that make sense.
fn load(
    source: &Source<'_>,
    decoder: &Decoder,
    copy: &Copy,
    next_at: Option<u64>,
) -> io::Result<Result<Stretch, Refusal>> {
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
    // Where another block begins, this one was given back, and its memory taken again.
    let end = next_at.unwrap_or(u64::MAX).min(start + u64::from(header.payload_len));
    let mut bytes = vec![0; end.saturating_sub(start) as usize];
    let len = source.read_all_at(start, &mut bytes)?;
    bytes.truncate(len);
    let mut stretch = Stretch { header, bytes, is_live: copy.is_live, is_last: copy.is_last, at: copy.at };
    if !copy.is_live {
        let is_right = crc32c::crc32c(&stretch.bytes) == stretch.header.payload_crc;
        if !is_right {
            return Ok(Err(Refusal::Payload));
        }
        // What is to be joined with other parts is no longer compressed.
        if let Ok((header, Cow::Owned(bytes))) = unpack(&stretch.header, &stretch.bytes) {
            (stretch.header, stretch.bytes) = (header, bytes);
        }
        return Ok(Ok(stretch));
    }
    let promised = stretch.header.events;
    if promised == 0 {
        stretch.bytes.clear();
        return Ok(Ok(stretch));
    }
    let Some(index) = decoder.known.registry(stretch.header.registry) else {
        return Ok(Err(Refusal::NoRegistry(stretch.header.registry)));
    };
    let (registry, kind) = (&decoder.known.registries[index], stretch.header.kind);
    let mut at = Walk::from(&stretch.header);
    let walked = walk(registry, kind, &stretch.bytes, promised, &mut at, |_, _, _, _| {});
    if walked.events == 0 {
        return Ok(Err(Refusal::Undecodable));
    }
    stretch.is_last &= walked.events == promised;
    stretch.header.events = walked.events;
    // The header of a block that is open does not know its end.
    stretch.header.end_ticks = if stretch.is_last { end_ticks(head).max(at.time) } else { at.time };
    stretch.bytes.truncate(walked.len);
    Ok(Ok(stretch))
}

/// The block from its start on, as far as the stretches, in the order of their offsets, go without a gap, and the
/// offset of its end. The header is that of one that begins it.
fn from_start(
    stretches: &[Stretch],
    mut header: Header,
    decoder: &Decoder,
    wants_last: bool,
) -> (Whole, usize) {
    let mut payload = Vec::new();
    let (mut number, mut pieces) = (header.before, 0);
    (header.end_ticks, header.flags) = (header.base_ticks, header.flags & !flags::LAST);
    let mut is_checked = true;
    let mut coming = stretches.iter().peekable();
    // Those that reach farthest of the stretches that begin here or before: checked, and not.
    let mut farthest: [Option<&Stretch>; 2] = [None; 2];
    loop {
        let here = payload.len();
        while let Some(next) = coming.next_if(|next| next.range().start <= here) {
            let farthest = &mut farthest[usize::from(next.is_live)];
            if farthest.is_none_or(|known| known.range().end < next.range().end) {
                *farthest = Some(next);
            }
        }
        let goes_on = |stretch: &&Stretch| stretch.range().end > here;
        let Some(next) = farthest.into_iter().flatten().find(goes_on) else { break };
        payload.extend_from_slice(&next.bytes[here - next.range().start..]);
        number = next.end_number();
        header.end_ticks = header.end_ticks.max(next.header.end_ticks);
        header.flags |= if next.is_last { flags::LAST } else { 0 };
        pieces += 1;
        is_checked &= !next.is_live;
    }
    for Stretch { header: Header { lost, .. }, .. } in stretches {
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

/// A part as it is.
fn alone(stretch: Stretch, decoder: &Decoder, wants_last: bool) -> Whole {
    let mut whole = Whole { header: stretch.header, payload: stretch.bytes, last: None };
    if wants_last && whole.header.offset == 0 && whole.header.codec == 0 {
        look_at(&mut whole, decoder, false);
    }
    whole
}

/// Goes through the events of a block for its last one. One of several pieces is cut where they do not go
/// together.
fn look_at(whole: &mut Whole, decoder: &Decoder, cuts: bool) {
    let Whole { header, payload, last } = whole;
    let Some(index) = decoder.known.registry(header.registry) else { return };
    let (mut found, mut raw) = (None, Vec::new());
    let mut at = Walk::from(&*header);
    let registry = &decoder.known.registries[index];
    let walked =
        walk(registry, header.kind, payload, header.events, &mut at, |event, ticks, params, bytes| {
            raw.clear();
            raw.extend_from_slice(params);
            found = Some((event, ticks, bytes));
        });
    *last = found.map(|(event, ticks, bytes)| {
        for raw in &mut raw {
            // Numbers have no place.
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
