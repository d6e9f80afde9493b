//! Which rows a deletion removes.

use serde::{Deserialize, Serialize};

use crate::convert::day_text;
use crate::layout::{self, Layout, Place};
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
        // Its groups may mix hosts and sessions. The caller says that it is left.
        if self.cannot_tell(path, layout) {
            return Selected::Nothing;
        }
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

    /// Says whether the name of a file of another program hides if it has selected rows: it tells
    /// no session, and in a bucket no host.
    pub(crate) fn cannot_tell(&self, path: &str, layout: Layout) -> bool {
        let Some(Place { partition, .. }) = Place::of(path).filter(|_| layout::batch(path).is_none()) else {
            return false;
        };
        let is_before = self.before.as_ref().is_none_or(|before| partition.day < *before);
        let may_have = |host: &String| layout.partition(&partition.day, host) == partition;
        is_before
            && self.host.as_ref().is_none_or(may_have)
            && (self.session.is_some() || (self.host.is_some() && layout.has_host_in_rows()))
    }

    /// Says whether it selects all rows of a session.
    pub(crate) fn selects_all(&self, state: &SessionState) -> bool {
        let day = day_text(state.last_ns() / 86_400_000_000_000);
        self.selects(&day, &state.host, state.session)
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::*;

    /// A deletion must not pass by files whose names tell too little.
    #[test]
    fn files_of_other_programs_may_hide_rows() {
        let buckets = Layout::Buckets(NonZeroU32::new(64).unwrap());
        let (host, session, before) = (Some("a-1.x".to_owned()), Some(255), Some("2026-11-22".to_owned()));
        let check = |selector: &Selector, file: &str, hides: [bool; 2]| {
            for (layout, folder, hides) in
                [(Layout::Hosts, "host=a-1.x", hides[0]), (buckets, "bucket=44", hides[1])]
            {
                let path = format!("day=2026-11-22/{folder}/{file}");
                assert_eq!(selector.cannot_tell(&path, layout), hides, "{selector:?} {path}");
            }
        };
        let of_host = Selector { host: host.clone(), ..Selector::default() };
        let of_session = Selector { session, ..Selector::default() };
        check(&of_host, "part-00000-ab.parquet", [false, true]);
        check(&of_session, "part-00000-ab.parquet", [true, true]);
        check(
            &Selector { host: Some("b".to_owned()), ..of_session.clone() },
            "part-0.parquet",
            [false, false],
        );
        check(&Selector { before: before.clone(), ..of_session.clone() }, "part-0.parquet", [false, false]);
        check(&Selector { before, ..Selector::default() }, "part-0.parquet", [false, false]);
        check(&of_session, "0000000007-00000000000000ff-0003-a-1.x.parquet", [false, false]);
    }
}
