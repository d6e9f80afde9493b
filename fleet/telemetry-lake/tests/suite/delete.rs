//! `delete` and `vacuum`.

use std::collections::BTreeSet;

use telemetry_testing::made::{Plan, make, registry};

use crate::commit::{FORMATS, all_events, streams};
use crate::lakes::{EventKey, TestLake, renumber};

fn plan() -> Plan {
    Plan { events: 400, block_size: 512, ..Plan::default() }
}

/// Returns the events that are left, and checks that tables of sessions speak of no others.
fn left(
    lake: &TestLake,
    wanted: &BTreeSet<EventKey>,
    keep: impl Fn(&EventKey) -> bool,
) -> BTreeSet<EventKey> {
    let wanted: BTreeSet<_> = wanted.iter().filter(|key| keep(key)).cloned().collect();
    lake.check(&wanted);
    let named: BTreeSet<_> =
        lake.rows("session").into_iter().map(|row| (row["host"].clone(), row["session"].clone())).collect();
    let found = wanted.iter().map(|(host, session, ..)| (host.clone(), session.to_string())).collect();
    assert_eq!(named, found);
    wanted
}

#[test]
fn rows_of_hosts_and_sessions_go_and_do_not_come_back() {
    for format in FORMATS {
        let (lake, streams) = (TestLake::new(format), streams(&plan()));
        for (host, stream) in &streams {
            lake.ship(host, stream);
            lake.commit();
        }
        let wanted = all_events(&streams);
        let said = lake.run(&["delete", "--host", "h2"]);
        assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""));
        let wanted = left(&lake, &wanted, |key| key.0 != "h2");
        assert_eq!(lake.run(&["delete", "--session", "2", "--host", "h1"]).code, Some(0));
        let wanted = left(&lake, &wanted, |key| (key.0.as_str(), key.1) != ("h1", 2));

        // The same events in other segments stay away, and new ones come.
        for (host, stream) in &streams {
            lake.ship_cut(host, stream, 30_000);
        }
        assert_eq!(lake.commit(), 0);
        left(&lake, &wanted, |_| true);
        let mut further = make(&registry(), &Plan { seed: 9, ..plan() }).stream;
        renumber(&mut further, 500);
        lake.ship("h2", &further);
        lake.commit();
        let wanted = wanted.into_iter().chain(crate::lakes::events_of("h2", &further)).collect();
        left(&lake, &wanted, |_| true);

        // All are of 2023.
        assert_eq!(lake.run(&["vacuum", "--older-than", "100000"]).stdout, "deleted 0 segments\n");
        let said = lake.run(&["vacuum", "--older-than", "30"]);
        assert!(said.stdout.starts_with("deleted ") && said.stdout != "deleted 0 segments\n", "{said:?}");
        assert_eq!(lake.commit(), 0);
        left(&lake, &wanted, |_| true);
        assert_eq!(lake.run(&["delete", "--older-than", "30"]).code, Some(0));
        assert_eq!(lake.events(), BTreeSet::new());
        assert_eq!(lake.rows("session").len(), 0);
        assert_eq!(lake.run(&["complete"]).stdout, "no sessions\n");
        assert_eq!(lake.run(&["delete"]).code, Some(2), "no condition");
    }
}

#[cfg(feature = "failpoints")]
#[test]
fn a_deletion_that_is_killed_is_completed() {
    for format in FORMATS {
        for point in ["plan", "states", "delete", "delete:9", "done"] {
            let (lake, streams) = (TestLake::new(format), streams(&plan()));
            for (host, stream) in &streams {
                lake.ship(host, stream);
            }
            lake.commit();
            let mut command = lake.command(&["delete", "--host", "h2"]);
            assert_eq!(command.env("FAILPOINT", point).output().unwrap().status.code(), None, "{point}");
            let said = lake.run(&["delete", "--host", "h1"]);
            assert!(said.stderr.starts_with("error: a batch is not done; help: "), "{said:?}");
            assert_eq!(lake.commit(), 0);
            left(&lake, &all_events(&streams), |key| key.0 != "h2");
        }
    }
}
