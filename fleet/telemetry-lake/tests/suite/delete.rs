//! `delete` and `vacuum`.

use std::collections::BTreeSet;

use telemetry_lake::lake::{Lake, json, state_name};
use telemetry_lake::state::SessionState;
use telemetry_testing::made::{Plan, make, registry};

use crate::commit::{FORMS, all_events, streams};
use crate::lakes::{EventKey, TestLake, events_of, renumber};

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

/// Checks that no state in a folder, also of earlier batches, tells more than numbers of events.
fn check_states(lake: &TestLake, folder: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let opened = runtime.block_on(Lake::open(&format!("file://{}", lake.path().display()))).unwrap();
    let names = runtime.block_on(opened.store.names(folder)).unwrap();
    assert!(!names.is_empty(), "{folder}");
    for name in names {
        let bytes = std::fs::read(lake.path().join(&name)).unwrap();
        let state: SessionState = serde_json::from_slice(&bytes).unwrap();
        assert_eq!((state.program, state.facts.as_str(), state.threads.len()), (None, "", 0), "{name}");
        assert!(state.spans.open.is_empty() && state.spans.early_ends.is_empty(), "{name}");
    }
}

#[test]
fn rows_of_hosts_and_sessions_go_and_do_not_come_back() {
    for form in FORMS {
        let (lake, streams) = (TestLake::new(form), streams(&plan()));
        for (host, stream) in &streams {
            lake.ship(host, stream);
            lake.commit();
        }
        let wanted = all_events(&streams);
        let said = lake.run(&["delete", "--host", "h2"]);
        assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""));
        let wanted = left(&lake, &wanted, |key| key.0 != "h2");
        check_states(&lake, "state/host=h2");
        assert_eq!(lake.run(&["delete", "--session", "2", "--host", "h1"]).code, Some(0));
        check_states(&lake, "state/host=h1/0000000000000002");
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
        assert_eq!(
            lake.run(&["vacuum", "--older-than", "100000"]).stdout,
            "deleted 0 segments and 0 files\n"
        );
        let said = lake.run(&["vacuum", "--older-than", "30"]);
        assert!(said.stdout.starts_with("deleted ") && !said.stdout.starts_with("deleted 0 "), "{said:?}");
        assert_eq!(lake.commit(), 0);
        left(&lake, &wanted, |_| true);
        assert_eq!(lake.run(&["delete", "--older-than", "30"]).code, Some(0));
        assert_eq!(lake.events(), BTreeSet::new());
        assert_eq!(lake.rows("session").len(), 0);
        assert_eq!(lake.run(&["complete"]).stdout, "no sessions\n");
        assert_eq!(lake.run(&["delete"]).code, Some(2), "no condition");
    }
}

/// Its later rows come and count. What was deleted neither counts nor is missing.
#[test]
fn a_session_goes_on_after_its_deletion() {
    for form in FORMS {
        let lake = TestLake::new(form);
        let stream = make(&registry(), &Plan { events: 2000, ..plan() }).stream;
        let mut segments = lake.ship("h1", &stream);
        let late = segments.split_off(segments.len() / 2);
        let late: Vec<_> = late.into_iter().map(|path| (std::fs::read(&path).unwrap(), path)).collect();
        late.iter().for_each(|(_, path)| std::fs::remove_file(path).unwrap());
        lake.commit();
        let deleted = lake.events();
        lake.succeed(&["delete", "--host", "h1"]);
        if form == FORMS[1] {
            // An earlier version left the ranges of rows.
            for mut state in lake.states() {
                state.lanes.iter_mut().for_each(|lane| std::mem::swap(&mut lane.ranges, &mut lane.deleted));
                std::fs::write(lake.path().join(state_name(&state)), json(&state)).unwrap();
            }
        }
        for (bytes, path) in late {
            std::fs::write(path, bytes).unwrap();
        }
        lake.commit();
        let wanted: BTreeSet<_> = events_of("h1", &stream).difference(&deleted).cloned().collect();
        assert!(!wanted.is_empty() && !deleted.is_empty());
        for cut in [30_000, 20_000] {
            lake.check(&wanted);
            let told: u64 = lake.lanes().values().map(|lane| lane.of("deleted")).sum();
            assert_eq!(told, deleted.len() as u64);
            assert_eq!(lake.succeed(&["complete"]), "complete: all sessions have ended\n");
            lake.ship_cut("h1", &stream, cut);
            assert_eq!(lake.commit(), 0, "deleted rows do not come back");
        }
        // The rest is deleted, too.
        lake.succeed(&["delete", "--session", "1"]);
        lake.ship_cut("h1", &stream, 10_000);
        assert_eq!(lake.commit(), 0);
        lake.check(&BTreeSet::new());
    }
}

#[cfg(feature = "failpoints")]
#[test]
fn a_deletion_that_is_killed_is_completed() {
    for form in FORMS {
        for point in ["plan", "states", "delete", "delete:9", "done"] {
            let (lake, streams) = (TestLake::new(form), streams(&plan()));
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
            check_states(&lake, "state/host=h2");
        }
    }
}

#[test]
fn files_are_joined_and_rows_stay() {
    let lake = TestLake::new(telemetry_lake::lake::Format::Delta);
    let streams = streams(&Plan { events: 1000, ..plan() });
    for (host, stream) in &streams {
        lake.ship(host, stream);
        while lake.run(&["commit", "--max-segments", "2"]).stdout != "no new segments\n" {}
    }
    let wanted = all_events(&streams);
    let count = || lake.tables().iter().map(|table| lake.files(table).len()).sum::<usize>();
    let (tables, before) = (lake.tables().len(), count());
    #[cfg(feature = "failpoints")]
    {
        // Killed between the files and the log, and again between two logs.
        let (mut compact, mut commit) = (lake.command(&["compact"]), lake.command(&["commit"]));
        assert_eq!(compact.env("FAILPOINT", "file:2").output().unwrap().status.code(), None);
        lake.check_keys();
        assert_eq!(commit.env("FAILPOINT", "delete:3").output().unwrap().status.code(), None);
        lake.check_keys();
        assert_eq!(lake.commit(), 0);
        left(&lake, &wanted, |_| true);
    }
    let said = lake.run(&["compact"]);
    assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""));
    left(&lake, &wanted, |_| true);
    let after = count();
    assert!(after < before && after >= tables, "{after} of {before} files in {tables} tables");
    // New rows come as before.
    let mut further = make(&registry(), &Plan { seed: 9, ..plan() }).stream;
    renumber(&mut further, 500);
    lake.ship("h2", &further);
    lake.commit();
    left(&lake, &wanted.into_iter().chain(crate::lakes::events_of("h2", &further)).collect(), |_| true);

    let other = TestLake::new(telemetry_lake::lake::Format::Parquet);
    let said = other.run(&["compact"]);
    let error =
        "error: the lake has the form `parquet`; expected `delta`, in which files can be replaced at once\n";
    assert_eq!((said.code, said.stderr.as_str()), (Some(2), error));
}
