//! Makes long logs of the three systems. Types of events, frequencies and values are like those of
//! real runs.

use std::collections::HashMap;
use std::error::Error;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use telemetry_decode::writer::{Lane, Writer};
use telemetry_decode::{EnumValue, Facts, RawStr, Reader, Value};
use telemetry_foreign::{Format, ghc as ghc_format, mono as mono_format, mps as mps_format};
use telemetry_schema::{Registry, Sort};

/// The number of events in a log.
pub(crate) type Made = Result<u64, Box<dyn Error>>;

/// The first address.
const HEAP: u64 = 0x7f3a_4000_0000;

/// Makes a log of the MPS: a collector that scans segments, and sometimes allocates.
pub(crate) fn mps(log: &Path, events: u64) -> Made {
    let registry = mps_format::registry();
    let (arena, pool, trace) = (HEAP + 0x30, HEAP + 0x2e10, HEAP + 0x9f8);
    write(log, Format::Mps, &registry, events, |source, _| {
        let seg = HEAP + 0x1_0000 + source.below(3_000) * 0x98;
        let base = HEAP + 0x100_0000 + source.below(100_000) * 0x1000;
        let after = 40 + source.below(600);
        match source.below(100) {
            0..60 => {
                let gray = source.below(2);
                source.event("SegSetGrey", after, &[arena, seg, gray])
            }
            60..70 => source.event("SegScan", after, &[seg, pool, arena, 1, 1]),
            70..79 => source.event("TraceFindGrey", after, &[arena, trace, seg, 1]),
            79..84 => {
                source.event("SegSetSummary", after, &[arena, seg, 0x2000, u64::MAX, 0x8040_0000_0000_0021])
            }
            84..87 => source.event("BufferFill", after, &[pool + 0x400, 0x200, base, 0x2000]),
            87..90 => source.event("BufferEmpty", after, &[pool + 0x400, 0x1e8]),
            90..92 => source.event("ArenaAlloc", after, &[arena, HEAP + 0x900, base, 0x2000, pool]),
            92..94 => source.event("ArenaFree", after, &[arena, base, 0x2000, pool]),
            94..96 => source.event("SegAlloc", after, &[arena, seg, base, 0x2000, pool]),
            96..98 => source.event("SegFree", after, &[arena, seg]),
            98 => source.event("VMMap", after, &[HEAP, base, base + 0x2000]),
            _ => source.event("SegReclaim", after, &[seg, pool, arena, trace]),
        }
    })
}

/// Makes an eventlog of GHC: threads on two capabilities, sparks, collections, messages of the
/// program.
pub(crate) fn ghc(log: &Path, events: u64) -> Made {
    let registry = ghc_format::registry();
    write(log, Format::GhcEventlog, &registry, events, |source, number| {
        // Capabilities take turns, as far as the log shows.
        source.lane.thread = 1 + source.below(2) as u32;
        let (thread, after) = (1 + source.below(64), 100 + source.below(3_000));
        match number % 20 {
            0 | 4 | 8 | 12 => source.event("RunThread", after, &[thread]),
            1 | 5 | 9 | 13 => {
                let status = [1, 2, 3, 5, 8][source.below(5) as usize];
                source.event("StopThread", after, &[thread, status, 0])
            }
            2 | 6 => source.event("ThreadWakeup", after, &[thread, 1]),
            3 | 7 => {
                let text = format!("step {number} of the program's work");
                source.write("UserMsg", after, &[Value::String(RawStr(text.as_bytes()))])
            }
            10 => source.event("HeapAllocated", after, &[0, number * 4096]),
            11 => source.event("GcStart", after, &[]),
            14 => source.event("GcIdle", after, &[]),
            15 => source.event("GcDone", after, &[]),
            16 => source.event("GcStatsGhc", after, &[0, 1, 81_920, 4096, 0, 2, 40_960, 65_536, 8192]),
            17 => source.event("GcEnd", after, &[]),
            18 => source.event("SparkCreate", after, &[]),
            _ => source.event("SparkGc", after, &[]),
        }
    })
}

/// Makes a log of Mono: calls, their allocations, and earlier loads.
pub(crate) fn mono(log: &Path, events: u64) -> Made {
    const METHODS: u64 = 400;
    const CLASSES: u64 = 60;
    let registry = mono_format::registry();
    let method = |number: u64| HEAP + number * 0x148;
    let class = |number: u64| HEAP + 0x20_0000 + number * 0x1e0;
    let mut depths = [Vec::new(), Vec::new()];
    let mut allocated = 0;
    write(log, Format::Mono, &registry, events, |source, number| {
        // Lanes of two threads, which take turns.
        let thread = (number >> 16 & 1) as usize;
        source.lane.thread = 1 + thread as u32;
        let after = 20 + source.below(200);
        let text = |text: &str, values: &[u64], source: &mut Source<'_>, event| {
            let name = Value::String(RawStr(text.as_bytes()));
            let values = [
                Value::Pointer(values[0]),
                source.value(event, 1, values[1]),
                Value::Unsigned(values[2]),
                name,
            ];
            source.write(event, after, &values)
        };
        if number < CLASSES {
            return text(
                &format!("Work.Part{number}"),
                &[class(number), HEAP - 0x4000, 0],
                source,
                "ClassLoad",
            );
        }
        if number < CLASSES + METHODS {
            let number = number - CLASSES;
            let name = format!("Work.Part{}:step{number} (int,object)", number % CLASSES);
            return text(&name, &[method(number), 0x4100_0000 + number * 0x80, 0x78], source, "MethodJit");
        }
        let depth: &mut Vec<u64> = &mut depths[thread];
        match source.below(100) {
            // The depth rises and falls in turn.
            0..44 if depth.len() < 40 => {
                // A method calls methods near it.
                let near = depth.last().copied().unwrap_or_default() + source.below(40);
                depth.push(near % METHODS);
                source.event("MethodEnter", after, &[method(near % METHODS)])
            }
            88..99 => {
                allocated += 24 + source.below(8) * 8;
                let class = class(source.below(CLASSES));
                source.event("Alloc", after, &[class, HEAP + 0x1000_0000 + allocated, 24])
            }
            99 => {
                let step = source.below(10);
                source.event("GcEvent", after, &[step, 0])
            }
            _ => match depth.pop() {
                Some(number) => source.event("MethodLeave", after, &[method(number)]),
                None => {
                    depth.push(0);
                    source.event("MethodEnter", after, &[method(0)])
                }
            },
        }
    })
}

/// Makes a stream of a number of events, and a log of it.
fn write(
    log: &Path,
    format: Format,
    registry: &Registry,
    events: u64,
    mut make: impl FnMut(&mut Source<'_>, u64) -> Result<(), Box<dyn Error>>,
) -> Made {
    let stream = log.with_extension("tel");
    let mut facts = Facts::default();
    facts.set("clock", "os");
    let mut writer = Writer::new(BufWriter::new(File::create(&stream)?));
    writer.session(1, &facts, 0, 0)?;
    let lane = Lane { session: 1, thread: 1, registry: writer.registry(1, registry)? };
    let indices = registry.events.iter().enumerate().map(|(index, event)| (event.name.as_str(), index));
    let mut source =
        Source { writer, registry, indices: indices.collect(), lane, time: 1_000_000, random: 1 };
    for number in 0..events {
        make(&mut source, number)?;
    }
    let Source { mut writer, time, .. } = source;
    writer.end(1, time)?;
    writer.finish()?.flush()?;
    let mut out = BufWriter::new(File::create(log)?);
    let written = format.write(&mut Reader::open(&stream)?.events()?, &mut out)?;
    out.flush()?;
    std::fs::remove_file(&stream)?;
    match written.left_out.is_empty() && written.events >= events {
        true => Ok(written.events),
        false => Err(format!("{written:?} of {events} events").into()),
    }
}

/// The stream that is being made.
struct Source<'r> {
    writer: Writer<BufWriter<File>>,
    registry: &'r Registry,
    /// Indices of events by name.
    indices: HashMap<&'r str, usize>,
    lane: Lane,
    time: u64,
    /// State of the pseudorandom numbers.
    random: u64,
}

impl Source<'_> {
    /// Returns a number below a limit.
    fn below(&mut self, limit: u64) -> u64 {
        self.random =
            self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.random >> 33) % limit
    }

    /// Converts a number to a value of a parameter's sort.
    fn value(&self, event: &str, param: usize, number: u64) -> Value<'static> {
        match self.registry.events[self.indices[event]].params[param].sort {
            Sort::Pointer => Value::Pointer(number),
            Sort::Addr => Value::Addr(number),
            Sort::Word => Value::Word(number),
            Sort::Named(_) => Value::Named(EnumValue::new(number.into())),
            _ => Value::Unsigned(number),
        }
    }

    /// Writes an event of numbers, some time after the last one.
    fn event(&mut self, event: &str, after: u64, numbers: &[u64]) -> Result<(), Box<dyn Error>> {
        let mut values = [Value::Bool(false); 16];
        for (param, number) in numbers.iter().enumerate() {
            values[param] = self.value(event, param, *number);
        }
        self.write(event, after, &values[..numbers.len()])
    }

    fn write(&mut self, event: &str, after: u64, values: &[Value<'_>]) -> Result<(), Box<dyn Error>> {
        self.time += after;
        let code = self.registry.events[self.indices[event]].code;
        Ok(self.writer.event(self.lane, code, self.time, values)?)
    }
}
