//! Segments of a host and of some time as one stream, and the report of a lake.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;

use telemetry_decode::{Order, Reader};
use telemetry_lake::chosen::{Written, write_chosen};
use telemetry_lake::lake::{Format, Lake};
use telemetry_testing::made::Plan;

use crate::commit::streams;
use crate::lakes::{TestLake, events_of, said};

fn chosen(lake: &TestLake, host: Option<&str>, times: Range<i64>) -> (Written, Vec<u8>) {
    let (url, mut stream) = (format!("file://{}", lake.path().display()), Vec::new());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let written = runtime.block_on(async {
        let lake = Lake::open(&url).await.unwrap();
        write_chosen(&lake, host, times, &mut stream).await.unwrap()
    });
    (written, stream)
}

/// The times of all events of these times, by the wall clock, and what is missing between them.
pub(crate) fn read(stream: &[u8], times: &Range<i64>) -> (Vec<i64>, u64, String) {
    let mut events = Reader::from_slice(stream).order(Order::Stream).events().unwrap();
    let mut found = Vec::new();
    while let Some(event) = events.next().unwrap() {
        found.extend(Some(event.wall_ns()).filter(|ns| times.contains(ns)));
    }
    found.sort_unstable();
    let completeness = events.completeness();
    (found, completeness.missing(), completeness.to_string())
}

/// The command `telemetry`, if it is built.
pub(crate) fn telemetry() -> Option<PathBuf> {
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/debug/telemetry");
    let path = std::env::var_os("TELEMETRY_COMMAND").map_or(built, PathBuf::from);
    if !path.exists() {
        eprintln!("SKIPPED: no command `telemetry` at {}; TELEMETRY_COMMAND may name it", path.display());
        return None;
    }
    Some(path)
}

#[test]
fn only_what_is_needed_is_read() {
    let lake = TestLake::new(Format::Parquet);
    let streams = streams(&Plan { events: 3000, block_size: 512, lose: 100, ..Plan::default() });
    for (host, stream) in &streams {
        lake.ship(host, stream);
        lake.commit();
    }
    let stream = &streams[1].1;
    let all = i64::MIN..i64::MAX;
    let (wanted, ..) = read(stream, &all);
    let (whole, bytes) = chosen(&lake, Some("h2"), all.clone());
    assert_eq!((read(&bytes, &all).0, whole.gone), (wanted.clone(), 0));
    assert_eq!(events_of("h2", &bytes), events_of("h2", stream));
    let every = chosen(&lake, None, all.clone()).0;
    assert!(every.segments > 2 * whole.segments);

    // A third of the time: fewer segments, every event of it, and none that is called missing.
    for part in 0..3 {
        let at = |third: usize| wanted[(wanted.len() - 1) * third / 3];
        let times = at(part)..at(part + 1);
        let (some, bytes) = chosen(&lake, Some("h2"), times.clone());
        assert!(some.segments < whole.segments && some.bytes < whole.bytes, "{some:?} of {whole:?}");
        let inside: Vec<_> = wanted.iter().copied().filter(|ns| times.contains(ns)).collect();
        let (found, missing, text) = read(&bytes, &times);
        assert_eq!((found, missing), (inside, 0), "{text}");
    }

    // Batches that are much older than the first time are not read.
    for folder in ["batches", "done"] {
        let path = lake.path().join(folder).join("0000000001.json");
        let kept = std::fs::read(&path).unwrap();
        std::fs::write(&path, "damaged").unwrap();
        let file = std::fs::File::options().append(true).open(&path).unwrap();
        file.set_modified(std::time::UNIX_EPOCH).unwrap();
        let from_now = chosen(&lake, Some("h2"), wanted[0]..i64::MAX).0;
        assert_eq!(from_now.segments, whole.segments);
        let said = lake.run(&["stream", "--host", "h2"]);
        assert_eq!(said.code, Some(2), "all of them are read without a time");
        std::fs::write(&path, kept).unwrap();
        file.set_modified(std::time::UNIX_EPOCH).unwrap();
    }

    // Segments that were deleted are told.
    let said = lake.run(&["delete", "--host", "h2"]);
    assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""));
    let said = lake.run(&["stream", "--host", "h2"]);
    let gone = whole.segments;
    assert_eq!(said.code, Some(1));
    assert_eq!(said.stderr, format!("warning: {gone} segments of this time are deleted; 0 are there\n"));
    let said = lake.run(&["stream", "--host", "h9"]);
    assert_eq!(said.code, Some(2));
    assert!(
        said.stderr.contains(": no committed segment of these hosts and times; help: "),
        "{}",
        said.stderr
    );
}

/// `telemetry report` of a lake has the numbers of the report of the stream.
#[test]
fn a_report_of_a_lake() {
    let Some(telemetry) = telemetry() else { return };
    let lake = TestLake::new(Format::Delta);
    let streams = streams(&Plan { events: 2000, block_size: 512, ..Plan::default() });
    for (host, stream) in &streams {
        lake.ship(host, stream);
    }
    lake.commit();
    std::fs::write(lake.path().join("h2.tel"), &streams[1].1).unwrap();
    let programs = Path::new(env!("CARGO_BIN_EXE_telemetry-lake")).parent().unwrap();
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let report = |arguments: &[&str]| {
        let mut command = Command::new(&telemetry);
        command.current_dir(lake.path()).env("PATH", &path).arg("report").args(arguments);
        said(&command.output().unwrap())
    };
    let url = format!("file://{}", lake.path().display());
    let of_lake = report(&[&url, "--host", "h2", "-o", "lake.html"]);
    let of_stream = report(&["h2.tel", "-o", "stream.html"]);
    assert_eq!((of_lake.code, of_stream.code), (Some(0), Some(0)), "{of_lake:?}");
    let events = |said: &crate::lakes::Said| {
        let line = said.stderr.lines().find(|line| line.starts_with("complete: ")).unwrap().to_owned();
        line.split(';').next().unwrap().to_owned()
    };
    assert_eq!(events(&of_lake), events(&of_stream));
    let page = std::fs::read_to_string(lake.path().join("lake.html")).unwrap();
    assert!(page.contains("</html>"));

    // The times are those of the wall clock, to the nanosecond.
    let (all, ..) = read(&streams[1].1, &(i64::MIN..i64::MAX));
    let (from, until) = (all[all.len() / 3], all[all.len() / 2]);
    let wanted = all.iter().filter(|ns| (from..until).contains(ns)).count();
    let part = report(&[&url, "--host", "h2", "--from", &from.to_string(), "--until", &until.to_string()]);
    assert!(part.stderr.contains(&format!(": {wanted} events, ")), "{wanted}: {part:?}");
    let none = report(&[&url, "--host", "h2", "--until", "1600000000s"]);
    assert_eq!(none.code, Some(2));
    assert!(none.stderr.contains("no committed segment of these hosts and times"), "{none:?}");
    assert!(report(&["h2.tel", "--host", "h2"]).stderr.contains("--host"), "it is for lakes");
}
