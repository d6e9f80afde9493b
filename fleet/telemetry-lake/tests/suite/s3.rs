//! The command with S3, as moto's server has it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use telemetry_lake::lake::Format;
use telemetry_testing::made::{Plan, blocks, edit};

use crate::chosen::{read, telemetry};
use crate::commit::{FORMS, all_events, streams};
use crate::lakes::{TestLake, said};
use crate::moto::{Moto, settings};

#[test]
fn a_bucket_has_each_event_once() {
    for form in FORMS {
        let Some(mut moto) = Moto::start() else { return };
        let source = TestLake::new(form);
        let streams = streams(&Plan { events: 300, block_size: 1024, ..Plan::default() });
        assert_eq!(moto.run(&form.init()).code, Some(0));
        for (host, stream) in &streams {
            for segment in source.ship(host, stream) {
                let name = segment.strip_prefix(source.path()).unwrap().to_str().unwrap().to_owned();
                moto.put(&name, &std::fs::read(segment).unwrap());
            }
            // Two at once: one of them may end because of the other.
            let children: Vec<_> = (0..2).map(|_| moto.command(&["commit"]).spawn().unwrap()).collect();
            for child in children {
                let said = said(&child.wait_with_output().unwrap());
                let is_refused = said.stderr.starts_with("error: another process ");
                assert!(said.code == Some(0) || (said.code == Some(2) && is_refused), "{said:?}");
            }
        }
        let said = moto.run(&["commit"]);
        assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""));
        moto.fetch(form).check(&all_events(&streams));

        // A lease that has not ended keeps others away; one that has ended does not.
        moto.put("lease.json", br#"{"owner": "other", "until": 99999999999}"#);
        let said = moto.run(&["commit"]);
        assert!(said.stderr.starts_with("error: another process commits to this lake; its lease ends in "));
        moto.put("lease.json", br#"{"owner": "other", "until": 1}"#);
        assert_eq!(moto.run(&["commit"]).stdout, "no new segments\n");
        assert_eq!(moto.run(&["delete", "--host", "h3"]).code, Some(0));
        let wanted = all_events(&streams).into_iter().filter(|key| key.0 != "h3").collect();
        moto.fetch(form).check(&wanted);
    }
}

/// An upload in parts that has not ended is no object. One is open under each name that a lake has,
/// and under those of its segments.
#[test]
fn uploads_that_are_left_open_change_nothing() {
    for form in &FORMS[..2] {
        let Some(mut moto) = Moto::start() else { return };
        let source = TestLake::new(*form);
        let streams = streams(&Plan { events: 300, block_size: 1024, ..Plan::default() });
        let stored = |path: PathBuf| {
            let name = path.strip_prefix(source.path()).unwrap().display().to_string();
            (name, std::fs::read(path).unwrap())
        };
        let shipped = streams.iter().flat_map(|(host, stream)| source.ship(host, stream));
        let segments: BTreeMap<_, _> = shipped.map(stored).collect();
        source.commit();
        let mut names: BTreeSet<_> = source.objects().into_keys().collect();
        // The lease of a directory is a lock.
        assert!(names.remove("lease.lock") && names.insert("lease.json".to_owned()));
        for name in names.iter().chain(segments.keys()) {
            moto.ask(&format!("open prod/{name}"), &[]);
        }
        assert_eq!(moto.run(&form.init()).code, Some(0));
        for (name, bytes) in &segments {
            moto.put(name, bytes);
        }
        let said = moto.run(&["commit"]);
        assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""));
        let found = moto.fetch(*form);
        found.check(&all_events(&streams));
        assert_eq!(found.objects().into_keys().collect::<BTreeSet<_>>(), names);
        assert_eq!(moto.ask("uploads", &[]).len(), names.len() + segments.len());
    }
}

/// Moves a stream of two sessions to other sessions and a later time.
fn later(stream: &[u8], hours: u64) -> Vec<u8> {
    let mut stream = stream.to_vec();
    for block in blocks(&stream) {
        edit(&mut stream[block], |header| {
            header.session += 2 * hours;
            header.base_wall += hours * 3_600_000_000_000;
        });
    }
    stream
}

/// A report of a host and a time fetches the segments of these, and no table.
#[test]
fn a_report_fetches_what_it_needs() {
    let Some(telemetry) = telemetry() else { return };
    let Some(mut moto) = Moto::start() else { return };
    let source = TestLake::new(Format::Delta);
    let streams = streams(&Plan { events: 3000, block_size: 512, ..Plan::default() });
    assert_eq!(moto.run(&["init", "--buckets=2"]).code, Some(0));
    let (mut wanted, mut times) = (Vec::new(), Vec::new());
    for hours in 0..3 {
        for (host, stream) in &streams {
            let stream = later(stream, hours);
            for segment in source.ship(host, &stream) {
                let name = segment.strip_prefix(source.path()).unwrap().to_str().unwrap().to_owned();
                moto.put(&name, &std::fs::read(segment).unwrap());
                if (hours, *host) == (1, "h2") {
                    wanted.push(name);
                }
            }
            if (hours, *host) == (1, "h2") {
                times = read(&stream, &(i64::MIN..i64::MAX)).0;
            }
        }
        assert_eq!(moto.run(&["commit"]).code, Some(0));
    }
    moto.asked();
    let programs = Path::new(env!("CARGO_BIN_EXE_telemetry-lake")).parent().unwrap();
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let mut command = Command::new(telemetry);
    command.env("PATH", path).args(["report", "s3://fleet/prod", "--host", "h2", "-o"]);
    command.arg(source.path().join("report.html"));
    command.arg(format!("--from={}", times[0])).arg(format!("--until={}", times[times.len() - 1] + 1));
    let said = said(&settings(&moto.endpoint, &mut command).output().unwrap());
    let events = said.stderr.split_once("complete: ").and_then(|(_, rest)| rest.split_once(" events"));
    let events = events.map(|(digits, _)| digits.replace(',', ""));
    assert_eq!((said.code, events), (Some(0), Some(times.len().to_string())), "{said:?}");

    let (mut fetched, others): (Vec<_>, Vec<_>) =
        moto.asked().into_iter().partition(|name| name.starts_with("segments/"));
    fetched.sort();
    wanted.sort();
    assert_eq!(fetched, wanted);
    // What the lake is, which batches there are, the note of each, and the plan of the one that has
    // the segments.
    let of = |folder: &str| others.iter().filter(|name| name.starts_with(folder)).collect::<Vec<_>>();
    assert_eq!((of("batches/"), of("done/").len()), (vec![&"batches/0000000002.json".to_owned()], 3));
    assert!(others.len() <= 6, "{others:?}");
}

/// Many sessions, tables or segments take longer than a lease.
#[test]
fn the_lease_is_renewed_on_the_way() {
    let Some(mut moto) = Moto::start() else { return };
    let (source, form) = (TestLake::new(Format::Delta), FORMS[0]);
    assert_eq!(moto.run(&form.init()).code, Some(0));
    let (mut segments, mut checkpoints) = (0, 0);
    // With a lease of no time, each renewal reads it.
    let is_lease = |name: &&String| *name == "lease.json";
    for (host, stream) in streams(&Plan { events: 300, block_size: 1024, ..Plan::default() }) {
        let shipped = source.ship(host, &stream);
        segments = shipped.len();
        for segment in shipped {
            let name = segment.strip_prefix(source.path()).unwrap().to_str().unwrap().to_owned();
            moto.put(&name, &std::fs::read(segment).unwrap());
        }
        moto.asked();
        assert_eq!(moto.run(&["commit", "--lease=0", "--checkpoint=1"]).code, Some(0));
        let renewed = moto.asked().iter().filter(is_lease).count();
        let names = moto.fetch(form).objects().into_keys();
        let all = names.filter(|name| name.ends_with(".checkpoint.parquet")).count();
        let written = all - std::mem::replace(&mut checkpoints, all);
        // It is taken and given back. The host has two sessions, whose files are written together.
        // So are those of the other tables.
        assert_eq!(renewed, 2 + 2 + 2 + written, "{host}");
    }
    assert!(checkpoints > 10, "{checkpoints}");
    assert_eq!(moto.run(&["delete", "--host=h3", "--lease=0"]).code, Some(0));
    let asked = moto.asked();
    let after = |folder: &str| &asked[asked.iter().rposition(|name| name.starts_with(folder)).unwrap() + 1..];
    // Before each state, and for the first table.
    assert_eq!(after("state/").iter().take_while(is_lease).count(), 2 + 1);
    // Before each segment and each of the two sessions whose states go, and when it is given back.
    assert_eq!(after("batches/").iter().filter(is_lease).count(), segments + 2 + 1);
}
