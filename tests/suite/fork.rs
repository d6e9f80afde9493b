//! A forked child has the parent's memory, and must not write the parent's events. It is a session
//! with its own stream.

use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use telemetry::sinks::{Batch, Sink};
use telemetry_decode::Reader;

use crate::support::process::{Outcome, Process, child};
use crate::support::stream::{Owned, Stream};
use crate::support::system::{self, Alarm};
use crate::{second, work};

/// A child's events and actions.
fn live() {
    for number in 0..1000_u64 {
        work::alloc!(number, number, number, 7);
    }
    telemetry::flush();
    let panic = std::thread::spawn(|| {
        work::tick!();
        panic!("in the child");
    });
    panic.join().expect_err("a panic");
    telemetry::reset("all");
    work::tick!();
    telemetry::set("all");
    second::lonely!();
    assert_eq!(telemetry::counters::total().emitted(), 1002, "{:?}", telemetry::counters::total());
}

/// The children's streams, beside the parent's.
fn children(run: &Outcome) -> Vec<PathBuf> {
    let files = std::fs::read_dir(run.dir()).expect("a directory").map(|entry| entry.expect("a file").path());
    files.filter(|path| path != &run.path() && path.extension().is_some_and(|end| end == "tel")).collect()
}

/// Forks while other threads emit, flush and switch, so that any lock may be held.
#[test]
fn children_are_sessions_of_their_own() {
    const CHILDREN: usize = 30;
    let run = child(
        "fork::children_are_sessions_of_their_own",
        |process| process.env("TELEMETRY_BUFFER", "64M"),
        || {
            work::tick!();
            let (over, emitted) = (AtomicBool::new(false), AtomicU64::new(1));
            let repeat = |f: &(dyn Fn() + Sync)| {
                while !over.load(Ordering::Relaxed) {
                    f();
                }
            };
            std::thread::scope(|scope| {
                scope.spawn(|| repeat(&|| _ = telemetry::flush()));
                scope.spawn(|| repeat(&|| telemetry::set("all")));
                scope.spawn(|| {
                    repeat(&|| {
                        let number = emitted.fetch_add(1, Ordering::Relaxed);
                        work::alloc!(number, number, number, 0);
                        std::thread::sleep(Duration::from_micros(20));
                    })
                });
                for _ in 0..CHILDREN {
                    let status = system::fork(live);
                    assert!(status.success(), "{status}");
                    work::tick!();
                    emitted.fetch_add(1, Ordering::Relaxed);
                }
                over.store(true, Ordering::Relaxed);
            });
            vec![("emitted", emitted.load(Ordering::Relaxed))]
        },
    );
    let stream = run.stream();
    assert_eq!(stream.events.len() as u64, run.number("emitted"));
    assert_eq!(stream.by_name()["Tick"], CHILDREN as u64 + 1);
    assert!(stream.completeness.is_complete(), "{}", stream.completeness);
    let children = children(&run);
    assert_eq!(children.len(), CHILDREN, "{children:?}");
    let mut sessions = vec![stream.completeness.sessions[0].0];
    for path in children {
        let stream = Stream::read(path);
        assert!(stream.completeness.is_complete(), "{}", stream.completeness);
        sessions.push(stream.completeness.sessions[0].0);
        let names = stream.by_name();
        assert_eq!((names["Alloc"], names["Tick"], names["Lonely"]), (1000, 1, 1));
    }
    sessions.sort_unstable();
    sessions.dedup();
    assert_eq!(sessions.len(), CHILDREN + 1, "every process is a session");
}

/// Switches that the parent has changed are those of the child from its start.
#[test]
fn a_child_states_the_words_of_its_parent() {
    let run = child(
        "fork::a_child_states_the_words_of_its_parent",
        |process| process,
        || {
            work::tick!();
            telemetry::reset("Alloc");
            let status = system::fork(|| work::tick!());
            assert!(status.success(), "{status}");
            vec![]
        },
    );
    let words = |path: PathBuf| {
        let mut events = Reader::open(path).expect("a stream").events().expect("a stream");
        while events.next().expect("a readable stream").is_some() {}
        events.sessions()[0].facts.text("control_at_start").map(str::to_owned)
    };
    assert_eq!(words(run.path()).as_deref(), Some("all"));
    let of_children: Vec<_> = children(&run).into_iter().map(words).collect();
    assert_eq!(of_children, [Some("all -Alloc".to_owned())]);
}

/// A child that records nothing leaves no file. A child of a child is like any other.
#[test]
fn children_of_children() {
    let run = child(
        "fork::children_of_children",
        |process| process,
        || {
            work::tick!();
            let status = system::fork(|| {
                let status = system::fork(live);
                assert!(status.success(), "{status}");
            });
            assert!(status.success(), "{status}");
            vec![]
        },
    );
    assert_eq!(run.stream().events.len(), 1);
    let children = children(&run);
    assert_eq!(children.len(), 1, "{children:?}");
    assert_eq!(Stream::read(&children[0]).by_name()["Alloc"], 1000);
}

/// Forks before the parent's first event.
#[test]
fn a_child_of_a_parent_without_events() {
    let run = child(
        "fork::a_child_of_a_parent_without_events",
        |process: Process| process,
        || {
            let status = system::fork(|| {
                second::lonely!();
                telemetry::flush();
            });
            assert!(status.success(), "{status}");
            vec![]
        },
    );
    // The runtime had not started, so the child is like any other process.
    assert_eq!(run.stream().events.len(), 1);
}

/// A sink that holds up a pass.
struct HoldsUp {
    tell: Sender<()>,
    go_on: Receiver<()>,
}

impl Sink for HoldsUp {
    fn write(&mut self, _: &Batch<'_>) -> io::Result<()> {
        // Later calls find no receiver, or no sender.
        _ = self.tell.send(());
        _ = self.go_on.recv();
        Ok(())
    }
}

/// The fork cannot wait for the end of a pass. So the child continues without telemetry. It does
/// not say what its parent has lost, and waits for none of its parent's threads.
#[test]
fn a_child_without_telemetry() {
    let run = child(
        "fork::a_child_without_telemetry",
        |process| process.env("TELEMETRY_BUFFER", "64k").env("TELEMETRY_SUMMARY", "on"),
        || {
            let ((tell, told), (end, go_on)) = (channel(), channel());
            work::tick!();
            telemetry::sinks::add(HoldsUp { tell, go_on }).expect("a sink");
            std::thread::scope(|scope| {
                scope.spawn(telemetry::flush);
                told.recv().expect("a pass");
                for number in 0..100_000_u64 {
                    work::alloc!(number, number, number, 7);
                }
                let status = system::fork(|| work::tick!());
                assert!(status.success(), "{status}");
                drop(end);
            });
            vec![("lost", telemetry::counters::total().lost())]
        },
    );
    assert!(run.number("lost") > 0);
    assert_eq!(run.stderr.matches("[events-lost]").count(), 1, "{}", run.stderr);
    assert_eq!(children(&run), <[PathBuf; 0]>::default());
}

/// A signal handler forks children, most of them during an emission. The child then ends that
/// emission in the ring file of its parent, which has continued meanwhile.
#[test]
fn children_leave_their_parents_ring_alone() {
    const CHILDREN: u64 = 60;
    static FORKED: AtomicU64 = AtomicU64::new(0);
    static IS_CHILD: AtomicBool = AtomicBool::new(false);
    extern "C" fn handler(_: std::ffi::c_int) {
        if FORKED.load(Ordering::Relaxed) < CHILDREN && !IS_CHILD.load(Ordering::Relaxed) {
            match system::fork_alone() {
                true => IS_CHILD.store(true, Ordering::Relaxed),
                false => _ = FORKED.fetch_add(1, Ordering::Relaxed),
            }
        }
    }
    let run = child(
        "fork::children_leave_their_parents_ring_alone",
        |process| process.env("TELEMETRY_RING", "app.ring").env("TELEMETRY_BUFFER", "64M"),
        || {
            work::tick!();
            system::on_signal(libc::SIGALRM, handler);
            let alarm = Alarm::every(Duration::from_millis(2));
            let since = Instant::now();
            let mut emitted = 0;
            while FORKED.load(Ordering::Relaxed) < CHILDREN && since.elapsed() < Duration::from_secs(40) {
                for _ in 0..100 {
                    work::alloc!(emitted, emitted << 20, emitted, 0);
                    emitted += 1;
                    if IS_CHILD.load(Ordering::Relaxed) {
                        system::exit_at_once();
                    }
                }
                std::hint::black_box(
                    (0..20_000).fold(0_u64, |sum, number| sum ^ std::hint::black_box(number)),
                );
            }
            drop(alarm);
            assert!(std::path::Path::new("app.ring").exists(), "the ring is the parent's to remove");
            let counters = telemetry::counters::total();
            assert_eq!((counters.emitted(), counters.lost()), (emitted + 1, 0), "{counters:?}");
            vec![("emitted", emitted), ("forked", FORKED.load(Ordering::Relaxed))]
        },
    );
    assert!(run.number("forked") > 0);
    let stream = run.stream();
    assert!(stream.completeness.is_complete(), "{}", stream.completeness);
    let numbers = stream.events.iter().filter(|event| event.name == "Alloc").map(|event| &event.values[0]);
    assert!(numbers.eq(
        (0..run.number("emitted")).map(|number| Owned::Number(number.into())).collect::<Vec<_>>().iter()
    ));
}

/// A child of the bare system call has the parent's sinks, and writes nothing to them.
#[test]
fn a_child_without_handlers_writes_nothing() {
    let run = child(
        "fork::a_child_without_handlers_writes_nothing",
        |process| process,
        || {
            work::alloc!(1_u64, 1_u64, 1_u64, 1);
            let status = system::raw_fork(|| {
                work::alloc!(2_u64, 2_u64, 2_u64, 2);
                assert!(!telemetry::flush());
            });
            assert!(status.success(), "{status}");
            work::alloc!(3_u64, 3_u64, 3_u64, 3);
            vec![]
        },
    );
    let stream = run.stream();
    assert!(stream.completeness.is_complete(), "{}", stream.completeness);
    let of_allocs = stream.events.iter().filter(|event| event.name == "Alloc");
    let numbers: Vec<_> = of_allocs.map(|event| event.values[0].clone()).collect();
    assert_eq!(numbers, [Owned::Number(1), Owned::Number(3)]);
    assert_eq!(children(&run), <[PathBuf; 0]>::default());
}

/// Forks while another thread starts the runtime, after one delay and another. The child starts
/// its own and has the triggers of the environment, or continues without telemetry.
#[test]
fn a_fork_during_the_start_goes_on() {
    const DELAYS: u32 = 150;
    child(
        "fork::a_fork_during_the_start_goes_on",
        |process| {
            let process = process.without("TELEMETRY_CONTROL").env("TELEMETRY_LATENCY", "0.01");
            process.env("TELEMETRY_TRIGGER", "Lonely: set work:Other for 1h; Alloc.size == 1: flush")
        },
        || {
            for delay in 0..DELAYS {
                // Each is a process in which the runtime has not started.
                let status = system::fork(|| {
                    let begins = std::sync::Barrier::new(2);
                    std::thread::scope(|scope| {
                        scope.spawn(|| {
                            begins.wait();
                            work::tick!();
                        });
                        begins.wait();
                        let since = Instant::now();
                        while since.elapsed() < Duration::from_micros(10) * delay {}
                        assert!(system::fork(has_triggers).success());
                    });
                });
                assert!(status.success(), "{status} after delay {delay}");
            }
            let acted = std::fs::read_dir(".").expect("a directory").filter(|file| {
                file.as_ref().is_ok_and(|file| file.path().extension().is_some_and(|end| end == "acted"))
            });
            assert!(acted.count() > 0);
            vec![]
        },
    );
}

/// Meets the condition of a trigger and waits for its action, if there is telemetry.
fn has_triggers() {
    second::lonely!();
    for _ in 0..10 {
        // If the start never ends, each of them waits for it, and the alarm ends this process.
        work::tick!();
    }
    if telemetry::flush() {
        while telemetry::control::enabled() != "work:Other" {
            std::thread::sleep(Duration::from_millis(1));
        }
        std::fs::write(format!("{}.acted", std::process::id()), "").expect("a file");
    }
}
