//! The counts as text and JSON.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};

use serde::{Serialize, Serializer};
use serde_json::Value as Json;
use serde_json::value::RawValue;
use telemetry_decode::Events;
use telemetry_decode::blocks::Index;
use telemetry_decode::names::RUNTIME_REGISTRY;
use telemetry_schema::{Param, Registry};

use super::counters::{self, CounterStats};
use crate::input::remedy;
use crate::input::verdict::Verdict;
use crate::text::date;
use crate::text::print::thread_name;
use crate::text::table::Table;
use crate::text::{escaped_bytes, grouped, json, number_text, scalar, signed_grouped};
use telemetry_report::figures::distribution::{Distribution, Summary};
use telemetry_report::figures::rate::{Counts, Rate, Sparkline};
use telemetry_report::stats::{Count, EventTally, ParamTally, Tally, Values};

/// The maximum of values that are listed for a parameter.
const MAX_LISTED: usize = 10;
/// The maximum of values in text. Only frequent ones are shown.
const MAX_SHOWN: usize = 3;
const FREQUENT: f64 = 0.01;

/// All that the command shows; docs/cli.md describes the JSON form.
#[derive(Serialize)]
pub(crate) struct Stats<'a> {
    version: u32,
    #[serde(flatten)]
    all: Measured,
    /// The most frequent first, as in all lists.
    events: Vec<EventStats>,
    kinds: Vec<KindStats>,
    threads: Vec<ThreadStats>,
    rate: Option<RateStats>,
    /// Only if there are some.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    counters: Vec<CounterStats>,
    completeness: &'a Verdict,
}

#[derive(Serialize)]
struct EventStats {
    event: String,
    code: u16,
    kind: String,
    registry: String,
    /// Of the registry, as a stream may have several versions of it.
    fingerprint: String,
    #[serde(flatten)]
    measured: Measured,
    threads: Vec<OnThread>,
    /// Nanoseconds between two events on one thread.
    intervals_ns: Summary,
    params: Vec<ParamStats>,
    /// In the intervals of the whole.
    rate: Box<RawValue>,
}

/// A parameter: the distribution of its numbers, and its most frequent values.
#[derive(Serialize)]
struct ParamStats {
    param: String,
    unit: String,
    distribution: Option<Summary>,
    top: Vec<TopValue>,
    /// Each count of `top` may be too low by this.
    top_error: u64,
}

#[derive(Serialize)]
struct TopValue {
    value: Json,
    count: u64,
    share: f64,
    #[serde(skip)]
    text: String,
}

/// Events over time: counts of equal intervals.
#[derive(Serialize)]
struct RateStats {
    /// Start of the first interval.
    from: String,
    width_ns: u64,
    counts: Box<RawValue>,
    #[serde(skip)]
    sparkline: Sparkline,
}

#[derive(Serialize)]
struct KindStats {
    kind: String,
    registry: String,
    fingerprint: String,
    #[serde(flatten)]
    measured: Measured,
    bytes_with_headers: Option<u64>,
    /// In the intervals of the whole.
    rate: Box<RawValue>,
    #[serde(skip)]
    sparkline: Sparkline,
}

#[derive(Serialize)]
struct ThreadStats {
    session: SessionId,
    thread: u32,
    name: String,
    #[serde(flatten)]
    measured: Measured,
}

#[derive(Serialize)]
struct OnThread {
    session: SessionId,
    thread: u32,
    count: u64,
}

#[derive(Serialize, Clone, Copy)]
struct Measured {
    count: u64,
    bytes: u64,
    /// Null if the duration is zero.
    per_second: Option<f64>,
    first_ns: Option<i64>,
    last_ns: Option<i64>,
}

/// Returns the bytes of blocks, by registry and bit of the kind.
pub(crate) fn bytes_by_kind(index: &Index) -> BTreeMap<(u64, u8), u64> {
    let mut bytes = BTreeMap::new();
    for lane in index.lanes.iter().filter(|lane| lane.blocks > 0) {
        *bytes.entry((lane.registry, lane.kind)).or_default() += lane.bytes;
    }
    bytes
}

/// The id of a session, as it is shown.
struct SessionId(u64);

impl Display for SessionId {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl Serialize for SessionId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'a> Stats<'a> {
    pub(crate) fn new(
        events: &Events<'_>,
        tally: &Tally,
        bytes: Option<&BTreeMap<(u64, u8), u64>>,
        counters: Vec<CounterStats>,
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
            for (index, one) in counts.iter() {
                let kind = registry.registry.kind_of(&registry.registry.events[index]).bit;
                all.merge(one);
                of_threads.entry((session, thread)).or_insert(Count::NONE).merge(one);
                of_kinds.entry((fingerprint, kind)).or_insert(Count::NONE).merge(one);
                let event = of_events.entry((fingerprint, index)).or_insert((Count::NONE, Vec::new()));
                event.0.merge(one);
                event.1.push(OnThread { session: SessionId(session), thread, count: one.count });
            }
        }
        let seconds = all.last_ns.checked_sub(all.first_ns).filter(|ns| *ns > 0).map(|ns| ns as f64 / 1e9);
        let measured = |count: &Count| Measured::new(count, seconds);
        let tallies: BTreeMap<(u64, usize), &EventTally> =
            tally.events.iter().map(|(fingerprint, index, tally)| ((fingerprint, index), tally)).collect();

        let all_rate = tally.rate();
        let events_stats =
            of_events.into_iter().filter_map(|((fingerprint, index), (count, mut threads))| {
                let registry = known(fingerprint)?;
                let event = &registry.registry.events[index];
                let of_event = tallies.get(&(fingerprint, index))?;
                threads.sort_by_key(|on| std::cmp::Reverse(on.count));
                Some(EventStats {
                    event: event.name.clone(),
                    code: event.code,
                    kind: registry.registry.kind_of(event).name.clone(),
                    registry: registry.registry.name.clone(),
                    fingerprint: format!("{fingerprint:016x}"),
                    measured: measured(&count),
                    threads,
                    intervals_ns: of_event.intervals.summary(),
                    params: params_stats(&registry.registry, &event.params, of_event),
                    rate: of_event.rate.over(&all_rate).columns().on_one_line(),
                })
            });
        let kinds = of_kinds.iter().filter_map(|(key, count)| {
            let registry = known(key.0)?;
            let is_of_kind =
                |index: usize| registry.registry.kind_of(&registry.registry.events[index]).bit == key.1;
            let rates = tallies.iter().filter(|((of, index), _)| *of == key.0 && is_of_kind(*index));
            let rate = Rate::sum(rates.map(|(_, tally)| &tally.rate), &all_rate).columns();
            Some(KindStats {
                kind: registry.registry.kinds.iter().find(|kind| kind.bit == key.1)?.name.clone(),
                registry: registry.registry.name.clone(),
                fingerprint: format!("{:016x}", key.0),
                measured: measured(count),
                bytes_with_headers: bytes.map(|bytes| bytes.get(key).copied().unwrap_or_default()),
                sparkline: rate.sparkline(),
                rate: rate.on_one_line(),
            })
        });
        let threads = of_threads.iter().filter_map(|(&(id, thread), count)| {
            let session = events.sessions().iter().find(|session| session.id == id)?;
            let name = thread_name(session, thread);
            Some(ThreadStats { session: SessionId(id), thread, name, measured: measured(count) })
        });
        Stats {
            version: 1,
            all: measured(&all),
            events: by_count(events_stats.collect(), |event| {
                (is_runtimes(&event.registry), event.measured.count)
            }),
            kinds: by_count(kinds.collect(), |kind| (is_runtimes(&kind.registry), kind.measured.count)),
            threads: by_count(threads.collect(), |thread| (false, thread.measured.count)),
            rate: (all.count > 0).then(|| RateStats::new(&all_rate.over(&all_rate).columns())),
            counters,
            completeness,
        }
    }

    pub(crate) fn append_text(&self, out: &mut Vec<u8>) {
        let mut events = Table::new(2, &with_measures(["event", "kind"], &[]));
        for event in &self.events {
            let words = [event.shown_name(), event.kind.clone()];
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
            let words = [thread.name.clone(), thread.session.to_string()];
            threads.row(words.into_iter().chain(thread.measured.cells(self.all.count)));
        }
        threads.append(out, 0);

        self.append_intervals(out);
        self.append_params(out);
        counters::append(out, &self.counters);
        self.append_rate(out);
        remedy::append(out, self.completeness);
    }

    fn append_intervals(&self, out: &mut Vec<u8>) {
        let mut table = Table::new(
            1,
            &["event", "intervals", "min ns", "p50 ns", "p90 ns", "p99 ns", "p99.9 ns", "max ns"],
        );
        for event in self.events.iter().filter(|event| event.intervals_ns.count > 0) {
            let Summary { count, min, p50, p90, p99, p999, max, .. } = &event.intervals_ns;
            let numbers = [min, p50, p90, p99, p999, max].map(number_text);
            table.row([event.shown_name(), grouped(*count)].into_iter().chain(numbers));
        }
        table.append_if_any(out);
    }

    fn append_params(&self, out: &mut Vec<u8>) {
        let heads =
            ["parameter", "unit", "min", "mean", "p50", "p90", "p99", "p99.9", "max", "most frequent"];
        let mut table = Table::new(2, &heads).with_words_last();
        for event in &self.events {
            for param in &event.params {
                let frequent = param.frequent();
                let has_numbers = param.distribution.as_ref().is_some_and(|numbers| numbers.count > 0);
                if !has_numbers && frequent.is_empty() {
                    continue;
                }
                let numbers = match &param.distribution {
                    Some(Summary { min, mean, p50, p90, p99, p999, max, .. }) => {
                        [min, mean, p50, p90, p99, p999, max].map(number_text)
                    }
                    None => [const { String::new() }; 7],
                };
                let words = [format!("{}.{}", event.shown_name(), param.param), param.unit.clone()];
                table.row(words.into_iter().chain(numbers).chain([frequent]));
            }
        }
        table.append_if_any(out);
    }

    fn append_rate(&self, out: &mut Vec<u8>) {
        let Some(rate) = &self.rate else { return };
        let peak = |sparkline: &Sparkline| {
            let per_second = sparkline.highest as f64 * 1e9 / rate.width_ns as f64;
            [sparkline.line.clone(), grouped(per_second.round() as u64)]
        };
        let width = grouped(rate.width_ns);
        let mut table =
            Table::new(2, &["kind", &format!("over time, {width} ns a column"), "peak per second"]);
        for kind in &self.kinds {
            table.row([kind.kind.clone()].into_iter().chain(peak(&kind.sparkline)));
        }
        table.row(["all".to_string()].into_iter().chain(peak(&rate.sparkline)));
        table.append_if_any(out);
    }
}

impl EventStats {
    fn shown_name(&self) -> String {
        match is_runtimes(&self.registry) {
            true => format!("{}:{}", self.registry, self.event),
            false => self.event.clone(),
        }
    }
}

impl ParamStats {
    /// Names the values that are a large share of all.
    fn frequent(&self) -> String {
        let top = self.top.iter().take(MAX_SHOWN).filter(|value| value.share >= FREQUENT);
        let least = if self.top_error > 0 { "at least " } else { "" };
        let shown: Vec<_> =
            top.map(|value| format!("{} {least}{:.1} %", value.text, 100.0 * value.share)).collect();
        shown.join(", ")
    }
}

impl RateStats {
    fn new(counts: &Counts) -> RateStats {
        let sparkline = counts.sparkline();
        let from = date::rfc_3339(u64::try_from(counts.from_ns).unwrap_or(0));
        RateStats { from, width_ns: counts.width_ns, counts: counts.on_one_line(), sparkline }
    }
}

fn params_stats(registry: &Registry, params: &[Param], tally: &EventTally) -> Vec<ParamStats> {
    let of_param = |(param, tally): (&Param, &ParamTally)| {
        let of = |value: Json, text: String, count: u64, total: u64| TopValue {
            value,
            count,
            share: count as f64 / total.max(1) as f64,
            text,
        };
        let (top, top_error) = match &tally.values {
            Values::None => (Vec::new(), 0),
            Values::Numbers(values) => {
                let (top, all) = tally.top_numbers(values, MAX_LISTED);
                let top = top.into_iter().map(|(bits, count)| {
                    let (value, text) = scalar::shown(registry, param.sort, bits, None);
                    of(value, text, count, all)
                });
                (top.collect(), values.error())
            }
            Values::Strings(values) => {
                let top = values.top(MAX_LISTED).into_iter().map(|(bytes, count)| {
                    let text = format!("\"{}\"", escaped_bytes(bytes));
                    of(json::string_value(bytes), text, count, values.total())
                });
                (top.collect(), values.error())
            }
        };
        ParamStats {
            param: param.name.clone(),
            unit: param.unit.clone(),
            distribution: tally.distribution.as_ref().map(Distribution::summary),
            top,
            top_error,
        }
    };
    params.iter().zip(&tally.params).map(of_param).collect()
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

    /// Returns the cells of a row, under the heads of [`with_measures`].
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

/// Sorts by count, the highest first. Equal counts stay in the order of their first event. The
/// runtime's own come after the program's.
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
