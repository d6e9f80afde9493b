//! `init` and `commit`: each event is a row once, whatever arrives in whatever order.

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

use telemetry_lake::lake::{Format, Lake};
use telemetry_testing::made::{Plan, Random, make, registry};

use crate::lakes::{EventKey, Form, TestLake, events_of, renumber};

/// With two hosts of the tests in one bucket, and another in another.
pub(crate) const BUCKETS: Form = Form { format: Format::Delta, buckets: Some(4) };

pub(crate) const FORMS: [Form; 3] =
    [Form { format: Format::Delta, buckets: None }, Form { format: Format::Parquet, buckets: None }, BUCKETS];

/// Streams of three hosts, of which two have the same numbers of sessions.
pub(crate) fn streams(plan: &Plan) -> Vec<(&'static str, Vec<u8>)> {
    let mut streams = Vec::new();
    for (host, add) in [("h1", 0), ("h2", 0), ("h3", 1 << 63)] {
        let seed = streams.len() as u64 + 1;
        let mut stream = make(&registry(), &Plan { seed, sessions: 2, ..plan.clone() }).stream;
        renumber(&mut stream, add);
        streams.push((host, stream));
    }
    streams
}

pub(crate) fn all_events(streams: &[(&str, Vec<u8>)]) -> BTreeSet<EventKey> {
    streams.iter().flat_map(|(host, stream)| events_of(host, stream)).collect()
}

fn plan() -> Plan {
    Plan { events: 1500, block_size: 1024, ..Plan::default() }
}

#[test]
fn each_event_is_a_row_once() {
    for form in FORMS {
        let (lake, streams) = (TestLake::new(form), streams(&plan()));
        let wanted = all_events(&streams);
        for (host, stream) in &streams {
            assert!(lake.ship(host, stream).len() > 2, "several segments of a session");
        }
        assert_eq!(lake.commit(), wanted.len() as u64);
        lake.check(&wanted);
        assert_eq!(lake.run(&["commit"]).stdout, "no new segments\n");

        // The same streams, cut elsewhere: other segments with the same events.
        for (host, stream) in &streams {
            lake.ship_cut(host, stream, 40_000);
        }
        assert_eq!(lake.commit(), 0);
        lake.check(&wanted);
    }
}

/// Sessions are converted at once, with the same objects as one after the other.
#[test]
fn threads_change_nothing() {
    let streams = streams(&plan());
    let objects = |threads: &str| {
        let lake = TestLake::new(Format::Parquet);
        for (number, (host, stream)) in streams.iter().enumerate() {
            for segment in lake.ship(host, stream) {
                let file = std::fs::File::options().write(true).open(segment).unwrap();
                file.set_modified(std::time::UNIX_EPOCH).unwrap();
            }
            // The last batch has two hosts, and the first one has the registries.
            if number != 1 {
                let said = lake.run(&["commit", "--threads", threads]);
                assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""));
            }
        }
        lake.check(&all_events(&streams));
        lake.objects()
    };
    let one = objects("1");
    assert!(one.len() > 50);
    for threads in ["2", "7"] {
        let many = objects(threads);
        assert!(one.keys().eq(many.keys()), "the same names");
        let other = one.iter().find(|(name, bytes)| many[*name] != **bytes);
        assert_eq!(other.map(|(name, _)| name), None, "{threads} threads");
    }
}

/// Segments arrive in any order and in several batches, and some of them again.
#[test]
fn any_order_gives_the_same_rows() {
    for (seed, form) in (0..6).zip(FORMS.into_iter().cycle()) {
        let (lake, source) = (TestLake::new(form), TestLake::new(Format::Parquet));
        let streams = streams(&Plan { lose: 15, events: 700, ..plan() });
        let wanted = all_events(&streams);
        let mut segments = Vec::new();
        for (host, stream) in &streams {
            segments.extend(source.ship(host, stream));
            segments.extend(source.ship_cut(host, stream, 30_000));
        }
        let mut random = Random(seed);
        for last in (1..segments.len()).rev() {
            segments.swap(last, random.below(last as u64 + 1) as usize);
        }
        for some in segments.chunks(9) {
            for segment in some {
                let place = lake.path().join(segment.strip_prefix(source.path()).unwrap());
                std::fs::create_dir_all(place.parent().unwrap()).unwrap();
                std::fs::copy(segment, place).unwrap();
            }
            lake.commit();
        }
        lake.check(&wanted);
        let losses: BTreeSet<_> = lake.latest("loss").into_iter().map(|row| row["why"].clone()).collect();
        assert!(losses.contains("pool") && losses.contains("sink"), "{losses:?}");
        assert!(!losses.contains("hole"), "everything has arrived: {losses:?}");
        let said = lake.run(&["commit", "--max-segments", "3"]);
        assert_eq!(said.stdout, "no new segments\n");
    }
}

/// A store has half of a segment, as after a copy that ended early: its whole blocks are rows.
#[test]
fn a_segment_that_is_cut_off_is_told() {
    for form in FORMS {
        let lake = TestLake::new(form);
        let stream = make(&registry(), &plan()).stream;
        let segments = lake.ship("h1", &stream);
        let wanted = events_of("h1", &stream);
        let bytes = std::fs::read(&segments[1]).unwrap();
        let blocks = telemetry_testing::made::blocks(&bytes);
        let begin = blocks[blocks.len() / 2].start;
        let (len, name) = (begin + 100, segments[1].strip_prefix(lake.path()).unwrap().display());
        std::fs::write(&segments[1], &bytes[..len]).unwrap();
        let said = lake.run(&["commit"]);
        let damaged = format!("100 of {len} bytes are damaged, the first at offset {begin}");
        assert_eq!((said.code, said.stderr), (Some(1), format!("warning: `{name}`: {damaged}\n")));
        assert!(lake.rows("segment").iter().any(|row| row["error"] == damaged));
        let found = lake.events();
        assert!(found.is_subset(&wanted) && found.len() < wanted.len());
        lake.check(&found);
        // The whole segment under another name, as cut otherwise.
        lake.ship_cut("h1", &stream, 50_000);
        lake.commit();
        lake.check(&wanted);
    }
}

/// Damaged segments give the rows of their whole blocks, and the rest is a hole.
#[test]
fn damage_is_a_hole() {
    for form in FORMS {
        let lake = TestLake::new(form);
        let stream = make(&registry(), &plan()).stream;
        let segments = lake.ship("h1", &stream);
        let wanted = events_of("h1", &stream);
        let mut damaged = std::fs::read(&segments[1]).unwrap();
        let block = telemetry_testing::made::blocks(&damaged).pop().unwrap();
        damaged[block.end - 1] ^= 1;
        std::fs::write(&segments[1], &damaged).unwrap();
        std::fs::write(&segments[2], "no stream").unwrap();
        let said = lake.run(&["commit"]);
        assert_eq!(said.code, Some(1));
        let warned: Vec<_> = said.stderr.lines().filter(|line| line.contains(" bytes are damaged")).collect();
        assert_eq!(warned.len(), 2, "{}", said.stderr);
        assert!(warned[1].contains(": 9 of 9 bytes are damaged, the first at offset 0"), "{warned:?}");
        let found = lake.events();
        assert!(found.is_subset(&wanted) && found.len() < wanted.len());
        lake.check(&found);
        let holes = lake.latest("loss").into_iter().filter(|row| row["why"] == "hole");
        let holes: usize = holes.map(|row| row["events"].parse::<usize>().unwrap()).sum();
        assert_eq!(holes, wanted.len() - found.len());

        // The whole segments again, under other names: the holes are filled.
        lake.ship_cut("h1", &stream, 50_000);
        lake.commit();
        lake.check(&wanted);
        assert!(lake.latest("loss").iter().all(|row| row["why"] != "hole"));
    }
}

#[test]
fn wrong_arguments_are_named() {
    let lake = TestLake::new(Format::Delta);
    assert_eq!(lake.run(&["init", "--format", "delta"]).code, Some(0), "again");
    let said = lake.run(&["init", "--format", "parquet"]);
    assert_eq!(said.code, Some(2));
    assert!(
        said.stderr.ends_with(
            ": there is a lake of the form `delta`; expected none, or one of the form `parquet`\n"
        ),
        "{}",
        said.stderr
    );
    // As it was before there were buckets.
    let settings = lake.path().join("lake.json");
    assert_eq!(std::fs::read_to_string(&settings).unwrap(), r#"{"version":1,"format":"delta"}"#);
    for (of, other) in [(&lake, "--buckets=64"), (&TestLake::new(BUCKETS), "--buckets=5")] {
        let said = of.run(&["init", other]);
        let (there, wanted) = match of.form.buckets {
            None => ("`delta`", "`delta` with 64 buckets"),
            Some(_) => ("`delta` with 4 buckets", "`delta` with 5 buckets"),
        };
        let error =
            format!(": there is a lake of the form {there}; expected none, or one of the form {wanted}\n");
        assert!(said.code == Some(2) && said.stderr.ends_with(&error), "{said:?}");
        assert_eq!(of.run(&of.form.init()).code, Some(0), "again");
    }
    std::fs::write(&settings, r#"{"version":1,"format":"delta","buckets":4}"#).unwrap();
    let said = lake.run(&["commit"]);
    assert!(said.stderr.ends_with(": the lake has version 1; expected 2\n"), "{said:?}");
    std::fs::remove_file(settings).unwrap();
    let said = lake.run(&["commit"]);
    assert_eq!(said.code, Some(2));
    assert!(
        said.stderr.contains(": there is no lake; help: make one by `telemetry-lake init "),
        "{}",
        said.stderr
    );
}

/// A lake has more plans each day. Those that are older than all segments are not read.
#[test]
fn old_plans_are_not_read() {
    let lake = TestLake::new(Format::Delta);
    let streams = streams(&plan());
    let [first, second, _] = streams.as_slice() else { panic!("three hosts") };
    lake.ship(first.0, &first.1);
    lake.commit();
    let before = SystemTime::now() - Duration::from_secs(2 * 86_400);
    let plan = lake.path().join("batches/0000000001.json");
    // No segment of it is left, and its text is not a plan.
    std::fs::remove_dir_all(lake.path().join("segments")).unwrap();
    std::fs::write(&plan, "not JSON").unwrap();
    std::fs::File::options().write(true).open(&plan).unwrap().set_modified(before).unwrap();
    lake.ship(second.0, &second.1);
    lake.commit();
    lake.check(&all_events(&streams[..2]));
    // One that may have a segment is read.
    std::fs::write(&plan, "not JSON").unwrap();
    let said = lake.run(&["commit"]);
    assert_eq!(said.code, Some(2));
    assert!(said.stderr.starts_with("error: `batches/0000000001.json` is damaged: "), "{said:?}");
}

/// The time of a segment may be ahead of all clocks. Its plan is found all the same.
#[test]
fn segments_with_a_time_to_come_are_planned_once() {
    let lake = TestLake::new(Format::Parquet);
    let (host, stream) = &streams(&plan())[0];
    for segment in lake.ship(host, stream) {
        let file = std::fs::File::options().write(true).open(segment).unwrap();
        file.set_modified(SystemTime::now() + Duration::from_secs(3 * 86_400)).unwrap();
    }
    lake.commit();
    let said = lake.run(&["commit"]);
    assert_eq!((said.code, said.stdout.as_str()), (Some(0), "no new segments\n"), "{said:?}");
}

/// A committer that others have overtaken ends: the states that it needs are gone, and without them
/// it would write rows again.
#[test]
fn a_committer_that_was_overtaken_ends() {
    let lake = TestLake::new(Format::Parquet);
    let (host, stream) = &streams(&plan())[0];
    let segments = lake.ship(host, stream);
    assert!(segments.len() > 3);
    let said = lake.run(&["commit", "--max-segments=1"]);
    assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let address = format!("file://{}", lake.path().display());
    let opened = runtime.block_on(Lake::open(&address)).unwrap();
    let last = segments.len() as u64;
    let state = |batch| runtime.block_on(opened.state_before(host, 1, batch));
    // Batches of a session may have only the second session, so look where its states are.
    let kept = lake.states().iter().find(|state| state.session == 1).unwrap().batch;
    assert_eq!(state(last + 1).unwrap().batch, kept);
    assert_eq!(
        state(1).unwrap_err().to_string(),
        "another process has gone on to later batches of this lake"
    );
    // A new session has no state.
    let state = runtime.block_on(opened.state_before(host, 77, last)).unwrap();
    assert_eq!((state.batch, state.session), (0, 77));
}
