//! Streams made for tests, together with their contents.

use std::collections::BTreeMap;

use telemetry_decode::writer::{Compress, Lane, Writer};
use telemetry_decode::{EnumValue, Facts, RawStr, Value};
use telemetry_format::{BlockType, HEADER_LEN, Header, Loss, flags};
use telemetry_schema::{Count, Param, Registry, Sort};

use crate::read::{Read, show};

/// A registry with every parameter type, three kinds and two clocks.
pub const REGISTRY: &str = include_str!("../registry.toml");

/// Returns [`REGISTRY`], checked.
pub fn registry() -> Registry {
    telemetry_schema::parse(REGISTRY)
        .unwrap_or_else(|invalid| panic!("{}", invalid.render("registry", REGISTRY)))
}

/// A stream and the events that were written to it.
pub struct Made {
    /// The bytes.
    pub stream: Vec<u8>,
    /// In the order of writing.
    pub events: Vec<Read>,
    /// By session, thread, registry and kind: losses, and the number of excluded events.
    pub lost: BTreeMap<(u64, u32, u64, u8), (Loss, u64)>,
}

/// Parameters of a stream.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The same seed gives the same stream.
    pub seed: u64,
    /// Sessions in the stream.
    pub sessions: u64,
    /// Threads of each session.
    pub threads: u32,
    /// Events of each session.
    pub events: usize,
    /// Bytes after which a block ends.
    pub block_size: usize,
    /// One in this number of events is followed by a flush; 0 is never.
    pub flush: u64,
    /// One in this number of events is followed by a loss, and by excluded events; 0 is never.
    pub lose: u64,
    /// Whether sessions end.
    pub end: bool,
    /// Whether blocks are compressed.
    pub compress: bool,
}

impl Default for Plan {
    fn default() -> Self {
        Plan {
            seed: 1,
            sessions: 1,
            threads: 2,
            events: 60,
            block_size: 256,
            flush: 9,
            lose: 0,
            end: true,
            compress: false,
        }
    }
}

/// When the first session began, in nanoseconds of Unix time.
pub const START: u64 = 1_700_000_000_000_000_000;

/// Makes a stream of a registry's events, with all its lanes mixed.
pub fn make(registry: &Registry, plan: &Plan) -> Made {
    let mut random = Random(plan.seed);
    let compress = if plan.compress { Compress::All } else { Compress::Nothing };
    let mut writer = Writer::new(Vec::new()).block_size(plan.block_size).compress(compress);
    let (mut events, mut lost) = (Vec::new(), BTreeMap::<_, (Loss, u64)>::new());
    let mut ticks = Vec::new();
    let mut fingerprint = 0;
    for session in 1..=plan.sessions {
        let mut facts = Facts::default();
        facts.set("program", format!("program{session}"));
        facts.set("clock", if session % 2 == 0 { "os" } else { "tsc" });
        facts.set("ticks_per_second", 2_000_000_000_i64);
        // Sessions overlap in time, and their clocks start differently.
        let start = session * 1_000_000;
        writer.session(session, &facts, start, START + session * 50).unwrap();
        fingerprint = writer.registry(session, registry).unwrap();
        for thread in 1..=plan.threads {
            let mut facts = Facts::default();
            facts.set("name", format!("worker-{thread}"));
            writer.thread(session, thread, &facts).unwrap();
        }
        ticks.push(start);
    }
    let used = &registry.events;
    for _ in 0..if used.is_empty() { 0 } else { plan.events } {
        let session = 1 + random.below(plan.sessions);
        let thread = 1 + random.below(plan.threads.into()) as u32;
        let event = &used[random.below(used.len() as u64) as usize];
        let now = &mut ticks[session as usize - 1];
        *now += random.below(50) * random.below(3);
        let values: Vec<Owned> =
            event.params.iter().map(|param| Owned::random(registry, param, &mut random)).collect();
        let elements: Vec<Vec<Value>> = values.iter().map(Owned::elements).collect();
        let values: Vec<Value> = values.iter().zip(&elements).map(|(value, all)| value.value(all)).collect();
        let lane = Lane { session, thread, registry: fingerprint };
        writer.event(lane, event.code, *now, &values).unwrap();
        events.push(Read {
            session,
            thread,
            registry: fingerprint,
            kind: registry.kind_of(event).bit,
            code: event.code,
            ticks: *now,
            values: values.iter().map(show).collect(),
        });
        if plan.lose != 0 && random.below(plan.lose) == 0 {
            let kind = registry.kind_of(event).bit;
            let loss = Loss {
                pool: random.below(5),
                reentrant: random.below(2),
                sink: random.below(3),
                truncated: 1,
            };
            writer.lose(lane, kind, loss).unwrap();
            let events = random.below(4);
            writer.exclude(lane, kind, events).unwrap();
            let (sum, excluded) = lost.entry((session, thread, fingerprint, kind)).or_default();
            *excluded += events;
            sum.pool += loss.pool;
            sum.reentrant += loss.reentrant;
            sum.sink += loss.sink;
            sum.truncated += loss.truncated;
        }
        if plan.flush != 0 && random.below(plan.flush) == 0 {
            writer.flush().unwrap();
        }
    }
    if plan.end {
        for session in 1..=plan.sessions {
            writer.end(session, ticks[session as usize - 1] + 10).unwrap();
        }
    }
    Made { stream: writer.finish().unwrap(), events, lost }
}

/// A value with the data that it borrows.
enum Owned {
    Plain(Value<'static>),
    String(String),
    Bytes(Vec<u8>),
    Array(Vec<Owned>),
}

/// Makes a number of bits, as near as its type allows.
fn integer(repr: Sort, bits: u64) -> i128 {
    let range = repr.int_range().expect("an integer");
    i128::from(bits as i64).clamp(*range.start(), *range.end())
}

impl Owned {
    fn random(registry: &Registry, param: &Param, random: &mut Random) -> Owned {
        let count = match param.count {
            Count::One => return Owned::one(registry, param, random),
            Count::Fixed(count) => u64::from(count),
            // Mostly short ones, sometimes one at the limit.
            Count::UpTo(most) if random.below(8) == 0 => most.into(),
            Count::UpTo(most) => random.below(u64::from(most).min(4) + 1),
        };
        Owned::Array((0..count).map(|_| Owned::one(registry, param, random)).collect())
    }

    fn one(registry: &Registry, param: &Param, random: &mut Random) -> Owned {
        let repr = registry.repr(param.sort);
        let bits = match param.align {
            1 => random.number(),
            // A multiple of the alignment, or not.
            align => random.number() << (random.below(2) * u64::from(align.trailing_zeros())),
        };
        Owned::Plain(match param.sort {
            Sort::Pointer => Value::Pointer(bits),
            Sort::Addr => Value::Addr(bits),
            Sort::Word => Value::Word(bits),
            Sort::Label => Value::Label(bits),
            Sort::F32 => Value::F32(f32::from_bits(bits as u32)),
            Sort::F64 => Value::F64(f64::from_bits(bits)),
            Sort::Bool => Value::Bool(bits % 2 == 1),
            Sort::String => {
                let text = "añ世🦀".repeat(random.below(4) as usize * random.below(60) as usize);
                return Owned::String(text[..text.floor_char_boundary(param.max_len as usize)].to_string());
            }
            Sort::Bytes => {
                let len = random.below(u64::from(param.max_len).min(60) + 1);
                return Owned::Bytes((0..len).map(|_| random.number() as u8).collect());
            }
            Sort::Named(_) => Value::Named(EnumValue::new(integer(repr, bits))),
            Sort::I8 | Sort::I16 | Sort::I32 | Sort::I64 => Value::Signed(integer(repr, bits) as i64),
            Sort::U8 | Sort::U16 | Sort::U32 | Sort::U64 => Value::Unsigned(integer(repr, bits) as u64),
        })
    }

    fn elements(&self) -> Vec<Value<'_>> {
        match self {
            Owned::Array(elements) => elements.iter().map(|element| element.value(&[])).collect(),
            _ => Vec::new(),
        }
    }

    fn value<'a>(&'a self, elements: &'a [Value<'a>]) -> Value<'a> {
        match self {
            Owned::Plain(value) => *value,
            Owned::String(text) => Value::String(RawStr::from(text.as_str())),
            Owned::Bytes(bytes) => Value::Bytes(bytes),
            Owned::Array(_) => Value::Array(elements.into()),
        }
    }
}

/// SplitMix64: the same seed always gives the same numbers.
pub struct Random(pub u64);

impl Random {
    /// Returns the next number.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns the next number, below an end.
    pub fn below(&mut self, end: u64) -> u64 {
        self.bits() % end.max(1)
    }

    /// Returns a number of any encoded length, sometimes an extreme one.
    fn number(&mut self) -> u64 {
        match self.below(8) {
            0 => [0, 1, u64::MAX, u64::MAX - 1, i64::MAX as u64, i64::MIN as u64, 127, 128]
                [self.below(8) as usize],
            bits => self.bits() >> (self.below(8) * bits).min(63),
        }
    }
}

/// Returns the positions of the blocks of a whole stream.
pub fn blocks(stream: &[u8]) -> Vec<std::ops::Range<usize>> {
    let mut all = Vec::new();
    let mut at = 0;
    while at < stream.len() {
        let end = at + header(&stream[at..]).block_len() as usize;
        all.push(at..end);
        at = end;
    }
    all
}

/// Returns the header of a block.
pub fn header(block: &[u8]) -> Header {
    Header::decode(block, crc32c::crc32c).unwrap()
}

/// Changes a block's header, and corrects its checksums.
pub fn edit(block: &mut [u8], change: impl FnOnce(&mut Header)) {
    let mut header = header(block);
    change(&mut header);
    header.payload_crc = crc32c::crc32c(&block[header.header_len.into()..]);
    block[..HEADER_LEN].copy_from_slice(&header.encode(crc32c::crc32c));
}

/// Makes a stream of one lane, in six blocks of two events. It has a letter for each: `.` is there,
/// `x` is lost, and a shipper withheld `w`. `e` is a block without events that states all events
/// before and its own as excluded, and the session does not count its own.
pub fn withheld(blocks_there: &str) -> Vec<u8> {
    withheld_in(blocks_there, false)
}

/// Makes the stream of [`withheld`], in which the six are parts of one block.
pub fn withheld_parts(parts_there: &str) -> Vec<u8> {
    withheld_in(parts_there, true)
}

fn withheld_in(blocks_there: &str, are_parts: bool) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new());
    writer.session(1, &Facts::default(), 0, START).unwrap();
    let lane = Lane { session: 1, thread: 4, registry: writer.registry(1, &registry()).unwrap() };
    for ticks in [10, 20, 30, 40, 50, 60] {
        writer.event(lane, 1, ticks, &[]).unwrap();
        writer.event(lane, 1, ticks + 5, &[]).unwrap();
        writer.flush().unwrap();
    }
    writer.end(1, 70).unwrap();
    let stream = writer.finish().unwrap();
    let (mut left, mut letters) = (Vec::new(), blocks_there.bytes());
    for block in blocks(&stream) {
        let mut block = stream[block].to_vec();
        let Header { thread, before, header_len, .. } = header(&block);
        if thread == 4 {
            if !are_parts {
                // A block of its own has no time from the part before it.
                edit(&mut block, |header| {
                    (header.seq, header.offset) = (before as u32, 0);
                    header.base_ticks = 10.max(5 * before + 5);
                });
            }
            let letter = letters.next().unwrap();
            match letter {
                b'x' => continue,
                b'w' | b'e' => block.truncate(header_len.into()),
                _ => {}
            }
            edit(&mut block, |header| match letter {
                b'w' => {
                    header.offset += header.unpacked_len;
                    (header.flags, header.payload_len, header.unpacked_len) = (flags::WITHHELD, 0, 0);
                }
                b'e' => {
                    (header.events, header.payload_len, header.unpacked_len) = (0, 0, 0);
                    (header.before, header.excluded) = (before + 2, before + 2);
                }
                _ => {}
            });
        } else if before == 12 {
            let less = 2 * blocks_there.matches('e').count() as u64;
            edit(&mut block, |header| header.before -= less);
        }
        left.extend(block);
    }
    left
}

/// Returns a stream of one session as a sink writes it that does not get the events of some blocks.
/// Each of these becomes a block without events, which counts them as excluded. Later blocks of the
/// lane count them, too, and sync blocks do not.
pub fn exclude(stream: &[u8], is_excluded: impl Fn(&Header) -> bool) -> Vec<u8> {
    let (mut left, mut sums, mut all) = (Vec::new(), BTreeMap::<_, u64>::new(), 0);
    for block in blocks(stream) {
        let mut block = stream[block].to_vec();
        let Header { block_type, session, thread, registry, kind, events, header_len, .. } = header(&block);
        if block_type == BlockType::Events {
            let is_excluded = is_excluded(&header(&block));
            let sum = sums.entry((session, thread, registry, kind)).or_default();
            if is_excluded {
                block.truncate(header_len.into());
                *sum += u64::from(events);
                all += u64::from(events);
            }
            edit(&mut block, |header| {
                header.excluded += *sum;
                if is_excluded {
                    (header.before, header.events) = (header.before + u64::from(events), 0);
                    (header.payload_len, header.unpacked_len) = (0, 0);
                    header.base_ticks = header.end_ticks;
                }
            });
        } else if block_type == BlockType::Sync {
            edit(&mut block, |header| header.before = header.before.saturating_sub(all));
        }
        left.extend(block);
    }
    left
}

/// Makes two streams of one session with two lanes. The first stream lacks events 80 to 90 of its
/// first lane, which were excluded, and the second has only these. At the end of each lane, `lost`
/// events are missing.
pub fn of_two_sinks(lost: [u64; 2]) -> [Vec<u8>; 2] {
    [false, true].map(|is_snapshot| {
        let mut writer = Writer::new(Vec::new());
        writer.session(1, &Facts::default(), 0, START).unwrap();
        let registry = writer.registry(1, &registry()).unwrap();
        let [first, second] = [4, 5].map(|thread| Lane { session: 1, thread, registry });
        let mut add = |lane, excluded, events: std::ops::Range<u64>| {
            writer.exclude(lane, 0, excluded).unwrap();
            events.for_each(|ticks| writer.event(lane, 1, ticks, &[]).unwrap());
            writer.sync(1, 150).unwrap();
        };
        if is_snapshot {
            add(first, 80, 80..90);
            return numbered(&writer.finish().unwrap(), |_| true);
        }
        add(first, 0, 0..80);
        add(first, 10, 90..100);
        add(first, 0, 100..100 + lost[0]);
        add(second, 0, 0..10);
        add(second, 0, 10..10 + lost[1]);
        writer.end(1, 200).unwrap();
        let is_lost = |header: &Header| matches!((header.thread, header.before), (4, 100) | (5, 10));
        numbered(&writer.finish().unwrap(), |header| !is_lost(header))
    })
}

/// Makes a stream of one lane that lacks events 70 to 80, which the sink lost, and 90 to 100, which
/// were excluded. Only the last block states the loss.
pub fn late_loss() -> Vec<u8> {
    let mut writer = Writer::new(Vec::new());
    writer.session(1, &Facts::default(), 0, START).unwrap();
    let lane = Lane { session: 1, thread: 4, registry: writer.registry(1, &registry()).unwrap() };
    for (sink, excluded, events) in [(0, 0, 0..70_u64), (10, 0, 80..90), (0, 10, 100..110)] {
        writer.lose(lane, 0, Loss { sink, ..Loss::default() }).unwrap();
        writer.exclude(lane, 0, excluded).unwrap();
        events.for_each(|ticks| writer.event(lane, 1, ticks, &[]).unwrap());
        writer.sync(1, 150).unwrap();
    }
    writer.end(1, 200).unwrap();
    let mut stream = writer.finish().unwrap();
    let block = blocks(&stream).into_iter().find(|block| header(&stream[block.clone()]).before == 80);
    edit(&mut stream[block.unwrap()], |header| header.lost = Loss::default());
    stream
}

/// Returns the chosen blocks of a stream. Each block of events has the number of its first event.
fn numbered(stream: &[u8], keeps: impl Fn(&Header) -> bool) -> Vec<u8> {
    let mut kept = Vec::new();
    for block in blocks(stream) {
        let mut block = stream[block].to_vec();
        if !keeps(&header(&block)) {
            continue;
        }
        edit(&mut block, |header| {
            if header.block_type == BlockType::Events {
                header.seq = header.before as u32;
            }
        });
        kept.extend(block);
    }
    kept
}

/// Lets the clock of the host be wrong by an hour, or be set back or forward in the midst.
pub fn turn_clock(stream: &mut [u8], fault: u64) {
    let hour = 3_600_000_000_000_u64;
    let blocks = blocks(stream);
    for (number, block) in blocks.iter().enumerate() {
        let is_late = number * 2 >= blocks.len();
        edit(&mut stream[block.clone()], |header| match fault % 5 {
            0 => header.base_wall += hour,
            1 => header.base_wall = header.base_wall.saturating_sub(hour),
            2 if is_late => header.base_wall += hour,
            3 if is_late => header.base_wall = header.base_wall.saturating_sub(hour),
            _ => {}
        });
    }
}

/// Returns the same blocks in another order.
pub fn shuffle(stream: &[u8], seed: u64) -> Vec<u8> {
    let mut random = Random(seed);
    let mut blocks = blocks(stream);
    for last in (1..blocks.len()).rev() {
        blocks.swap(last, random.below(last as u64 + 1) as usize);
    }
    blocks.into_iter().flat_map(|block| stream[block].to_vec()).collect()
}
