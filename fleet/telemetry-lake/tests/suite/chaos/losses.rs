//! The table `loss`, against the accounts of lanes, the times of sessions, and what streams have.

use std::collections::{BTreeMap, BTreeSet};

use crate::lakes::{Lane, LaneKey, Row, TestLake};

/// The causes in the table, each with the column of `lane` that counts it.
const CAUSES: [(&str, &str); 5] = [
    ("pool", "lost_pool"),
    ("reentrant", "lost_reentrant"),
    ("sink", "lost_sink"),
    ("shed", "shed"),
    ("hole", "holes"),
];

/// By how much a time of a program may be outside of its session. The rate of its clock is an
/// estimate that later segments improve, and other tables have no times of its labels.
const SLACK_NS: i64 = 10_000_000_000;

/// A host and a session, as tables have them.
type Key = (String, String);

fn key(row: &Row) -> Key {
    (row["host"].clone(), row["session"].clone())
}

fn ns(row: &Row, column: &str) -> i64 {
    row[column].parse().unwrap_or_else(|error| panic!("{column}: {error}: {row:?}"))
}

/// The rows of the table that count.
pub(crate) struct Losses {
    pub(crate) rows: Vec<Row>,
    /// When each session began, and the last time that other tables have of it.
    sessions: BTreeMap<Key, (i64, i64)>,
}

impl Losses {
    pub(crate) fn of(lake: &TestLake) -> Losses {
        let begin = |row: &Row| (key(row), (ns(row, "started_ns"), i64::MIN));
        let mut sessions: BTreeMap<_, _> = lake.latest("session").iter().map(begin).collect();
        for row in lake.latest("watermark").into_iter().chain(lake.rows("segment")) {
            // A segment without events of threads has no times. A session that was deleted is gone.
            if let (Ok(until), Some((_, last))) =
                (row["until_ns"].parse::<i64>(), sessions.get_mut(&key(&row)))
            {
                *last = until.max(*last);
            }
        }
        Losses { rows: lake.latest("loss"), sessions }
    }

    /// Checks that rows count what the accounts of lanes do, and lie within their sessions. The
    /// clocks of streams in `made`, by host and session, are exact.
    pub(crate) fn check(&self, made: &BTreeSet<(String, u64)>, lanes: &BTreeMap<LaneKey, Lane>) {
        let mut told = BTreeMap::<_, u64>::new();
        for row in &self.rows {
            let events: u64 = row["events"].parse().unwrap();
            assert!(events > 0, "{row:?}");
            *told.entry((key(row), row["lane"].as_str(), row["why"].as_str())).or_default() += events;
            self.check_times(made, row);
        }
        for Lane { account, .. } in lanes.values() {
            for (why, column) in CAUSES {
                let sum = told.remove(&(key(account), account["lane"].as_str(), why)).unwrap_or_default();
                assert_eq!(sum.to_string(), account[column], "{why}: {account:?}");
            }
        }
        // What is left has no lane: the ends of lanes of which nothing came.
        let is_at_end = |(_, lane, why): &(Key, &str, &str)| lane.parse::<u64>().is_err() && *why == "hole";
        assert!(told.keys().all(is_at_end), "losses of no lane, or of no cause: {told:?}");
    }

    fn check_times(&self, made: &BTreeSet<(String, u64)>, row: &Row) {
        let (from, until) = (ns(row, "from_ns"), ns(row, "until_ns"));
        let (begin, last) = self.sessions[&key(row)];
        let session = row["session"].parse::<i64>().unwrap() as u64;
        let is_exact = made.contains(&(row["host"].clone(), session));
        let slack = if is_exact { 0 } else { SLACK_NS };
        assert!(
            from <= until && begin - slack <= from && until <= last + slack,
            "a session from {begin} to {last}: {row:?}"
        );
    }

    /// Checks that events of a lane are told as shed, each at its time. `missing` has the number of
    /// each, and its time since the begin of the session.
    pub(crate) fn check_shed(&self, lane: &Lane, missing: &[(u64, i64)]) {
        let account = &lane.account;
        assert_eq!(lane.of("shed"), missing.len() as u64, "{account:?}");
        let is_of_lane =
            |row: &&Row| key(row) == key(account) && row["lane"] == account["lane"] && row["why"] == "shed";
        let shed: Vec<_> = self.rows.iter().filter(is_of_lane).collect();
        for (n, time_ns) in missing {
            let at = self.sessions[&key(account)].0 + time_ns;
            let is_told = shed.iter().any(|row| (ns(row, "from_ns")..=ns(row, "until_ns")).contains(&at));
            assert!(is_told, "{account:?}: event {n} at {at} is in none of {shed:?}");
        }
    }
}
