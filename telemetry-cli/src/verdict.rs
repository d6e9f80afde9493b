//! The verdict on completeness that ends every command: what was lost, skipped, unknown, and where.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::Serialize;
use telemetry_decode::{Completeness, LaneReport, Reason, Session};

use crate::exit::{Outcome, report, report_good};
use crate::input::Inputs;
use crate::text::print::thread_name;
use crate::text::{count, grouped, signed_grouped};

/// Most lines for one sort of problem; the rest are counted. `--json` lists more.
const MAX_LINES: usize = 10;

/// What was read of the input, and what was not.
#[derive(Serialize)]
pub(crate) struct Verdict {
    complete: bool,
    /// The input is logs of other systems.
    #[serde(skip)]
    is_of_logs: bool,
    /// Of blocks only the headers were read: what is in them may be damaged all the same.
    #[serde(skip)]
    is_of_headers: bool,
    blocks: u64,
    bytes: u64,
    events: u64,
    filtered: u64,
    lost: Lost,
    missing: u64,
    /// Recorded while their kind was not output: neither lost nor missing.
    withheld: u64,
    losses: Vec<LaneLoss>,
    untold: Vec<Untold>,
    damaged_ranges: u64,
    damage: Vec<Wrong>,
    undecodable_parts: u64,
    undecodable: Vec<Wrong>,
    unreadable: Vec<Wrong>,
    /// Number by type.
    unknown_blocks: BTreeMap<u8, u64>,
    unended_sessions: Vec<String>,
    unmatched: Vec<String>,
    /// What is said of registries that were not found.
    #[serde(skip)]
    without_registry: Vec<String>,
    #[serde(skip)]
    inputs: String,
    #[serde(skip)]
    empty_files: Vec<String>,
}

/// Events lost in the program, by cause, and strings that were cut.
#[derive(Serialize, Clone, Copy, Default)]
pub(crate) struct Lost {
    pool: u64,
    nested: u64,
    sink: u64,
    pub(crate) cut: u64,
}

impl Lost {
    /// Whatever the cause.
    pub(crate) fn events(&self) -> u64 {
        self.pool.saturating_add(self.nested).saturating_add(self.sink)
    }
}

/// What a lane lost, and when.
#[derive(Serialize)]
struct LaneLoss {
    session: String,
    thread: u32,
    thread_name: String,
    kind: String,
    lost: Lost,
    missing: u64,
    /// Of the missing events, those whose blocks are in the input, but damaged or not understood.
    unread: u64,
    /// All of it happened between these times; null if that is not known.
    from_ns: Option<i64>,
    until_ns: Option<i64>,
}

/// Events that a session counts, in blocks at the ends of lanes that are not in the input.
#[derive(Serialize)]
struct Untold {
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
        let untold = completeness.untold.iter();
        let unended = completeness.sessions.iter().filter(|(_, ended)| !ended);
        let with_loss =
            completeness.lanes.iter().filter(|lane| lane.missing > 0 || lane.lost != Default::default());
        Verdict {
            complete: completeness.is_complete() && completeness.blocks > 0,
            is_of_logs: completeness.is_of_logs,
            is_of_headers: false,
            blocks: completeness.blocks,
            bytes: completeness.bytes.total(),
            events: completeness.events,
            filtered: completeness.lanes.iter().map(|lane| lane.filtered).fold(0, u64::saturating_add),
            lost: lost.into(),
            missing: completeness.missing(),
            withheld: completeness.withheld(),
            losses: with_loss.map(|lane| LaneLoss::new(lane, sessions)).collect(),
            untold: untold
                .map(|(id, events)| Untold { session: format!("{id:016x}"), events: *events })
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
            unmatched: completeness.unmatched.clone(),
            without_registry: without_registry
                .iter()
                .map(|(fingerprint, events)| inputs.without_registry(*fingerprint, *events, "event"))
                .collect(),
            inputs: inputs.names(),
            empty_files: inputs.empty_files(),
        }
    }

    /// The same where of blocks only the headers were read.
    pub(crate) fn of_headers(self) -> Verdict {
        Verdict { is_of_headers: true, ..self }
    }

    /// The same of a log that was looked through, and has so many events.
    pub(crate) fn looked_through(self, events: u64, bytes: Option<u64>) -> Verdict {
        Verdict { events, bytes: bytes.unwrap_or(self.bytes), ..self }
    }

    /// Says it on standard error.
    pub(crate) fn report(&self, strict: bool) -> Outcome {
        let outcome = Outcome::problems_if(self.is_broken() || strict && !self.complete);
        let say = if outcome == Outcome::Clean { report_good } else { report };
        self.lines().into_iter().for_each(say);
        outcome
    }

    /// True if there was something to read: what is asked for can only be missing in that.
    pub(crate) fn has_blocks(&self) -> bool {
        self.blocks > 0
    }

    /// True for problems of the input or the call, and not just of the program that was observed.
    fn is_broken(&self) -> bool {
        self.blocks == 0
            || self.damaged_ranges > 0
            || self.undecodable_parts > 0
            || !self.unreadable.is_empty()
            || !self.unmatched.is_empty()
            || !self.empty_files.is_empty()
    }

    fn lines(&self) -> Vec<String> {
        if self.bytes == 0 {
            return vec![format!("{} is empty, expected {}", self.inputs, self.expected())];
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
        some(
            &mut lines,
            without_registry,
            self.without_registry.len() as u64,
            "registries that are not there",
        );
        let unreadable = self.unreadable.iter();
        let unreadable = unreadable.map(|part| format!("{}: byte {}: {}", part.input, part.from, part.why));
        some(&mut lines, unreadable, self.unreadable.len() as u64, "blocks that are not understood");
        for (number, blocks) in &self.unknown_blocks {
            lines.push(format!(
                "{} of unknown type {number}, which a newer telemetry may read",
                count(*blocks, "block")
            ));
        }
        let losses = self.losses.iter().map(LaneLoss::line);
        some(&mut lines, losses, self.losses.len() as u64, "lanes with losses");
        let untold = self.untold.iter().map(|Untold { session, events }| {
            format!(
                "session {session}: {} missing at the ends of lanes, whose last blocks were not found",
                count(*events, "event")
            )
        });
        some(&mut lines, untold, self.untold.len() as u64, "sessions with events that are missing");
        let unended = self.unended_sessions.iter().map(|id| {
            format!("session {id} did not end in good order: its program was killed, or is still running")
        });
        some(&mut lines, unended, self.unended_sessions.len() as u64, "sessions that did not end");
        let unmatched = self.unmatched.iter().map(|name| format!("no {name} in the input"));
        some(&mut lines, unmatched, self.unmatched.len() as u64, "names that nothing has");
        lines.push(self.summary());
        lines
    }

    fn summary(&self) -> String {
        let bytes = count(self.bytes, "byte");
        if self.blocks == 0 {
            let why = if self.is_of_logs { "" } else { " and no block" };
            return format!("{}: not {}: {bytes}{why}", self.inputs, self.expected());
        }
        let verdict = if self.complete { "complete" } else { "incomplete" };
        let mut text = format!("{verdict}: {}", count(self.events, "event"));
        let numbers = [
            (self.filtered, "filtered out"),
            (self.lost.events(), "lost in the program"),
            (self.missing, "missing"),
            (self.withheld, "withheld"),
        ];
        for (number, what) in numbers {
            if number > 0 {
                text += &format!(", {} {what}", grouped(number));
            }
        }
        match self.is_of_logs {
            true => text + &format!("; {bytes}"),
            false => {
                let headers = if self.is_of_headers { "headers of " } else { "" };
                text + &format!("; {headers}{}, {bytes}", count(self.blocks, "block"))
            }
        }
    }

    fn expected(&self) -> &'static str {
        if self.is_of_logs { "a log with events" } else { "a telemetry stream" }
    }
}

impl LaneLoss {
    fn new(lane: &LaneReport, sessions: &[Session]) -> LaneLoss {
        let session = sessions.iter().find(|session| session.id == lane.session);
        let from = lane.holes.iter().map(|hole| hole.from_ticks).min();
        let until = lane.holes.iter().map(|hole| hole.until_ticks).max();
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
        let Lost { pool, nested, sink, cut } = self.lost;
        let causes = [
            (pool, "event", "lost because no memory was free"),
            (nested, "event", "lost because an emission was under way"),
            (sink, "event", "lost because no sink took them"),
            (cut, "value", "cut to their longest length"),
            (self.unread, "event", "missing in blocks that could not be read"),
            (
                self.missing.saturating_sub(self.unread),
                "event",
                "missing in blocks that are not in the input",
            ),
        ];
        let causes = causes.iter().filter(|(number, _, _)| *number > 0);
        let causes: Vec<_> =
            causes.map(|(number, what, why)| format!("{} {why}", count(*number, what))).collect();
        let mut line = format!("thread {}, kind {}: {}", self.thread_name, self.kind, causes.join(", "));
        if let (Some(from), Some(until)) = (self.from_ns, self.until_ns) {
            line += &format!("; between {} and {} ns", signed_grouped(from), signed_grouped(until));
        }
        line
    }
}

impl From<telemetry_format::Loss> for Lost {
    fn from(loss: telemetry_format::Loss) -> Lost {
        let telemetry_format::Loss { pool, nested, sink, cut } = loss;
        Lost { pool, nested, sink, cut }
    }
}

/// Adds some of the lines, and says how many more there are.
fn some(lines: &mut Vec<String>, of: impl Iterator<Item = String>, total: u64, what: &str) {
    let before = lines.len();
    lines.extend(of.take(MAX_LINES));
    let more = total.saturating_sub((lines.len() - before) as u64);
    if more > 0 {
        lines.push(format!("further {what}: {}", grouped(more)));
    }
}
