//! Memory images, made from the blocks of streams: recovery gives exactly the committed events.

use std::collections::BTreeMap;

use proptest::prelude::*;
use telemetry_decode::recover::{Recovered, Refusal};
use telemetry_decode::writer::{Lane, Writer};
use telemetry_decode::{Facts, Order, RawStr, Reader, Value};
use telemetry_format::{
    ACCOUNT_LEN, ACCOUNT_MAGIC, BlockType, Header, LaneCounters, LaneIdentity, flags, memory, state,
};
use telemetry_testing::processor_time::takes_at_most;

use crate::labels::runtime;
use crate::made::{Made, Plan, Random, START, blocks, edit, header, make, registry, withheld};
use crate::read::{LaneKey, Read, Way, assert_same_lanes, by_lane, read};

const PAGE: usize = 4096;

/// Makes a block of memory in whole pages, with this part of it committed.
pub(crate) fn live(block: &[u8], committed: (u32, u32), end_ticks: u64) -> Vec<u8> {
    let whole = header(block);
    let opened = Header {
        header_len: memory::HEADER_LEN as u16,
        flags: 0,
        payload_len: 0,
        unpacked_len: 0,
        events: 0,
        offset: 0,
        end_ticks: 0,
        payload_crc: 0,
        ..whole.clone()
    };
    let mut bytes = vec![0; memory::HEADER_LEN];
    bytes[..144].copy_from_slice(&opened.encode(crc32c::crc32c));
    let mut put = |at: usize, value: u64| bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
    put(state::OFFSET, state::pack(committed.0, committed.1));
    put(memory::THREAD_ID, 4_700 + u64::from(whole.thread));
    put(memory::END_TICKS, end_ticks);
    let name = format!("worker-{}", whole.thread);
    bytes[memory::THREAD_NAME..memory::THREAD_NAME + name.len()].copy_from_slice(name.as_bytes());
    bytes.extend_from_slice(&block[whole.header_len.into()..]);
    bytes.resize(bytes.len().next_multiple_of(PAGE), 0);
    bytes
}

/// Makes a block of memory that is complete and sealed.
pub(crate) fn sealed(block: &[u8]) -> Vec<u8> {
    let header = header(block);
    live(block, (header.payload_len, header.events), header.end_ticks)
}

pub(crate) fn recover(image: &[u8]) -> (Vec<u8>, Recovered) {
    let mut stream = Vec::new();
    let recovered = Reader::from_slice(image).recover(&mut stream).unwrap();
    assert_eq!((recovered.scanned, recovered.bytes), (image.len() as u64, stream.len() as u64));
    (stream, recovered)
}

/// Reads a recovered stream, which is whole for any image.
pub(crate) fn read_whole(stream: &[u8]) -> Vec<Read> {
    let (events, completeness) = read(Way::MemoryByTime, stream);
    assert_eq!((completeness.damaged_ranges, completeness.unreadable.len()), (0, 0), "{completeness}");
    let (in_stream, _) = read(Way::PipeInStream, stream);
    assert_same_lanes(&in_stream, &events, "as a pipe");
    events
}

fn is_events(block: &[u8]) -> bool {
    header(block).block_type == BlockType::Events
}

pub(crate) fn split(stream: &[u8]) -> (Vec<&[u8]>, Vec<&[u8]>) {
    blocks(stream).into_iter().map(|range| &stream[range]).partition(|block| is_events(block))
}

/// Makes other contents of memory, including the magic number.
fn noise(random: &mut Random, len: usize) -> Vec<u8> {
    let mut bytes: Vec<u8> = (0..len).map(|_| random.bits() as u8).collect();
    if len > 40 {
        bytes[3..11].copy_from_slice(b"\x89TEL\r\n\x1a\n");
        bytes[len - 5..].copy_from_slice(b"\x89TEL\r");
    }
    bytes
}

/// Makes an image of all blocks, between pages of other contents. The last block of each lane is
/// still open.
fn image(made: &Made) -> Vec<u8> {
    let mut random = Random(5);
    let (events, facts) = split(&made.stream);
    let mut last = BTreeMap::new();
    for (index, block) in events.iter().enumerate() {
        let header = header(block);
        last.insert((header.session, header.thread, header.kind), index);
    }
    let mut image = noise(&mut random, PAGE);
    for (index, block) in events.iter().enumerate().rev() {
        let header = header(block);
        let is_open = last[&(header.session, header.thread, header.kind)] == index;
        let end = if is_open { 0 } else { header.end_ticks };
        image.extend(live(block, (header.payload_len, header.events), end));
        let other = if index % 2 == 0 { noise(&mut random, PAGE) } else { vec![0; 5 * PAGE] };
        image.extend(other);
    }
    for fact in facts {
        if header(fact).block_type != BlockType::Sync {
            image.extend_from_slice(fact);
            image.extend(noise(&mut random, 77));
        }
    }
    image
}

#[test]
fn everything_committed_comes_out() {
    let plan = Plan { sessions: 2, threads: 3, events: 400, flush: 0, end: false, ..Plan::default() };
    let made = make(&registry(), &plan);
    let image = image(&made);
    let (stream, recovered) = recover(&image);
    assert_same_lanes(&read_whole(&stream), &made.events, "recovered");
    assert_eq!((recovered.events, recovered.refused.len()), (400, 0), "{recovered:#?}");
    assert_eq!(recovered.live_blocks, recovered.blocks);
    assert_eq!(recovered.sessions[0].facts.text("program"), Some("program2"));
    assert_eq!(recovered.threads.len(), 6);
    let by_lane = by_lane(&made.events);
    for thread in &recovered.threads {
        let session = recovered.sessions[thread.session].id;
        let of_thread = |key: &LaneKey| (key.0, key.1) == (session, thread.thread);
        let lanes = || by_lane.iter().filter(|(key, _)| of_thread(key));
        assert_eq!(thread.open.len(), lanes().count());
        let last = recovered.last_event(thread).unwrap();
        let newest = lanes().map(|(_, events)| events.last().unwrap().ticks).max().unwrap();
        let expected: Vec<_> =
            lanes().filter_map(|(_, events)| events.last().filter(|event| event.ticks == newest)).collect();
        let values: Vec<_> = last.values().map(|value| crate::read::show(&value)).collect();
        assert!(expected.iter().any(|event| event.code == last.schema().code && event.values == values));
        let end = made.events.iter().filter(|event| event.session == session).map(|event| event.ticks).max();
        let clock = &recovered.sessions[thread.session].clock;
        assert_eq!(thread.behind_ns, clock.ns(end.unwrap()) - clock.ns(newest));
    }
}

/// Without session, registry and thread blocks: names come from the blocks of memory, and the
/// registry from the caller.
#[test]
fn blocks_of_memory_alone() {
    let made = make(&registry(), &Plan { flush: 0, ..Plan::default() });
    let image: Vec<u8> = split(&made.stream).0.into_iter().flat_map(sealed).collect();
    let (stream, recovered) = recover(&image);
    assert_eq!((recovered.events, recovered.blocks), (0, 0));
    let why = Refusal::NoRegistry(registry().fingerprint());
    assert_eq!(recovered.refused.keys().collect::<Vec<_>>(), [&why]);
    assert_eq!(recovered.refused[&why].blocks, recovered.live_blocks);
    assert_eq!(read_whole(&stream), []);

    let mut stream = Vec::new();
    let recovered = Reader::from_slice(&image).registry(registry()).recover(&mut stream).unwrap();
    assert_same_lanes(&read_whole(&stream), &made.events, "with a registry");
    assert_eq!(recovered.sessions[0].thread_name(2), Some("worker-2"));
    assert_eq!(recovered.sessions[0].threads()[&2].number("tid"), Some(4_702));
    assert!(!recovered.sessions[0].declared);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]
    /// A stream in parts and an image each have some events. Recovery gives all of them.
    #[test]
    fn copies_are_put_together(seed in any::<u64>(), keep in 1..9_u64) {
        // The same bytes, in parts and as a whole.
        let plan = Plan { seed, threads: 2, events: 200, flush: 5, end: false, ..Plan::default() };
        let parts = make(&registry(), &plan);
        let wholes = make(&registry(), &Plan { flush: u64::MAX, ..plan });
        prop_assert_eq!(&parts.events, &wholes.events);
        let mut random = Random(seed);
        let mut image = Vec::new();
        // The available ranges of each block's events.
        let mut there = BTreeMap::<(LaneKey, u32), Vec<(u64, u64)>>::new();
        let mut borders = BTreeMap::<(LaneKey, u32), Vec<(u32, u32)>>::new();
        let key = |header: &Header| ((header.session, header.thread, header.registry, header.kind), header.seq);
        for range in blocks(&parts.stream) {
            let block = &parts.stream[range];
            let header = header(block);
            let is_events = header.block_type == BlockType::Events;
            if is_events {
                let border = borders.entry(key(&header)).or_default();
                let events = border.last().map_or(0, |last| last.1) + header.events;
                border.push((header.offset + header.payload_len, events));
            }
            if !is_events || random.below(9) < keep {
                image.extend_from_slice(block);
                if is_events {
                    let stretch = (header.before, header.before + u64::from(header.events));
                    there.entry(key(&header)).or_default().push(stretch);
                }
            }
        }
        image.resize(image.len().next_multiple_of(PAGE), 0);
        let (of_events, _) = split(&wholes.stream);
        let mut first = BTreeMap::new();
        for block in of_events {
            let header = header(block);
            first.insert(key(&header), header.before);
            if random.below(9) < keep {
                let border = &borders[&key(&header)];
                let committed = border[random.below(border.len() as u64) as usize];
                let end = if committed.1 == header.events { header.end_ticks } else { 0 };
                image.extend(live(block, committed, end));
                let stretch = (header.before, header.before + u64::from(committed.1));
                there.entry(key(&header)).or_default().push(stretch);
            }
        }
        let mut expected: Vec<Read> = Vec::new();
        let lanes = by_lane(&wholes.events);
        for (block, mut stretches) in there {
            stretches.sort();
            let start = first[&block];
            let reached = stretches.iter().fold(start, |end, (from, to)| if *from <= end { end.max(*to) } else { end });
            expected.extend(lanes[&block.0][start as usize..reached as usize].iter().map(|event| (*event).clone()));
        }
        let (stream, recovered) = recover(&image);
        prop_assert!(recovered.refused.is_empty(), "{:?}", recovered.refused);
        assert_same_lanes(&read_whole(&stream), &expected, "together");
    }

    /// Bytes that no program wrote: no panic, and the result is a stream.
    #[test]
    fn any_image(seed in any::<u64>(), flips in 0..60_u64) {
        let made = make(&registry(), &Plan { events: 60, flush: 7, ..Plan::default() });
        let mut random = Random(seed);
        let mut image = image(&made);
        for _ in 0..flips {
            let at = random.below(image.len() as u64) as usize;
            image[at] ^= 1 << random.below(8);
        }
        image.truncate(random.below(image.len() as u64 * 2) as usize);
        let (stream, recovered) = recover(&image);
        read_whole(&stream);
        prop_assert!(recovered.events <= 60);
    }
}

/// A block was freed, and another thread reused a part of its memory.
#[test]
fn memory_that_was_taken_again() {
    let plan = Plan { threads: 1, flush: 0, end: false, ..Plan::default() };
    let made = make(&registry(), &Plan { events: 900, block_size: 20_000, ..plan.clone() });
    let (of_events, facts) = split(&made.stream);
    let long = *of_events.iter().max_by_key(|block| block.len()).unwrap();
    let others = make(&registry(), &plan).stream;
    let mut short = split(&others).0[0].to_vec();
    edit(&mut short, |header| header.thread = 2);
    let again = sealed(&short);
    assert_eq!(again.len(), PAGE);

    let mut image = facts.concat();
    image.resize(image.len().next_multiple_of(PAGE), 0);
    let start = image.len();
    image.extend(sealed(long));
    image[start + 2 * PAGE..start + 3 * PAGE].copy_from_slice(&again);
    let (stream, recovered) = recover(&image);
    assert!(recovered.refused.is_empty(), "{:?}", recovered.refused);
    let (of_short, of_long): (Vec<Read>, Vec<Read>) =
        read_whole(&stream).into_iter().partition(|event| event.thread == 2);
    assert_eq!(of_short.len(), header(&short).events as usize);
    let head = header(long);
    let lane = (head.session, head.thread, head.registry, head.kind);
    let expected: Vec<_> = made.events.into_iter().filter(|event| event.lane() == lane).collect();
    assert!(of_long.len() > 5 && of_long.len() < head.events as usize, "{}", of_long.len());
    assert_eq!(of_long, expected[head.before as usize..][..of_long.len()]);
}

/// A block of memory has no checksum: it is truncated at the first event that cannot be decoded.
#[test]
fn a_live_block_is_cut_where_it_makes_no_sense() {
    let made = make(&registry(), &Plan { threads: 1, flush: 0, end: false, ..Plan::default() });
    let (of_events, facts) = split(&made.stream);
    let block = *of_events.iter().max_by_key(|block| header(block).events).unwrap();
    let head = header(block);
    let mut broken = sealed(block);
    broken[memory::HEADER_LEN + head.payload_len as usize / 2..].fill(0xff);
    let (stream, recovered) = recover(&[facts.concat(), broken.clone()].concat());
    assert!(recovered.events > 0 && recovered.events < head.events.into(), "{}", recovered.events);
    assert_eq!(read_whole(&stream).len() as u64, recovered.events);

    // A part in a stream has the rest.
    let (stream, recovered) = recover(&[facts.concat(), broken, block.to_vec()].concat());
    assert_eq!((recovered.events, recovered.blocks), (head.events.into(), 1));
    assert_eq!(header(&stream[blocks(&stream)[facts.len()].clone()]).flags, flags::LAST);
}

/// Blocks are skipped for every reason. Each is counted, and none affects the others.
#[test]
fn refusals() {
    let made = make(&registry(), &Plan { threads: 1, flush: 0, end: false, ..Plan::default() });
    let (of_events, facts) = split(&made.stream);
    let block = of_events[0];
    let whole = || block.to_vec();
    let mut damaged_header = whole();
    damaged_header[30] ^= 1;
    let mut damaged_payload = whole();
    damaged_payload[150] ^= 1;
    let mut unknown = whole();
    edit(&mut unknown, |header| header.block_type = BlockType::Unknown(9));
    let mut other_start = whole();
    edit(&mut other_start, |header| header.base_ticks += 1);
    let mut no_events = sealed(block);
    no_events[memory::HEADER_LEN..memory::HEADER_LEN + 100].fill(0xff);
    let mut no_sink = facts[0].to_vec();
    edit(&mut no_sink, |header| header.registry = 1);
    let mut live_session = sealed(block);
    let session = Header { block_type: BlockType::Session, ..telemetry_of(&live_session) };
    live_session[..144].copy_from_slice(&session.encode(crc32c::crc32c));
    let beyond = live(block, (1 << 30, 3), 0);
    let cases: [(Vec<u8>, Refusal); 7] = [
        (damaged_header, Refusal::Header),
        (damaged_payload, Refusal::Payload),
        (unknown, Refusal::Type(9)),
        (other_start, Refusal::Contradicted),
        (no_events, Refusal::Undecodable),
        (live_session, Refusal::Type(1)),
        (beyond, Refusal::Cut),
    ];
    for (bytes, why) in cases {
        let (stream, recovered) = recover(&[facts.concat(), whole(), bytes, whole()].concat());
        assert_eq!(recovered.refused.keys().collect::<Vec<_>>(), [&why]);
        let refused = recovered.refused[&why];
        assert_eq!(refused.blocks, 1, "{why}");
        assert_eq!(refused.first_at as usize, facts.concat().len() + block.len(), "{why}");
        assert_eq!(read_whole(&stream).len(), header(block).events as usize, "{why}");
    }
    let cut = &whole()[..block.len() - 1];
    let (_, recovered) = recover(&[&facts.concat()[..], cut].concat());
    assert_eq!(recovered.refused.keys().collect::<Vec<_>>(), [&Refusal::Cut]);
}

/// Returns the header of a block of memory as it was when opened.
fn telemetry_of(live: &[u8]) -> Header {
    let mut head = live[..144].to_vec();
    head[state::OFFSET..state::OFFSET + 8].fill(0);
    Header::decode(&head, crc32c::crc32c).unwrap()
}

/// A session that ended is still ended, and labels come before the events that use them.
#[test]
fn ends_and_labels() {
    let mut writer = Writer::new(Vec::new());
    let mut facts = Facts::default();
    facts.set("clock", "os");
    writer.session(9, &facts, 0, START).unwrap();
    let program = Lane { session: 9, thread: 1, registry: writer.registry(9, &registry()).unwrap() };
    let labels = Lane { session: 9, thread: 0, registry: writer.registry(9, &runtime()).unwrap() };
    writer.event(program, 1, 5, &[]).unwrap();
    writer.event(labels, 2, 6, &[Value::Label(1), Value::String(RawStr(b"the name"))]).unwrap();
    writer.end(9, 10).unwrap();
    let stream = writer.finish().unwrap();
    let (again, recovered) = recover(&stream);
    assert_eq!(recovered.sessions[0].labels.string(1), Some("the name"));
    let (events, completeness) = read(Way::PipeInStream, &again);
    assert!(completeness.is_complete(), "{completeness}");
    assert_eq!(events.iter().map(|event| event.ticks).collect::<Vec<_>>(), [6, 5]);
    // Recovering the result gives the same bytes.
    assert_eq!(recover(&again).0, again);
    assert_eq!(recover(&[&again[..], &stream].concat()).0, again);
}

/// Headers of all forms, everywhere, state wrong lengths: the work stays in proportion to the
/// input.
#[test]
fn lies_take_no_time() {
    let made = make(&registry(), &Plan { flush: 0, ..Plan::default() });
    let (of_events, facts) = split(&made.stream);
    let block = of_events[0];
    let change = |change: &dyn Fn(&mut Header, u32)| -> Vec<u8> {
        let headers = (0..20_000).flat_map(|number| {
            let mut head = header(block);
            (head.payload_len, head.payload_crc) = (2 << 20, 7);
            change(&mut head, number);
            head.encode(crc32c::crc32c)
        });
        headers.collect()
    };
    // The blocks are valid, have one byte each, and are all parts of one block.
    let parts: Vec<u8> = (0..20_000_u32)
        .flat_map(|number| {
            let mut part = block.to_vec();
            part.truncate(145);
            edit(&mut part, |header| {
                (header.payload_len, header.offset, header.events) = (1, number * 2, 1);
            });
            part
        })
        .collect();
    let lives: Vec<u8> = (0..20_000_u32)
        .flat_map(|number| {
            let mut live = live(block, (4 << 20, 1 << 20), 0);
            live.truncate(memory::HEADER_LEN + (number % 3) as usize);
            live
        })
        .collect();
    let images = [
        change(&|_, _| ()),
        change(&|header, number| {
            (header.session, header.payload_len, header.payload_crc) = (number.into(), 0, 0);
        }),
        parts,
        [lives, vec![0x0f; 5 << 20]].concat(),
    ];
    for (number, image) in images.iter().enumerate() {
        takes_at_most(std::time::Duration::from_secs(30), &format!("image {number}"), || {
            let (stream, _) = recover(&[facts.concat(), image.clone()].concat());
            read(Way::MemoryInStream, &stream);
        });
    }
}

/// Returns the account of the lane that has a block.
fn account(block: &[u8], counters: LaneCounters) -> Vec<u8> {
    let Header { session, registry, kind, thread, .. } = header(block);
    let identity = LaneIdentity { session, registry, kind, thread, ..LaneIdentity::default() };
    let mut account = identity.encode(crc32c::crc32c).to_vec();
    account[..8].copy_from_slice(&ACCOUNT_MAGIC);
    account.extend(counters.words().iter().flat_map(|word| word.to_le_bytes()));
    account.resize(ACCOUNT_LEN, 0);
    account
}

/// The account of a lane says where events are that the image does not have. Those of a block that
/// a shipper withheld are not there, either.
#[test]
fn accounts_tell_where_events_are() {
    let stream = withheld("..w.x.");
    let counters = LaneCounters { recorded: 12, written: 3, ..LaneCounters::default() };
    let account = account(split(&stream).0[0], counters);
    let (_, recovered) = recover(&[account, stream].concat());
    let [lane] = &recovered.lanes[..] else { panic!("expected one lane, found {:?}", recovered.lanes) };
    assert_eq!((lane.recorded, lane.recovered, lane.written, lane.missing), (12, 8, 3, 1));
    assert_eq!((recovered.blocks, recovered.events), (5, 8));
}

/// Nothing says when the events were that are missing after a lane's last block. So their gap ends
/// behind all blocks of the session, and no span or rule in it is certain.
#[test]
fn what_is_missing_at_the_end_of_a_lane_is_in_a_gap() {
    let whole = withheld("......");
    let (of_lane, mut facts) = split(&whole);
    let mut other = of_lane[5].to_vec();
    edit(&mut other, |header| (header.thread, header.seq, header.before) = (5, 0, 0));
    // That of a ring file counts no events.
    let mut sync = facts.iter().find(|fact| header(fact).block_type == BlockType::Sync).unwrap().to_vec();
    edit(&mut sync, |header| header.before = 0);
    facts.retain(|fact| header(fact).block_type != BlockType::Sync);
    let clock_of = |stream: &[u8]| Reader::from_slice(stream).index().unwrap().sessions[0].clock;
    let none = LaneCounters::default();
    let check =
        |there: usize, rest: &[&[u8]], counters: LaneCounters, expected: [u64; 4], gap: (u64, u64)| {
            let context = format!("{there} blocks, {counters:?}");
            let parts = [&facts[..], &of_lane[..there], rest].concat();
            let (stream, _) = recover(&[account(of_lane[0], counters), parts.concat()].concat());
            let mut events = Reader::from_slice(&stream).order(Order::Time).events().unwrap();
            while events.next().unwrap().is_some() {}
            let completeness = events.completeness();
            let lane = completeness.lanes.iter().find(|lane| lane.thread == 4).unwrap();
            assert_eq!([lane.read, lane.missing, lane.excluded, lane.lost.events()], expected, "{context}");
            assert_eq!(expected.iter().sum::<u64>(), counters.recorded + counters.pool, "{context}");
            let gaps: Vec<_> = events.gaps().iter().map(|gap| (gap.from_ticks, gap.until_ticks)).collect();
            assert_eq!(gaps, [gap], "{context}");
            let listed: Vec<_> = lane.gaps.iter().map(|gap| (gap.from_ticks, gap.until_ticks)).collect();
            let losing = if lane.missing + lane.lost.events() > 0 { vec![gap] } else { vec![] };
            assert_eq!(listed, losing, "{context}");
            // Otherwise the rate of the clock would change.
            let Header { base_ticks, base_wall, .. } = header(split(&stream).0.last().unwrap());
            assert_eq!(clock_of(&parts.concat()).wall_ns(base_ticks), base_wall as i64, "{context}");
        };
    let (alone, over) = ([&other[..]], [&other[..], &sync]);
    let twelve = LaneCounters { recorded: 12, ..none };
    check(4, &alone, LaneCounters { written: 4, ..twelve }, [8, 0, 4, 0], (45, 66));
    check(4, &over, LaneCounters { evicted: 4, ..twelve }, [8, 0, 4, 0], (45, 70));
    check(0, &alone, LaneCounters { evicted: 12, ..twelve }, [0, 0, 12, 0], (0, 66));
    check(4, &alone, LaneCounters { sink: 4, ..twelve }, [8, 0, 0, 4], (45, 66));
    check(4, &alone, LaneCounters { recorded: 8, pool: 3, ..none }, [8, 0, 0, 3], (45, 66));
    check(4, &alone, twelve, [8, 4, 0, 0], (45, 66));
}

#[test]
fn compressed_blocks_are_recovered_uncompressed() {
    let made =
        make(&registry(), &Plan { events: 900, block_size: 20_000, compress: true, ..Plan::default() });
    let (compressed, _) = split(&made.stream);
    assert!(compressed.iter().any(|block| header(block).codec != 0));
    let mut stream = Vec::new();
    Reader::from_slice(&made.stream).recover(&mut stream).unwrap();
    assert_same_lanes(&read_whole(&stream), &made.events, "compressed");
    assert!(split(&stream).0.iter().all(|block| header(block).codec == 0));
}
