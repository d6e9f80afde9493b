//! Facts that a stream has about its run: program, clock, threads and times.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use telemetry_decode::{Events, Reader};

use crate::ends::program;
use crate::support::process::{Outcome, Process, child};
use crate::work;

#[test]
fn of_the_program_and_its_threads() {
    // The system keeps 15 bytes of a thread's name, which may end inside a character.
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
    for thread in session.threads().values() {
        assert!(thread.number("tid").is_some_and(|tid| tid != run.number("pid")));
    }
}

/// The machine and the build, as the system reports them. Facts that may be secret are absent.
#[test]
fn of_the_machine_and_the_build() {
    let run = child(
        "facts::of_the_machine_and_the_build",
        |process| process,
        || {
            work::tick!();
            vec![]
        },
    );
    let events = read(&run);
    let facts = &events.sessions()[0].facts;
    let program = std::env::current_exe().expect("this program");
    assert_eq!(facts.text("executable"), program.to_str());
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").expect("the kernel's release");
    assert_eq!(facts.text("kernel"), Some(&*format!("Linux {}", release.trim())));
    assert_eq!(facts.number("page_size"), Some(4096));
    let processors = std::fs::read_to_string("/proc/cpuinfo").expect("what the kernel says of processors");
    if let Some(model) = processors.lines().find_map(|line| line.strip_prefix("model name\t: ")) {
        assert_eq!(facts.text("cpu"), Some(model.trim()));
    }
    for secret in ["args", "cwd", "env"] {
        assert_eq!(facts.get(secret), None);
    }
    // The list has no number that only a broken measurement would give.
    let emission = facts.number("emission_ps").expect("what an emission costs");
    assert!((100..1_000_000_000).contains(&emission), "{emission} ps");
    match Command::new("readelf").arg("-n").arg(program).output() {
        Err(error) => eprintln!("SKIPPED: no readelf: {error}"),
        Ok(notes) => {
            let notes = String::from_utf8_lossy(&notes.stdout).into_owned();
            let id = notes.lines().find_map(|line| line.trim().strip_prefix("Build ID: ")).map(str::to_owned);
            assert_eq!(facts.text("build_id"), id.as_deref(), "{notes}");
        }
    }
}

/// Facts that may be secret are included on request, whatever they contain.
#[test]
fn of_what_is_asked_for() {
    let run = child(
        "facts::of_what_is_asked_for",
        |process| {
            let process =
                process.env("TELEMETRY_FACTS", "args, cwd env:ODD,env:NONE\nenv:TELEMETRY_TEST env:ODD");
            process.env("ODD", "a \"b\"\n\\ ü").env("TELEMETRY_TEST", OsStr::from_bytes(b"\xff"))
        },
        || {
            work::tick!();
            telemetry::flush();
            // Every stream has the facts as they were at the start.
            std::env::set_current_dir("/").expect("a directory");
            let later = telemetry::sinks::Memory::new(1 << 20);
            let id = telemetry::sinks::add(later.clone());
            work::tick!();
            telemetry::flush();
            let events =
                Reader::from_slice(&later.to_vec()).events().expect("a stream").sessions()[0].facts.clone();
            let dir = events.text("cwd").expect("a directory").to_owned();
            id.map(telemetry::sinks::remove).expect("it was added");
            vec![("same", u64::from(dir != "/"))]
        },
    );
    assert_eq!(run.number("same"), 1);
    let events = read(&run);
    let facts = &events.sessions()[0].facts;
    let dir = run.dir().canonicalize().expect("a directory");
    assert_eq!(facts.text("cwd"), dir.to_str());
    let env = facts.get("env").and_then(|env| env.as_table()).expect("variables");
    let env: Vec<_> =
        env.iter().map(|(name, value)| (name.as_str(), value.as_str().expect("text"))).collect();
    assert_eq!(env, [("ODD", "a \"b\"\n\\ ü"), ("TELEMETRY_TEST", "\u{fffd}")]);
    let program = std::env::current_exe().expect("this program");
    let args = facts.get("args").and_then(|args| args.as_list()).expect("arguments");
    let args: Vec<_> = args.iter().map(|arg| arg.as_str().expect("text")).collect();
    let test = "facts::of_what_is_asked_for";
    let expected = [program.to_str().expect("text"), test, "--exact", "--nocapture", "--test-threads=1"];
    assert_eq!(args, expected);
    assert_eq!(run.stderr, "");
}

/// Of many arguments, the first are included with the number of the others. A variable that is too
/// long is left out.
#[test]
fn of_more_than_there_is_room_for() {
    let process = Process::new(program("ends")).arg("return").env("LONG", "x".repeat(20_000));
    let process = process.env("TELEMETRY_FACTS", "args env:LONG env:SHORT").env("SHORT", "text");
    let process = (0..3000).fold(process, |process, number| process.arg(&format!("argument{number:04}")));
    let run = process.run().succeeded();
    let events = read(&run);
    let facts = &events.sessions()[0].facts;
    let args = facts.get("args").and_then(|args| args.as_list()).expect("arguments");
    assert!(args.len() > 100, "{} arguments", args.len());
    assert_eq!(args.last().and_then(|arg| arg.as_str()), Some(&*format!("argument{:04}", args.len() - 3)));
    assert_eq!(facts.number("args_left_out"), Some(3002 - args.len() as u64));
    assert_eq!(facts.get("env").expect("variables").to_string(), "{ SHORT = \"text\" }");
    assert_eq!(run.stderr, "");
}

/// The environment overrides the program, also with an empty value. Unknown names are reported.
#[test]
fn of_what_the_program_asks_for() {
    let check = |variable: Option<&str>, has: [bool; 2], stderr: &str| {
        let run = child(
            "facts::of_what_the_program_asks_for",
            |process| match variable {
                Some(words) => process.env("TELEMETRY_FACTS", words),
                None => process,
            },
            || {
                telemetry::Config::new().facts("cwd").start().unwrap();
                work::tick!();
                vec![]
            },
        );
        let events = read(&run);
        let facts = &events.sessions()[0].facts;
        assert_eq!(["cwd", "args"].map(|key| facts.get(key).is_some()), has, "{variable:?}");
        assert_eq!(run.stderr, stderr);
    };
    check(None, [true, false], "");
    check(Some(""), [false, false], "");
    check(Some("args"), [false, true], "");
    let expected = "expected `args`, `cwd` or `env:NAME`, with spaces or commas between them";
    check(
        Some("args env:"),
        [false, true],
        &format!("telemetry: [invalid-setting] TELEMETRY_FACTS is `args env:`, {expected}\n"),
    );
}

/// The words that switch events at the start: those of the environment, or else of the program.
#[test]
fn of_the_words_of_the_start() {
    let check = |variables: &[(&str, &str)], expected: [Option<&str>; 2]| {
        let run = child(
            "facts::of_the_words_of_the_start",
            |process| {
                let process = process.without("TELEMETRY_CONTROL");
                variables.iter().fold(process, |process, (name, words)| process.env(name, words))
            },
            || {
                telemetry::Config::new().control("Tick  Fix").record("Alloc").start().unwrap();
                work::tick!();
                vec![]
            },
        );
        let events = read(&run);
        let facts = &events.sessions()[0].facts;
        assert_eq!(
            ["control_at_start", "record_at_start"].map(|key| facts.text(key)),
            expected,
            "{variables:?}"
        );
    };
    let [control, record] = ["TELEMETRY_CONTROL", "TELEMETRY_RECORD"];
    check(&[], [Some("Tick Fix"), Some("Alloc")]);
    check(&[(control, "Fix all -work:Alloc"), (record, "")], [Some("all -work:Alloc"), None]);
    check(&[(control, "-Fix Tick \"\\\u{1b}\u{fc}")], [Some("Tick \"\\\u{1b}\u{fc}"), Some("Alloc")]);
    // The recorder adds nothing to the output.
    check(&[(control, "all"), (record, "all")], [Some("all"), None]);
    let many: String = (0..300).map(|number| format!("Absent{number} ")).collect();
    let many = many + "Tick";
    check(&[(control, many.as_str())], [Some(many.as_str()), Some("Alloc")]);
}

/// A process that is killed leaves the same facts in its ring file.
#[test]
fn of_a_ring() {
    let ring = crate::ring::killed();
    let found = Reader::from_slice(&ring).recover(&mut Vec::new()).expect("what is left");
    let [session] = &found.sessions[..] else { panic!("{} sessions", found.sessions.len()) };
    assert!(session.facts.text("executable").is_some_and(|path| path.ends_with("/ring")));
    assert!(session.facts.text("kernel").is_some());
}

fn read(run: &Outcome) -> Events<'static> {
    let mut events = Reader::open(run.path()).expect("a stream").events().expect("a stream");
    while events.next().expect("a readable stream").is_some() {}
    assert!(events.completeness().is_complete(), "{}", events.completeness());
    events
}

/// The system's number for the calling thread.
fn system_thread() -> u64 {
    let link = std::fs::read_link("/proc/thread-self").expect("a link to ourselves");
    let number = link.file_name().and_then(|name| name.to_str()).and_then(|name| name.parse().ok());
    number.expect("a number")
}

/// Events have the times of the clock that the environment chooses. Returns the session's facts
/// about the clock.
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
        // The clock is read after the argument, and a thread may lose its processor in between.
        let late = event.wall_ns() - emitted;
        assert!((-1_000_000..50_000_000).contains(&late), "{late} ns late");
        times.push(event.time_ns());
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

/// Every event takes the slow path, because the fast path reads the cycle counter.
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
        // In a kind that inherits its clock, an event has the time of the one before it, except at
        // the start of a block.
        assert!(same > ROUNDS * 9 / 10, "{same} of {ROUNDS}");
    }
}

fn nanoseconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("a time after 1970").as_nanos() as u64
}
