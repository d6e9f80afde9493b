//! Which rows a deletion removes.

use serde::{Deserialize, Serialize};

use crate::convert::day_text;
use crate::layout::{Layout, Place};
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

/// What a selector selects of a file.
pub(crate) enum Selected<'p> {
    /// No row.
    Nothing,
    /// All rows.
    All,
    /// Rows of some sessions, perhaps. The file at this place has those of several.
    Some(Place<'p>),
}

impl Selector {
    pub(crate) fn selects(&self, day: &str, host: &str, session: u64) -> bool {
        self.host.as_ref().is_none_or(|wanted| wanted == host)
            && self.session.is_none_or(|wanted| wanted == session)
            && self.before.as_ref().is_none_or(|before| day < before.as_str())
    }

    /// Says what it selects of a file, by its name in the folder of a table.
    pub(crate) fn selects_file<'p>(&self, path: &'p str, layout: Layout) -> Selected<'p> {
        let Some(place) = Place::of(path) else { return Selected::Nothing };
        let day = &place.partition.day;
        match place.owner {
            Some((host, session)) if self.selects(day, host, session) => Selected::All,
            Some(_) => Selected::Nothing,
            None if self.before.as_ref().is_some_and(|before| day >= before) => Selected::Nothing,
            None => match &self.host {
                None if self.session.is_none() => Selected::All,
                // Files of other buckets are not read.
                Some(host) if layout.partition(day, host) != place.partition => Selected::Nothing,
                _ => Selected::Some(place),
            },
        }
    }

    /// Says whether it selects all rows of a session.
    pub(crate) fn selects_all(&self, state: &SessionState) -> bool {
        let last = state.lanes.iter().map(|lane| lane.recorded_ns).max().unwrap_or(state.started_ns);
        let day = day_text(last.max(state.until_ns) / 86_400_000_000_000);
        self.selects(&day, &state.host, state.session)
    }
}
