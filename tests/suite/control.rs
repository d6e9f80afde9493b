//! What is on: the words of the environment, of the configuration and of the program.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, Instant};

use telemetry::Config;

use crate::support::process::child;
use crate::support::stream::{Owned, Stream};
use crate::{second, work};

const ALL: &str = "second:Precise second:Lone work:Precise work:Inherit work:Other";

/// Words, and what is on after them where nothing was.
const STATES: &[(&str, &str)] = &[
    ("", ""),
    ("all", ALL),
    ("All", ALL),
    ("-1", ALL),
    ("0xffffffffffffffff", ALL),
    ("99999999999999999999999", ALL),
    ("0", ""),
    ("-0", ""),
    ("Precise -0", "second:Precise work:Precise"),
    ("0x81", "second:Precise second:Lone work:Precise"),
    ("129", "second:Precise second:Lone work:Precise"),
    ("0201", "second:Precise second:Lone work:Precise"),
    ("2 4", "work:Inherit work:Other"),
    ("Precise", "second:Precise work:Precise"),
    ("precise", "second:Precise work:Precise"),
    ("work:Precise", "work:Precise"),
    ("WORK:named", "work:Named"),
    ("work:1", "work:Precise"),
    ("work:-1", "work:Precise work:Inherit work:Other"),
    ("work:all", "work:Precise work:Inherit work:Other"),
    ("Alloc", "second:Precise work:Alloc"),
    ("Alloc Named", "second:Precise work:Precise"),
    ("all -Precise", "second:Lone work:Inherit work:Other"),
    ("all -work:all", "second:Precise second:Lone"),
    ("all -work:7", "second:Precise second:Lone"),
    ("all -Alloc", "second:Lone work:Named work:Inherit work:Other"),
    ("-Precise all", ALL),
    ("all -all", ""),
    ("Precise -Precise Precise", "second:Precise work:Precise"),
    ("Tick\t -Tick\n  Fix", "work:Inherit"),
    ("Nobody nobody:all work:Nobody : -", ""),
    ("third:Precise", ""),
];

/// Has both registries listed, and nothing on.
fn list() {
    telemetry::set("all");
    work::tick!();
    second::lonely!();
    telemetry::reset("all");
    assert_eq!(telemetry::get(), "");
}

#[test]
fn words_of_the_program() {
    child(
        "control::words_of_the_program",
        |process| process.without("TELEMETRY_CONTROL"),
        || {
            list();
            for (words, expected) in STATES {
                telemetry::reset("all");
                telemetry::set(words);
                let state = telemetry::get();
                assert_eq!(&state, expected, "after `{words}`");
                telemetry::reset("all");
                telemetry::set(&state);
                assert_eq!(telemetry::get(), state, "`{words}` again");
            }
            vec![]
        },
    );
}

#[test]
fn reset_takes_away_what_set_gives() {
    child(
        "control::reset_takes_away_what_set_gives",
        |process| process.without("TELEMETRY_CONTROL"),
        || {
            list();
            let check = |words: &str, expected: &str| {
                telemetry::set("all");
                telemetry::reset(words);
                assert_eq!(telemetry::get(), expected, "without `{words}`");
            };
            check("", ALL);
            check("all", "");
            check("-1", "");
            check("1", "second:Lone work:Inherit work:Other");
            check("0x81", "work:Inherit work:Other");
            check("work:3", "second:Precise second:Lone work:Other");
            check("Named work:Tick", "second:Precise second:Lone work:Alloc work:Inherit");
            check("Precise -Named", "second:Lone work:Named work:Inherit work:Other");
            vec![]
        },
    );
}

/// The words so far, those of the environment first, reach registries that come into use later.
#[test]
fn words_reach_registries_that_come_later() {
    child(
        "control::words_reach_registries_that_come_later",
        |process| process.env("TELEMETRY_CONTROL", "all -Named"),
        || {
            telemetry::reset("1");
            telemetry::set("Alloc");
            assert_eq!(telemetry::get(), "", "no registry is in use yet");
            work::tick!();
            assert_eq!(telemetry::get(), "work:Alloc work:Inherit work:Other");
            telemetry::reset("Precise");
            second::lonely!();
            assert_eq!(telemetry::get(), "second:Lone work:Inherit work:Other");
            vec![]
        },
    );
}

/// What is on at the first event, by the words of the environment and of the program's configuration.
fn check_first_event(environment: Option<&str>, configured: Option<&str>, expected: &str) {
    let run = child(
        "control::the_environment_wins",
        |process| {
            let variables = [
                ("TELEMETRY_CONTROL", environment),
                ("CONFIGURED", configured),
                ("EXPECTED", Some(expected)),
            ];
            let process = process.without("TELEMETRY_CONTROL");
            let set = variables.into_iter().filter_map(|(name, words)| Some((name, words?)));
            set.fold(process, |process, (name, words)| process.env(name, words))
        },
        || {
            if let Ok(words) = std::env::var("CONFIGURED") {
                assert!(Config::new().control(words).start());
                assert!(!Config::new().control("all").start(), "it runs already");
            }
            for number in 0..3_u64 {
                work::alloc!(number, 0_u64, 0_u64, 0);
                work::named!(number, 0_u64, 0_u64, 0, "");
            }
            assert_eq!(telemetry::get(), std::env::var("EXPECTED").expect("what is on"));
            vec![]
        },
    );
    let emitted = ["work:Alloc", "work:Named"].iter().filter(|name| expected.contains(*name)).count();
    match emitted {
        0 => assert!(!run.path().exists(), "a stream of nothing"),
        kinds => assert_eq!(run.stream().events.len(), 3 * kinds),
    }
}

#[test]
fn the_environment_wins() {
    check_first_event(None, None, "");
    check_first_event(None, Some("Named"), "work:Named");
    check_first_event(Some("Alloc"), Some("Named"), "work:Alloc");
    check_first_event(Some(""), Some("Named"), "");
    check_first_event(Some("1 -Named"), None, "work:Alloc");
}

/// The file of the environment, else that of the configuration, else one in the working directory; what
/// was flushed before the configuration came does not matter.
fn check_filename(environment: Option<&str>, configured: Option<&str>, expected: &str) {
    let run = child(
        "control::the_stream_goes_where_it_is_told",
        |process| {
            let process = process.without("TELEMETRY_FILENAME");
            let process =
                environment.iter().fold(process, |process, name| process.env("TELEMETRY_FILENAME", name));
            configured.iter().fold(process, |process, name| process.env("CONFIGURED", name))
        },
        || {
            telemetry::flush();
            if let Ok(name) = std::env::var("CONFIGURED") {
                assert!(Config::new().filename(name).start());
            }
            work::tick!();
            vec![]
        },
    );
    assert_eq!(Stream::read(run.dir().join(expected)).events.len(), 1);
    let streams = std::fs::read_dir(run.dir()).expect("a directory").flatten();
    let streams = streams.filter(|entry| entry.path().extension().is_some_and(|end| end == "tel"));
    assert_eq!(streams.count(), 1);
}

#[test]
fn the_stream_goes_where_it_is_told() {
    check_filename(None, None, "telemetry.tel");
    check_filename(None, Some("configured.tel"), "configured.tel");
    check_filename(Some("environment.tel"), Some("configured.tel"), "environment.tel");
    check_filename(Some(""), Some("configured.tel"), "configured.tel");
}

/// The bitmap of the kinds of a registry, as the MPS has it.
#[test]
fn kinds_as_a_bitmap() {
    child(
        "control::kinds_as_a_bitmap",
        |process| process.env("TELEMETRY_CONTROL", "0x82 work:Named"),
        || {
            let check = |work: u64, second: u64| {
                assert_eq!([work::REGISTRY.kinds_on(), second::REGISTRY.kinds_on()], [work, second]);
            };
            check(0b011, 0x80);
            telemetry::reset("0x83");
            check(0, 0);
            telemetry::set("all");
            check(0b111, 0x81);
            vec![]
        },
    );
}

/// Arguments are evaluated where the event is on, once and in order, and not at all where it is off.
#[test]
fn arguments_are_evaluated_only_when_on() {
    let run = child(
        "control::arguments_are_evaluated_only_when_on",
        |process| process.env("TELEMETRY_CONTROL", ""),
        || {
            let mut seen = vec![];
            let mut note = |number: u32| {
                seen.push(number);
                number
            };
            // The first event of a registry is on until the runtime has been asked.
            telemetry::set("Tick");
            work::tick!();
            work::alloc!(u64::from(note(0)), u64::from(note(0)), note(0), note(0));
            telemetry::set("Alloc");
            work::alloc!(u64::from(note(1)), u64::from(note(2)), note(3), note(4));
            telemetry::reset("Alloc");
            work::alloc!(u64::from(note(0)), u64::from(note(0)), note(0), note(0));
            work::named!(u64::from(note(0)), 0_u64, 0_u64, 0, &format!("{}", note(0)));
            telemetry::set("Named");
            work::named!(u64::from(note(5)), 0_u64, 0_u64, 0, &format!("{}", note(6)));
            assert_eq!(seen, [1, 2, 3, 4, 5, 6]);
            vec![]
        },
    );
    let values: Vec<_> = run.stream().events.into_iter().map(|event| (event.name, event.values)).collect();
    let numbers = |numbers: &[i128]| numbers.iter().copied().map(Owned::Number).collect::<Vec<_>>();
    let named = [numbers(&[5, 0, 0, 0]), vec![Owned::Text("6".into())]].concat();
    let expected = [("Tick", vec![]), ("Alloc", numbers(&[1, 2, 3, 4])), ("Named", named)];
    assert_eq!(values, expected.map(|(name, values)| (name.to_owned(), values)));
}

/// An event is an expression of type `()` wherever one may stand.
#[test]
fn events_stand_where_expressions_do() {
    fn nothing(on: bool) {
        if on { work::tick!() } else { work::alloc!(1_u64, 2_u64, 3_u64, 4) }
    }
    let run = child(
        "control::events_stand_where_expressions_do",
        |process| process,
        || {
            nothing(true);
            let () = work::tick!();
            let closure = |number: u32| work::alloc!(&number, &number, number, number,);
            match Some(7) {
                Some(number) => closure(number),
                None => work::tick!(),
            }
            for _ in 0..2 {
                work::tick! {}
            }
            let ((), ()) = (nothing(false), work::tick!());
            vec![]
        },
    );
    assert_eq!(run.stream().events.len(), 7);
}

/// Variables with values that none of them can have, which are no text in one of two runs, how those are shown, and
/// what is expected, in the order in which they are read.
type Setting = (&'static str, &'static [u8], &'static str, &'static str);
const SETTINGS: [&[Setting]; 2] = [
    &[
        ("TELEMETRY_CLOCK", b"sundial", "sundial", "`os`"),
        ("TELEMETRY_POLICY", b"sometimes", "sometimes", "`drop`, `overwrite` or `wait:SECONDS`"),
        ("TELEMETRY_LATENCY", b" -3 ", "-3", "a number of seconds, 0.001 to 3600"),
        ("TELEMETRY_TRACEBACK", b"many", "many", "a number of events"),
        ("TELEMETRY_BUFFER", b"lots", "lots", "a number of bytes, such as `65536`, `64k` or `16M`"),
    ],
    &[
        ("TELEMETRY_CLOCK", b"o\xffs", "o\\xffs", "`os`"),
        ("TELEMETRY_POLICY", b"\xc3", "\\xc3", "`drop`, `overwrite` or `wait:SECONDS`"),
        ("TELEMETRY_LATENCY", b"1\xfe\xff ", "1\\xfe\\xff", "a number of seconds, 0.001 to 3600"),
        ("TELEMETRY_TRACEBACK", b"\xe2\x825", "\\xe2\\x825", "a number of events"),
        ("TELEMETRY_BUFFER", b"64\xb5", "64\\xb5", "a number of bytes, such as `65536`, `64k` or `16M`"),
        ("TELEMETRY_CONTROL", b"\xff none", "\\xff none", "words that name kinds and events"),
        ("TELEMETRY_RECORD", b"all\xff", "all\\xff", "words that name kinds and events"),
    ],
];

/// What cannot be understood counts as none, and is said once; the program's own settings hold. The latency of a
/// configuration, like all of it, counts only where the environment has none.
#[test]
fn settings_that_cannot_be_understood() {
    for (number, settings) in SETTINGS.iter().enumerate() {
        let run = child(
            "control::settings_that_cannot_be_understood",
            |process| {
                settings
                    .iter()
                    .fold(process, |process, (name, value, ..)| process.env(name, OsStr::from_bytes(value)))
            },
            || {
                let config = Config::new().latency(Duration::ZERO).buffer(0).control("all").record("Precise");
                assert!(config.start());
                for number in 0..100_u64 {
                    work::alloc!(number, number, number, 1);
                }
                assert_eq!(telemetry::get_record(), "work:Precise");
                vec![]
            },
        );
        let said: Vec<&str> = run.stderr.lines().collect();
        let expected: Vec<String> = settings
            .iter()
            .map(|(name, _, shown, expected)| format!("telemetry: {name} is `{shown}`, expected {expected}"))
            .collect();
        assert_eq!(said, expected, "run {number}");
        assert_eq!(run.stream().events.len(), 100, "run {number}");
    }
}

/// Space around what `TELEMETRY_SOCKET` says does not matter, and a directory may have any name: it is there from the
/// start.
#[test]
fn what_is_said_of_the_socket() {
    let check = |set: &[u8], directory: Option<&[u8]>, complaint: &str| {
        let run = child(
            "control::what_is_said_of_the_socket",
            |process| {
                let process =
                    process.without("TELEMETRY_CONTROL").env("TELEMETRY_SOCKET", OsStr::from_bytes(set));
                directory
                    .into_iter()
                    .fold(process, |process, name| process.env("DIRECTORY", OsStr::from_bytes(name)))
            },
            || {
                assert!(Config::new().start());
                let Some(directory) = std::env::var_os("DIRECTORY") else {
                    telemetry::set("all");
                    work::tick!();
                    telemetry::flush();
                    return vec![];
                };
                let socket = Path::new(&directory).join(std::process::id().to_string());
                let since = Instant::now();
                while !socket.exists() {
                    assert!(since.elapsed() < Duration::from_secs(20), "no socket `{}`", socket.display());
                    std::thread::sleep(Duration::from_millis(2));
                }
                vec![]
            },
        );
        assert_eq!(run.stderr, complaint, "{}", set.escape_ascii());
    };
    check(b" ", None, "");
    check(b" off\t", None, "");
    check(b"./s\xff", Some(b"s\xff"), "");
    let complaint = "telemetry: no control socket: TELEMETRY_SOCKET is `so\\xff`, expected `on`, `off` or a path; \
                     help: set TELEMETRY_SOCKET=off to do without it\n";
    check(b"so\xff", None, complaint);
}

/// Words that name nothing are complained of once, with what they may have been meant for, as soon as the
/// registries are known.
#[test]
fn words_that_name_nothing() {
    let check = |control: &str, record: &str, complaints: &[&str]| {
        let run = child(
            "control::words_that_name_nothing",
            |process| process.env("TELEMETRY_CONTROL", control).env("TELEMETRY_RECORD", record),
            || {
                work::tick!();
                telemetry::flush();
                vec![]
            },
        );
        let said: Vec<_> = run.stderr.lines().map(|line| line.trim_start_matches("telemetry: ")).collect();
        assert_eq!(said, complaints, "`{control}` `{record}`");
    };
    check("all work:Tick -Inherit 0x7 work:all", "telemetry:all", &[]);
    check("Tik Other", "", &["`Tik`, to be output, names no kind and no event; help: did you mean `Tick`?"]);
    check(
        "all",
        "-worc:Presise",
        &["`worc:Presise`, to be recorded, names no kind and no event; help: did you mean `Precise`?"],
    );
    check(
        "Quasar",
        "",
        &[
            "`Quasar`, to be output, names no kind and no event; help: the kinds in use are Precise, Inherit, Other",
        ],
    );
}

/// Words for more than there is room to remember them.
#[test]
fn words_without_end() {
    let run = child(
        "control::words_without_end",
        |process| process,
        || {
            (0..2000).for_each(|number| telemetry::set(&format!("Word{number} Tick")));
            work::tick!();
            vec![]
        },
    );
    assert_eq!(run.stream().events.len(), 1);
    assert!(run.stderr.contains("more than 4 kB of words of control"), "{}", run.stderr);
}
