//! What a stream of the relation tells of a run: read back from the file, event by event.
//!
//! Everything here comes from the stream; it would be the same on another machine, a year later.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use telemetry_decode::{Completeness, Event, Order, Reader};

/// What a stream tells.
#[derive(Debug, Default)]
pub(crate) struct Summary {
    /// By kind, in the order of their bits.
    pub(crate) kinds: Vec<Kind>,
    /// Durations in ns by span, as the relation pairs them.
    pub(crate) spans: BTreeMap<String, Vec<i64>>,
    /// Begins without an end, and ends without a begin.
    pub(crate) unpaired: u64,
    pub(crate) traces: Vec<Trace>,
    pub(crate) phases: Vec<Phase>,
    /// By name, all arenas together.
    pub(crate) pools: BTreeMap<String, Pool>,
    /// Bytes that the program allocated in buffers: when the buffer was given up, in ns since the
    /// session's start, and how many.
    pub(crate) allocated: Vec<(i64, u64)>,
    /// Bytes of the objects that `ObjectAlloc` told of.
    pub(crate) objects: u64,
    /// From the benchmark's begin to its end, in ns.
    pub(crate) bench: Option<(i64, i64)>,
    pub(crate) completeness: Completeness,
}

/// A kind of events.
#[derive(Debug, Default)]
pub(crate) struct Kind {
    pub(crate) name: String,
    /// Bytes of the blocks that its events came in, headers included.
    pub(crate) bytes: u64,
    /// By event, the most frequent first.
    pub(crate) events: Vec<(String, u64)>,
}

/// A trace.
#[derive(Debug)]
pub(crate) struct Trace {
    pub(crate) why: String,
    pub(crate) condemned: u64,
    pub(crate) survived: u64,
    pub(crate) ns: i64,
}

/// A phase of the benchmark in one thread.
#[derive(Debug)]
pub(crate) struct Phase {
    pub(crate) phase: String,
    pub(crate) depth: u64,
    pub(crate) trees: u64,
    pub(crate) allocated: u64,
    pub(crate) ns: i64,
}

/// Pools of one name.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    pub(crate) count: u64,
    /// Bytes of their segments together, each at its largest.
    pub(crate) peak: u64,
    /// Bytes of all segments that they ever had.
    pub(crate) total: u64,
}

impl Summary {
    /// Reads a stream.
    ///
    /// # Errors
    /// If the file cannot be read; damage in it is in the summary's `completeness`.
    pub(crate) fn read(path: &Path) -> std::io::Result<Summary> {
        let mut reading = Reading::default();
        // The order within a thread and kind is enough, and comes at no cost: what relates events of
        // different kinds is done at the end.
        let mut events = Reader::open(path)?.order(Order::Stream).events()?;
        while let Some(event) = events.next()? {
            reading.take(&event);
        }
        let completeness = events.completeness();
        let index = Reader::open(path)?.index()?;
        let mut bytes = [0; u8::MAX as usize + 1];
        for block in &index.blocks {
            bytes[usize::from(index.lanes[block.lane as usize].kind)] += u64::from(block.len);
        }
        Ok(Summary { completeness, ..reading.finish(&bytes) })
    }
}

/// What is done with an event besides counting it.
type Action = fn(&mut Reading, &Event<'_>);

const ACTIONS: &[(&str, Action)] = &[
    ("BenchBegin", Reading::bench_begin),
    ("BenchEnd", Reading::bench_end),
    ("PhaseBegin", Reading::phase_begin),
    ("PhaseEnd", Reading::phase_end),
    ("TraceStart", Reading::trace_start),
    ("TraceEnd", Reading::trace_end),
    ("PoolInit", Reading::pool_init),
    ("SegAlloc", Reading::seg_alloc),
    ("SegFree", Reading::seg_free),
    ("BufferInit", Reading::buffer_init),
    ("BufferEmpty", Reading::buffer_empty),
    ("ObjectAlloc", Reading::object_alloc),
];

/// A stream half read.
#[derive(Default)]
struct Reading {
    /// By code.
    rows: Vec<Option<Row>>,
    /// The relation's spans: name and durations.
    spans: Vec<(String, Vec<i64>)>,
    /// When what began that has not ended, by thread, span and key.
    open: HashMap<(u32, usize, u64), Vec<i64>>,
    traces: HashMap<u32, (i64, Trace)>,
    phases: HashMap<u32, (i64, Phase)>,
    /// By thread and address, as the buffers.
    pools: HashMap<(u32, u64), OnePool>,
    buffers: HashMap<(u32, u64), Buffer>,
    summary: Summary,
}

/// A pool of one arena.
#[derive(Default)]
struct OnePool {
    name: String,
    /// Bytes of its segments now, at most, and of all that it ever had.
    now: u64,
    peak: u64,
    total: u64,
}

/// A buffer, and what was allocated in it.
#[derive(Default)]
struct Buffer {
    is_mutator: bool,
    allocated: Vec<(i64, u64)>,
}

/// What is known of an event.
struct Row {
    kind: (u8, String),
    name: String,
    count: u64,
    action: Option<Action>,
    /// Spans that it begins and that it ends: their numbers, and the event's parameter that is their key.
    begins: Vec<(usize, Option<usize>)>,
    ends: Vec<(usize, Option<usize>)>,
}

impl Row {
    fn new(event: &Event<'_>) -> Row {
        let registry = &event.registry.registry;
        let mut row = Row {
            kind: (event.kind().bit, event.kind().name.clone()),
            name: event.name().to_string(),
            count: 0,
            action: ACTIONS.iter().find(|(name, _)| *name == event.name()).map(|(_, action)| *action),
            begins: Vec::new(),
            ends: Vec::new(),
        };
        for (number, span) in registry.spans.iter().enumerate() {
            let is_key = |name: &str| span.key.as_deref() == Some(name);
            let end = (number, event.schema.params.iter().position(|param| is_key(&param.name)));
            let is_this = |index: usize| registry.events[index].code == event.schema.code;
            row.begins.extend(is_this(span.begin).then_some(end));
            row.ends.extend(is_this(span.end).then_some(end));
        }
        row
    }
}

impl Reading {
    fn take(&mut self, event: &Event<'_>) {
        let code = usize::from(event.schema.code);
        if self.rows.len() <= code {
            self.rows.resize_with(code + 1, || None);
        }
        let row = self.rows[code].get_or_insert_with(|| {
            let spans = &event.registry.registry.spans;
            self.spans.extend(spans[self.spans.len()..].iter().map(|span| (span.name.clone(), Vec::new())));
            Row::new(event)
        });
        row.count += 1;
        let value = |param: Option<usize>| event.value(param?)?.as_u64();
        let key = |(span, param): &(usize, _)| (event.thread, *span, value(*param).unwrap_or_default());
        for span in &row.ends {
            match self.open.get_mut(&key(span)).and_then(Vec::pop) {
                Some(began) => self.spans[span.0].1.push(event.time_ns - began),
                None => self.summary.unpaired += 1,
            }
        }
        for span in &row.begins {
            self.open.entry(key(span)).or_default().push(event.time_ns);
        }
        if let Some(action) = row.action {
            action(self, event);
        }
    }

    fn finish(mut self, bytes: &[u64; u8::MAX as usize + 1]) -> Summary {
        let mut kinds = BTreeMap::new();
        for row in self.rows.into_iter().flatten() {
            let (bit, name) = row.kind;
            let kind: &mut Kind = kinds.entry(bit).or_default();
            (kind.name, kind.bytes) = (name, bytes[usize::from(bit)]);
            kind.events.push((row.name, row.count));
        }
        for kind in kinds.values_mut() {
            kind.events.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        }
        self.summary.kinds = kinds.into_values().collect();
        self.summary.spans = self.spans.into_iter().collect();
        self.summary.unpaired += self.open.values().map(|open| open.len() as u64).sum::<u64>();
        let mutators = self.buffers.into_values().filter(|buffer| buffer.is_mutator);
        self.summary.allocated = mutators.flat_map(|buffer| buffer.allocated).collect();
        for pool in self.pools.into_values() {
            let sum = self.summary.pools.entry(pool.name).or_default();
            sum.count += 1;
            sum.peak += pool.peak;
            sum.total += pool.total;
        }
        self.summary
    }

    fn bench_begin(&mut self, event: &Event<'_>) {
        self.summary.bench = Some((event.time_ns, event.time_ns));
    }

    fn bench_end(&mut self, event: &Event<'_>) {
        if let Some((_, end)) = &mut self.summary.bench {
            *end = event.time_ns;
        }
    }

    fn phase_begin(&mut self, event: &Event<'_>) {
        let phase = Phase {
            phase: text(event, "phase"),
            depth: number(event, "depth"),
            trees: number(event, "trees"),
            allocated: 0,
            ns: 0,
        };
        self.phases.insert(event.thread, (event.time_ns, phase));
    }

    fn phase_end(&mut self, event: &Event<'_>) {
        if let Some((began, phase)) = self.phases.remove(&event.thread) {
            let (allocated, ns) = (number(event, "allocated"), event.time_ns - began);
            self.summary.phases.push(Phase { allocated, ns, ..phase });
        }
    }

    fn trace_start(&mut self, event: &Event<'_>) {
        let (why, condemned) = (text(event, "why"), number(event, "condemned"));
        self.traces.insert(event.thread, (event.time_ns, Trace { why, condemned, survived: 0, ns: 0 }));
    }

    fn trace_end(&mut self, event: &Event<'_>) {
        if let Some((began, trace)) = self.traces.remove(&event.thread) {
            let (survived, ns) = (number(event, "survived"), event.time_ns - began);
            self.summary.traces.push(Trace { survived, ns, ..trace });
        }
    }

    fn pool_init(&mut self, event: &Event<'_>) {
        self.pool(event).name = text(event, "name");
    }

    fn seg_alloc(&mut self, event: &Event<'_>) {
        let size = number(event, "size");
        let pool = self.pool(event);
        pool.now += size;
        pool.peak = pool.peak.max(pool.now);
        pool.total += size;
    }

    fn seg_free(&mut self, event: &Event<'_>) {
        let pool = self.pool(event);
        pool.now = pool.now.saturating_sub(number(event, "size"));
    }

    fn pool(&mut self, event: &Event<'_>) -> &mut OnePool {
        self.pools.entry((event.thread, number(event, "pool"))).or_default()
    }

    fn buffer_init(&mut self, event: &Event<'_>) {
        self.buffer(event).is_mutator = number(event, "is_mutator") != 0;
    }

    fn buffer_empty(&mut self, event: &Event<'_>) {
        let allocated = (event.time_ns, number(event, "allocated"));
        self.buffer(event).allocated.push(allocated);
    }

    fn buffer(&mut self, event: &Event<'_>) -> &mut Buffer {
        self.buffers.entry((event.thread, number(event, "buffer"))).or_default()
    }

    fn object_alloc(&mut self, event: &Event<'_>) {
        self.summary.objects += number(event, "size");
    }
}

/// A parameter as a number; 0 in a stream whose event has no such parameter.
fn number(event: &Event<'_>, name: &str) -> u64 {
    event.get(name).and_then(|value| value.as_u64()).unwrap_or_default()
}

/// A parameter as text.
fn text(event: &Event<'_>, name: &str) -> String {
    event.get(name).map(|value| value.to_string()).unwrap_or_default()
}
