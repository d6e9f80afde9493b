//! The committer is killed at named points, and another one continues.

use std::process::Stdio;

use telemetry_testing::made::{Plan, Random};
use telemetry_testing::wait;

use crate::commit::{FORMS, all_events, streams};
use crate::lakes::{TestLake, said};

/// The points, and how often each is reached at most in a batch of the test.
pub(crate) const POINTS: [(&str, u64); 8] = [
    ("plan", 1),
    ("file", 20),
    ("session", 2),
    ("files", 1),
    ("delta", 18),
    ("checkpoint", 15),
    ("done", 1),
    ("after", 1),
];

#[test]
fn killed_at_any_point() {
    let mut random = Random(5);
    for form in FORMS {
        for (point, most) in POINTS {
            let lake = TestLake::new(form);
            let streams = streams(&Plan { events: 300, block_size: 512, lose: 20, ..Plan::default() });
            let wanted = all_events(&streams);
            let (mut killed, mut runs) = (0, 0);
            for (host, stream) in &streams {
                lake.ship(host, stream);
                // Killed in the first run, and in the one that continues.
                for _ in 0..2 {
                    let time = 1 + random.below(most);
                    let mut command = lake.command(&["commit", "--checkpoint=1"]);
                    command.env("FAILPOINT", format!("{point}:{time}"));
                    runs += 1;
                    killed += u32::from(command.output().unwrap().status.code().is_none());
                    lake.check_keys();
                }
                // The segments again, in another cut, while the batch is unfinished.
                lake.ship_cut(host, stream, 30_000);
            }
            lake.commit();
            lake.check(&wanted);
            let has_log = form != FORMS[1];
            assert!(
                killed > 0 || (["delta", "checkpoint"].contains(&point) && !has_log),
                "{point}: none of {runs} runs was killed"
            );
        }
    }
}

/// Committers that start at once: one has the lease, and the others end. Later ones find the rest.
#[test]
fn two_committers_at_once() {
    for form in FORMS {
        let lake = TestLake::new(form);
        let streams = streams(&Plan { events: 300, block_size: 512, ..Plan::default() });
        for (host, stream) in &streams {
            lake.ship(host, stream);
            let spawn = |_| {
                let mut command = lake.command(&["commit", "--max-segments", "2"]);
                command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
            };
            let children: Vec<_> = (0..3).map(spawn).collect();
            for child in children {
                let said = said(&child.wait_with_output().unwrap());
                let is_refused = said.stderr == "error: another process commits to this lake\n";
                assert!(said.code == Some(0) || (said.code == Some(2) && is_refused), "{said:?}");
            }
        }
        lake.commit();
        lake.check(&all_events(&streams));
    }
}

/// Two committers without a lease follow the same plan, and none of them writes anything twice.
#[test]
fn the_lease_is_not_needed() {
    for form in FORMS {
        let lake = TestLake::new(form);
        let streams = streams(&Plan { events: 300, block_size: 512, ..Plan::default() });
        for (host, stream) in &streams {
            lake.ship(host, stream);
            let spawn = |_| {
                let mut command = lake.command(&["commit", "--max-segments", "2"]);
                // Unlinked, so that each process locks a file of its own.
                let _ = std::fs::remove_file(lake.path().join("lease.lock"));
                let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
                wait::until("the committer has a lock", || lake.path().join("lease.lock").exists());
                child
            };
            let children: Vec<_> = (0..2).map(spawn).collect();
            for child in children {
                let said = said(&child.wait_with_output().unwrap());
                assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""));
            }
        }
        lake.commit();
        lake.check(&all_events(&streams));
    }
}
