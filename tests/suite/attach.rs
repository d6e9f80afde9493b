//! A program that nothing has prepared can be reached from the first emitter that it reaches.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use telemetry::Config;

use crate::ends::program;
use crate::support::process::{Numbers, Outcome, Process, child};
use crate::support::system;
use crate::{second, work};

/// A socket that takes longer does not come.
const TIMEOUT: Duration = Duration::from_secs(20);

/// A process with all events off.
fn silent(process: Process) -> Process {
    process.without("TELEMETRY_CONTROL")
}

fn socket(pid: u32) -> PathBuf {
    Path::new(&format!("/tmp/telemetry-{}", system::user())).join(pid.to_string())
}

/// Waits until something holds. Returns false if that takes too long.
fn comes(mut is_so: impl FnMut() -> bool) -> bool {
    let since = Instant::now();
    while !is_so() {
        if since.elapsed() > TIMEOUT {
            return false;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    true
}

/// Sends a request to this process, once it has a socket, and returns the answer.
pub(crate) fn ask(request: &str) -> String {
    let own = socket(std::process::id());
    assert!(comes(|| UnixStream::connect(&own).is_ok()), "a socket");
    let mut stream = UnixStream::connect(&own).expect("a socket");
    stream.write_all(format!("{request}\n").as_bytes()).expect("a request");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    answer
}

/// The names of the runtime's threads.
fn threads() -> Vec<String> {
    let tasks = fs::read_dir("/proc/self/task").expect("threads").flatten();
    let names = tasks.filter_map(|task| fs::read_to_string(task.path().join("comm")).ok());
    let mut names: Vec<_> =
        names.map(|name| name.trim().to_owned()).filter(|name| name.starts_with("telemetry")).collect();
    names.sort();
    names
}

fn emit() {
    work::alloc!(1u64, 2u64, 3u64, 0);
}

/// Nothing is on. The event that is off makes the process answer, with one thread. An answer
/// switches it on.
#[test]
fn an_event_that_is_off_is_enough() {
    let run = child("attach::an_event_that_is_off_is_enough", silent, || {
        assert_eq!(threads(), [""; 0]);
        emit();
        let info = ask("info");
        assert!(info.starts_with("ok\n") && info.contains("name = \"work\""), "{info}");
        assert_eq!(threads(), ["telemetry-ctl"]);
        assert!(ask("set all").starts_with("ok\n"));
        emit();
        vec![("emitted", telemetry::counters::total().emitted()), ("pid", std::process::id().into())]
    });
    assert_eq!((run.number("emitted"), run.stderr.as_str()), (1, ""));
    assert_eq!(run.stream().events.len(), 1);
    assert!(!socket(run.number("pid") as u32).exists(), "the end removes it");
}

/// A program that records from its first event on has the threads of the recorder, and no more.
#[test]
fn a_recorder_has_no_further_thread() {
    child(
        "attach::a_recorder_has_no_further_thread",
        |process| process,
        || {
            emit();
            ask("get");
            let named = || threads().iter().filter(|name| *name == "telemetry-ctl").count();
            assert_eq!(named(), 1);
            vec![]
        },
    );
}

/// `Config::start` is enough, since only programs with telemetry call it.
#[test]
fn the_start_is_enough() {
    child("attach::the_start_is_enough", silent, || {
        Config::new().start().expect("the first start");
        assert!(ask("info").starts_with("ok\n"));
        vec![]
    });
}

/// Linking alone costs nothing. Other calls, which are not emitters, start no thread.
#[test]
fn a_program_that_never_emits_has_no_thread() {
    child("attach::a_program_that_never_emits_has_no_thread", silent, || {
        assert_eq!(telemetry::get(), "");
        std::thread::sleep(Duration::from_millis(50));
        assert_eq!(threads(), [""; 0]);
        assert!(!socket(std::process::id()).exists());
        vec![]
    });
}

/// User and program can switch it off.
#[test]
fn it_can_be_switched_off() {
    let none = || -> Numbers {
        emit();
        std::thread::sleep(Duration::from_millis(50));
        assert_eq!(threads(), [""; 0]);
        assert!(!socket(std::process::id()).exists());
        vec![]
    };
    let test = "attach::it_can_be_switched_off";
    let body = || {
        if std::env::var("TELEMETRY_SOCKET").is_err() {
            Config::new().socket(false).start().expect("the first start");
        }
        none()
    };
    child(test, |process| silent(process).env("TELEMETRY_SOCKET", "off"), body);
    child(test, silent, body);
}

/// A child does not answer in its parent's place. It has a socket of its own from its own first
/// emitter on.
#[test]
fn a_forked_child_is_itself() {
    child("attach::a_forked_child_is_itself", silent, || {
        emit();
        assert!(ask("info").contains(&format!("pid = {}\n", std::process::id())));
        let parent = std::process::id();
        let status = system::fork(|| {
            assert_eq!(threads(), [""; 0]);
            assert!(!holds_a_listener(), "the parent's socket is open in the child");
            emit();
            assert!(ask("info").contains(&format!("pid = {}\n", std::process::id())));
            assert_ne!(parent, std::process::id());
        });
        assert!(status.success(), "{status}");
        assert!(ask("info").contains(&format!("pid = {parent}\n")), "the parent is still there");
        vec![]
    });
}

/// Many forks at the moment when the socket is made: no child has it open.
#[test]
fn children_of_a_process_that_makes_its_socket() {
    child("attach::children_of_a_process_that_makes_its_socket", silent, || {
        for _ in 0..100 {
            let status = system::fork(|| {
                emit();
                let own = socket(std::process::id());
                while !own.exists() {
                    let status = system::fork(|| assert!(!holds_a_listener()));
                    assert!(status.success(), "{status}");
                }
            });
            assert!(status.success(), "{status}");
        }
        vec![]
    });
}

/// True if this process has a socket open that listens at a path of the runtime.
fn holds_a_listener() -> bool {
    let bound = fs::read_to_string("/proc/net/unix").expect("a list of sockets");
    let files = fs::read_dir("/proc/self/fd").expect("descriptors").flatten();
    let own: Vec<_> = files.filter_map(|file| fs::read_link(file.path()).ok()).collect();
    bound.lines().filter(|line| line.contains("/tmp/telemetry-")).any(|line| {
        let fields: Vec<_> = line.split_ascii_whitespace().collect();
        // The flag of a socket that accepts connections.
        let (["00010000"], Some(inode)) = (&fields[3..4], fields.get(6)) else { return false };
        own.iter().any(|file| file.as_os_str() == format!("socket:[{inode}]").as_str())
    })
}

static HANDLED: AtomicUsize = AtomicUsize::new(0);

extern "C" fn handler(_: std::ffi::c_int) {
    emit();
    second::lonely!();
    HANDLED.store(system::threads(), Ordering::Relaxed);
}

/// A handler may have interrupted anything, so its events start no thread. The next event does.
#[test]
fn a_signal_handler_starts_no_thread() {
    child("attach::a_signal_handler_starts_no_thread", silent, || {
        system::on_signal(libc::SIGUSR1, handler);
        let before = system::threads();
        for _ in 0..10 {
            system::raise(libc::SIGUSR1);
            assert_eq!(HANDLED.load(Ordering::Relaxed), before);
        }
        assert_eq!(telemetry::counters::total().emitted(), 0);
        emit();
        assert!(ask("info").starts_with("ok\n"));
        vec![]
    });
}

/// A thread that always blocks a signal with a handler looks like a handler. In the end, its events
/// are off like any others.
#[test]
fn a_thread_that_blocks_signals_is_not_slow_forever() {
    child("attach::a_thread_that_blocks_signals_is_not_slow_forever", silent, || {
        system::on_signal(libc::SIGUSR1, handler);
        system::block_signal(libc::SIGUSR1);
        (0..2000).for_each(|_| emit());
        assert!(telemetry::get().is_empty());
        assert_eq!(threads(), [""; 0]);
        vec![("emitted", telemetry::counters::total().emitted())]
    });
}

fn interposed(argument: &str, setup: impl Fn(Process) -> Process) -> Outcome {
    setup(silent(Process::new(program("interposed")).arg(argument))).run().succeeded()
}

/// A program with its own C `malloc`, which emits inside its lock. Starting a thread would call
/// `malloc` again. So an event that is off starts none there.
#[test]
fn an_interposed_malloc_is_safe() {
    let run = interposed("", |process| process);
    assert_eq!((run.stdout.lines().next(), run.stderr.as_str()), (Some("threads 1"), ""));
}
