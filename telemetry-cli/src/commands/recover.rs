//! `telemetry recover`: the events that a dead program had in memory.

use std::io::{self, Write};
use std::path::PathBuf;

use serde::Serialize;
use telemetry_decode::recover::{Recovered, RecoveredLane, Refusal, ThreadInFlight};
use telemetry_decode::{Event, Session};
use telemetry_format::LaneCounters;

use crate::input::inputs::{Inputs, RegistryArgs, cannot_read};
use crate::input::opening::FormatArgs;
use crate::input::verdict::Lost;
use crate::term::ended::{Context, Ended, Failure, Run};
use crate::term::json::JsonArgs;
use crate::term::message::{note, warning};
use crate::term::output::{Output, OutputArgs};
use crate::term::progress::Step;
use crate::text::print::{append_event, thread_name};
use crate::text::{count, escaped_text, grouped, signed_grouped};

const EXAMPLES: &str = "\
An image is a ring file (TELEMETRY_RING), a core dump, or another file with the program's memory. Blocks are
found by their magic number. Streams of the same run may be given as well; each event is recovered once. The
command shows what each thread was writing when the program ended. -o writes the events as a stream.

Examples:
  telemetry recover app.ring                        the last events of each thread
  telemetry recover app.ring app.tel -o whole.tel   all remaining events of a run
  telemetry recover core.4711 -o run.tel --registry events.toml
  telemetry recover --json core.4711 | jq '.sessions[].threads[].last'";

/// Recover events from ring files, core dumps and other memory images
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Memory images, and streams of the same run
    #[arg(value_name = "IMAGE", required = true)]
    images: Vec<PathBuf>,

    #[command(flatten)]
    registries: RegistryArgs,

    #[command(flatten)]
    json: JsonArgs,

    /// Exit with 1 also if any block was left out
    #[arg(long)]
    strict: bool,

    #[command(flatten)]
    output: OutputArgs,
}

impl Run for Args {
    fn run(&self, context: &mut Context) -> Ended {
        let inputs =
            Inputs::new(self.images.clone(), self.registries.load()?).of_format(FormatArgs::of_images());
        let reader = inputs.reader()?;
        let is_named = self.output.is_named();
        let mut stream = if is_named { Some(self.output.open_stream(&inputs.paths())?) } else { None };
        let mut to = ToOutput { output: stream.as_mut(), failure: None };
        let step = Step::new("searching for blocks");
        let recovered = reader.recover(&mut to);
        drop(step);
        if let Some(failure) = to.failure {
            return Err(failure);
        }
        let recovered = recovered.map_err(cannot_read)?;
        let shown = Shown::new(&recovered, &inputs);
        // If the stream goes to standard output, nothing else does.
        if !(is_named && self.output.is_stdout()) {
            Output::stdout().show(self.json.is_on(), &shown, |out| shown.append_text(out))?;
        }
        let is_written = match stream {
            // An empty file would only hide that there was nothing.
            Some(stream) if recovered.has_anything() => stream.finish().map(|()| true)?,
            _ => false,
        };
        shown.report(context, self.strict, !is_written);
        Ok(())
    }
}

/// Takes the stream, if an output was requested, and keeps the error if it cannot be written.
struct ToOutput<'a> {
    output: Option<&'a mut Output>,
    failure: Option<Failure>,
}

impl Write for ToOutput<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(output) = &mut self.output {
            output.buffer().extend_from_slice(bytes);
            if let Err(failure) = output.relieve() {
                self.failure = Some(failure);
                return Err(io::Error::other("the output failed"));
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// All that the command shows; docs/cli.md describes the JSON form.
#[derive(Serialize)]
struct Shown<'a> {
    version: u32,
    scanned: u64,
    whole_blocks: u64,
    live_blocks: u64,
    blocks: u64,
    events: u64,
    bytes: u64,
    lost: Lost,
    sessions: Vec<SessionShown<'a>>,
    refused: Vec<RefusedShown>,
    unreadable: Vec<UnreadableShown>,
    /// Messages about missing registries.
    #[serde(skip)]
    without_registry: Vec<String>,
    #[serde(skip)]
    inputs: String,
    #[serde(skip)]
    has_anything: bool,
}

#[derive(Serialize)]
struct SessionShown<'a> {
    id: String,
    program: Option<&'a str>,
    ended: bool,
    threads: Vec<ThreadShown>,
    /// The event counts of each lane that has an account in the image.
    lanes: Vec<LaneShown>,
    /// The sums of lanes whose threads had ended and whose accounts were freed.
    gone: GoneShown,
}

/// `recorded` is the sum of `recovered`, `evicted`, `written`, `lost` and `missing`.
#[derive(Serialize)]
struct LaneShown {
    thread: u32,
    registry: String,
    kind: String,
    recorded: u64,
    recovered: u64,
    evicted: u64,
    written: u64,
    lost: u64,
    missing: u64,
    lost_pool: u64,
    lost_reentrant: u64,
}

#[derive(Serialize, Default)]
struct GoneShown {
    recorded: u64,
    evicted: u64,
    written: u64,
    lost: u64,
    lost_pool: u64,
    lost_reentrant: u64,
}

#[derive(Serialize)]
struct ThreadShown {
    thread: u32,
    name: String,
    tid: Option<u64>,
    /// Blocks that it was still writing.
    open: Vec<OpenShown>,
    last: Option<LastShown>,
}

#[derive(Serialize)]
struct OpenShown {
    registry: String,
    kind: String,
    events: u32,
    bytes: u32,
}

#[derive(Serialize)]
struct LastShown {
    time_ns: i64,
    /// From this event to the last event of the session.
    before_end_ns: i64,
    registry: String,
    kind: String,
    event: String,
    /// Name and parameters, as in `print`.
    text: String,
}

#[derive(Serialize)]
struct RefusedShown {
    why: String,
    blocks: u64,
    /// The place of the first of them.
    input: String,
    at: u64,
    /// The blocks would be in the stream if more were known or allowed.
    #[serde(skip)]
    is_short: bool,
}

#[derive(Serialize)]
struct UnreadableShown {
    input: String,
    at: u64,
    why: String,
}

impl<'a> Shown<'a> {
    fn new(recovered: &'a Recovered, inputs: &Inputs) -> Self {
        let refused = recovered.refused.iter().map(|(why, refused)| {
            let (input, at) = inputs.place(refused.first_at);
            let is_short = matches!(why, Refusal::NoRegistry(_) | Refusal::TooMany);
            RefusedShown { why: why.to_string(), blocks: refused.blocks, input, at, is_short }
        });
        let without_registry = recovered.refused.iter().filter_map(|(why, refused)| match why {
            Refusal::NoRegistry(fingerprint) => {
                Some(inputs.without_registry(*fingerprint, refused.blocks, "block"))
            }
            _ => None,
        });
        let unreadable = recovered.unreadable.iter().map(|(at, why)| {
            let (input, at) = inputs.place(*at);
            UnreadableShown { input, at, why: why.clone() }
        });
        let sessions = recovered.sessions.iter().enumerate();
        Shown {
            version: 1,
            scanned: recovered.scanned,
            whole_blocks: recovered.whole_blocks,
            live_blocks: recovered.live_blocks,
            blocks: recovered.blocks,
            events: recovered.events,
            bytes: recovered.bytes,
            lost: recovered.lost.into(),
            sessions: sessions.map(|(index, session)| SessionShown::new(recovered, index, session)).collect(),
            refused: refused.collect(),
            unreadable: unreadable.collect(),
            without_registry: without_registry.collect(),
            inputs: inputs.names(),
            has_anything: recovered.has_anything(),
        }
    }

    fn append_text(&self, out: &mut Vec<u8>) {
        for (index, session) in self.sessions.iter().enumerate() {
            if index > 0 {
                out.push(b'\n');
            }
            session.append_text(out);
        }
    }

    /// Reports the verdict.
    fn report(&self, context: &mut Context, strict: bool, is_dry: bool) {
        for RefusedShown { why, blocks, input, at, is_short } in &self.refused {
            let blocks = count(*blocks, "block");
            let message = format!("left out: {blocks}: {why}; the first in {input} at byte {at}");
            if *is_short || strict { context.problem(message) } else { warning(message) }
        }
        self.without_registry.iter().for_each(|why| context.problem(why));
        self.report_accounts();
        for UnreadableShown { input, at, why } in &self.unreadable {
            context.problem(format!("{input}: byte {at}: {why}"));
        }
        if !self.has_anything {
            let bytes = count(self.scanned, "byte");
            return context.problem(format!("{}: nothing to recover in {bytes}", self.inputs));
        }
        let found = self.whole_blocks + self.live_blocks;
        let mut text = format!(
            "recovered: {} in {}, from {} of {}",
            count(self.events, "event"),
            count(self.blocks, "block"),
            count(found, "block"),
            count(self.scanned, "byte"),
        );
        if self.lost.events() > 0 {
            text += &format!(", {} lost in the program", grouped(self.lost.events()));
        }
        if self.lost.truncated > 0 {
            text += &format!(", {} truncated to the maximum length", count(self.lost.truncated, "value"));
        }
        if is_dry {
            text += "; use -o FILE to write them";
        }
        note(text);
    }
}

impl Shown<'_> {
    /// Warns if recorded events are not among the recovered ones, with the reasons.
    fn report_accounts(&self) {
        let lanes = || self.sessions.iter().flat_map(|session| &session.lanes);
        let gone = || self.sessions.iter().map(|session| &session.gone);
        let sum = |of_lane: fn(&LaneShown) -> u64, of_gone: fn(&GoneShown) -> u64| {
            lanes().map(of_lane).sum::<u64>() + gone().map(of_gone).sum::<u64>()
        };
        let recorded = sum(|lane| lane.recorded, |gone| gone.recorded);
        let recovered = sum(|lane| lane.recovered, |_| 0);
        if recorded == recovered {
            return;
        }
        let mut parts = vec![format!("{} recovered", grouped(recovered))];
        for (number, what) in [
            (sum(|lane| lane.evicted, |gone| gone.evicted), "evicted by the flight recorder"),
            (sum(|lane| lane.written, |gone| gone.written), "written to a sink"),
            (sum(|lane| lane.lost, |gone| gone.lost), "lost because a sink failed"),
            (sum(|lane| lane.missing, |_| 0), "missing from the image"),
        ] {
            if number > 0 {
                parts.push(format!("{} {what}", grouped(number)));
            }
        }
        warning(format!("of {} recorded: {}", count(recorded, "event"), parts.join(", ")));
    }
}

impl<'a> SessionShown<'a> {
    fn new(recovered: &'a Recovered, index: usize, session: &'a Session) -> Self {
        let threads = recovered.threads.iter().filter(|thread| thread.session == index && thread.thread != 0);
        SessionShown {
            id: format!("{:016x}", session.id),
            program: session.facts.text("program"),
            ended: session.ended,
            threads: threads.map(|thread| ThreadShown::new(recovered, session, thread)).collect(),
            lanes: recovered
                .lanes
                .iter()
                .filter(|lane| lane.session == index)
                .map(|lane| LaneShown::new(recovered, lane))
                .collect(),
            gone: recovered.gone.get(index).map(GoneShown::new).unwrap_or_default(),
        }
    }

    fn append_text(&self, out: &mut Vec<u8>) {
        let program = self.program.map_or_else(String::new, |program| format!(", {}", escaped_text(program)));
        let end = if self.ended { "ended in good order" } else { "did not end in good order" };
        out.extend_from_slice(format!("session {}{program}: {end}\n", self.id).as_bytes());
        for thread in &self.threads {
            thread.append_text(out);
        }
    }
}

impl LaneShown {
    fn new(recovered: &Recovered, lane: &RecoveredLane) -> Self {
        let (registry, kind) = names(recovered, lane.registry, lane.kind);
        let RecoveredLane { thread, recorded, evicted, written, lost, missing, .. } = *lane;
        LaneShown {
            thread,
            registry,
            kind,
            recorded,
            recovered: lane.recovered,
            evicted,
            written,
            lost,
            missing,
            lost_pool: lane.not_recorded.pool,
            lost_reentrant: lane.not_recorded.reentrant,
        }
    }
}

impl GoneShown {
    fn new(gone: &LaneCounters) -> Self {
        let LaneCounters { recorded, written, evicted, pool, reentrant, sink, .. } = *gone;
        GoneShown { recorded, evicted, written, lost: sink, lost_pool: pool, lost_reentrant: reentrant }
    }
}

/// Returns the names of a registry and of a kind, or their numbers if the registry is not known.
fn names(recovered: &Recovered, fingerprint: u64, kind: u8) -> (String, String) {
    let registry = recovered.registry(fingerprint);
    let name = registry
        .and_then(|registry| registry.kinds.iter().find(|known| known.bit == kind))
        .map_or_else(|| kind.to_string(), |known| known.name.clone());
    (registry.map_or_else(|| format!("{fingerprint:016x}"), |known| known.name.clone()), name)
}

impl ThreadShown {
    fn new(recovered: &Recovered, session: &Session, thread: &ThreadInFlight) -> Self {
        let open = thread.open.iter().map(|block| {
            let (registry, kind) = names(recovered, block.registry, block.kind);
            OpenShown { registry, kind, events: block.events, bytes: block.bytes }
        });
        ThreadShown {
            thread: thread.thread,
            name: thread_name(session, thread.thread),
            tid: session.threads().get(&thread.thread).and_then(|facts| facts.number("tid")),
            open: open.collect(),
            last: recovered.last_event(thread).map(|event| LastShown::new(&event, thread.behind_ns)),
        }
    }

    fn append_text(&self, out: &mut Vec<u8>) {
        let tid = self.tid.map_or_else(String::new, |tid| format!(" (tid {tid})"));
        let open =
            self.open.iter().map(|block| format!("{} {}", block.kind, count(block.events.into(), "event")));
        let open: Vec<_> = open.collect();
        let open =
            if open.is_empty() { "no open block".to_string() } else { open.join(", ") + " in open blocks" };
        out.extend_from_slice(format!("  thread {}{tid}: {open}\n", self.name).as_bytes());
        if let Some(LastShown { time_ns, before_end_ns, text, .. }) = &self.last {
            let before = match before_end_ns {
                0 => "the last of the session".to_string(),
                ns => format!("{} ns before that of the session", signed_grouped(*ns)),
            };
            let line = format!("    last event at {} ns, {before}: {text}\n", signed_grouped(*time_ns));
            out.extend_from_slice(line.as_bytes());
        }
    }
}

impl LastShown {
    fn new(event: &Event<'_>, before_end_ns: i64) -> Self {
        let mut text = Vec::new();
        append_event(&mut text, event);
        LastShown {
            time_ns: event.time_ns(),
            before_end_ns,
            registry: event.registry().name.clone(),
            kind: event.kind().name.clone(),
            event: event.name().to_string(),
            text: String::from_utf8_lossy(&text).into_owned(),
        }
    }
}
