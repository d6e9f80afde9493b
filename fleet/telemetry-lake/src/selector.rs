//! Which rows a deletion removes.

use serde::{Deserialize, Serialize};

use crate::convert::day_text;
use crate::state::SessionState;

/// Which rows go: those that all of these select.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Selector {
    /// Of this host.
    pub host: Option<String>,
    /// Of this session.
    pub session: Option<u64>,
    /// Of days before this one: `2026-11-22`.
    pub before: Option<String>,
}

impl Selector {
    pub(crate) fn selects(&self, day: &str, host: &str, session: u64) -> bool {
        self.host.as_ref().is_none_or(|wanted| wanted == host)
            && self.session.is_none_or(|wanted| wanted == session)
            && self.before.as_ref().is_none_or(|before| day < before.as_str())
    }

    /// Says whether it selects a file, by its name in the folder of a table.
    pub(crate) fn selects_file(&self, path: &str) -> bool {
        let parts = || -> Option<(&str, &str, u64)> {
            let (day, rest) = path.strip_prefix("day=")?.split_once("/host=")?;
            let (host, file) = rest.split_once('/')?;
            let session = u64::from_str_radix(file.split('-').nth(1)?, 16).ok()?;
            Some((day, host, session))
        };
        parts().is_some_and(|(day, host, session)| self.selects(day, host, session))
    }

    /// Says whether it selects all rows of a session.
    pub(crate) fn selects_all(&self, state: &SessionState) -> bool {
        let last = state.lanes.iter().map(|lane| lane.recorded_ns).max().unwrap_or(state.started_ns);
        let day = day_text(last.max(state.until_ns) / 86_400_000_000_000);
        self.selects(&day, &state.host, state.session)
    }
}
