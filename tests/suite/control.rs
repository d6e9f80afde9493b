//! Switches: the words of the environment, of the configuration and of the program, and what they
//! switch.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use telemetry::Config;

use crate::support::process::child;
use crate::support::stream::Owned;
use crate::{second, work};

const ALL: &str = "second:Precise second:Lone work:Precise work:Inherit work:Other";

/// Words, and the events that are on afterwards if none were on before.
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
    ("Absent absent:all work:Absent : -", ""),
    ("third:Precise", ""),
    ("most", "second:Lone"),
    ("SECOND:Most -Lonely", ""),
    ("work:most", ""),
    ("all -alone", "second:Precise work:Precise work:Inherit work:Other"),
    ("alone second:Precise -most", "second:Precise"),
];

/// Makes both registries known, with nothing on.
fn list() {
    telemetry::set("all");
    work::tick!();
    second::lonely!();
    telemetry::reset("all");
    assert_eq!(telemetry::control::enabled(), "");
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
                let state = telemetry::control::enabled();
                assert_eq!(&state, expected, "after `{words}`");
                let said = telemetry::get();
                for form in [&state, &said] {
                    telemetry::reset("all");
                    telemetry::set(form);
                    assert_eq!(telemetry::control::enabled(), state, "`{words}` again, as `{form}`");
                }
                assert_eq!(telemetry::get(), said, "`{words}` as they were");
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
                assert_eq!(telemetry::control::enabled(), expected, "without `{words}`");
            };
            check("", ALL);
            check("all", "");
            check("-1", "");
            check("1", "second:Lone work:Inherit work:Other");
            check("0x81", "work:Inherit work:Other");
            check("work:3", "second:Precise second:Lone work:Other");
            check("Named work:Tick", "second:Precise second:Lone work:Alloc work:Inherit");
            check("most", "second:Precise work:Precise work:Inherit work:Other");
            check("Precise -Named", "second:Lone work:Named work:Inherit work:Other");
            vec![]
        },
    );
}

/// Words can be read, changed and restored before any registry is in use. They then also apply to
/// later registries.
#[test]
fn what_is_set_comes_back() {
    child(
        "control::what_is_set_comes_back",
        |process| process.env("TELEMETRY_CONTROL", "Inherit").env("TELEMETRY_RECORD", "all -Other"),
        || {
            let said = || (telemetry::get(), telemetry::recorder::get());
            assert_eq!(said(), ("Inherit".into(), "all -Other".into()));
            telemetry::set("Precise -work:Named 0x80");
            telemetry::recorder::reset("work:Tick 0x1");
            let before = said();
            assert_eq!(
                before,
                ("Inherit Precise -work:Named 0x80".into(), "all -Other -work:Tick -*:0x1".into())
            );
            telemetry::set("all");
            telemetry::reset("all");
            telemetry::recorder::reset("all");
            assert_eq!(said(), (String::new(), String::new()));
            telemetry::set(&before.0);
            telemetry::recorder::set(&before.1);
            assert_eq!(said(), before);
            work::tick!();
            second::lonely!();
            assert_eq!(said(), before, "as it was, though registries are in use");
            assert_eq!(telemetry::control::enabled(), "second:Precise second:Lone work:Alloc work:Inherit");
            assert_eq!(telemetry::recorder::enabled(), "second:Lone work:Inherit");
            vec![]
        },
    );
}

/// Waits until the events that are output are these.
#[track_caller]
fn wait_for(expected: &str) {
    let since = Instant::now();
    while telemetry::control::enabled() != expected {
        let enabled = telemetry::control::enabled();
        assert!(since.elapsed() < Duration::from_secs(60), "after a minute: {enabled}, not {expected}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The latency is an hour, so nothing else wakes the drain.
#[test]
fn words_are_on_for_a_time() {
    let run = child(
        "control::words_are_on_for_a_time",
        |process| process.without("TELEMETRY_CONTROL").env("TELEMETRY_LATENCY", "3600"),
        || {
            const LONG: Duration = Duration::from_secs(3600);
            const SHORT: Duration = Duration::from_millis(50);
            list();
            telemetry::set("Other");
            telemetry::control::set_for("Inherit", SHORT);
            telemetry::control::set_for("most -Lonely", SHORT);
            telemetry::control::set_for("work:Named", LONG);
            telemetry::set("Lone");
            wait_for("second:Lone work:Named work:Other");
            assert_eq!(telemetry::get(), "Other Lone");
            // The same words again: the later end counts.
            telemetry::control::set_for("work:Named", SHORT);
            telemetry::control::set_for("Inherit", LONG);
            telemetry::control::set_for("Inherit", SHORT);
            telemetry::control::set_for("Alloc", SHORT);
            wait_for("second:Lone work:Named work:Inherit work:Other");
            telemetry::reset("Inherit");
            assert_eq!(telemetry::control::enabled(), "second:Lone work:Named work:Other");
            work::named!(1_u64, 2_u64, 3_u64, 4, "in time");
            telemetry::reset("all");
            assert_eq!(telemetry::control::enabled(), "");
            vec![]
        },
    );
    let stream = run.stream();
    let changes = stream.own.iter().filter(|event| event.name == "ControlChange");
    let changes: Vec<_> = changes.map(|event| format!("{:?}", event.values)).collect();
    let ended = changes.iter().filter(|change| **change == "[Number(0), Number(2), Text(\"Inherit\")]");
    assert_eq!(ended.count(), 2, "by the drain and by the program: {changes:?}");
    assert_eq!(stream.events.iter().filter(|event| event.name == "Named").count(), 1);
}

/// Earlier words, those of the environment first, apply to registries that come into use later.
#[test]
fn words_reach_registries_that_come_later() {
    child(
        "control::words_reach_registries_that_come_later",
        |process| process.env("TELEMETRY_CONTROL", "all -Named"),
        || {
            telemetry::reset("1");
            telemetry::set("Alloc");
            assert_eq!(telemetry::control::enabled(), "", "no registry is in use yet");
            assert_eq!(telemetry::get(), "all -Named -*:1 Alloc");
            work::tick!();
            assert_eq!(telemetry::control::enabled(), "work:Alloc work:Inherit work:Other");
            telemetry::reset("Precise");
            second::lonely!();
            assert_eq!(telemetry::control::enabled(), "second:Lone work:Inherit work:Other");
            vec![]
        },
    );
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

/// Arguments are evaluated once and in order if the event is on, and not at all if it is off.
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

/// An event is an expression of type `()`, wherever one is allowed.
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

/// Connects to this process's socket in a directory. The drain creates the socket.
pub(crate) fn connect(directory: &Path) -> UnixStream {
    let socket = directory.join(std::process::id().to_string());
    let since = Instant::now();
    loop {
        match UnixStream::connect(&socket) {
            Ok(stream) => return stream,
            Err(error) => assert!(since.elapsed() < Duration::from_secs(20), "{}: {error}", socket.display()),
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Clients see words before any registry is in use, and afterwards what the words match.
#[test]
fn words_are_shown_to_others() {
    child(
        "control::words_are_shown_to_others",
        |process| {
            process.env("TELEMETRY_CONTROL", "Precise -Named second:all").env("TELEMETRY_SOCKET", "./sockets")
        },
        || {
            Config::new().start().unwrap();
            let check = |expected: &str| {
                let mut stream = connect(Path::new("sockets"));
                let mut answer = String::new();
                stream
                    .write_all(b"get\n")
                    .and_then(|()| stream.read_to_string(&mut answer))
                    .expect("an answer");
                assert_eq!(answer, format!("ok\noutput = \"{expected}\"\nrecord = \"\"\n"));
            };
            check("Precise -Named second:all");
            work::tick!();
            check("work:Alloc");
            second::lonely!();
            check("second:Precise second:Lone work:Alloc");
            vec![]
        },
    );
}

/// Words that match nothing are reported once, with the nearest name or the kinds in use, as soon
/// as the registries are known.
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
        let said: Vec<_> =
            run.stderr.lines().map(|line| line.trim_start_matches("telemetry: [unknown-name] ")).collect();
        assert_eq!(said, complaints, "`{control}` `{record}`");
    };
    check("all work:Tick -Inherit 0x7 work:all", "telemetry:all", &[]);
    check("Tik Other", "", &["`Tik`, to be output, matches no kind or event; help: did you mean `Tick`?"]);
    check("Inh", "", &["`Inh`, to be output, matches no kind or event; help: did you mean `Inherit`?"]);
    check(
        "all",
        "-worc:Presise",
        &["`worc:Presise`, to be recorded, matches no kind or event; help: did you mean `Precise`?"],
    );
    check(
        "Quasar",
        "",
        &[
            "`Quasar`, to be output, matches no kind or event; help: the kinds in use are Precise, Inherit, Other",
        ],
    );
}

/// More words than can be stored.
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
    assert!(
        run.stderr.contains("telemetry: [too-many-words] more than 4 kB of words of control"),
        "{}",
        run.stderr
    );
}
