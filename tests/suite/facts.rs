//! What a stream says of its run: program, clock, threads, and when everything was.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use telemetry_decode::Reader;

use crate::support::process::child;
use crate::work;

#[test]
fn of_the_program_and_its_threads() {
    // A system keeps 15 bytes of a thread's name, which may end inside a character.
    const NAMES: &[(&str, &str)] = &[
        ("plain", "plain"),
        ("\"quoted\" \\ line\n", "\"quoted\" \\ line"),
        ("fünfzehn Zeichen", "fünfzehn Zeich"),
        ("äääääääää", "äääääää\u{fffd}"),
    ];
    let run = child(
        "facts::of_the_program_and_its_threads",
        |process| process.env("TELEMETRY_BUFFER", "200k"),
        || {
            for (name, _) in NAMES {
                let emit = || {
                    work::tick!();
                    system_thread()
                };
                let thread = std::thread::Builder::new().name((*name).into()).spawn(emit).expect("a thread");
                assert_ne!(thread.join().expect("a thread that only emits"), 0);
            }
            vec![("pid", std::process::id().into())]
        },
    );
    let mut events = Reader::open(run.path()).expect("a stream").events().expect("a stream");
    let mut names = vec![];
    while let Some(event) = events.next().expect("a readable stream") {
        names.push(event.thread_name().expect("a name").to_owned());
    }
    assert_eq!(names, NAMES.iter().map(|(_, kept)| *kept).collect::<Vec<_>>());
    let [session] = events.sessions() else { panic!("{} sessions", events.sessions().len()) };
    let facts = &session.facts;
    let program = std::env::current_exe().expect("this program");
    assert_eq!(facts.text("program"), program.file_name().and_then(|name| name.to_str()));
    assert_eq!(facts.number("pid"), Some(run.number("pid")));
    assert_eq!(facts.text("variety"), Some("cool"));
    // Rounded up to whole chunks.
    assert_eq!(facts.number("buffer"), Some(4 * 65_536));
    assert!(facts.text("host").is_some_and(|host| !host.is_empty()));
    assert!(session.ended);
    for thread in session.threads.values() {
        assert!(thread.number("tid").is_some_and(|tid| tid != run.number("pid")));
    }
}

/// The system's number of the calling thread.
fn system_thread() -> u64 {
    let link = std::fs::read_link("/proc/thread-self").expect("a link to ourselves");
    let number = link.file_name().and_then(|name| name.to_str()).and_then(|name| name.parse().ok());
    number.expect("a number")
}

#[test]
fn of_the_time() {
    let run = child(
        "facts::of_the_time",
        |process| process,
        || {
            for _ in 0..4 {
                work::alloc!(nanoseconds(), 0_u64, 0_u64, 0);
                std::thread::sleep(Duration::from_millis(70));
            }
            vec![]
        },
    );
    let mut events = Reader::open(run.path()).expect("a stream").events().expect("a stream");
    let (mut first, mut last) = (None, 0);
    while let Some(event) = events.next().expect("a readable stream") {
        let emitted = event.value(0).and_then(|value| value.as_u64()).expect("a time") as i64;
        // The clock is read behind the argument; a thread may lose its processor in between.
        let late = event.wall_ns() - emitted;
        assert!((-1_000_000..50_000_000).contains(&late), "{late} ns late");
        first.get_or_insert(event.time_ns);
        last = event.time_ns;
    }
    let took = last - first.expect("an event");
    assert!((210_000_000..2_000_000_000).contains(&took), "{took} ns from the first to the last");
}

fn nanoseconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("a time after 1970").as_nanos() as u64
}
