//! Captures in processes of their own: settings and sinks are those of a process.

use std::cell::Cell;
use std::process::{Command, Output};

use telemetry::control;
use telemetry::decode::Reader;
use telemetry::sinks::{self, Memory};
use telemetry::testing::{Captured, capture};

use crate::cache::{self, Evicted, Hit, Miss};
use crate::work::{self, Tick};

const CHILD: &str = "TESTING_CHILD";

/// Runs a test again in another process, in an empty directory and with these variables alone of
/// the runtime. In that process it calls `test`. Returns its output in the first one, after a check
/// that it wrote no file.
pub(crate) fn child(name: &str, variables: &[(&str, &str)], test: impl FnOnce()) -> Option<Output> {
    if std::env::var_os(CHILD).is_some() {
        test();
        return None;
    }
    let directory = tempfile::tempdir().unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", name, "--nocapture"]).current_dir(&directory).env(CHILD, "1");
    let own = std::env::vars_os().map(|(name, _)| name);
    own.filter(|name| name.to_string_lossy().starts_with("TELEMETRY_"))
        .for_each(|name| _ = command.env_remove(name));
    command.envs(variables.iter().copied());
    let output = command.output().unwrap();
    let left = std::fs::read_dir(&directory).unwrap().count();
    assert_eq!(left, 0, "files that the process left");
    Some(output)
}

/// Checks that a test succeeds in a process of its own.
#[track_caller]
pub(crate) fn check(name: &str, variables: &[(&str, &str)], test: impl FnOnce()) {
    let Some(output) = child(name, variables, test) else { return };
    let [out, err] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned());
    assert!(output.status.success() && out.contains("1 passed"), "{out}\n{err}");
}

#[test]
fn a_capture_needs_no_variable_and_no_file() {
    check("processes::a_capture_needs_no_variable_and_no_file", &[], || {
        assert!(std::env::vars().all(|(name, _)| !name.starts_with("TELEMETRY_")));
        let captured = capture(|| cache::hit!(1_u64));
        captured.expect::<Hit>();
        assert_eq!(telemetry::control::enabled(), "", "nothing is on afterwards");
        cache::hit!(2_u64);
        assert_eq!(telemetry::counters::total().written, 1);
    });
}

/// Nothing switches the events on but the capture. What they have is evaluated only in it.
#[test]
fn events_that_are_off_are_captured() {
    check("processes::events_that_are_off_are_captured", &[], || {
        let evaluated = Cell::new(0_u64);
        let key = || {
            evaluated.set(evaluated.get() + 1);
            evaluated.get()
        };
        let keys = |captured: Captured| captured.of::<Hit>().map(|hit| hit.key).collect::<Vec<_>>();
        // The first event of its registry is in the capture, and that of the other one is before.
        work::tick!();
        assert_eq!(keys(capture(|| cache::hit!(key()))), [1]);
        cache::hit!(key());
        assert_eq!(evaluated.get(), 1, "off afterwards");
        assert_eq!(keys(capture(|| cache::hit!(key()))), [2]);
        assert_eq!(capture(|| work::tick!()).count::<Tick>(), 1);
        // The program switches them off during the capture, and before it.
        let switched = capture(|| {
            control::reset("all");
            cache::hit!(key());
        });
        assert_eq!(keys(switched), [3]);
        assert_eq!(keys(capture(|| cache::hit!(key()))), [4]);
        cache::hit!(key());
        assert_eq!((evaluated.get(), control::enabled()), (4, String::new()));
    });
}

#[test]
fn events_that_find_no_memory_wait_for_it() {
    let small = [("TELEMETRY_BUFFER", "64k")];
    check("processes::events_that_find_no_memory_wait_for_it", &small, || {
        let captured = capture(|| (0..300_000_u64).for_each(|key| cache::hit!(key)));
        assert_eq!(captured.count::<Hit>(), 300_000);
    });
}

#[test]
fn the_programs_own_sinks_take_what_they_take_without_a_capture() {
    check("processes::the_programs_own_sinks_take_what_they_take_without_a_capture", &[], || {
        let memory = Memory::new(1 << 20);
        let own = sinks::add_for("cache:Lookup", memory.clone()).unwrap();
        cache::hit!(1_u64);
        let captured = capture(|| {
            cache::hit!(2_u64);
            cache::evicted!(2_u64, 64_usize, cache::Why::Full);
        });
        cache::miss!(3_u64);
        cache::evicted!(3_u64, 64_usize, cache::Why::Full);
        sinks::remove(own);
        captured.expect::<Hit>().then::<Evicted>();
        captured.expect_none::<Miss>();
        let stream = memory.to_vec();
        let events = Reader::from_slice(&stream).events().unwrap().into_owned();
        let names: Vec<_> = events.map(|event| event.unwrap().name().to_string()).collect();
        let of_cache = names.iter().filter(|name| ["Hit", "Miss", "Evicted"].contains(&name.as_str()));
        assert_eq!(of_cache.collect::<Vec<_>>(), ["Hit", "Hit", "Miss"]);
    });
}
