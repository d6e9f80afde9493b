//! A lake as input: `telemetry-lake` writes the stream of what is chosen.

use std::ops::{Range, RangeInclusive};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, PoisonError, RwLock};

use telemetry_decode::Session;
use telemetry_decode::condition::{Candidate, Condition, Misfit, Test};
use telemetry_decode::names::Namings;
use telemetry_schema::Registry;
use tempfile::NamedTempFile;

use crate::term::ended::{Context, Failure};
use crate::term::installed;
use crate::text::path::is_lake;

/// The segments of a lake that have events of a host and of some time, as a stream in a file.
pub(crate) struct Fetched {
    file: NamedTempFile,
    /// The lake and the host.
    pub(crate) name: String,
    /// Nanoseconds since 1970. The stream may have events before and after.
    times: Range<i64>,
}

/// Returns the address of a lake, if the inputs are one.
pub(crate) fn url(files: &[PathBuf]) -> Option<&str> {
    match files {
        [only] if is_lake(only) => only.to_str(),
        _ => None,
    }
}

/// Fetches what is chosen, and nothing else.
pub(crate) fn fetch(
    url: &str,
    host: Option<&str>,
    (from, until): (Option<i64>, Option<i64>),
    context: &mut Context,
) -> Result<Fetched, Failure> {
    let program = installed::find("telemetry-lake", "fleet/telemetry-lake")?;
    let wrong = |error: &dyn std::fmt::Display| {
        Failure::new(format!("cannot read {url} with `{}`: {error}", program.display()))
    };
    let file = NamedTempFile::new().map_err(|error| wrong(&error))?;
    let to = file.reopen().map_err(|error| wrong(&error))?;
    let mut command = Command::new(&program);
    command.arg("stream").arg(url).stdin(Stdio::null()).stdout(to);
    if let Some(host) = host {
        command.arg(format!("--host={host}"));
    }
    // Whole seconds are enough to choose segments.
    for (option, seconds) in [
        ("from", from.map(|ns| ns.div_euclid(1_000_000_000))),
        ("until", until.map(|ns| ns.div_euclid(1_000_000_000).saturating_add(1))),
    ] {
        if let Some(seconds) = seconds {
            command.arg(format!("--{option}={}", seconds.clamp(0, i64::from(u32::MAX))));
        }
    }
    let status = command.status().map_err(|error| wrong(&error))?;
    // It has said why on standard error.
    context.problem_if(status.code() == Some(1));
    if !matches!(status.code(), Some(0 | 1)) {
        return Err(wrong(&format!("it ended with {status}")));
    }
    let name = host.map_or_else(|| url.to_owned(), |host| format!("{url}, host {host}"));
    Ok(Fetched { file, name, times: from.unwrap_or(i64::MIN)..until.unwrap_or(i64::MAX) })
}

impl Fetched {
    /// Returns the condition that an event is of these times, and that another one is met. Segments
    /// are fetched whole, so there may be others.
    pub(crate) fn condition(&self, inner: Option<Arc<dyn Condition>>) -> Option<Arc<dyn Condition>> {
        match self.times == (i64::MIN..i64::MAX) {
            true => inner,
            false => Some(Arc::new(AtTimes { times: self.times.clone(), inner })),
        }
    }

    /// Returns the file of the stream.
    pub(crate) fn path(&self) -> &Path {
        self.file.path()
    }
}

/// A condition on the wall clock, and another one.
#[derive(Debug)]
struct AtTimes {
    times: Range<i64>,
    inner: Option<Arc<dyn Condition>>,
}

/// The same for the events of a registry.
#[derive(Debug)]
struct TestTimes {
    times: Range<i64>,
    inner: Option<Arc<dyn Test>>,
    /// By lane: when its session began, and what the other test says of the lane.
    lanes: RwLock<Vec<(i64, u64)>>,
}

impl Condition for AtTimes {
    fn test(&self, registry: &Registry, namings: &Namings) -> Arc<dyn Test> {
        let inner = self.inner.as_ref().map(|inner| inner.test(registry, namings));
        Arc::new(TestTimes { times: self.times.clone(), inner, lanes: RwLock::default() })
    }

    fn check(&self, registries: &[&Registry]) -> Result<(), Misfit> {
        self.inner.as_ref().map_or(Ok(()), |inner| inner.check(registries))
    }
}

impl TestTimes {
    fn of(&self, lane: u64) -> (i64, u64) {
        let lanes = self.lanes.read().unwrap_or_else(PoisonError::into_inner);
        lanes.get(lane as usize).copied().unwrap_or_default()
    }
}

impl Test for TestTimes {
    fn lane(&self, session: &Session, thread: u32) -> u64 {
        let inner = self.inner.as_ref().map_or(0, |inner| inner.lane(session, thread));
        let lane = (session.clock.start_wall() as i64, inner);
        let mut lanes = self.lanes.write().unwrap_or_else(PoisonError::into_inner);
        let known = lanes.iter().position(|known| *known == lane);
        known.unwrap_or_else(|| {
            lanes.push(lane);
            lanes.len() - 1
        }) as u64
    }

    fn may_match(&self, event: usize) -> bool {
        self.inner.as_ref().is_none_or(|inner| inner.may_match(event))
    }

    fn may_match_in(&self, event: usize, lane: u64, times: &RangeInclusive<i64>) -> bool {
        let (start, lane) = self.of(lane);
        let (from, until) = (start.saturating_add(*times.start()), start.saturating_add(*times.end()));
        from < self.times.end
            && until >= self.times.start
            && self.inner.as_ref().is_none_or(|inner| inner.may_match_in(event, lane, times))
    }

    fn matches(&self, candidate: &Candidate<'_>, lane: u64) -> bool {
        let (start, lane) = self.of(lane);
        self.times.contains(&start.saturating_add(candidate.time_ns()))
            && self.inner.as_ref().is_none_or(|inner| inner.matches(candidate, lane))
    }
}
