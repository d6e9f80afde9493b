//! `complete`: what is missing, and the verdict.

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

use telemetry_fleet::segment::shed;
use telemetry_lake::complete::time_text;
use telemetry_lake::lake::Format;
use telemetry_testing::made::{Plan, START, blocks, edit, make, registry};

use crate::commit::FORMS;
use crate::lakes::{Said, TestLake, events_of, renumber};

/// The sum of the events of a cause, from the lines of the command.
fn sum(stdout: &str, why: &str) -> u64 {
    let of = |line: &str| {
        let cells: Vec<_> = line.split('\t').collect();
        (cells.len() == 7 && cells[6] == why).then(|| cells[5].parse::<u64>().unwrap())
    };
    stdout.lines().filter_map(of).sum()
}

/// What the verdict says of the events of a cause, from the lines of the command.
fn told(stdout: &str, why: &str) -> String {
    let lines = stdout.lines().map(|line| line.split('\t').collect::<Vec<_>>());
    let lanes: BTreeSet<_> =
        lines.filter(|cells| cells.last() == Some(&why)).map(|cells| cells[1..3].join(" ")).collect();
    let lanes = if lanes.len() == 1 { "1 lane".to_owned() } else { format!("{} lanes", lanes.len()) };
    format!("; {} events of {lanes} on", sum(stdout, why))
}

#[test]
fn losses_and_holes_are_told() {
    let lake = TestLake::new(Format::Parquet);
    let said = lake.run(&["complete"]);
    assert_eq!((said.code, said.stdout.as_str()), (Some(1), "no sessions\n"));
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
        format!("{} h2 lost for lack of memory between 2023-11-14T", told(&said.stdout, "pool")),
        format!("{} h3 not here between 2023-11-14T", told(&said.stdout, "hole")),
    ] {
        assert!(verdict.contains(&part), "{part}: {verdict}");
    }
    // Only what a query touches counts.
    assert_eq!(lake.run(&["complete", "--host", "h1"]).code, Some(0));
    for (choice, told) in [
        (&["--host=typo"] as &[&str], "of host `typo`"),
        (&["--until=1600000000"], "before 2020-09-13T12:26:40.000Z"),
        (&["--host=h1", "--from=1800000000"], "of host `h1` from 2027-01-15T08:00:00.000Z"),
        (
            &["--host=h1", "--from=1599999999", "--until=1600000000"],
            "of host `h1` between 2020-09-13T12:26:39.000Z and 2020-09-13T12:26:40.000Z",
        ),
    ] {
        let said = lake.run(&[&["complete"][..], choice].concat());
        assert_eq!((said.code, said.stdout), (Some(1), format!("no sessions {told}\n")));
    }
    assert_eq!(sum(&lake.run(&["complete", "--host", "h3"]).stdout, "pool"), 0);

    // It arrives.
    std::fs::write(&segments[1], late).unwrap();
    lake.commit();
    let said = lake.run(&["complete", "--host", "h3"]);
    assert_eq!((said.code, sum(&said.stdout, "hole")), (Some(1), 0));
    assert!(said.stdout.ends_with("; nothing is missing before\n"), "{}", said.stdout);

    // The program was killed, and nothing comes any more.
    let gone = lake.succeed(&["complete", "--host", "h3", "--gone-after", "0"]);
    assert_eq!(gone, "complete: all sessions have ended; 1 session stopped without an end\n");
    for hours in ["1", "4294967295"] {
        assert_eq!(lake.run(&["complete", "--host", "h3", "--gone-after", hours]), said);
    }
    // It has not gone if something waits to be committed.
    let cut = lake.ship_cut("h3", &make(&registry(), &Plan { seed: 3, end: false, ..plan }).stream, 1 << 13);
    let waiting = cut.iter().filter(|path| !segments.contains(path)).count();
    let told = format!("{waiting} segments wait for a commit");
    let wanted = Said { stdout: said.stdout.replace("nothing is missing before", &told), ..said };
    assert_eq!(lake.run(&["complete", "--host", "h3", "--gone-after", "0"]), wanted);
}

/// What waits may be of the hosts and times that are asked for. So nothing is complete before.
#[test]
fn segments_that_wait_are_told() {
    let lake = TestLake::new(Format::Delta);
    let ship = |seed| {
        let mut stream = make(&registry(), &Plan { seed, ..Plan::default() }).stream;
        renumber(&mut stream, seed);
        assert_eq!(lake.ship_cut("h1", &stream, 1 << 20).len(), 1);
    };
    let check = |choice: &[&str], code, verdict: &str| {
        let said = lake.run(&[&["complete"][..], choice].concat());
        assert_eq!((said.code, said.stdout), (Some(code), format!("{verdict}\n")), "{choice:?}");
    };
    ship(1);
    check(&[], 1, "no sessions; 1 segment waits for a commit");
    lake.commit();
    check(&[], 0, "complete: all sessions have ended");
    // Another session of the host.
    ship(2);
    check(&[], 1, "all sessions have ended; 1 segment waits for a commit");
    check(&["--host=h1"], 1, "all sessions have ended; 1 segment waits for a commit");
    check(&["--host=h2"], 1, "no sessions of host `h2`");
    check(&["--until=1600000000"], 1, "no sessions before 2020-09-13T12:26:40.000Z");
    let later = "no sessions from 2027-01-15T08:00:00.000Z; 1 segment waits for a commit";
    check(&["--from=1800000000"], 1, later);
    // A batch that is not done has not committed it.
    #[cfg(feature = "failpoints")]
    {
        let mut commit = lake.command(&["commit"]);
        assert_eq!(commit.env("FAILPOINT", "files").output().unwrap().status.code(), None);
        check(&[], 1, "all sessions have ended; 1 segment waits for a commit");
    }
    lake.commit();
    check(&[], 0, "complete: all sessions have ended");
    ship(3);
    ship(4);
    check(&[], 1, "all sessions have ended; 2 segments wait for a commit");
}

/// The verdict names hosts from which nothing arrives, although all of their sessions have ended.
#[test]
fn silent_hosts_are_told() {
    let lake = TestLake::new(Format::Delta);
    let ship = |host: &str, seed, minutes: u64| {
        let mut stream = make(&registry(), &Plan { seed, events: 400, ..Plan::default() }).stream;
        renumber(&mut stream, seed);
        let arrived = SystemTime::now() - Duration::from_secs(60 * minutes);
        // S3 cuts times to seconds, and tests that read them do so, too.
        let seconds = arrived.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
        for segment in lake.ship_cut(host, &stream, 1 << 20) {
            let file = std::fs::File::options().write(true).open(segment).unwrap();
            file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)).unwrap();
        }
        time_text(seconds as i64 * 1_000_000_000)
    };
    let check = |choice: &[&str], silent: &str| {
        let said = lake.run(&[&["complete"][..], choice].concat());
        assert_eq!(said.stdout, format!("complete: all sessions have ended{silent}\n"), "{choice:?}");
        assert_eq!(said.code, Some(0));
    };
    let since = ship("h1", 1, 90);
    ship("h2", 2, 10);
    // Only its latest segment counts.
    ship("h3", 3, 100);
    ship("h3", 4, 1);
    lake.commit();
    check(&[], "");
    check(&["--silent-after=120"], "");
    let one = format!("; nothing from h1 since {since}");
    check(&["--silent-after=60"], &one);
    check(&["--silent-after=60", "--host=h1"], &one);
    check(&["--silent-after=60", "--host=h2"], "");
    check(&["--silent-after=5"], &format!("; nothing from 2 hosts since {since}"));
    // It was not silent when the times ended.
    let until = SystemTime::now() - Duration::from_secs(60 * 60);
    let until = until.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    check(&["--silent-after=60", &format!("--until={until}")], "");
    check(&["--silent-after=4294967295"], "");
    lake.succeed(&["delete", "--host", "h1"]);
    check(&["--silent-after=60"], "");
    // A segment that waits has arrived.
    ship("h2", 5, 0);
    let told = lake.run(&["complete", "--silent-after=5"]).stdout;
    assert_eq!(told, "all sessions have ended; 1 segment waits for a commit\n");
}

#[test]
fn hosts_have_a_watermark_each() {
    let lake = TestLake::new(Format::Delta);
    let plan = Plan { events: 400, sessions: 2, ..Plan::default() };
    for (host, end) in [("h1", true), ("h2", false)] {
        for segment in lake.ship(host, &make(&registry(), &Plan { end, ..plan.clone() }).stream) {
            let file = std::fs::File::options().write(true).open(segment).unwrap();
            file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000)).unwrap();
        }
    }
    lake.commit();
    let told = lake.succeed(&["hosts"]);
    let lines: Vec<Vec<_>> = told.lines().map(|line| line.split('\t').collect()).collect();
    assert_eq!(lines[0], ["host", "sessions", "open", "complete to", "last arrival"]);
    let [_, one, two] = &lines[..] else { panic!("{told}") };
    assert_eq!((one[0], one[1], one[2], one[4]), ("h1", "2", "0", "2027-01-15T08:00:00.000Z"));
    assert_eq!((two[0], two[1], two[2], two[4]), ("h2", "2", "2", one[4]));
    // A session that has ended is complete to its end, and an open one to its last sync.
    let open = lake.run(&["complete", "--host", "h2"]).stdout;
    assert!(open.contains(&format!("complete to {}", two[3])), "{open}{told}");
    assert!(one[3].starts_with("2023-11-14T"), "{told}");
    lake.succeed(&["delete", "--host", "h1"]);
    assert_eq!(lake.succeed(&["hosts"]).lines().count(), 2);
}

/// The store has a clock of its own, and times of hosts stay as they are.
#[test]
fn clocks_that_are_ahead_are_told() {
    let lake = TestLake::new(Format::Delta);
    let hour = 3_600_000_000_000_i64;
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_nanos() as i64;
    for (host, ahead) in [("h1", -hour), ("h2", hour)] {
        let mut stream = make(&registry(), &Plan { events: 400, ..Plan::default() }).stream;
        for block in blocks(&stream) {
            edit(&mut stream[block], |header| {
                header.base_wall = header.base_wall.saturating_add_signed(now + ahead - START as i64);
            });
        }
        lake.ship(host, &stream);
    }
    lake.commit();
    let told = lake.succeed(&["complete"]);
    let lines: Vec<_> = told.lines().collect();
    let [ahead, "complete: all sessions have ended"] = lines[..] else { panic!("{told}") };
    let seconds = ahead.strip_prefix("the clock of h2 was at least ").unwrap();
    let seconds: f64 = seconds.strip_suffix(" s ahead of the store's").unwrap().parse().unwrap();
    // The events last less than a minute, and so does the test.
    assert!((3540.0..3660.0).contains(&seconds), "{told}");
    for row in lake.rows("segment") {
        let ns = |column: &str| row[column].parse::<i64>().unwrap();
        assert_eq!(ns("until_ns") > ns("stored_ns"), row["host"] == "h2", "{row:?}");
        assert!(ns("from_ns") < ns("until_ns"), "{row:?}");
    }
    assert_eq!(lake.succeed(&["complete", "--host", "h1"]), "complete: all sessions have ended\n");
}

/// What a shipper shed is told as such, and is a row if it arrives nevertheless.
#[test]
fn events_that_were_shed_are_told() {
    for form in FORMS {
        let lake = TestLake::new(form);
        let plan = Plan { events: 2000, block_size: 512, lose: 40, flush: 7, ..Plan::default() };
        let stream = make(&registry(), &plan).stream;
        let wanted = events_of("h1", &stream);
        let segments = lake.ship("h1", &stream);
        assert!(segments.len() > 4, "{segments:?}");
        let (mut kept, left) = (Vec::new(), tempfile::tempdir().unwrap());
        for segment in segments.iter().skip(1).step_by(2) {
            let (account, _) = shed(segment, &"h1".parse().unwrap(), left.path()).unwrap().unwrap();
            kept.push((segment, std::fs::read(segment).unwrap()));
            std::fs::remove_file(segment).unwrap();
            let place = lake.path().join(account.name.to_string());
            std::fs::create_dir_all(place.parent().unwrap()).unwrap();
            std::fs::copy(account.path, place).unwrap();
        }
        lake.commit();
        let found = lake.events();
        lake.check(&found);
        assert!(found.is_subset(&wanted));
        let missing = (wanted.len() - found.len()) as u64;
        let said = lake.run(&["complete"]);
        assert_eq!((sum(&said.stdout, "shed"), sum(&said.stdout, "hole")), (missing, 0), "{}", said.stdout);
        let told = format!("{} h1 shed by the shipper between 2023", told(&said.stdout, "shed"));
        assert!(said.stdout.contains(&told), "{told}: {}", said.stdout);
        let of = |column: &str| -> u64 {
            lake.latest("lane").iter().map(|row| row[column].parse::<u64>().unwrap()).sum()
        };
        assert_eq!((of("shed"), of("holes")), (missing, 0));

        // A crash while it was shed left the events, too.
        for (segment, bytes) in kept {
            std::fs::write(segment, bytes).unwrap();
        }
        lake.commit();
        lake.check(&wanted);
        assert_eq!(sum(&lake.run(&["complete"]).stdout, "shed"), 0);
    }
}
