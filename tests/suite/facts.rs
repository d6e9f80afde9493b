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

/// Events are when they were, by the clock of the environment. What the session says of the clock.
fn check_time(test: &str, clock: &str) -> (String, u64) {
    let run = child(
        test,
        |process| process.env("TELEMETRY_CLOCK", clock),
        || {
            for _ in 0..4 {
                work::alloc!(nanoseconds(), 0_u64, 0_u64, 0);
                std::thread::sleep(Duration::from_millis(70));
            }
            vec![]
        },
    );
    let mut events = Reader::open(run.path()).expect("a stream").events().expect("a stream");
    let mut times = vec![];
    while let Some(event) = events.next().expect("a readable stream") {
        let emitted = event.value(0).and_then(|value| value.as_u64()).expect("a time") as i64;
        // The clock is read behind the argument; a thread may lose its processor in between.
        let late = event.wall_ns() - emitted;
        assert!((-1_000_000..50_000_000).contains(&late), "{late} ns late");
        times.push(event.time_ns);
    }
    assert_eq!(times.len(), 4);
    for pair in times.windows(2) {
        let took = pair[1] - pair[0];
        assert!((69_000_000..1_000_000_000).contains(&took), "{took} ns from one to the next");
    }
    let facts = &events.sessions()[0].facts;
    let rate = facts.number("ticks_per_second").expect("a rate");
    (facts.text("clock").expect("a clock").to_owned(), rate)
}

#[test]
fn of_the_time() {
    let (clock, rate) = check_time("facts::of_the_time", "");
    assert!(["tsc", "cntvct", "os"].contains(&&*clock), "{clock}");
    assert!(rate > 1_000_000, "{rate} ticks a second");
}

#[test]
fn of_the_time_by_the_clock_of_the_system() {
    let (clock, rate) = check_time("facts::of_the_time_by_the_clock_of_the_system", "os");
    assert_eq!(clock, "os");
    assert!((900_000_000..1_100_000_000).contains(&rate), "{rate} nanoseconds a second");
}

/// Every event takes the long way, since the short one reads the cycle counter.
#[test]
fn of_threads_by_the_clock_of_the_system() {
    const ROUNDS: u64 = 20_000;
    let run = child(
        "facts::of_threads_by_the_clock_of_the_system",
        |process| process.env("TELEMETRY_CLOCK", "os").env("TELEMETRY_BUFFER", "64M"),
        || {
            std::thread::scope(|scope| {
                for _ in 0..2 {
                    scope.spawn(|| {
                        for number in 0..ROUNDS {
                            work::alloc!(number, number << (number % 50), number, 0);
                            work::fix!(number, number, number, 0);
                        }
                    });
                }
            });
            vec![]
        },
    );
    let stream = run.stream();
    assert_eq!(stream.events.len() as u64, 4 * ROUNDS);
    assert!(stream.completeness.is_complete(), "{}", stream.completeness);
    for thread in 1..=2 {
        let of_thread = || stream.events.iter().filter(|event| event.thread == thread);
        let mut same = 0;
        for (at, pair) in of_thread().collect::<Vec<_>>().chunks(2).enumerate() {
            assert_eq!([&*pair[0].name, &*pair[1].name], ["Alloc", "Fix"], "pair {at}");
            assert_eq!(pair[0].values[0], pair[1].values[0]);
            assert!(pair[0].ticks <= pair[1].ticks);
            same += u64::from(pair[0].ticks == pair[1].ticks);
        }
        // Of a kind that inherits its clock an event has the time of the one before it, but where it opens
        // a block.
        assert!(same > ROUNDS * 9 / 10, "{same} of {ROUNDS}");
    }
}

fn nanoseconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("a time after 1970").as_nanos() as u64
}
