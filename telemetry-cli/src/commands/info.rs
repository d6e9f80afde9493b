//! `telemetry info`: the content of a stream, from its block headers.

mod facts;
mod log;

use std::collections::BTreeMap;

use facts::{RegistryInfo, fact_text};
use log::LogInfo;
use serde::Serialize;
use telemetry_decode::blocks::{Index, IndexedLane};
use telemetry_decode::names::RUNTIME_REGISTRY;
use telemetry_decode::{Order, Reader, Session};
use telemetry_report::stats::Ending;

use crate::input::inputs::{InputArgs, Inputs, cannot_read};
use crate::input::remedy;
use crate::input::verdict::Verdict;
use crate::stats::ending::endings;
use crate::term::ended::{Context, Ended, Failure, Run};
use crate::term::json::JsonArgs;
use crate::term::output::OutputArgs;
use crate::term::progress::Step;
use crate::text::date;
use crate::text::table::Table;
use crate::text::{escaped_text, grouped, signed_grouped};

const EXAMPLES: &str = "\
The command reads block headers, and of the events only those that say how the program ended. So it is
quick for any stream. Commands that read events, such as
`telemetry stats`, also find damage inside blocks.

Examples:
  telemetry info
  telemetry info --json a.tel b.tel | jq '.sessions[].facts.program'";

/// Show sessions, registries, threads, kinds, sizes and completeness
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    input: InputArgs,

    #[command(flatten)]
    json: JsonArgs,

    #[command(flatten)]
    output: OutputArgs,
}

impl Run for Args {
    fn run(&self, context: &mut Context) -> Ended {
        let inputs = self.input.inputs()?;
        let reader = inputs.reader()?;
        if reader.is_of_logs() {
            return self.run_on_logs(reader, &inputs, context);
        }
        let step = Step::new("reading the headers of blocks");
        let index = reader.index().map_err(cannot_read)?;
        drop(step);
        let verdict = Verdict::new(&index.completeness, &index.sessions, &inputs).of_headers();
        // A pipe cannot be read again.
        let endings = match inputs.are_files() {
            true => endings(&index, |filter| inputs.events(Order::Time, filter))?,
            false => BTreeMap::new(),
        };
        let info = Info::new(&index, endings, &verdict);
        self.show(&inputs, &info, |out| info.append_text(out))?;
        verdict.report(context, self.input.strict);
        Ok(())
    }
}

impl Args {
    fn show(
        &self,
        inputs: &Inputs,
        info: &impl Serialize,
        append_text: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), Failure> {
        self.output.open(&inputs.paths())?.show(self.json.is_on(), info, append_text)
    }

    fn run_on_logs(&self, reader: Reader<'_>, inputs: &Inputs, context: &mut Context) -> Ended {
        let events = reader.events().map_err(cannot_read)?;
        let counts = events.log_counts().unwrap_or_default();
        let all = counts.iter().map(|count| count.count).sum();
        let verdict = Verdict::new(&events.completeness(), events.sessions(), inputs);
        let verdict = verdict.looked_through(all, events.log_bytes());
        let info = LogInfo::new(&events, &verdict);
        self.show(inputs, &info, |out| info.append_text(out))?;
        verdict.report(context, self.input.strict);
        Ok(())
    }
}

/// All that the command shows; docs/cli.md describes the JSON form.
#[derive(Serialize)]
struct Info<'a> {
    version: u32,
    sessions: Vec<SessionInfo<'a>>,
    registries: Vec<RegistryInfo<'a>>,
    completeness: &'a Verdict,
}

#[derive(Serialize)]
struct SessionInfo<'a> {
    id: String,
    declared: bool,
    ended: bool,
    started: String,
    started_ns: u64,
    ticks_per_second: f64,
    first_ns: Option<i64>,
    last_ns: Option<i64>,
    #[serde(flatten)]
    ending: Ending,
    facts: BTreeMap<&'a str, serde_json::Value>,
    /// The same facts in the program's own order.
    #[serde(skip)]
    listed_facts: Vec<(&'a str, String)>,
    threads: Vec<ThreadInfo<'a>>,
    kinds: Vec<KindInfo<'a>>,
}

#[derive(Serialize)]
struct ThreadInfo<'a> {
    thread: u32,
    name: Option<&'a str>,
    tid: Option<u64>,
    #[serde(flatten)]
    sum: Sum,
}

#[derive(Serialize)]
struct KindInfo<'a> {
    registry: String,
    kind: &'a str,
    bit: u8,
    lost: u64,
    missing: u64,
    excluded: u64,
    #[serde(flatten)]
    sum: Sum,
}

#[derive(Serialize, Default, Clone, Copy)]
struct Sum {
    events: u64,
    blocks: u64,
    /// With headers.
    bytes: u64,
}

impl<'a> Info<'a> {
    fn new(index: &'a Index, mut endings: BTreeMap<u64, Ending>, completeness: &'a Verdict) -> Self {
        let sessions = index.sessions.iter().enumerate().map(|(number, session)| {
            let ending = endings.remove(&session.id).unwrap_or_default();
            SessionInfo::new(index, number, session, ending)
        });
        Info {
            version: 1,
            sessions: sessions.collect(),
            registries: index.registries.iter().map(RegistryInfo::new).collect(),
            completeness,
        }
    }

    fn append_text(&self, out: &mut Vec<u8>) {
        for session in &self.sessions {
            session.append_text(out);
            out.push(b'\n');
        }
        for registry in &self.registries {
            out.extend_from_slice(registry.line().as_bytes());
        }
        remedy::append(out, self.completeness);
    }
}

impl<'a> SessionInfo<'a> {
    fn new(index: &'a Index, number: usize, session: &'a Session, ending: Ending) -> Self {
        let clock = &session.clock;
        let mut threads: BTreeMap<u32, Sum> =
            session.threads().keys().map(|thread| (*thread, Sum::default())).collect();
        let mut kinds: BTreeMap<(u64, u8), Sum> = BTreeMap::new();
        let mut span: Option<(u64, u64)> = None;
        for lane in index.lanes.iter().filter(|lane| lane.session == number && lane.blocks > 0) {
            threads.entry(lane.thread).or_default().add(lane);
            kinds.entry((lane.registry, lane.kind)).or_default().add(lane);
            let (first, last) = span.unwrap_or((u64::MAX, 0));
            span = Some((first.min(lane.base_ticks), last.max(lane.end_ticks)));
        }
        let threads = threads.into_iter().filter(|(thread, sum)| *thread != 0 || sum.events > 0);
        let facts = || session.facts.iter();
        let kinds = kinds.into_iter().map(|(key, sum)| KindInfo::new(index, session, key, sum)).collect();
        SessionInfo {
            id: format!("{:016x}", session.id),
            declared: session.declared,
            ended: session.ended,
            started: date::rfc_3339(clock.start_wall()),
            started_ns: clock.start_wall(),
            ticks_per_second: clock.ticks_per_second().round(),
            first_ns: span.map(|(first, _)| clock.ns(first)),
            last_ns: span.map(|(_, last)| clock.ns(last)),
            ending,
            facts: facts()
                .map(|(key, value)| (key, serde_json::to_value(value).unwrap_or_default()))
                .collect(),
            listed_facts: facts().map(|(key, value)| (key, fact_text(value.as_str(), value))).collect(),
            threads: threads.map(|(thread, sum)| ThreadInfo::new(session, thread, sum)).collect(),
            kinds: with_runtimes_last(kinds),
        }
    }

    fn append_text(&self, out: &mut Vec<u8>) {
        let mut facts = Table::new(2, &["session", &self.id]);
        for (key, value) in &self.listed_facts {
            facts.row([format!("  {}", escaped_text(key)), value.clone()]);
        }
        let mut fact = |key: &str, value: String| facts.row([format!("  {key}"), value]);
        fact("started", self.started.clone());
        fact("clock rate", format!("{} ticks/s", grouped(self.ticks_per_second as u64)));
        if let (Some(first), Some(last)) = (self.first_ns, self.last_ns) {
            let seconds = last.saturating_sub(first) as f64 / 1e9;
            fact("events from", format!("{} ns", signed_grouped(first)));
            fact("events to", format!("{} ns ({seconds:.3} s)", signed_grouped(last)));
        }
        fact("ended", if self.ended { "in good order" } else { "not in good order" }.to_string());
        self.ending.rows().for_each(|(key, value)| fact(key, escaped_text(&value)));
        facts.append(out, 0);
        out.push(b'\n');

        let mut threads =
            Table::new(2, &["thread", "name", "tid", "events", "blocks", "bytes", "bytes/event"]);
        for ThreadInfo { thread, name, tid, sum } in &self.threads {
            let tid = tid.map_or_else(String::new, |tid| tid.to_string());
            let words = [thread.to_string(), escaped_text(name.unwrap_or_default()), tid];
            threads.row(words.into_iter().chain(sum.cells()));
        }
        threads.append(out, 2);
        out.push(b'\n');

        let head =
            ["kind", "registry", "events", "blocks", "bytes", "bytes/event", "lost", "missing", "excluded"];
        let mut kinds = Table::new(2, &head);
        let mut total = Sum::default();
        for KindInfo { registry, kind, lost, missing, excluded, sum, .. } in &self.kinds {
            let words = [kind.to_string(), registry.clone()];
            let not_here = [lost, missing, excluded].map(|events| grouped(*events));
            kinds.row(words.into_iter().chain(sum.cells()).chain(not_here));
            total = Sum {
                events: total.events + sum.events,
                blocks: total.blocks + sum.blocks,
                bytes: total.bytes + sum.bytes,
            };
        }
        kinds.row(["all".to_string(), String::new()].into_iter().chain(total.cells()));
        kinds.append(out, 2);
    }
}

impl<'a> ThreadInfo<'a> {
    fn new(session: &'a Session, thread: u32, sum: Sum) -> Self {
        let tid = session.threads().get(&thread).and_then(|facts| facts.number("tid"));
        ThreadInfo { thread, name: session.thread_name(thread), tid, sum }
    }
}

impl<'a> KindInfo<'a> {
    fn new(index: &'a Index, session: &Session, (fingerprint, bit): (u64, u8), sum: Sum) -> Self {
        let known = index.registries.iter().find(|known| known.fingerprint == fingerprint);
        let kind = known.and_then(|known| known.registry.kinds.iter().find(|kind| kind.bit == bit));
        let lanes = || {
            let lanes = index.completeness.lanes.iter();
            lanes.filter(|lane| (lane.session, lane.registry, lane.kind) == (session.id, fingerprint, bit))
        };
        KindInfo {
            registry: known
                .map_or_else(|| format!("{fingerprint:016x}"), |known| known.registry.name.clone()),
            kind: kind.map_or("?", |kind| &kind.name),
            bit,
            lost: lanes().map(|lane| lane.lost.events()).fold(0, u64::saturating_add),
            missing: lanes().map(|lane| lane.missing).fold(0, u64::saturating_add),
            excluded: lanes().map(|lane| lane.excluded).fold(0, u64::saturating_add),
            sum,
        }
    }
}

/// Puts the kinds of the program before those of the runtime.
fn with_runtimes_last(mut kinds: Vec<KindInfo<'_>>) -> Vec<KindInfo<'_>> {
    kinds.sort_by_key(|kind| kind.registry == RUNTIME_REGISTRY);
    kinds
}

impl Sum {
    fn add(&mut self, lane: &IndexedLane) {
        self.events += lane.events;
        self.blocks += lane.blocks;
        self.bytes += lane.bytes;
    }

    fn cells(&self) -> [String; 4] {
        let each = if self.events == 0 { 0.0 } else { self.bytes as f64 / self.events as f64 };
        [grouped(self.events), grouped(self.blocks), grouped(self.bytes), format!("{each:.1}")]
    }
}
