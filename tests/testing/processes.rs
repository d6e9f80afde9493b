//! Captures in processes of their own: settings and sinks are those of a process.

use std::io;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use telemetry::decode::Reader;
use telemetry::sinks::{self, Batch, Memory, Sink};
use telemetry::testing::capture;

use crate::cache::{self, Evicted, Hit, Miss};

const CHILD: &str = "TESTING_CHILD";

/// How long a test waits for another thread before it fails.
const LONGEST: Duration = Duration::from_secs(60);

/// Runs a test again in another process, in an empty directory and with these variables alone of
/// the runtime. In that process it calls `test`. Returns its output in the first one, after a check
/// that it wrote no file.
fn child(name: &str, variables: &[(&str, &str)], test: impl FnOnce()) -> Option<Output> {
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
fn check(name: &str, variables: &[(&str, &str)], test: impl FnOnce()) {
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

/// A sink that holds up a pass when it is told to, so that no sink takes anything meanwhile.
struct HoldsUp {
    tell: Sender<()>,
    go_on: Receiver<()>,
}

static HOLDS_UP: AtomicBool = AtomicBool::new(false);

impl Sink for HoldsUp {
    fn write(&mut self, _: &Batch<'_>) -> io::Result<()> {
        if HOLDS_UP.swap(false, Ordering::Relaxed) {
            self.tell.send(()).map_err(io::Error::other)?;
            self.go_on.recv_timeout(LONGEST).map_err(io::Error::other)?;
        }
        Ok(())
    }
}

/// Emits more events than the memory has room for, while the sinks are held up. They overwrite each
/// other.
fn overwrite(emit: fn()) {
    let ((tell, told), (go_on, goes_on)) = (channel(), channel());
    sinks::add_for("all", HoldsUp { tell, go_on: goes_on }).unwrap();
    let captured = capture(|| {
        cache::miss!(1_u64);
        HOLDS_UP.store(true, Ordering::Relaxed);
        let flushes = thread::spawn(telemetry::flush);
        told.recv_timeout(LONGEST).unwrap();
        emit();
        go_on.send(()).unwrap();
        flushes.join().unwrap();
    });
    eprintln!("found {} events", captured.events().len());
}

#[track_caller]
fn check_loss(name: &str, emit: fn()) {
    let settings = [("TELEMETRY_BUFFER", "64k"), ("TELEMETRY_POLICY", "overwrite")];
    let Some(output) = child(name, &settings, || overwrite(emit)) else { return };
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "the capture fails: {error}");
    let parts = [" of 100,001 events of the capture were lost: ", " overwritten", "help: `TELEMETRY_BUFFER`"];
    parts.into_iter().for_each(|part| assert!(error.contains(part), "no {part:?} in: {error}"));
}

fn emit() {
    (0..100_000_u64).for_each(|key| cache::hit!(key));
}

#[test]
fn a_capture_that_lost_events_fails() {
    check_loss("processes::a_capture_that_lost_events_fails", emit);
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[test]
fn a_capture_whose_threads_lost_events_fails() {
    check_loss("processes::a_capture_whose_threads_lost_events_fails", || {
        thread::spawn(emit).join().unwrap();
    });
}
