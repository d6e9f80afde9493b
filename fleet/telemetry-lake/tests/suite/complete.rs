//! `complete`: what is missing, and the verdict.

use telemetry_lake::lake::Format;
use telemetry_testing::made::{Plan, make, registry};

use crate::lakes::TestLake;

/// The sum of the events of a cause, from the lines of the command.
fn sum(stdout: &str, why: &str) -> u64 {
    let of = |line: &str| {
        let cells: Vec<_> = line.split('\t').collect();
        (cells.len() == 7 && cells[6] == why).then(|| cells[5].parse::<u64>().unwrap())
    };
    stdout.lines().filter_map(of).sum()
}

#[test]
fn losses_and_holes_are_told() {
    let lake = TestLake::new(Format::Parquet);
    assert_eq!(lake.run(&["complete"]).stdout, "no sessions\n");
    let plan = Plan { events: 2000, block_size: 512, ..Plan::default() };
    lake.ship("h1", &make(&registry(), &plan).stream);
    lake.commit();
    let said = lake.run(&["complete"]);
    assert_eq!((said.code, said.stdout.as_str()), (Some(0), "complete: all sessions have ended\n"));

    // A host that lost events, and one whose segment is on the way.
    let made = make(&registry(), &Plan { seed: 2, lose: 20, ..plan.clone() });
    lake.ship("h2", &made.stream);
    let lost =
        |of: fn(&telemetry_format::Loss) -> u64| made.lost.values().map(|(loss, _)| of(loss)).sum::<u64>();
    let segments = lake.ship("h3", &make(&registry(), &Plan { seed: 3, end: false, ..plan.clone() }).stream);
    let late = std::fs::read(&segments[1]).unwrap();
    std::fs::remove_file(&segments[1]).unwrap();
    lake.commit();
    let said = lake.run(&["complete"]);
    assert_eq!(said.code, Some(1));
    assert_eq!(sum(&said.stdout, "pool"), lost(|loss| loss.pool));
    assert_eq!(sum(&said.stdout, "sink"), lost(|loss| loss.sink));
    assert_eq!(sum(&said.stdout, "reentrant"), lost(|loss| loss.reentrant));
    let holes = sum(&said.stdout, "hole");
    assert!(holes > 0);
    let verdict = said.stdout.lines().last().unwrap();
    for part in [
        "1 session is open, and complete to ".to_owned(),
        format!("; {} events on h2 lost for lack of memory between 2023-11-14T", lost(|loss| loss.pool)),
        format!("; {holes} events on h3 not here between 2023-11-14T"),
    ] {
        assert!(verdict.contains(&part), "{part}: {verdict}");
    }
    // Only what a query touches counts.
    assert_eq!(lake.run(&["complete", "--host", "h1"]).code, Some(0));
    assert_eq!(lake.run(&["complete", "--until", "1600000000"]).stdout, "no sessions\n");
    assert_eq!(sum(&lake.run(&["complete", "--host", "h3"]).stdout, "pool"), 0);

    // It arrives.
    std::fs::write(&segments[1], late).unwrap();
    lake.commit();
    let said = lake.run(&["complete", "--host", "h3"]);
    assert_eq!((said.code, sum(&said.stdout, "hole")), (Some(1), 0));
    assert!(said.stdout.ends_with("; nothing is missing before\n"), "{}", said.stdout);
}
