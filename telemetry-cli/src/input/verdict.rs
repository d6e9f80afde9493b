//! The verdict on completeness that ends each command: what was lost, skipped or unknown, and
//! where.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::Serialize;
use telemetry_decode::completeness::{LaneReport, Reason};
use telemetry_decode::{Completeness, Session};
use telemetry_format::Loss;

use crate::input::inputs::Inputs;
use crate::term::ended::Context;
use crate::term::message::{has_verdicts, note, warning};
use crate::text::hint::help;
use crate::text::print::thread_name;
use crate::text::{count, grouped, signed_grouped};

/// The maximum of lines for one sort of problem. The rest is counted; `--json` lists more.
const MAX_LINES: usize = 10;

/// What was read of the input, and what is missing.
#[derive(Serialize)]
pub(crate) struct Verdict {
    complete: bool,
    /// Nothing is known to be lost, missing or unfinished.
    #[serde(skip)]
    is_whole: bool,
    /// The format of the input has no end mark.
    may_be_truncated: bool,
    #[serde(skip)]
    why_may_be_truncated: &'static str,
    /// The input is logs of other systems.
    #[serde(skip)]
    is_of_logs: bool,
    /// Only block headers were read, so blocks may still be damaged.
    #[serde(skip)]
    is_of_headers: bool,
    blocks: u64,
    bytes: u64,
    events: u64,
    filtered: u64,
    lost: Lost,
    missing: u64,
    /// Recorded while their kind was not output, or of kinds that stay on their host; neither lost
    /// nor missing.
    excluded: u64,
    /// Left out by limits of the registry; neither lost nor missing.
    #[serde(skip_serializing_if = "is_zero")]
    left_out: u64,
    losses: Vec<LaneLoss>,
    unaccounted: Vec<Unaccounted>,
    damaged_ranges: u64,
    damage: Vec<Wrong>,
    undecodable_parts: u64,
    undecodable: Vec<Wrong>,
    unreadable: Vec<Wrong>,
    /// Number by type of block.
    unknown_blocks: BTreeMap<u8, u64>,
    unended_sessions: Vec<String>,
    unmatched: Vec<String>,
    /// The helps of unmatched names.
    #[serde(skip)]
    nearest: Vec<String>,
    /// Messages about missing registries.
    #[serde(skip)]
    without_registry: Vec<String>,
    #[serde(skip)]
    inputs: String,
    /// The help if no input was named.
    #[serde(skip)]
    hint: &'static str,
    #[serde(skip)]
    empty_files: Vec<String>,
}

/// Events lost in the program, by cause, and truncated strings.
#[derive(Serialize, Clone, Copy, Default)]
pub(crate) struct Lost {
    pool: u64,
    reentrant: u64,
    sink: u64,
    pub(crate) truncated: u64,
}

impl Lost {
    /// Returns the events lost by any cause.
    pub(crate) fn events(&self) -> u64 {
        self.pool.saturating_add(self.reentrant).saturating_add(self.sink)
    }

    fn loss(self) -> Loss {
        let Lost { pool, reentrant, sink, truncated } = self;
        Loss { pool, reentrant, sink, truncated }
    }
}

/// The losses of a lane, and when they happened.
#[derive(Serialize)]
struct LaneLoss {
    session: String,
    thread: u32,
    thread_name: String,
    kind: String,
    lost: Lost,
    missing: u64,
    /// Missing events whose blocks are in the input, but damaged or not understood.
    unread: u64,
    /// All losses happened between these times; null if that is not known.
    from_ns: Option<i64>,
    until_ns: Option<i64>,
}

/// Events that a session counts in blocks at the ends of lanes, which are not in the input.
#[derive(Serialize)]
struct Unaccounted {
    session: String,
    events: u64,
}

/// A part of the input that was not read.
#[derive(Serialize)]
struct Wrong {
    input: String,
    from: u64,
    until: u64,
    events: u32,
    why: String,
}

impl Verdict {
    pub(crate) fn new(completeness: &Completeness, sessions: &[Session], inputs: &Inputs) -> Self {
        let lost = completeness.lost();
        let wrong = |range: &Range<u64>, events: u32, why: String| {
            let (input, from) = inputs.place(range.start);
            Wrong { input, from, until: from + (range.end - range.start), events, why }
        };
        let mut damage: Vec<_> = completeness.damage.iter().collect();
        damage.sort_by_key(|part| part.range.start);
        let mut undecodable: Vec<_> = completeness.undecodable.iter().collect();
        undecodable.sort_by_key(|part| part.range.start);
        let mut without_registry = BTreeMap::<u64, u64>::new();
        for part in &undecodable {
            if let Reason::NoRegistry(fingerprint) = part.reason {
                *without_registry.entry(fingerprint).or_default() += u64::from(part.events);
            }
        }
        let unreadable = completeness.unreadable.iter();
        let unaccounted = completeness.unaccounted.iter();
        let unended = completeness.sessions.iter().filter(|(_, ended)| !ended);
        let with_loss =
            completeness.lanes.iter().filter(|lane| lane.missing > 0 || lane.lost != Default::default());
        Verdict {
            complete: completeness.is_complete() && completeness.blocks > 0,
            is_whole: completeness.is_whole() && completeness.blocks > 0,
            may_be_truncated: completeness.may_be_truncated(),
            why_may_be_truncated: completeness.why_may_be_truncated(),
            is_of_logs: completeness.is_of_logs,
            is_of_headers: false,
            blocks: completeness.blocks,
            bytes: completeness.bytes.total(),
            events: completeness.events,
            filtered: completeness.lanes.iter().map(|lane| lane.filtered).fold(0, u64::saturating_add),
            lost: lost.into(),
            missing: completeness.missing(),
            excluded: completeness.excluded(),
            left_out: completeness.left_out(),
            losses: with_loss.map(|lane| LaneLoss::new(lane, sessions)).collect(),
            unaccounted: unaccounted
                .map(|(id, events)| Unaccounted { session: format!("{id:016x}"), events: *events })
                .collect(),
            damaged_ranges: completeness.damaged_ranges,
            damage: damage
                .iter()
                .map(|part| wrong(&part.range, part.events, part.cause.to_string()))
                .collect(),
            undecodable_parts: completeness.undecodable_parts,
            undecodable: undecodable
                .iter()
                .map(|part| wrong(&part.range, part.events, part.reason.to_string()))
                .collect(),
            unreadable: unreadable.map(|(at, why)| wrong(&(*at..*at), 0, why.clone())).collect(),
            unknown_blocks: completeness.unknown_blocks.clone(),
            unended_sessions: unended.map(|(id, _)| format!("{id:016x}")).collect(),
            unmatched: completeness.unmatched.iter().map(ToString::to_string).collect(),
            nearest: completeness.unmatched.iter().map(|name| help(name.nearest.as_deref())).collect(),
            without_registry: without_registry
                .iter()
                .map(|(fingerprint, events)| inputs.without_registry(*fingerprint, *events, "event"))
                .collect(),
            inputs: inputs.names(),
            hint: inputs.hint(),
            empty_files: inputs.empty_files(),
        }
    }

    /// Makes it a verdict on blocks of which only the headers were read.
    pub(crate) fn of_headers(self) -> Verdict {
        Verdict { is_of_headers: true, ..self }
    }

    /// Makes it a verdict on a log that was scanned, with its number of events.
    pub(crate) fn looked_through(self, events: u64, bytes: Option<u64>) -> Verdict {
        Verdict { events, bytes: bytes.unwrap_or(self.bytes), ..self }
    }

    /// Reports the verdict on standard error.
    pub(crate) fn report(&self, context: &mut Context, strict: bool) {
        Verdict::report_each(&[(self, self.summary())], context, strict);
    }

    /// Reports the verdicts on several reads of the same inputs, each with its last line. A problem
    /// that several reads found is reported once.
    pub(crate) fn report_each(verdicts: &[(&Verdict, String)], context: &mut Context, strict: bool) {
        let is_problem =
            verdicts.iter().any(|(verdict, _)| verdict.is_broken() || strict && !verdict.is_whole);
        if !is_problem && !has_verdicts() {
            return;
        }
        let once = |lines: &dyn Fn(&Verdict) -> Vec<String>| {
            let mut found: Vec<String> = Vec::new();
            for line in verdicts.iter().flat_map(|(verdict, _)| lines(verdict)) {
                if !found.contains(&line) {
                    found.push(line);
                }
            }
            found
        };
        once(&Verdict::errors).into_iter().for_each(|line| context.problem(line));
        for line in once(&Verdict::warnings) {
            if strict { context.problem(line) } else { warning(line) }
        }
        context.problem_if(is_problem);
        for (_, last) in verdicts.iter().filter(|(verdict, _)| verdict.blocks > 0) {
            note(last);
        }
    }

    /// Returns the verdict as lines: the summary first, then what is wrong or missing.
    pub(crate) fn lines(&self) -> Vec<String> {
        [self.summary()].into_iter().chain(self.errors()).chain(self.warnings()).collect()
    }

    /// Returns true if nothing is missing.
    pub(crate) fn is_complete(&self) -> bool {
        self.complete
    }

    /// Returns what the program lost.
    pub(crate) fn loss(&self) -> Loss {
        self.lost.loss()
    }

    /// Returns the number of events that were written, but not read.
    pub(crate) fn missing(&self) -> u64 {
        self.missing
    }

    /// Returns true if the input has blocks.
    pub(crate) fn has_blocks(&self) -> bool {
        self.blocks > 0
    }

    /// Returns true if the input is a stream or a log, even one without an event or a byte.
    pub(crate) fn is_recording(&self) -> bool {
        self.has_blocks() || self.bytes == 0
    }

    /// Returns true for problems of the input or the call, and false for problems only of the
    /// observed program.
    fn is_broken(&self) -> bool {
        self.blocks == 0
            || self.damaged_ranges > 0
            || self.undecodable_parts > 0
            || !self.unreadable.is_empty()
            || !self.unmatched.is_empty()
            || !self.empty_files.is_empty()
    }

    /// Lists errors of the input or the call.
    fn errors(&self) -> Vec<String> {
        if self.bytes == 0 {
            return vec![format!("{} is empty, expected {}{}", self.inputs, self.expected(), self.hint)];
        }
        let mut lines: Vec<_> = self.empty_files.iter().map(|name| format!("{name} is empty")).collect();
        let events = |events: u32| {
            if events == 0 { String::new() } else { format!(", {}", count(events.into(), "event")) }
        };
        let place = |part: &Wrong, what: &str| {
            format!(
                "{}: bytes {}..{} {what}{}: {}",
                part.input,
                part.from,
                part.until,
                events(part.events),
                part.why
            )
        };
        let damage = self.damage.iter().map(|part| place(part, "are damaged"));
        some(&mut lines, damage, self.damaged_ranges, "damaged ranges");
        let undecodable = self.undecodable.iter().map(|part| place(part, "cannot be decoded"));
        some(&mut lines, undecodable, self.undecodable_parts, "parts that cannot be decoded");
        let without_registry = self.without_registry.iter().cloned();
        some(&mut lines, without_registry, self.without_registry.len() as u64, "missing registries");
        let unreadable = self.unreadable.iter();
        let unreadable = unreadable.map(|part| format!("{}: byte {}: {}", part.input, part.from, part.why));
        some(&mut lines, unreadable, self.unreadable.len() as u64, "blocks that cannot be understood");
        let unmatched = self.unmatched.iter().zip(&self.nearest);
        let unmatched = unmatched.map(|(name, help)| format!("no {name} in the input{help}"));
        some(&mut lines, unmatched, self.unmatched.len() as u64, "names without a match");
        if self.blocks == 0 {
            let bytes = count(self.bytes, "byte");
            let why = if self.is_of_logs { "" } else { " and no block" };
            lines.push(format!("{}: not {}: {bytes}{why}", self.inputs, self.expected()));
        }
        lines
    }

    /// Lists losses and unknown blocks in a sound input.
    fn warnings(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for (number, blocks) in &self.unknown_blocks {
            lines.push(format!(
                "{} of unknown type {number}, which a newer telemetry may read",
                count(*blocks, "block")
            ));
        }
        let losses = self.losses.iter().map(LaneLoss::line);
        some(&mut lines, losses, self.losses.len() as u64, "lanes with losses");
        let unaccounted = self.unaccounted.iter().map(|Unaccounted { session, events }| {
            format!(
                "session {session}: {} missing at the ends of lanes; their last blocks were not found",
                count(*events, "event")
            )
        });
        some(&mut lines, unaccounted, self.unaccounted.len() as u64, "sessions with missing events");
        let unended = self
            .unended_sessions
            .iter()
            .map(|id| format!("session {id} has no end: its program was killed, or is still running"));
        some(&mut lines, unended, self.unended_sessions.len() as u64, "sessions without an end");
        lines
    }

    /// Returns the verdict in a line.
    pub(crate) fn summary(&self) -> String {
        let bytes = count(self.bytes, "byte");
        let verdict = match (self.is_whole, self.complete) {
            (true, true) => "complete",
            (true, false) => "read",
            (false, _) => "incomplete",
        };
        let mut text = format!("{verdict}: {}", count(self.events, "event"));
        let numbers = [
            (self.filtered, "filtered out"),
            (self.lost.events(), "lost in the program"),
            (self.missing, "missing"),
            (self.excluded, "excluded"),
            (self.left_out, "left out by limits"),
        ];
        for (number, what) in numbers {
            if number > 0 {
                text += &format!(", {} {what}", grouped(number));
            }
        }
        text += &match self.is_of_logs {
            true => format!("; {bytes}"),
            false => {
                let headers = if self.is_of_headers { "headers of " } else { "" };
                format!("; {headers}{}, {bytes}", count(self.blocks, "block"))
            }
        };
        if self.may_be_truncated {
            text += &format!("; may be truncated: {}", self.why_may_be_truncated);
        }
        text
    }

    fn expected(&self) -> &'static str {
        if self.is_of_logs { "a log with events" } else { "a telemetry stream" }
    }
}

impl LaneLoss {
    fn new(lane: &LaneReport, sessions: &[Session]) -> LaneLoss {
        let session = sessions.iter().find(|session| session.id == lane.session);
        let from = lane.gaps.iter().map(|gap| gap.from_ticks).min();
        let until = lane.gaps.iter().map(|gap| gap.until_ticks).max();
        let ns = |ticks: Option<u64>| Some(session?.clock.ns(ticks?));
        LaneLoss {
            session: format!("{:016x}", lane.session),
            thread: lane.thread,
            thread_name: session
                .map_or_else(|| format!("#{}", lane.thread), |session| thread_name(session, lane.thread)),
            kind: lane.kind_name.clone().unwrap_or_else(|| lane.kind.to_string()),
            lost: lane.lost.into(),
            missing: lane.missing,
            unread: lane.unread,
            from_ns: ns(from),
            until_ns: ns(until),
        }
    }

    fn line(&self) -> String {
        let loss = self.lost.loss();
        let lost = loss
            .causes()
            .map(|(cause, events)| format!("{} lost ({})", count(events, "event"), cause.text()));
        let others = [
            (loss.truncated, "value", "truncated to the maximum length"),
            (self.unread, "event", "missing in blocks that could not be read"),
            (
                self.missing.saturating_sub(self.unread),
                "event",
                "missing in blocks that are not in the input",
            ),
        ];
        let others = others.iter().filter(|(number, _, _)| *number > 0);
        let others = others.map(|(number, what, why)| format!("{} {why}", count(*number, what)));
        let causes: Vec<_> = lost.chain(others).collect();
        let mut line = format!("thread {}, kind {}: {}", self.thread_name, self.kind, causes.join(", "));
        if let (Some(from), Some(until)) = (self.from_ns, self.until_ns) {
            line += &format!("; between {} and {} ns", signed_grouped(from), signed_grouped(until));
        }
        line
    }
}

impl From<Loss> for Lost {
    fn from(loss: Loss) -> Lost {
        let Loss { pool, reentrant, sink, truncated } = loss;
        Lost { pool, reentrant, sink, truncated }
    }
}

/// Adds the first lines, and the number of the others.
fn some(lines: &mut Vec<String>, of: impl Iterator<Item = String>, total: u64, what: &str) {
    let before = lines.len();
    lines.extend(of.take(MAX_LINES));
    let more = total.saturating_sub((lines.len() - before) as u64);
    if more > 0 {
        lines.push(format!("more {what}: {}", grouped(more)));
    }
}

/// Returns true if there is nothing to say.
#[allow(clippy::trivially_copy_pass_by_ref)] // The macro passes a reference.
fn is_zero(number: &u64) -> bool {
    *number == 0
}
