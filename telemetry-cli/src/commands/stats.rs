//! `telemetry stats`: how often each event occurred, and on which thread.

use std::collections::{BTreeMap, HashMap};
use std::io;

use serde::Serialize;
use telemetry_decode::{Event, Events, Index, Order, RUNTIME_REGISTRY};

use crate::exit::Ended;
use crate::input::{InputArgs, cannot_read};
use crate::output::{OutputArgs, append_json};
use crate::selection::FilterArgs;
use crate::table::Table;
use crate::text::print::thread_name;
use crate::text::{grouped, signed_grouped};
use crate::verdict::Verdict;

const EXAMPLES: &str = "\
Rates are per second of the time between the first and the last event shown. Bytes are those that the
events take in their blocks; \"with headers\" are those of whole blocks, whatever the filter leaves out, and
not known of a pipe.

Examples:
  telemetry stats
  telemetry stats --kind Trace --from 1s --to 2s
  telemetry stats --json gcbench.tel | jq '.events[] | [.event, .count]'";

/// Count events: how many of each, how often, from when to when, on which thread
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    input: InputArgs,

    /// As one JSON object
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    filter: FilterArgs,
}

impl Args {
    pub(crate) fn run(&self) -> Ended {
        let inputs = self.input.inputs()?;
        let mut events = inputs.events(Order::Stream, self.filter.filter())?;
        let tally = Tally::of(&mut events).map_err(cannot_read)?;
        let bytes = inputs.index_again()?.map(|index| bytes_by_kind(&index));
        let verdict = Verdict::new(&events.completeness(), events.sessions(), &inputs);
        let stats = Stats::new(&events, &tally, bytes.as_ref(), &verdict);
        let mut output = self.output.open()?;
        if self.json {
            append_json(output.buffer(), &stats);
        } else {
            stats.append_text(output.buffer());
        }
        output.finish()?;
        Ok(verdict.report(self.input.strict))
    }
}

/// How many, from when to when.
#[derive(Clone, Copy)]
struct Count {
    count: u64,
    bytes: u64,
    first_ns: i64,
    last_ns: i64,
}

/// Of every session, thread and registry, the counts of its events by index.
struct Tally {
    lanes: Vec<(LaneKey, Vec<Count>)>,
}

/// Session, thread, fingerprint of the registry.
type LaneKey = (u64, u32, u64);

impl Tally {
    fn of(events: &mut Events<'_>) -> io::Result<Tally> {
        let mut lanes: Vec<(LaneKey, Vec<Count>)> = Vec::new();
        let mut by_key: HashMap<LaneKey, usize> = HashMap::new();
        let mut current = 0;
        while let Some(event) = events.next()? {
            let key = (event.session.id, event.thread, event.registry.fingerprint);
            // Events come in blocks of one lane.
            if lanes.get(current).is_none_or(|(last, _)| *last != key) {
                current = *by_key.entry(key).or_insert_with(|| {
                    lanes.push((key, vec![Count::NONE; event.registry.events.len()]));
                    lanes.len() - 1
                });
            }
            if let Some(index) = event.registry.event_index(event.schema.code) {
                lanes[current].1[index].add(&event);
            }
        }
        Ok(Tally { lanes })
    }
}

impl Count {
    const NONE: Count = Count { count: 0, bytes: 0, first_ns: i64::MAX, last_ns: i64::MIN };

    fn add(&mut self, event: &Event<'_>) {
        let bytes = event.packed_len.into();
        self.merge(&Count { count: 1, bytes, first_ns: event.time_ns, last_ns: event.time_ns });
    }

    fn merge(&mut self, other: &Count) {
        self.count += other.count;
        self.bytes += other.bytes;
        self.first_ns = self.first_ns.min(other.first_ns);
        self.last_ns = self.last_ns.max(other.last_ns);
    }
}

/// All that the command shows. The JSON form, described in docs/cli.md, is this.
#[derive(Serialize)]
struct Stats<'a> {
    version: u32,
    #[serde(flatten)]
    all: Measured,
    /// The most frequent first, as in all lists.
    events: Vec<EventStats>,
    kinds: Vec<KindStats>,
    threads: Vec<ThreadStats>,
    completeness: &'a Verdict,
}

#[derive(Serialize)]
struct EventStats {
    event: String,
    code: u16,
    kind: String,
    registry: String,
    #[serde(flatten)]
    measured: Measured,
    threads: Vec<OnThread>,
}

#[derive(Serialize)]
struct KindStats {
    kind: String,
    registry: String,
    #[serde(flatten)]
    measured: Measured,
    bytes_with_headers: Option<u64>,
}

#[derive(Serialize)]
struct ThreadStats {
    session: String,
    thread: u32,
    name: String,
    #[serde(flatten)]
    measured: Measured,
}

#[derive(Serialize)]
struct OnThread {
    session: String,
    thread: u32,
    count: u64,
}

#[derive(Serialize, Clone, Copy)]
struct Measured {
    count: u64,
    bytes: u64,
    /// Null if there is no time to divide by.
    per_second: Option<f64>,
    first_ns: Option<i64>,
    last_ns: Option<i64>,
}

/// Bytes of blocks by registry and bit number of the kind.
fn bytes_by_kind(index: &Index) -> BTreeMap<(u64, u8), u64> {
    let mut bytes = BTreeMap::new();
    for block in &index.blocks {
        let lane = &index.lanes[block.lane as usize];
        *bytes.entry((lane.registry, lane.kind)).or_default() += u64::from(block.len);
    }
    bytes
}

impl<'a> Stats<'a> {
    fn new(
        events: &Events<'_>,
        tally: &Tally,
        bytes: Option<&BTreeMap<(u64, u8), u64>>,
        completeness: &'a Verdict,
    ) -> Self {
        let mut all = Count::NONE;
        let mut of_events: BTreeMap<(u64, usize), (Count, Vec<OnThread>)> = BTreeMap::new();
        let mut of_threads: BTreeMap<(u64, u32), Count> = BTreeMap::new();
        let mut of_kinds: BTreeMap<(u64, u8), Count> = BTreeMap::new();
        let known =
            |fingerprint| events.registries().iter().find(move |known| known.fingerprint == fingerprint);
        for &((session, thread, fingerprint), ref counts) in &tally.lanes {
            let Some(registry) = known(fingerprint) else { continue };
            for (index, one) in counts.iter().enumerate().filter(|(_, one)| one.count > 0) {
                let kind = registry.kind_of(&registry.events[index]).bit;
                all.merge(one);
                of_threads.entry((session, thread)).or_insert(Count::NONE).merge(one);
                of_kinds.entry((fingerprint, kind)).or_insert(Count::NONE).merge(one);
                let event = of_events.entry((fingerprint, index)).or_insert((Count::NONE, Vec::new()));
                event.0.merge(one);
                event.1.push(OnThread { session: format!("{session:016x}"), thread, count: one.count });
            }
        }
        let seconds = all.last_ns.checked_sub(all.first_ns).filter(|ns| *ns > 0).map(|ns| ns as f64 / 1e9);
        let measured = |count: &Count| Measured::new(count, seconds);

        let events_stats =
            of_events.into_iter().filter_map(|((fingerprint, index), (count, mut threads))| {
                let registry = known(fingerprint)?;
                let event = &registry.events[index];
                threads.sort_by_key(|on| std::cmp::Reverse(on.count));
                Some(EventStats {
                    event: event.name.clone(),
                    code: event.code,
                    kind: registry.kind_of(event).name.clone(),
                    registry: registry.name.clone(),
                    measured: measured(&count),
                    threads,
                })
            });
        let kinds = of_kinds.iter().filter_map(|(key, count)| {
            let registry = known(key.0)?;
            Some(KindStats {
                kind: registry.kinds.iter().find(|kind| kind.bit == key.1)?.name.clone(),
                registry: registry.name.clone(),
                measured: measured(count),
                bytes_with_headers: bytes.map(|bytes| bytes.get(key).copied().unwrap_or_default()),
            })
        });
        let threads = of_threads.iter().filter_map(|(&(id, thread), count)| {
            let session = events.sessions().iter().find(|session| session.id == id)?;
            let name = thread_name(session, thread);
            Some(ThreadStats { session: format!("{id:016x}"), thread, name, measured: measured(count) })
        });
        Stats {
            version: 1,
            all: measured(&all),
            events: by_count(events_stats.collect(), |event| {
                (is_runtimes(&event.registry), event.measured.count)
            }),
            kinds: by_count(kinds.collect(), |kind| (is_runtimes(&kind.registry), kind.measured.count)),
            threads: by_count(threads.collect(), |thread| (false, thread.measured.count)),
            completeness,
        }
    }

    fn append_text(&self, out: &mut Vec<u8>) {
        let mut events = Table::new(2, &with_measures(["event", "kind"], &[]));
        for event in &self.events {
            let name = match is_runtimes(&event.registry) {
                true => format!("{}:{}", event.registry, event.event),
                false => event.event.clone(),
            };
            let words = [name, event.kind.clone()];
            events.row(words.into_iter().chain(event.measured.cells(self.all.count)));
        }
        events.row(["all".to_string(), String::new()].into_iter().chain(self.all.cells(self.all.count)));
        events.append(out, 0);
        out.push(b'\n');

        let mut kinds = Table::new(2, &with_measures(["kind", "registry"], &["with headers"]));
        for kind in &self.kinds {
            let bytes = kind.bytes_with_headers.map_or_else(|| "-".to_string(), grouped);
            let words = [kind.kind.clone(), kind.registry.clone()];
            kinds.row(words.into_iter().chain(kind.measured.cells(self.all.count)).chain([bytes]));
        }
        kinds.append(out, 0);
        out.push(b'\n');

        let mut threads = Table::new(2, &with_measures(["thread", "session"], &[]));
        for thread in &self.threads {
            let words = [thread.name.clone(), thread.session.clone()];
            threads.row(words.into_iter().chain(thread.measured.cells(self.all.count)));
        }
        threads.append(out, 0);
    }
}

impl Measured {
    fn new(count: &Count, seconds: Option<f64>) -> Measured {
        let some = count.count > 0;
        Measured {
            count: count.count,
            bytes: count.bytes,
            per_second: seconds.map(|seconds| count.count as f64 / seconds),
            first_ns: some.then_some(count.first_ns),
            last_ns: some.then_some(count.last_ns),
        }
    }

    /// Under the heads of [`with_measures`].
    fn cells(&self, all: u64) -> [String; 7] {
        let ns = |ns: Option<i64>| ns.map_or_else(|| "-".to_string(), signed_grouped);
        [
            grouped(self.count),
            format!("{:.1} %", 100.0 * self.count as f64 / all.max(1) as f64),
            grouped(self.bytes),
            format!("{:.1}", self.bytes as f64 / self.count.max(1) as f64),
            self.per_second.map_or_else(|| "-".to_string(), |rate| grouped(rate.round() as u64)),
            ns(self.first_ns),
            ns(self.last_ns),
        ]
    }
}

fn with_measures<'a>(words: [&'a str; 2], behind: &[&'a str]) -> Vec<&'a str> {
    [&words[..], &["count", "share", "bytes", "each", "per second", "first ns", "last ns"], behind].concat()
}

/// The most frequent first; where as many, in the order that they came in. Those of the runtime's own behind
/// those of the program.
fn by_count<T>(mut list: Vec<T>, key: impl Fn(&T) -> (bool, u64)) -> Vec<T> {
    list.sort_by_key(|one| {
        let (is_runtimes, count) = key(one);
        (is_runtimes, std::cmp::Reverse(count))
    });
    list
}

fn is_runtimes(registry: &str) -> bool {
    registry == RUNTIME_REGISTRY
}
