//! Writes the blocks of an image as a stream: sessions, registries, threads, then events.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::ops::Range;

use telemetry_format::{BlockType, HEADER_LEN, Header, Loss, flags};

use super::accounts::Ledger;
use super::contents::{Contents, Copy, refuse};
use super::copies::{Whole, join};
use super::recovered::{LastEvent, OpenBlock, Recovered, ThreadInFlight};
use crate::bytes::source::Source;
use crate::decode::decoder::Decoder;
use crate::lanes::lane::{EventRange, LaneKey};
use crate::lanes::losses::HeaderSums;
use crate::write::block::write_block;

/// The copies of one block, or parts of one moment that only state losses.
struct Group {
    copies: Range<usize>,
    /// The block is among the last of its lane.
    is_late: bool,
}

/// Indices of the registries of each session's lanes.
type SessionRegistries = BTreeMap<u32, BTreeSet<usize>>;

/// The open blocks and the last event of each thread, by session and number.
type Threads = BTreeMap<(u32, u32), (Vec<OpenBlock>, Option<LastEvent>)>;

pub(super) fn write(
    source: &Source<'_>,
    mut decoder: Decoder,
    mut found: Contents,
    out: &mut dyn Write,
) -> io::Result<Recovered> {
    let mut ledger = std::mem::take(&mut found.accounts).into_ledger(&mut decoder, &found.syncs);
    let starts: Vec<(u64, bool)> = found.copies.iter().map(|copy| (copy.at, copy.is_live)).collect();
    let copies = &mut found.copies;
    copies.sort_by_key(|copy| (copy.block(), copy.offset, copy.at));
    let groups = in_order(copies, &decoder);
    let mut registries = SessionRegistries::new();
    for LaneKey { session, registry, .. } in decoder.lanes.iter().map(|lane| lane.key) {
        registries.entry(session).or_default().extend(decoder.state.registry(registry));
    }
    let mut out = Counted { out, bytes: 0 };
    let (mut blocks, mut events) = (0, 0);
    let mut threads = Threads::new();
    let mut sums = BTreeMap::<u32, HeaderSums>::new();
    let mut session = None;
    let mut open_sessions: BTreeSet<u32> = (0..decoder.state.sessions.len() as u32).collect();
    for group in &groups {
        let copies = &found.copies[group.copies.clone()];
        let Some(first) = copies.first() else { continue };
        let (lane, key) = (first.lane, decoder.lanes[first.lane as usize].key);
        if session != Some(key.session) {
            if let Some(before) = session.replace(key.session) {
                end_session(before, &decoder, &found, &ledger, &mut out)?;
            }
            begin_session(key.session, &decoder, &registries, &mut out)?;
            open_sessions.remove(&key.session);
        }
        let next_at = |copy: &Copy| taken_again(copy, &starts);
        let refused = &mut found.refused;
        let wholes = join(source, &decoder, copies.iter().collect(), next_at, group.is_late, |why, at| {
            refuse(refused, why, at)
        })?;
        let (open, last) = threads.entry((key.session, key.thread)).or_default();
        if let Some(block) = open_block(copies, &wholes, key) {
            open.push(block);
        }
        for Whole { mut header, payload, last: candidate } in wholes {
            if header.events == 0 && header.before == 0 && header.lost == Default::default() {
                continue;
            }
            header.header_len = HEADER_LEN as u16;
            ledger.take(lane, &mut header);
            let of_lane = sums.entry(lane).or_default();
            *of_lane = of_lane.highest(&HeaderSums::of(&header));
            if decoder.state.has_names(header.registry, header.kind) {
                header.payload_len = payload.len() as u32;
                decoder.state.names_block(lane, &header, &payload);
            }
            (blocks, events) = (blocks + 1, events + u64::from(EventRange::there(&header).events));
            write_block(&mut out, header, &payload)?;
            if last.as_ref().map(|last| last.ticks) <= candidate.as_ref().map(|last| last.ticks) {
                *last = candidate;
            }
        }
    }
    if let Some(before) = session {
        end_session(before, &decoder, &found, &ledger, &mut out)?;
    }
    // Sessions without events.
    for session in open_sessions {
        begin_session(session, &decoder, &registries, &mut out)?;
        end_session(session, &decoder, &found, &ledger, &mut out)?;
    }
    out.flush()?;
    let threads = in_flight(threads, &decoder);
    let unreadable = decoder.state.all_unreadable();
    for index in 0..decoder.lanes.len() as u32 {
        if let Some(end) = ledger.end(index, &decoder) {
            let of_lane = sums.entry(index).or_default();
            *of_lane = of_lane.highest(&HeaderSums::of(&end));
        }
    }
    let ids = decoder.state.sessions.iter().map(|session| session.id);
    let ids: BTreeSet<u64> = ids.chain(found.syncs.keys().copied()).collect();
    let of_no_lane = ids.into_iter().filter_map(|session| last_sync(session, &found, &ledger));
    let of_no_lane = of_no_lane.map(|sync| HeaderSums { lost: sync.lost, excluded: 0 });
    let sums = sums.into_values().chain(of_no_lane).fold(HeaderSums::default(), |all, sums| all.sum(&sums));
    let lanes = ledger.lanes(&decoder);
    let gone = decoder.state.sessions.iter().map(|session| ledger.gone(session.id)).collect();
    Ok(Recovered {
        scanned: found.scanned,
        whole_blocks: found.whole_blocks,
        live_blocks: found.live_blocks,
        refused: found.refused,
        unreadable,
        blocks,
        events,
        bytes: out.bytes,
        lost: sums.lost,
        sessions: decoder.state.sessions,
        threads,
        lanes,
        gone,
        registries: decoder.state.registries,
    })
}

/// Returns the groups of copies in the order of writing: by session, labels first, then by time.
fn in_order(copies: &[Copy], decoder: &Decoder) -> Vec<Group> {
    let mut groups = Vec::new();
    let mut start = 0;
    for same in copies.chunk_by(|a, b| a.block() == b.block()) {
        groups.push(Group { copies: start..start + same.len(), is_late: false });
        start += same.len();
    }
    // The very last block of a lane may be empty. Parts that only state losses are behind it.
    for index in 0..groups.len() {
        let lane = copies[groups[index].copies.start].lane;
        let then = groups.get(index + 2).map(|group| &copies[group.copies.start]);
        groups[index].is_late = then.is_none_or(|then| then.lane != lane || then.is_only_losses);
    }
    groups.sort_by_cached_key(|group| {
        let first = &copies[group.copies.start];
        let key = &decoder.lanes[first.lane as usize].key;
        // Blocks of no thread that give names.
        let is_labels = key.thread == 0 && decoder.state.has_names(key.registry, key.kind);
        (key.session, !is_labels, first.base_ticks, first.lane, first.seq)
    });
    groups
}

/// Returns the offset where another block begins inside a block of memory, because its memory was
/// reused. This may be another block of memory at any offset, so that two blocks share no bytes. It
/// may be a block of a stream at a page, because the program's text may have whole blocks too.
fn taken_again(copy: &Copy, starts: &[(u64, bool)]) -> Option<u64> {
    const PAGE: u64 = 4096;
    if !copy.is_live {
        return None;
    }
    let next = starts.partition_point(|(start, _)| *start <= copy.at);
    let end = copy.at + telemetry_format::memory::HEADER_LEN as u64 + u64::from(copy.len);
    let mut inside = starts[next..].iter().take_while(|(start, _)| *start < end);
    let taken = inside.find(|(start, is_live)| *is_live || (start - copy.at).is_multiple_of(PAGE));
    taken.map(|(start, _)| *start)
}

/// Returns the block that a thread was still writing to, if no copy of it is sealed.
fn open_block(copies: &[Copy], wholes: &[Whole], key: LaneKey) -> Option<OpenBlock> {
    let is_open = copies.iter().any(|copy| copy.is_live) && copies.iter().all(|copy| !copy.is_last);
    let whole = wholes.iter().find(|whole| whole.header.offset == 0).filter(|_| is_open)?;
    let (events, bytes) = (whole.header.events, whole.payload.len() as u32);
    (events > 0).then_some(OpenBlock { registry: key.registry, kind: key.kind, events, bytes })
}

/// Writes the facts of a session.
fn begin_session(
    session: u32,
    decoder: &Decoder,
    registries: &SessionRegistries,
    out: &mut dyn Write,
) -> io::Result<()> {
    let known = &decoder.state;
    let Some(one) = known.sessions.get(session as usize) else { return Ok(()) };
    let header = |block_type| Header { flags: flags::LAST, ..Header::new(block_type, one.id) };
    if one.declared {
        let (ticks, wall) = (one.clock.start_ticks(), one.clock.start_wall());
        let header =
            Header { base_ticks: ticks, base_wall: wall, end_ticks: ticks, ..header(BlockType::Session) };
        write_block(out, header, one.facts.to_toml().as_bytes())?;
    }
    for registry in registries.get(&session).into_iter().flatten() {
        let registry = &known.registries[*registry];
        let header = Header { registry: registry.fingerprint, ..header(BlockType::Registry) };
        write_block(out, header, registry.registry.to_toml().as_bytes())?;
    }
    for (thread, facts) in one.threads() {
        let header = Header { thread: *thread, ..header(BlockType::Thread) };
        write_block(out, header, facts.to_toml().as_bytes())?;
    }
    Ok(())
}

/// Writes the sums of accounts, and a session's latest sync block. This is its end, if it ended.
fn end_session(
    session: u32,
    decoder: &Decoder,
    found: &Contents,
    ledger: &Ledger,
    out: &mut dyn Write,
) -> io::Result<()> {
    for header in ledger.ends(session, decoder) {
        write_block(out, header, &[])?;
    }
    let Some(session) = decoder.state.sessions.get(session as usize) else { return Ok(()) };
    match last_sync(session.id, found, ledger) {
        Some(sync) => Ok(write_block(out, sync, &[])?),
        None => Ok(()),
    }
}

/// Returns a session's latest sync block, with the losses in its account that belong to no lane.
fn last_sync(session: u64, found: &Contents, ledger: &Ledger) -> Option<Header> {
    let strays = ledger.strays(session);
    let sync = found.syncs.get(&session).cloned();
    let sync = sync.or_else(|| strays.map(|_| Header::new(BlockType::Sync, session)))?;
    let Loss { pool, reentrant, .. } = strays.unwrap_or_default();
    let lost =
        Loss { pool: sync.lost.pool.max(pool), reentrant: sync.lost.reentrant.max(reentrant), ..sync.lost };
    Some(Header { header_len: HEADER_LEN as u16, lost, ..sync })
}

/// Returns for each thread how long before the end of its session it ended.
fn in_flight(threads: Threads, decoder: &Decoder) -> Vec<ThreadInFlight> {
    let mut newest = BTreeMap::<u32, u64>::new();
    for (&(session, _), (_, last)) in &threads {
        let ticks = last.as_ref().map_or(0, |last| last.ticks);
        let newest = newest.entry(session).or_default();
        *newest = ticks.max(*newest);
    }
    let threads = threads.into_iter().filter(|(_, (open, last))| last.is_some() || !open.is_empty());
    let threads = threads.filter_map(|((session, thread), (open, last))| {
        let clock = &decoder.state.sessions.get(session as usize)?.clock;
        let newest = newest.get(&session).copied().unwrap_or_default();
        let behind_ns = last.as_ref().map_or(0, |last| clock.ns(newest).saturating_sub(clock.ns(last.ticks)));
        Some(ThreadInFlight { session: session as usize, thread, open, last, behind_ns })
    });
    threads.collect()
}

/// Counts the written bytes.
struct Counted<'a> {
    out: &'a mut dyn Write,
    bytes: u64,
}

impl Write for Counted<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
