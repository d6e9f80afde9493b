//! What is missing in a lake, and the verdict.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use telemetry_fleet::segment::SegmentName;
use telemetry_format::Calendar;

use crate::lake::{Lake, Result};
use crate::missing::{Missing, Why};
use crate::state::{LaneState, SessionState};

/// What to ask a lake.
#[derive(Debug, Clone)]
pub struct Question<'a> {
    /// The host; `None` for all.
    pub host: Option<&'a str>,
    /// The times, in nanoseconds since 1970.
    pub times: Range<i64>,
    /// A session counts as ended if its last segment arrived before this time of the store's clock,
    /// and all are committed.
    pub gone_before: Option<i64>,
    /// A host counts as silent if its last segment arrived before this time of the store's clock.
    pub silent_before: Option<i64>,
}

/// What is missing in the hosts and times that a query touches.
#[derive(Debug)]
pub struct Completeness {
    /// By host, session, lane and time.
    pub missing: Vec<(Arc<SessionState>, Missing)>,
    /// The number of sessions.
    pub sessions: usize,
    /// Up to when everything of all hosts is there, in nanoseconds since 1970, if sessions are
    /// open.
    pub until_ns: Option<i64>,
    /// Sessions that have not ended, and count as if they had: nothing came of them for some time.
    pub gone: usize,
    /// Events of these sessions, at any time, that no stream was to have.
    pub excluded: u64,
    /// Hosts whose clocks were ahead of the store's during one of these sessions, by at least this
    /// number of nanoseconds.
    pub ahead: BTreeMap<String, i64>,
    /// Silent hosts, whatever the times of their sessions, and when their last segment arrived, in
    /// nanoseconds since 1970 by the store's clock. No segment of theirs waits for a commit.
    pub silent: BTreeMap<String, i64>,
    /// Segments of the hosts that wait for a commit. Those that begin after the times do not count.
    /// A name does not tell the end.
    pub waiting: usize,
    /// The hosts and times in words.
    choice: String,
}

/// S3 cuts times to seconds, in nanoseconds.
const CUT_NS: i64 = 1_000_000_000;

/// Asks the lake what is missing.
///
/// # Errors
/// Those of the store.
pub async fn complete(lake: &Lake, question: Question<'_>) -> Result<Completeness> {
    let Question { host, times, gone_before, silent_before } = question;
    // Before the states: what is committed meanwhile still waits, and is not passed by.
    let waiting = lake.waiting().await?;
    let is_chosen = |name: &&SegmentName| {
        host.is_none_or(|host| name.host.as_str() == host) && (name.start_ns as i64) < times.end
    };
    let mut all = Completeness {
        missing: Vec::new(),
        sessions: 0,
        until_ns: None,
        gone: 0,
        excluded: 0,
        ahead: BTreeMap::new(),
        silent: BTreeMap::new(),
        waiting: waiting.iter().filter(is_chosen).count(),
        choice: choice_text(host, &times),
    };
    let waiting: BTreeSet<_> = waiting.iter().map(|name| (name.host.as_str(), name.session)).collect();
    for state in lake.states(host).await? {
        if let Some(arrived) = state.arrived_ns.filter(|_| !state.is_deleted) {
            let last = all.silent.entry(state.host.clone()).or_insert(arrived);
            *last = arrived.max(*last);
        }
        let is_gone = !state.ended
            && gone_before.zip(state.arrived_ns).is_some_and(|(before, arrived)| arrived < before)
            && !waiting.contains(&(state.host.as_str(), state.session));
        let ends = if state.ended || is_gone { state.last_ns() } else { i64::MAX };
        if state.is_deleted || state.started_ns >= times.end || ends < times.start {
            continue;
        }
        all.sessions += 1;
        all.gone += usize::from(is_gone);
        all.excluded += state.lanes.iter().map(LaneState::excluded).sum::<u64>();
        let ahead = state.delay_ns.map(|delay| delay.saturating_neg().saturating_sub(CUT_NS));
        if let Some(ahead) = ahead.filter(|ahead| *ahead > 0) {
            let most = all.ahead.entry(state.host.clone()).or_default();
            *most = ahead.max(*most);
        }
        let state = Arc::new(state);
        for missing in state.missing() {
            if missing.why == Why::Open && is_gone {
                continue;
            }
            if missing.why == Why::Open {
                let until_ns = all.until_ns.unwrap_or(i64::MAX).min(missing.from_ns);
                all.until_ns = Some(until_ns);
            }
            if missing.from_ns < times.end && missing.until_ns >= times.start {
                all.missing.push((state.clone(), missing));
            }
        }
    }
    let is_waiting = |host: &str| waiting.iter().any(|(of, _)| *of == host);
    all.silent.retain(|host, last| silent_before.is_some_and(|before| *last < before) && !is_waiting(host));
    Ok(all)
}

impl Completeness {
    /// Returns true if there are sessions, nothing of them is missing, and no segment waits.
    pub fn is_complete(&self) -> bool {
        self.sessions > 0 && self.missing.is_empty() && self.waiting == 0
    }

    /// Returns the verdict in one line. What is excluded is not missing.
    pub fn verdict(&self) -> String {
        let mut verdict = self.of_missing();
        if let Some(since) = self.silent.values().min() {
            let from = match self.silent.keys().next() {
                Some(host) if self.silent.len() == 1 => host.clone(),
                _ => format!("{} hosts", self.silent.len()),
            };
            verdict += &format!("; nothing from {from} since {}", time_text(*since));
        }
        for (count, one, several) in [
            (self.waiting as u64, "segment waits for a commit", "segments wait for a commit"),
            (self.gone as u64, "session stopped without an end", "sessions stopped without an end"),
            (self.excluded, "event is excluded", "events are excluded"),
        ] {
            match count {
                0 => {}
                1 => verdict += &format!("; 1 {one}"),
                _ => verdict += &format!("; {count} {several}"),
            }
        }
        verdict
    }

    fn of_missing(&self) -> String {
        if self.sessions == 0 {
            return format!("no sessions{}", self.choice);
        }
        let mut parts = Vec::new();
        let open = self.missing.iter().filter(|(_, missing)| missing.why == Why::Open).count();
        parts.push(match (self.until_ns.filter(|_| open > 0), open) {
            (Some(ns), 1) => format!("1 session is open, and complete to {}", time_text(ns)),
            (Some(ns), open) => format!("{open} sessions are open, and complete to {}", time_text(ns)),
            (None, _) => "all sessions have ended".to_owned(),
        });
        for why in [Why::Pool, Why::Reentrant, Why::Sink, Why::Shed, Why::Hole] {
            let of: Vec<_> = self.missing.iter().filter(|(_, missing)| missing.why == why).collect();
            let Some(from) = of.iter().map(|(_, missing)| missing.from_ns).min() else { continue };
            let until = of.iter().map(|(_, missing)| missing.until_ns).max().unwrap_or(from);
            let events: u64 = of.iter().filter_map(|(_, missing)| missing.events).sum();
            let lane = |(state, missing): &&(Arc<SessionState>, Missing)| {
                Some((state.host.clone(), state.session, missing.lane?))
            };
            let of_lanes = match of.iter().map(lane).collect::<Option<BTreeSet<_>>>().map(|lanes| lanes.len())
            {
                None => String::new(),
                Some(1) => " of 1 lane".to_owned(),
                Some(lanes) => format!(" of {lanes} lanes"),
            };
            let mut hosts: Vec<_> = of.iter().map(|(state, _)| state.host.as_str()).collect();
            hosts.dedup();
            let on = if let [host] = hosts[..] { host.to_owned() } else { format!("{} hosts", hosts.len()) };
            let what = match why {
                Why::Pool => "lost for lack of memory",
                Why::Reentrant => "lost because they were reentrant",
                Why::Sink => "lost by the sink",
                Why::Shed => "shed by the shipper",
                Why::Hole | Why::Open => "not here",
            };
            let plural = if events == 1 { "event" } else { "events" };
            let (from, until) = (time_text(from), time_text(until));
            parts.push(format!("{events} {plural}{of_lanes} on {on} {what} between {from} and {until}"));
        }
        if self.is_complete() {
            return format!("complete: {}", parts[0]);
        }
        if parts.len() == 1 && self.waiting == 0 {
            parts.push("nothing is missing before".to_owned());
        }
        parts.join("; ")
    }
}

/// Returns which host and times are chosen.
fn choice_text(host: Option<&str>, times: &Range<i64>) -> String {
    let of_host = host.map_or_else(String::new, |host| format!(" of host `{host}`"));
    let (from, until) = (time_text(times.start), time_text(times.end));
    match (times.start, times.end) {
        (i64::MIN, i64::MAX) => of_host,
        (_, i64::MAX) => format!("{of_host} from {from}"),
        (i64::MIN, _) => format!("{of_host} before {until}"),
        _ => format!("{of_host} between {from} and {until}"),
    }
}

/// Returns a time in UTC, to the millisecond.
pub fn time_text(ns: i64) -> String {
    if ns == i64::MAX {
        return "now".to_owned();
    }
    let (seconds, ms) = (ns.max(0) as u64 / 1_000_000_000, ns.max(0) / 1_000_000 % 1000);
    let at = Calendar::from_seconds(seconds);
    let (year, month, day) = (at.year, at.month, at.day);
    let (hour, minute, second) = (at.hour, at.minute, at.second);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{ms:03}Z")
}
